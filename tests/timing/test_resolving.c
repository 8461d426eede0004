/* Names of Redis that nobody resolves: with a name server that never answers, all else is answered
 * at once. */
#include "tests/support/fixtures/service.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STARTED_MS = 30000, ASKED_MS = 10000, WATCHED_MS = 2500, AT_ONCE_MS = 500, PAUSE_MS = 20 };

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

static void all_else_goes_on(const char *redis_url, int name_server)
{
    struct batond_process batond;
    struct pollfd asked = {.fd = name_server, .events = POLLIN};
    char query[512];
    batond_process_launch(&batond, &(struct batond_options){.redis_url = redis_url});
    assert_true(batond_process_listening(&batond, STARTED_MS));
    while (recv(name_server, query, sizeof query, MSG_DONTWAIT) > 0)
        continue;
    assert_int_equal(poll(&asked, 1, ASKED_MS), 1);
    struct http_client *client = http_client_new(batond.url);
    int answered = 0, late = 0;
    for (int64_t begun = clock_ms(); clock_ms() < begun + WATCHED_MS; clock_sleep_ms(PAUSE_MS)) {
        int64_t sent = clock_ms();
        assert_int_equal(http_call(client, "GET", "/livez", NULL), 200);
        assert_int_equal(http_call(client, "POST", "/locks/a", NULL), 503);
        answered++;
        late += clock_ms() - sent > AT_ONCE_MS;
    }
    if (late > answered / 4) /* a busy machine is late now and then; a loop that waits is always */
        fail_msg("%d of %d answers took longer than %d ms", late, answered, AT_ONCE_MS);
    http_client_free(client);
    process_kill(&batond.process); /* who resolves cannot be interrupted */
    batond_process_stop(&batond);
    while (recv(name_server, query, sizeof query, MSG_DONTWAIT) > 0)
        continue;
}

static void a_silent_name_server_holds_up_nothing(void **state)
{
    static const char *const URLS[] = {
        "redis://redis.example:6379",
        "redis+sentinel://one.example,two.example,three.example/primary",
        "redis+cluster://one.example,two.example",
        "redis+quorum://one.example,two.example,three.example",
    };
    struct temp_dir dir;
    int name_server = keep_silent();
    (void)state;
    if (name_server < 0)
        skip();
    temp_dir_make(&dir);
    bool is_permitted = ask_only_the_silent(&dir);
    for (size_t i = 0; is_permitted && i < sizeof URLS / sizeof *URLS; i++)
        all_else_goes_on(URLS[i], name_server);
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
