/* Connections: some hundred slow ones keep nobody else from being served, and each is gone in the
 * end (tests/timing/test_slow_clients.c has two thousand, and how soon others are served
 * meanwhile); how many there may be counts for all workers together. */
#include "tests/support/fixtures/service.h"

#include "tests/support/faults/slow.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    SLOW = 500,
    DRIP_MS = 200,
};

static const char *const ARGUMENTS[] = {"--head-timeout=2s", "--body-timeout=2s",
                                        "--idle-timeout=3s", NULL};

static long figure(struct http_client *client, const char *name)
{
    char line[80];
    answers(client, "GET /metrics", NULL, 200, NULL);
    snprintf(line, sizeof line, "\n%s ", name);
    const char *found = strstr(client->reply.body, line);
    if (!found)
        fail_msg("there is no %s", name);
    return atol(found + strlen(line));
}

static bool have_all_ended(struct slow *slow)
{
    for (int kind = 0; kind < SLOW_KINDS; kind++)
        if (slow_ended(slow, (enum slow_kind)kind) < slow_count(slow, (enum slow_kind)kind))
            return false;
    return true;
}

static void allow_many_connections(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void slow_clients_keep_nobody_from_being_served(void **state)
{
    struct service service;
    (void)state;
    allow_many_connections();
    service_open(&service, NULL, ARGUMENTS);
    struct slow *slow = slow_new(service.batond.port, SLOW);
    assert_non_null(slow);
    for (int64_t until = clock_ms() + CLOCK_HANG_MS; !have_all_ended(slow);) {
        assert_true(clock_ms() < until);
        slow_drip(slow);
        answers(service.client, "POST /locks/quick", NULL, 201, NULL);
        answers(service.client, "DELETE /locks/quick?force=true", NULL, 200, NULL);
        clock_sleep_ms(DRIP_MS);
    }
    assert_int_equal(figure(service.client, "baton_http_connections"), 1);
    assert_int_equal(figure(service.client, "baton_http_late_heads_total"),
                     slow_count(slow, SLOW_LINE) + slow_count(slow, SLOW_HEAD));
    assert_int_equal(figure(service.client, "baton_http_late_bodies_total"),
                     slow_count(slow, SLOW_BODY));
    size_t again = slow_count(slow, SLOW_AGAIN);
    assert_in_range(figure(service.client, "baton_http_idle_ends_total"), again,
                    again + 1); /* our own client may have been idle by now */
    assert_int_equal(figure(service.client, "baton_http_unread_replies_total"),
                     slow_count(slow, SLOW_READER));
    slow_free(slow);
    service_close(&service);
}

/* A connection on which something was asked. */
static int ask(int port)
{
    static const char REQUEST[] = "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n";
    int fd = raw_connect(port);
    assert_true(fd >= 0);
    raw_send(fd, REQUEST, sizeof REQUEST - 1);
    return fd;
}

/* The status of its reply; 0 where there is none for so long. */
static int hear(int fd, int timeout_ms)
{
    char reply[64];
    raw_receive(fd, reply, sizeof reply, "\r\n", timeout_ms, NULL);
    return strncmp(reply, "HTTP/1.1 ", 9) == 0 ? atoi(reply + 9) : 0;
}

enum { SHARE = 8, MORE = 4, MEANWHILE_MS = 300, IDLE_LEAST_MS = 1000 };

static void an_address_has_its_share_of_all_workers(void **state)
{
    static const char *const BOUNDS[] = {
        "--workers=3", "--trusted-proxies=", "--max-connections-per-address=8", NULL};
    struct service service;
    int fds[SHARE + MORE];
    char line[512];
    (void)state;
    service_open(&service, NULL, BOUNDS);
    for (int i = 0; i < SHARE + MORE; i++) {
        fds[i] = ask(service.batond.port);
        assert_int_equal(hear(fds[i], CLOCK_HANG_MS), i < SHARE ? 200 : 429);
    }
    assert_true(process_wait_line(&service.batond.process, "max-connections-per-address", NULL,
                                  line, sizeof line, CLOCK_HANG_MS));
    assert_non_null(strstr(line, "\"address\":\"127.0.0.1\""));
    for (int i = 0; i < SHARE + MORE; i++)
        close(fds[i]);
    assert_true(comes_to_answer(service.client, "/livez", 200, CLOCK_HANG_MS));
    assert_int_equal(figure(service.client, "baton_http_connections"), 1);
    assert_true(figure(service.client, "baton_http_turned_away_total") >= MORE);
    service_close(&service);
}

static void at_most_so_many_are_open_in_all_workers(void **state)
{
    static const char *const BOUNDS[] = {"--workers=3", "--max-connections=8", NULL};
    struct service service;
    int fds[SHARE];
    (void)state;
    service_open(&service, NULL, BOUNDS);
    for (int i = 0; i < SHARE; i++) {
        fds[i] = ask(service.batond.port);
        assert_int_equal(hear(fds[i], CLOCK_HANG_MS), 200);
    }
    int late = ask(service.batond.port);
    assert_int_equal(hear(late, MEANWHILE_MS), 0);
    close(fds[0]);
    assert_int_equal(hear(late, CLOCK_HANG_MS), 200);
    for (int i = 1; i < SHARE; i++)
        close(fds[i]);
    close(late);
    assert_true(comes_to_answer(service.client, "/livez", 200, CLOCK_HANG_MS));
    assert_true(figure(service.client, "baton_http_out_of_place_total") >= 1);
    service_close(&service);
}

/* Nobody goes: whoever has been idle has to make room, so that batond answers who watches over it.
 */
static void the_idle_make_room(void **state)
{
    int64_t begun = clock_ms();
    static const char *const BOUNDS[] = {"--workers=1", "--max-connections=8", NULL};
    struct service service;
    int fds[SHARE];
    (void)state;
    service_open(&service, NULL, BOUNDS);
    for (int i = 0; i < SHARE; i++) {
        fds[i] = ask(service.batond.port);
        assert_int_equal(hear(fds[i], CLOCK_HANG_MS), 200);
    }
    int late = ask(service.batond.port);
    assert_int_equal(hear(late, CLOCK_HANG_MS), 200);
    assert_true(clock_ms() - begun >= IDLE_LEAST_MS); /* before, they may be about to ask again */
    for (int i = 0; i < SHARE; i++)
        close(fds[i]);
    close(late);
    service_close(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_clients_keep_nobody_from_being_served),
        cmocka_unit_test(an_address_has_its_share_of_all_workers),
        cmocka_unit_test(at_most_so_many_are_open_in_all_workers),
        cmocka_unit_test(the_idle_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
