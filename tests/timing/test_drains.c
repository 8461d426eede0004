/* How soon batond ends after SIGTERM. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/raw.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { SLACK_MS = 300, GRACE_MS = 1500, ARRIVAL_MS = 2000 };

static int64_t ends_after(struct service *service, int64_t begun)
{
    assert_true(process_wait(&service->batond.process, CLOCK_HANG_MS));
    assert_int_equal(process_exit_code(&service->batond.process), 0);
    int64_t took = clock_ms() - begun;
    print_message("it has ended after %d ms\n", (int)took);
    service_close(service);
    return took;
}

static int64_t stop(struct service *service)
{
    int64_t begun = clock_ms();
    process_signal(&service->batond.process, SIGTERM);
    return ends_after(service, begun);
}

TEST(an_idle_batond_ends_at_once)
{
    struct service service;
    service_open(&service, NULL, NULL);
    answers(service.client, "GET /readyz", NULL, 200, NULL);
    assert_true(stop(&service) <= SLACK_MS);
}

/* Who waits is told, and does not keep it. */
TEST(waiters_are_answered_at_once)
{
    struct service service;
    service_open(&service, NULL, NULL);
    answers(service.client, "POST /locks/a?ttl=60s", NULL, 201, NULL);
    struct parked *waiter = parked_send(service.batond.port, NULL, "POST /locks/a?wait=50s", NULL);
    assert_true(parked_waits(waiter, 200));
    assert_true(stop(&service) <= SLACK_MS);
    parked_close(waiter);
}

TEST(a_connection_that_says_nothing_is_waited_for_a_little)
{
    struct service service;
    service_open(&service, NULL, NULL);
    int fd = raw_connect(service.batond.port);
    answers(service.client, "GET /livez", NULL, 200, NULL); /* both have been accepted */
    assert_in_range(stop(&service), ARRIVAL_MS - 100, ARRIVAL_MS + SLACK_MS);
    close(fd);
}

TEST(a_drain_takes_its_time_and_no_more)
{
    struct service service;
    service_open(&service, NULL, LIST("--drain=1500ms"));
    answers(service.client, "GET /readyz", NULL, 200, NULL);
    assert_in_range(stop(&service), GRACE_MS - 20, GRACE_MS + SLACK_MS);
}

TEST(a_frozen_redis_does_not_hold_it_up)
{
    enum { WITHIN_MS = 4000 };
    static const char REQUEST[] = "POST /locks/away HTTP/1.1\r\nHost: h\r\n\r\n";
    struct service service;
    char reply[4096];
    service_open(&service, NULL, NULL);
    answers(service.client, "GET /readyz", NULL, 200, NULL);
    int fd = raw_connect(service.batond.port);
    redis_process_freeze(&service.redis);
    assert_true(raw_send(fd, REQUEST, strlen(REQUEST)));
    int64_t begun = clock_ms();
    process_signal(&service.batond.process, SIGINT);
    raw_receive(fd, reply, sizeof reply, NULL, CLOCK_HANG_MS, NULL);
    assert_int_equal(strncmp(reply, "HTTP/1.1 503", 12), 0);
    assert_true(process_wait(&service.batond.process, CLOCK_HANG_MS));
    redis_process_thaw(&service.redis);
    assert_true(ends_after(&service, begun) <= WITHIN_MS);
    close(fd);
}
