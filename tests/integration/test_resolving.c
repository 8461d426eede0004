/* Names of Redis that nobody resolves: with a name server that never answers, requests are answered
 * all the same; tests/timing/test_resolving.c has how soon. */
#include "tests/support/fixtures/service.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

static const char SILENT[] = "127.0.0.77";

/* A name server that hears and says nothing; -1 where that is not permitted. */
static int keep_silent(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(53)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, SILENT, &address.sin_addr), 1);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* For this process and those that it starts, it is the only one from now on. */
static bool ask_only_the_silent(const struct temp_dir *dir)
{
    char path[100];
    snprintf(path, sizeof path, "%s/resolv.conf", dir->path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "nameserver %s\noptions timeout:1 attempts:1\n", SILENT);
    fclose(file);
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL) == 0;
}

struct site {
    const char *url, *label; /* `label` as a query for one of its names has it, and no other's */
    struct batond_process batond;
};

/* Waits until one of the names that this one needs is asked for. */
static void await_query(const struct site *site, int name_server)
{
    char query[512];
    struct pollfd asked = {.fd = name_server, .events = POLLIN};
    for (int64_t until = clock_ms() + CLOCK_HANG_MS; clock_ms() < until;) {
        if (poll(&asked, 1, CLOCK_HANG_MS) != 1)
            break;
        ssize_t length = recv(name_server, query, sizeof query, 0);
        if (length > 0 && memmem(query, (size_t)length, site->label, strlen(site->label)))
            return;
    }
    fail_msg("nobody asks for %s", site->label);
}

static void all_else_goes_on(const struct site *site, int name_server)
{
    struct http_client *client = http_client_new(site->batond.url);
    await_query(site, name_server);
    assert_int_equal(http_call(client, "GET", "/livez", NULL), 200);
    assert_int_equal(http_call(client, "POST", "/locks/a", NULL), 503);
    http_client_free(client);
}

static void a_silent_name_server_holds_up_nothing(void **state)
{
    static struct site sites[] = {
        {.url = "redis://plain.example:6379", .label = "plain"},
        {.url = "redis+sentinel://watch1.example,watch2.example,watch3.example/primary",
         .label = "watch"},
        {.url = "redis+cluster://shard1.example,shard2.example", .label = "shard"},
        {.url = "redis+quorum://member1.example,member2.example,member3.example",
         .label = "member"},
    };
    enum { SITES = sizeof sites / sizeof *sites };
    struct temp_dir dir;
    int name_server = keep_silent();
    (void)state;
    if (name_server < 0)
        skip();
    temp_dir_make(&dir);
    bool is_permitted = ask_only_the_silent(&dir);
    for (size_t i = 0; is_permitted && i < SITES; i++)
        batond_process_launch(&sites[i].batond,
                              &(struct batond_options){.redis_url = sites[i].url});
    for (size_t i = 0; is_permitted && i < SITES; i++)
        assert_true(batond_process_listening(&sites[i].batond, CLOCK_HANG_MS));
    for (size_t i = 0; is_permitted && i < SITES; i++)
        all_else_goes_on(&sites[i], name_server);
    for (size_t i = 0; is_permitted && i < SITES; i++) {
        process_kill(&sites[i].batond.process); /* who resolves cannot be interrupted */
        batond_process_stop(&sites[i].batond);
    }
    if (is_permitted)
        umount2("/etc/resolv.conf", MNT_DETACH);
    close(name_server);
    temp_dir_remove(&dir);
    if (!is_permitted)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_name_server_holds_up_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
