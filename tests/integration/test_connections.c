/* How many connections there may be counts for all workers together. That slow clients keep nobody
 * from being served, tests/server/test_slow.c and tests/timing/test_slow_clients.c show. */
#include "tests/support/fixtures/service.h"

#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static int receive_status(int fd, int timeout_ms)
{
    char reply[64];
    raw_receive(fd, reply, sizeof reply, "\r\n", timeout_ms, NULL);
    return strncmp(reply, "HTTP/1.1 ", 9) == 0 ? atoi(reply + 9) : 0;
}

enum { SHARE = 8, MORE = 4, MEANWHILE_MS = 300, IDLE_LEAST_MS = 1000 };

TEST(address_has_its_share_of_all_workers)
{
    struct service service;
    int fds[SHARE + MORE];
    char line[512];
    service_open(&service, NULL,
                 LIST("--workers=3", "--trusted-proxies=", "--max-connections-per-address=8"));
    for (int i = 0; i < SHARE + MORE; i++) {
        fds[i] = ask(service.batond.port);
        assert_int_equal(receive_status(fds[i], CLOCK_HANG_MS), i < SHARE ? 200 : 429);
    }
    assert_true(process_wait_line(&service.batond.process, "max-connections-per-address", NULL,
                                  line, sizeof line, CLOCK_HANG_MS));
    assert_non_null(strstr(line, "\"address\":\"127.0.0.1\""));
    for (int i = 0; i < SHARE + MORE; i++)
        close(fds[i]);
    assert_true(comes_to_answer(service.client, "/livez", 200, CLOCK_HANG_MS));
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (metric_of(service.client, "baton_http_connections") !=
           1) /* each worker hears of its own */
        assert_true(clock_ms() < until);
    assert_true(metric_of(service.client, "baton_http_turned_away_total") >= MORE);
    service_close(&service);
}

/* Opens a batond that has room for a share of connections, which are all taken, and asks on one
 * more. */
static int ask_when_full(struct service *service, const char *workers, int fds[SHARE])
{
    service_open(service, NULL, LIST(workers, "--max-connections=8"));
    for (int i = 0; i < SHARE; i++) {
        fds[i] = ask(service->batond.port);
        assert_int_equal(receive_status(fds[i], CLOCK_HANG_MS), 200);
    }
    return ask(service->batond.port);
}

TEST(max_connections_counts_all_workers)
{
    struct service service;
    int fds[SHARE];
    int64_t begun = clock_ms();
    int late = ask_when_full(&service, "--workers=3", fds);
    int early = receive_status(late, MEANWHILE_MS);
    if (early != 0) /* the others have been idle for so long that they make room */
        assert_true(clock_ms() - begun >= IDLE_LEAST_MS);
    close(fds[0]);
    assert_int_equal(early != 0 ? early : receive_status(late, CLOCK_HANG_MS), 200);
    for (int i = 1; i < SHARE; i++)
        close(fds[i]);
    close(late);
    assert_true(comes_to_answer(service.client, "/livez", 200, CLOCK_HANG_MS));
    assert_true(metric_of(service.client, "baton_http_out_of_place_total") >= 1);
    service_close(&service);
}

/* Nobody goes: whoever has been idle has to make room, so that batond answers who watches over it.
 */
TEST(idle_connections_make_room)
{
    int64_t begun = clock_ms();
    struct service service;
    int fds[SHARE];
    int late = ask_when_full(&service, "--workers=1", fds);
    assert_int_equal(receive_status(late, CLOCK_HANG_MS), 200);
    assert_true(clock_ms() - begun >= IDLE_LEAST_MS); /* before, they may be about to ask again */
    for (int i = 0; i < SHARE; i++)
        close(fds[i]);
    close(late);
    service_close(&service);
}
