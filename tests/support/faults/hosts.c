#include "tests/support/faults/hosts.h"

#include "tests/support/cmocka.h"
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_MS = 20000, SCRIPT_SIZE = 4096, WORDS_MOST = 24 };

/* Both are where only root has them in its PATH. */
static const char *const ENVIRONMENT[] = {"PATH=/usr/sbin:/sbin:/usr/bin:/bin", NULL};

static const char *const ADDRESSES[HOSTS_MOST] = {
    "10.77.0.1", "10.77.0.2", "10.77.0.3", "10.77.0.4",
    "10.77.0.5", "10.77.0.6", "10.77.0.7", "10.77.0.8",
};

const char *hosts_address(int host)
{
    return ADDRESSES[host];
}

static void go_to(int space)
{
    if (setns(space, CLONE_NEWNET))
        fail_msg("setns: %s", strerror(errno));
}

/* A command in the namespace where this thread is. */
static bool run(const char *const *arguments)
{
    struct process process;
    char log[64];
    snprintf(log, sizeof log, "/proc/%d/fd/2", getpid());
    process_start(&process, arguments, ENVIRONMENT, log);
    if (!process_wait(&process, COMMAND_MS))
        process_kill(&process);
    return process_exit_code(&process) == 0;
}

/* A command whose words are parted by spaces. */
static __attribute__((format(printf, 1, 2))) bool run_words(const char *format, ...)
{
    char text[300], *rest = text;
    const char *words[WORDS_MOST + 1] = {NULL};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (int i = 0; i < WORDS_MOST; i++)
        if (!(words[i] = strtok_r(i ? NULL : text, " ", &rest)))
            break;
    return run(words);
}

static bool filter(const char *script)
{
    return run((const char *const[]){"nft", script, NULL});
}

/* The namespace stays for as long as somebody has the file open. */
static int make_space(void)
{
    return unshare(CLONE_NEWNET) ? -1 : open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static bool make_hub(struct hosts *hosts)
{
    hosts->hub = make_space();
    return hosts->hub >= 0 && run_words("ip link add hub type bridge") &&
           run_words("ip link set hub up") &&
           filter("add table bridge hosts;"
                  "add set bridge hosts silent { type ipv4_addr . ipv4_addr; };"
                  "add chain bridge hosts forward { type filter hook forward priority 0; };"
                  "add rule bridge hosts forward ip saddr . ip daddr @silent drop");
}

static bool make_host(struct hosts *hosts, int index)
{
    int *host = &hosts->host[index];
    if ((*host = make_space()) < 0 || !run_words("ip link set lo up"))
        return false;
    go_to(hosts->hub);
    bool linked = run_words("ip link add to%d type veth peer name eth0 netns /proc/%d/fd/%d", index,
                            getpid(), *host) &&
                  run_words("ip link set to%d master hub up", index);
    go_to(*host);
    return linked && run_words("ip address add %s/24 dev eth0", ADDRESSES[index]) &&
           run_words("ip link set eth0 up");
}

bool hosts_open(struct hosts *hosts, int count)
{
    *hosts = (struct hosts){.count = count, .home = -1, .hub = -1};
    for (int i = 0; i < HOSTS_MOST; i++)
        hosts->host[i] = -1;
    hosts->home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    bool good = hosts->home >= 0 && make_hub(hosts);
    for (int i = 0; good && i < count; i++)
        good = make_host(hosts, i);
    if (hosts->home >= 0)
        go_to(hosts->home);
    if (good)
        return true;
    print_message("skipped: network namespaces or nftables may not be used here\n");
    hosts_close(hosts);
    return false;
}

void hosts_close(struct hosts *hosts)
{
    const int spaces[] = {hosts->home, hosts->hub};
    for (int i = 0; i < HOSTS_MOST; i++)
        if (hosts->host[i] >= 0)
            close(hosts->host[i]);
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        if (spaces[i] >= 0)
            close(spaces[i]);
    hosts->count = 0;
}

void hosts_enter(const struct hosts *hosts, int host)
{
    go_to(hosts->host[host]);
}

void hosts_leave(const struct hosts *hosts)
{
    go_to(hosts->home);
}

static void filter_at_hub(const struct hosts *hosts, const char *script)
{
    go_to(hosts->hub);
    bool done = filter(script);
    go_to(hosts->home);
    assert_true(done);
}

/* One transaction. */
static void silence(const struct hosts *hosts, unsigned from, unsigned to, bool both)
{
    char script[SCRIPT_SIZE] = "add element bridge hosts silent { ";
    for (int i = 0; i < hosts->count; i++)
        for (int j = 0; j < hosts->count; j++) {
            bool there = from & HOST(i) && to & HOST(j), back = to & HOST(i) && from & HOST(j);
            size_t length = strlen(script);
            if (there || (both && back))
                snprintf(script + length, sizeof script - length, "%s . %s, ", ADDRESSES[i],
                         ADDRESSES[j]);
        }
    strcat(script, "}");
    filter_at_hub(hosts, script);
}

void hosts_silence(const struct hosts *hosts, unsigned from, unsigned to)
{
    silence(hosts, from, to, false);
}

void hosts_part(const struct hosts *hosts, unsigned some, unsigned others)
{
    silence(hosts, some, others, true);
}

void hosts_heal(const struct hosts *hosts)
{
    filter_at_hub(hosts, "flush set bridge hosts silent");
}
