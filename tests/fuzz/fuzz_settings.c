/* fuzz_settings.c: what batond is told when it starts, a line for each argument; BATON_NAME=VALUE
 * is a variable, and of BATON_NAME_FILE the value is what stands in the file. */
#include "locks/types/name.h"
#include "server/net/listener.h"
#include "server/settings/settings.h"
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINES_MOST = 40 };

/* In place of the kernel's: every address is ours, and nobody's port is taken. */
static struct sockaddr_storage bound;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
    (void)fd;
    memcpy(&bound, address.__sockaddr__, length);
    return 0;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int getsockname(int fd, __SOCKADDR_ARG address, socklen_t *restrict length)
{
    (void)fd;
    in_port_t *port = bound.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&bound)->sin6_port
                                                  : &((struct sockaddr_in *)&bound)->sin_port;
    if (*port == 0)
        *port = htons(49152);
    memcpy(address.__sockaddr__, &bound, *length);
    return 0;
}

static int write_file(const char *text, char path[32])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    CLAIM(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    lseek(fd, 0, SEEK_SET);
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

/* Sets a variable. Returns the descriptor of the file behind it, or -1. */
static int set_variable(char *line)
{
    char *equals = strchr(line, '='), path[32];
    *equals = '\0';
    size_t length = strlen(line);
    bool is_file = length > 5 && strcmp(line + length - 5, "_FILE") == 0;
    int fd = is_file ? write_file(equals + 1, path) : -1;
    setenv(line, is_file ? path : equals + 1, 1);
    return fd;
}

static void claim_settings(const struct settings *settings)
{
    struct listener listener;
    struct failure failure = {""};
    CLAIM(key_prefix_is_valid(slice_of(settings->key_prefix)));
    CLAIM(settings->default_ttl_ms >= 100 && settings->default_ttl_ms <= settings->max_ttl_ms);
    CLAIM(settings->max_ttl_ms <= 86400000 && settings->max_wait_ms <= 3600000);
    CLAIM(settings->workers >= 0 && settings->max_waiters > 0);
    CLAIM(settings->redis_url || settings->state_dir[0]);
    if (listener_init(&listener, "listen", settings->listen, &failure) < 0) {
        CLAIM(strncmp(failure.text, "--listen: ", 10) == 0);
        return;
    }
    CLAIM(strrchr(listener.endpoint, ':') && strlen(listener.endpoint) > 3);
    CLAIM(!listener.loopback || strstr(listener.endpoint, "127.") ||
          strstr(listener.endpoint, "[::1]"));
}

static void read_all(int argc, char **argv)
{
    struct settings settings = {0};
    struct failure failure = {""};
    int result = settings_read(&settings, argc, argv, &failure);
    if (result < 0)
        CLAIM(failure.text[0]);
    else if (!settings.wants_help && !settings.wants_version && !settings.new_token)
        claim_settings(&settings);
    settings_free(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice rest = {(const char *)bytes, size};
    char *lines[LINES_MOST], *argv[LINES_MOST + 2] = {"batond"};
    int files[LINES_MOST], count = 0, argc = 1;
    clearenv();
    setenv("HOME", "/root", 1);
    while (rest.length > 0 && count < LINES_MOST) {
        char *line = lines[count] = fuzz_text(fuzz_cut(&rest, '\n'));
        bool is_variable = strncmp(line, "BATON_", 6) == 0 && strchr(line, '=');
        files[count] = is_variable ? set_variable(line) : -1;
        if (!is_variable)
            argv[argc++] = line;
        count++;
    }
    read_all(argc, argv);
    for (int i = 0; i < count; i++) {
        free(lines[i]);
        if (files[i] >= 0)
            close(files[i]);
    }
    return 0;
}
