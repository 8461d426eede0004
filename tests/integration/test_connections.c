/* Connections: two thousand slow ones slow down nobody, and each is gone by its deadline; how many
 * there may be counts for all workers together. */
#include "tests/support/fixtures/service.h"

#include "tests/support/faults/slow.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    SLOW = 2000,
    TIMEOUT_MS = 6000, /* the longest of those below */
    BEFORE_MS = 500,
    DRIP_MS = 500,
    LATE_MS = 5000,
    SAMPLES = 100000,
    GOOD_US = 50000, /* for 99 of 100 requests */
    AS_BEFORE = 3,   /* times what they took before, where the machine has other things to do */
};

static const char *const ARGUMENTS[] = {"--head-timeout=5s", "--body-timeout=5s",
                                        "--idle-timeout=6s", NULL};

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Takes and releases locks until then, and drips now and then. Returns the 99th percentile of how
 * long a request takes, in microseconds. */
static int64_t use_locks(struct http_client *client, struct slow *slow, int64_t until)
{
    static int64_t took[SAMPLES];
    size_t count = 0;
    int64_t drip = clock_ms() + DRIP_MS;
    while (clock_ms() < until && count + 2 <= SAMPLES) {
        int64_t start = clock_us();
        answers(client, "POST /locks/quick", NULL, 201, NULL);
        int64_t middle = clock_us();
        answers(client, "DELETE /locks/quick?force=true", NULL, 200, NULL);
        took[count++] = middle - start;
        took[count++] = clock_us() - middle;
        if (slow && clock_ms() >= drip) {
            slow_drip(slow);
            drip += DRIP_MS;
        }
    }
    qsort(took, count, sizeof took[0], compare);
    return took[count * 99 / 100];
}

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

static bool all_are_open(void *client)
{
    return figure(client, "baton_http_connections") == SLOW + 1;
}

struct ending {
    struct slow *slow;
    enum slow_kind kind;
};

static bool have_all_ended(void *context)
{
    const struct ending *ending = context;
    return slow_ended(ending->slow, ending->kind) == slow_count(ending->slow, ending->kind);
}

static void allow_many_connections(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void slow_clients_slow_down_nobody_else(void **state)
{
    SKIP_UNDER_VALGRIND("it measures time");
    struct service service;
    (void)state;
    allow_many_connections();
    service_open(&service, NULL, ARGUMENTS);
    int64_t before = use_locks(service.client, NULL, clock_ms() + BEFORE_MS);
    struct slow *slow = slow_new(service.batond.port, SLOW);
    assert_non_null(slow);
    assert_true(clock_wait_until(all_are_open, service.client, LATE_MS));
    int64_t p99 = use_locks(service.client, slow, clock_ms() + TIMEOUT_MS);
    if (p99 > GOOD_US && p99 > AS_BEFORE * before)
        fail_msg("99th percentile: %ld us, and %ld us before they came", (long)p99, (long)before);

    for (int kind = 0; kind < SLOW_KINDS; kind++) {
        struct ending ending = {slow, (enum slow_kind)kind};
        if (!clock_wait_until(have_all_ended, &ending, LATE_MS))
            fail_msg("of kind %d only %zu of %zu have ended", kind, slow_ended(slow, ending.kind),
                     slow_count(slow, ending.kind));
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

enum { SHARE = 8, MORE = 4, PATIENCE_MS = 10000, MEANWHILE_MS = 300 };

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
        assert_int_equal(hear(fds[i], PATIENCE_MS), i < SHARE ? 200 : 429);
    }
    assert_true(process_wait_line(&service.batond.process, "max-connections-per-address", NULL,
                                  line, sizeof line, PATIENCE_MS));
    assert_non_null(strstr(line, "\"address\":\"127.0.0.1\""));
    for (int i = 0; i < SHARE + MORE; i++)
        close(fds[i]);
    assert_true(comes_to_answer(service.client, "/livez", 200, PATIENCE_MS));
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
        assert_int_equal(hear(fds[i], PATIENCE_MS), 200);
    }
    int late = ask(service.batond.port);
    assert_int_equal(hear(late, MEANWHILE_MS), 0);
    close(fds[0]);
    assert_int_equal(hear(late, PATIENCE_MS), 200);
    for (int i = 1; i < SHARE; i++)
        close(fds[i]);
    close(late);
    assert_true(comes_to_answer(service.client, "/livez", 200, PATIENCE_MS));
    assert_true(figure(service.client, "baton_http_out_of_place_total") >= 1);
    service_close(&service);
}

/* Nobody goes: whoever has been idle has to make room, so that batond answers who watches over it.
 */
static void the_idle_make_room(void **state)
{
    static const char *const BOUNDS[] = {"--workers=1", "--max-connections=8", NULL};
    struct service service;
    int fds[SHARE];
    (void)state;
    service_open(&service, NULL, BOUNDS);
    for (int i = 0; i < SHARE; i++) {
        fds[i] = ask(service.batond.port);
        assert_int_equal(hear(fds[i], PATIENCE_MS), 200);
    }
    int late = ask(service.batond.port);
    assert_int_equal(hear(late, MEANWHILE_MS), 0); /* they may be about to ask again */
    assert_int_equal(hear(late, PATIENCE_MS), 200);
    for (int i = 0; i < SHARE; i++)
        close(fds[i]);
    close(late);
    service_close(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_clients_slow_down_nobody_else),
        cmocka_unit_test(an_address_has_its_share_of_all_workers),
        cmocka_unit_test(at_most_so_many_are_open_in_all_workers),
        cmocka_unit_test(the_idle_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
