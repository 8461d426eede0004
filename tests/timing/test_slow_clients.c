/* Slow clients: two thousand of them slow down nobody, and each is gone soon after its time. */
#include "tests/support/faults/slow.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/quantile.h"
#include "tests/support/raw.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SLACK_MS = 500 };

static void allow_many_connections(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Takes and releases locks until then, and drips now and then. Returns the 99th percentile of how
 * long a request takes, in microseconds. */
static int64_t use_locks(struct http_client *client, struct slow *slow, int64_t until)
{
    enum { SAMPLES = 100000, DRIP_MS = 500 };
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
        if (clock_ms() >= drip) {
            slow_drip(slow);
            drip += DRIP_MS;
        }
    }
    return quantile(took, count, 99);
}

/* Whoever has hung up on a reader has left it what was under way: that takes a while to read. One
 * that was not hung up on would idle for TIMEOUT_MS more. */
TEST(slow_clients_slow_down_nobody_else)
{
    enum { SLOW = 2000, GOOD_US = 50000, TIMEOUT_MS = 6000, READ_MS = 4000 };
    struct service service;
    allow_many_connections();
    service_open(&service, NULL,
                 LIST("--head-timeout=5s", "--body-timeout=5s", "--idle-timeout=6s"));
    struct slow *slow = slow_new(service.batond.port, SLOW);
    assert_non_null(slow);
    int64_t end = clock_ms() + TIMEOUT_MS + SLACK_MS;
    int64_t p99 = use_locks(service.client, slow, end);
    print_message("99th percentile: %d us\n", (int)p99);
    assert_true(p99 <= GOOD_US);
    for (enum slow_kind kind = 0; kind < SLOW_KINDS; kind++)
        while (slow_ended(slow, kind) < slow_count(slow, kind)) {
            if (clock_ms() > end + (kind == SLOW_READER ? READ_MS : 0))
                fail_msg("some of kind %d have not ended", (int)kind);
            clock_sleep_ms(10);
        }
    print_message("all have ended %d ms later\n", (int)(clock_ms() - end));
    slow_free(slow);
    service_close(&service);
}

/* Reads until the other side closes, and returns the ms by the clock then. */
static int64_t ends_at(int fd)
{
    char rest[4096];
    bool closed = false;
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (!closed && clock_ms() < until)
        raw_receive(fd, rest, sizeof rest, NULL, 1000, &closed);
    assert_true(closed);
    close(fd);
    return clock_ms();
}

static void ends_soon_after(int fd, int64_t due, const char *what)
{
    int late = (int)(ends_at(fd) - due);
    print_message("%s: ends %d ms after its time\n", what, late);
    assert_in_range(late + 2, 0, SLACK_MS);
}

static int come(const struct service *service, const char *text)
{
    int fd = raw_connect(service->batond.port);
    assert_true(fd >= 0);
    assert_true(raw_send(fd, text, strlen(text)));
    return fd;
}

TEST(slow_clients_are_gone_soon_after_their_time)
{
    static const char ASK[] = "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n";
    enum { LASTS_MS = 1000 };
    static const struct {
        const char *what, *text;
        bool first_asks;
    } CLIENTS[] = {
        {"a silent connection", "", false},
        {"half a line", "GET /l", false},
        {"half a head", "GET /livez HTTP/1.1\r\nHost: h\r\nX-Slow: ", false},
        {"half a body",
         "POST /locks/a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
         "Content-Length: 100\r\n\r\n{",
         false},
        {"an idle connection", "", true},
        {"half a line on an idle connection", "GET /l", true},
        {"half a head of a further request", "GET /livez HTTP/1.1\r\nHost: h\r\nX-Slow: ", true},
    };
    struct service service;
    service_open(&service, NULL,
                 LIST("--head-timeout=1s", "--body-timeout=1s", "--idle-timeout=1s"));
    for (size_t i = 0; i < sizeof CLIENTS / sizeof *CLIENTS; i++) {
        char reply[1024];
        int64_t begun = clock_ms();
        int fd = come(&service, CLIENTS[i].first_asks ? ASK : CLIENTS[i].text);
        if (CLIENTS[i].first_asks) {
            raw_receive(fd, reply, sizeof reply, "\"ok\"}", CLOCK_HANG_MS, NULL);
            begun = clock_ms();
            assert_true(raw_send(fd, CLIENTS[i].text, strlen(CLIENTS[i].text)));
        }
        ends_soon_after(fd, begun + LASTS_MS, CLIENTS[i].what);
    }
    service_close(&service);
}

/* The bounds are for each request: a connection that is never late lives longer than all of them.
 */
TEST(every_request_begins_the_time_anew)
{
    struct service service;
    char reply[1024];
    service_open(&service, NULL,
                 LIST("--head-timeout=1s", "--body-timeout=1s", "--idle-timeout=1s"));
    int fd = come(&service, "");
    for (int64_t begun = clock_ms(); clock_ms() < begun + 3000;) {
        static const char *const PIECES[] = {
            "POST /locks/a?owner=me&reentrant=true HTTP/1.1\r\nHost: h\r\n",
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{", "}"};
        for (size_t i = 0; i < 3; i++) {
            clock_sleep_ms(300);
            assert_true(raw_send(fd, PIECES[i], strlen(PIECES[i])));
        }
        raw_receive(fd, reply, sizeof reply, "}", CLOCK_HANG_MS, NULL);
        assert_int_equal(strncmp(reply, "HTTP/1.1 201", 12), 0);
    }
    close(fd);
    service_close(&service);
}

/* Without Nagle's algorithm and delayed acknowledgments: those show as 40 ms. */
TEST(events_of_a_stream_are_sent_at_once)
{
    enum { EVENTS = 101, LATE_US = 20000 };
    struct service service;
    int64_t took[EVENTS];
    service_open(&service, NULL, NULL);
    struct parked *stream =
        parked_send(service.batond.port, "Accept: text/event-stream", "GET /locks/a/events", NULL);
    assert_true(parked_receives(stream, "\r\n\r\n", CLOCK_HANG_MS));
    assert_true(parked_receives(stream, "data:", CLOCK_HANG_MS));
    for (int i = 0; i < EVENTS; i++) {
        int64_t begun = clock_us();
        answers(service.client, i % 2 ? "DELETE /locks/a?force=true" : "POST /locks/a", NULL,
                i % 2 ? 200 : 201, NULL);
        assert_true(parked_receives(stream, "data:", CLOCK_HANG_MS));
        took[i] = clock_us() - begun;
    }
    int64_t p75 = quantile(took, EVENTS, 75);
    print_message("an event takes %d us (75th percentile)\n", (int)p75);
    assert_true(p75 < LATE_US);
    parked_close(stream);
    service_close(&service);
}
