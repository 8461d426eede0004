/* How soon the loss of Redis is noticed and told, and how soon it is over. */
#include "redis/node/inbox.h"
#include "redis/wire/session.h"
#include "tests/support/faults/fake_redis.h"
#include "tests/support/fixtures/service.h"
#include "tests/support/fixtures/store_fixture.h"
#include "tests/support/quantile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 3, SLACK_MS = 150 };

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";

/* The median of what the rounds took is at most `most_ms`. */
static void expect_median(int64_t took[ROUNDS], int64_t most_ms)
{
    int64_t median = quantile(took, ROUNDS, 50);
    print_message("%d ms (median), at most %d\n", (int)median, (int)most_ms);
    assert_true(median <= most_ms);
}

/* Calls end at their deadline, and those that come later at once. */
TEST(a_call_to_a_frozen_redis_ends_at_its_deadline)
{
    struct redis_process redis;
    struct store_fixture store;
    struct outcome frozen, unsent;
    int64_t took[ROUNDS];
    redis_process_start(&redis, NULL);
    store_fixture_open_up(&store, redis.url);
    for (int i = 0; i < ROUNDS; i++) {
        redis_process_freeze(&redis);
        store_fixture_call(&store, &frozen, fixture_script(COUNT), "a", "");
        store_fixture_await(&store, &store.ended, 2 * i + 1);
        store_fixture_call(&store, &unsent, fixture_script(COUNT), "a", "");
        store_fixture_await(&store, &store.ended, 2 * i + 2);
        redis_process_thaw(&redis);
        assert_int_equal(frozen.outcome, STORE_IN_DOUBT);
        assert_int_equal(unsent.outcome, STORE_UNSENT);
        assert_true(unsent.took_ms <= SLACK_MS);
        took[i] = frozen.took_ms;
        store_fixture_await(&store, &store.ups, i + 2);
    }
    expect_median(took, REDIS_TIMEOUT_MS + SLACK_MS);
    store_fixture_close(&store);
    redis_process_stop(&redis);
}

TEST(a_frozen_redis_is_noticed_without_a_call)
{
    struct redis_process redis;
    struct store_fixture store;
    int64_t took[ROUNDS];
    redis_process_start(&redis, NULL);
    store_fixture_open_listening(&store, redis.url, "baton:inbox:0123456789abcdef");
    for (int i = 0; i < ROUNDS; i++) {
        redis_process_freeze(&redis);
        int64_t begun = clock_ms();
        store_fixture_await(&store, &store.warnings, i + 1);
        took[i] = clock_ms() - begun;
        redis_process_thaw(&redis);
        store_fixture_await(&store, &store.listenings, i + 2);
    }
    expect_median(took, INBOX_PING_MS + REDIS_TIMEOUT_MS + SLACK_MS);
    store_fixture_close(&store);
    redis_process_stop(&redis);
}

TEST(a_server_that_says_nothing_is_given_up)
{
    static const struct fake_answers SILENT = {.welcome = NULL};
    struct fake_redis fake;
    int64_t took[ROUNDS];
    fake_redis_start(&fake, &SILENT);
    for (int i = 0; i < ROUNDS; i++) {
        struct store_fixture store;
        int64_t begun = clock_ms();
        store_fixture_open(&store, fake.url);
        store_fixture_await(&store, &store.downs, 1);
        took[i] = clock_ms() - begun;
        store_fixture_close(&store);
    }
    expect_median(took, REDIS_TIMEOUT_MS * 5 / 4 + SLACK_MS);
    fake_redis_stop(&fake);
}

/* The pauses between tries have grown, and are short again once a connection has been steady. */
TEST(a_steady_connection_is_replaced_at_once)
{
    enum { AT_ONCE_MS = 250 };
    struct redis_process redis;
    struct store_fixture store;
    int64_t took[ROUNDS];
    redis_process_start(&redis, NULL);
    store_fixture_open_up(&store, redis.url);
    for (int i = 0; i < ROUNDS; i++) {
        int ups = store.ups;
        redis_process_kill(&redis);
        store_fixture_idle(&store, 1600);
        redis_process_resume(&redis);
        store_fixture_await(&store, &store.ups, ups + 1);
        store_fixture_idle(&store, 1100);
        int64_t begun = clock_ms();
        freeReplyObject(redis_process_command(&redis, "CLIENT KILL TYPE normal SKIPME yes"));
        store_fixture_await(&store, &store.ups, ups + 2);
        took[i] = clock_ms() - begun;
    }
    expect_median(took, AT_ONCE_MS);
    store_fixture_close(&store);
    redis_process_stop(&redis);
}

/* docs/guarantees.md: 503 within a second. */
TEST(a_stuck_redis_is_reported_within_a_second)
{
    static const char *const OPERATIONS[] = {
        "POST /locks/a", "PUT /locks/a", "DELETE /locks/a", "DELETE /locks/a?force=true",
        "GET /locks/a",  "GET /locks",   "GET /readyz",
    };
    enum { COUNT_OF = sizeof OPERATIONS / sizeof *OPERATIONS, WITHIN_MS = 1000 };
    struct service service;
    for (size_t i = 0; i < COUNT_OF; i++) { /* each is the first to meet it */
        service_open(&service, NULL, NULL);
        answers(service.client, "GET /readyz", NULL, 200, NULL);
        redis_process_freeze(&service.redis);
        int64_t begun = clock_ms();
        const char *token =
            strstr(OPERATIONS[i], "force") ? NULL : "Lock-Token: my-token-0123456789abcdef";
        answers_with(service.client, token, OPERATIONS[i], NULL, 503, "store_unavailable");
        int64_t took = clock_ms() - begun;
        print_message("%s: %d ms\n", OPERATIONS[i], (int)took);
        assert_true(took <= WITHIN_MS);
        begun = clock_ms();
        answers(service.client, "POST /locks/b", NULL, 503, "store_unavailable");
        assert_true(clock_ms() - begun <= WITHIN_MS);
        redis_process_thaw(&service.redis);
        service_close(&service);
    }
}

static double cpu_seconds(pid_t pid)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
           &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* It tries again and again, and does not spin. It is back soon after Redis is. */
TEST(a_redis_that_is_away_costs_little)
{
    enum { AWAY_MS = 2000, BACK_MS = 1500 };
    struct service service;
    service_open(&service, &(struct redis_options){.durable = true}, NULL);
    answers(service.client, "GET /readyz", NULL, 200, NULL);
    redis_process_halt(&service.redis);
    double before = cpu_seconds(service.batond.process.pid);
    clock_sleep_ms(AWAY_MS);
    double used = cpu_seconds(service.batond.process.pid) - before;
    print_message("%.2f s of the processor in %d ms\n", used, AWAY_MS);
    assert_true(used < 0.2);
    redis_process_resume(&service.redis);
    int64_t begun = clock_ms();
    assert_true(comes_to_answer(service.client, "/readyz", 200, CLOCK_HANG_MS));
    assert_true(clock_ms() - begun <= BACK_MS);
    service_close(&service);
}
