/* What confirmed grants cost, and what they do not cost others. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/fixtures/replicated.h"
#include "tests/support/quantile.h"

#include <stdio.h>

enum {
    WAY_MS = 10, /* to a replica, and as much back */
    TIMEOUT_MS = 500,
    LATE_MS = 100,
    PROBES = 200,
    CROWD = 16,
    LINE = 200,
};

static int start(void **state)
{
    static struct replicated all;
    replicated_open(&all, WAY_MS, LIST("--confirm-timeout=500ms"));
    *state = &all;
    return 0;
}

static int stop(void **state)
{
    replicated_close(*state);
    return 0;
}

static void await_hold(struct replicated *all, const char *name)
{
    while (redis_process_integer(&all->primary, "EXISTS baton:{%s}", name) == 0)
        clock_sleep_ms(1);
}

TEST(too_few_replicas_are_reported_in_time)
{
    struct replicated *all = *state;
    redis_process_freeze(&all->replicas[0]);
    int64_t begun = clock_ms();
    answers(all->client, "POST /locks/short?confirm=replicas:2", NULL, 503, "unconfirmed");
    assert_in_range(clock_ms() - begun, TIMEOUT_MS - 5, TIMEOUT_MS + LATE_MS);
    redis_process_thaw(&all->replicas[0]);
}

/* Sooner than its wait for replicas would end. */
TEST(a_client_that_hangs_up_meanwhile_leaves_the_lock_to_the_next)
{
    struct replicated *all = *state;
    redis_process_freeze(&all->replicas[0]);
    struct parked *gone = parked_send(all->batond.port, NULL,
                                      "POST /locks/gone?wait=50s&ttl=10m&confirm=replicas:2", NULL);
    await_hold(all, "gone");
    int64_t begun = clock_ms();
    parked_close(gone);
    answers(all->client, "POST /locks/gone?wait=50s", NULL, 201, NULL);
    assert_in_range(clock_ms() - begun, 0, TIMEOUT_MS / 2);
    redis_process_thaw(&all->replicas[0]);
}

/* How long requests take that ask for no confirmation, in microseconds. */
static void probe(struct http_client *client, const char *when, int64_t latencies[PROBES])
{
    char path[LINE];
    for (int i = 0; i < PROBES; i++) {
        snprintf(path, sizeof path, "/locks/probe-%s-%d?ttl=1s", when, i);
        int64_t begun = clock_us();
        assert_int_equal(http_call(client, "POST", path, NULL), 201);
        latencies[i] = clock_us() - begun;
    }
}

TEST(others_do_not_wait_for_replicas)
{
    struct replicated *all = *state;
    struct parked *crowd[CROWD];
    int64_t alone[PROBES], beside[PROBES];
    char request[LINE];
    probe(all->client, "alone", alone);
    redis_process_freeze(&all->replicas[0]);
    for (int i = 0; i < CROWD; i++) {
        snprintf(request, sizeof request, "POST /locks/pending-%d?confirm=replicas:2&wait=1s", i);
        crowd[i] = parked_send(all->batond.port, NULL, request, NULL);
    }
    await_hold(all, "pending-0");
    int64_t begun = clock_ms();
    answers(all->client, "POST /locks/beside?confirm=replicas:1", NULL, 201, NULL);
    assert_true(clock_ms() - begun < TIMEOUT_MS / 2); /* it does not wait for two */
    probe(all->client, "beside", beside);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(parked_answer(crowd[i], CLOCK_HANG_MS), 503);
        parked_close(crowd[i]);
    }
    redis_process_thaw(&all->replicas[0]);
    print_message("%d requests while %d are being confirmed: median %lld us, 99 %% %lld us; alone: "
                  "%lld us, %lld us\n",
                  PROBES, CROWD, (long long)quantile(beside, PROBES, 50),
                  (long long)quantile(beside, PROBES, 99), (long long)quantile(alone, PROBES, 50),
                  (long long)quantile(alone, PROBES, 99));
    assert_true(quantile(beside, PROBES, 50) < 3 * quantile(alone, PROBES, 50) + 5000);
    assert_true(quantile(beside, PROBES, 99) < TIMEOUT_MS * 1000 / 2);
}

RUN_TESTS(start, stop)
