/* A clock of Redis that jumps ends no hold before its time, nor after: batond notices it. */
#include "locks/quarantine/clock.h"
#include "redis/types/result.h"
#include "tests/support/faults/jumping_clock.h"
#include "tests/support/fixtures/pair.h"
#include "tests/support/fixtures/parked.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    TTL_MS = 3000,
    NOTICED_MS = 1300, /* one look each second */
};

static const char AUTO[] = "--quarantine=auto";

struct jump {
    int seconds;
    struct jumping_clock clock;
    struct pair pair;
    int64_t ends, fence;
    bool is_over;
};

static void jump(struct jump *jump)
{
    jump->ends = clock_ms() + TTL_MS; /* at least */
    answers(jump->pair.client[0], "POST /locks/n?ttl=3s", NULL, 201, NULL);
    jump->fence = member_integer(jump->pair.client[0], "fence");
    jumping_clock_set(&jump->clock, jump->seconds);
    struct http_client *client = jump->pair.client[1];
    struct asking asking = {client, "/locks/other?ttl=100ms"};
    assert_true(clock_wait_until(comes_to_quarantine, &asking, CLOCK_HANG_MS));
    assert_string_equal(member_text(client, "reason"), "clock");
    /* Where it has gone back, Redis still knows the hold, and keeps it for that much longer. */
    if (jump->seconds < 0)
        answers(client, "DELETE /locks/n?force=true", NULL, 200, NULL);
}

static bool has_ended(struct jump *jump)
{
    struct http_client *client = jump->pair.client[1];
    if (!jump->is_over &&
        is_granted_between(client, "/locks/n?ttl=1s", jump->ends, jump->ends + CLOCK_HANG_MS)) {
        jump->is_over = true;
        assert_true(member_integer(client, "fence") > jump->fence);
    }
    return jump->is_over;
}

/* Of three Redis, while each of them is waited for. */
static void a_clock_that_jumps_makes_nobody_hold_a_lock_twice(void **state)
{
    enum { JUMPS = 3 };
    struct jump jumps[JUMPS] = {{.seconds = 60}, {.seconds = 3600}, {.seconds = -60}};
    int over = 0;
    (void)state;
    for (size_t i = 0; i < JUMPS; i++) {
        jumping_clock_open(&jumps[i].clock);
        pair_open(&jumps[i].pair,
                  &(struct redis_options){.environment = jumps[i].clock.environment}, AUTO);
    }
    for (size_t i = 0; i < JUMPS; i++)
        jump(&jumps[i]);
    for (; over < JUMPS; clock_sleep_ms(10)) {
        over = 0;
        for (size_t i = 0; i < JUMPS; i++)
            over += has_ended(&jumps[i]);
    }
    for (size_t i = 0; i < JUMPS; i++) {
        pair_close(&jumps[i].pair);
        jumping_clock_close(&jumps[i].clock);
    }
}

static bool is_granted(void *context)
{
    const struct asking *asking = context;
    return http_call(asking->client, "POST", asking->path, NULL) == 201;
}

/* All have noticed the jump, and none says it again. */
static void what_a_jump_has_begun_can_be_ended(void **state)
{
    struct jump ahead = {.seconds = 3600};
    (void)state;
    jumping_clock_open(&ahead.clock);
    pair_open(&ahead.pair, &(struct redis_options){.environment = ahead.clock.environment}, AUTO);
    answers(ahead.pair.client[1], "POST /locks/long?ttl=1h", NULL, 201, NULL);
    jump(&ahead);
    clock_sleep_ms(NOTICED_MS);
    answers(ahead.pair.client[0], "DELETE /quarantine?reason=a+test", NULL, 200, NULL);
    for (int i = 0; i < 2; i++) {
        struct asking asking = {ahead.pair.client[i], i == 0 ? "/locks/a" : "/locks/b"};
        assert_true(clock_wait_until(is_granted, &asking, CLOCK_HANG_MS));
    }
    clock_sleep_ms(NOTICED_MS);
    for (int i = 0; i < 2; i++)
        answers(ahead.pair.client[i], i == 0 ? "POST /locks/c" : "POST /locks/d", NULL, 201, NULL);
    pair_close(&ahead.pair);
    jumping_clock_close(&ahead.clock);
}

static void no_time_that_has_passed_is_less_than_none(void **state)
{
    struct jumping_clock clock;
    struct pair pair;
    char token[TOKEN_TEXT];
    (void)state;
    jumping_clock_open(&clock);
    pair_open(&pair, &(struct redis_options){.environment = clock.environment}, AUTO);
    struct http_client *client = pair.client[0];
    answers(client, "POST /locks/n?ttl=60s", NULL, 201, NULL);
    keep_token(client, token);
    jumping_clock_set(&clock, -60);
    answers(client, "GET /locks/n", NULL, 200, NULL);
    assert_in_range(member_integer(client, "holders.0.held_ms"), 0, CLOCK_HANG_MS);
    answers_token(client, token, "DELETE /locks/n", NULL, 200, NULL);
    assert_in_range(member_integer(client, "held_ms"), 0, CLOCK_HANG_MS);
    jumping_clock_set(&clock, -120);
    answers(client, "GET /locks/n", NULL, 200, NULL);
    assert_in_range(member_integer(client, "last_release.ago_ms"), 0, CLOCK_HANG_MS);
    pair_close(&pair);
    jumping_clock_close(&clock);
}

/* The numbers of a name that Redis has forgotten come from its clock. */
static void fences_grow_though_all_is_lost_and_the_clock_goes_back(void **state)
{
    struct jumping_clock clock;
    struct pair pair;
    (void)state;
    jumping_clock_open(&clock);
    pair_open(&pair, &(struct redis_options){.environment = clock.environment}, AUTO);
    answers(pair.client[0], "POST /locks/n?ttl=100ms", NULL, 201, NULL);
    int64_t fence = member_integer(pair.client[0], "fence");
    jumping_clock_set(&clock, -600);
    pair_restart(&pair);
    assert_granted_between(pair.client[1], "/locks/n?ttl=1s", 0, clock_ms() + CLOCK_HANG_MS);
    assert_true(member_integer(pair.client[1], "fence") > fence);
    pair_close(&pair);
    jumping_clock_close(&clock);
}

/* Nor are the last of them given again where it has an older one of the name. */
static void fences_grow_though_the_newest_are_lost_and_the_clock_goes_back(void **state)
{
    struct jumping_clock clock;
    struct pair pair;
    (void)state;
    jumping_clock_open(&clock);
    pair_open(&pair, &(struct redis_options){.environment = clock.environment}, AUTO);
    answers(pair.client[0], "POST /locks/n?ttl=100ms", NULL, 201, NULL);
    redis_process_save(&pair.redis);
    assert_granted_between(pair.client[0], "/locks/n?ttl=100ms", 0, clock_ms() + CLOCK_HANG_MS);
    int64_t fence = member_integer(pair.client[0], "fence");
    jumping_clock_set(&clock, -600);
    pair_restart(&pair);
    assert_int_equal(redis_process_integer(&pair.redis, "EXISTS baton:{n}"), 1);
    answers(pair.client[1], "DELETE /locks/n?force=true", NULL, 200, NULL);
    assert_granted_between(pair.client[1], "/locks/n?ttl=1s", 0, clock_ms() + CLOCK_HANG_MS);
    assert_true(member_integer(pair.client[1], "fence") > fence);
    pair_close(&pair);
    jumping_clock_close(&clock);
}

/* What becomes of all that Redis has. */
enum loss { FLUSHED, RESTARTED, LOSSES };

static void lose_all(struct pair *pair, enum loss loss)
{
    if (loss == FLUSHED)
        freeReplyObject(redis_process_command(&pair->redis, "FLUSHALL"));
    else
        pair_restart(pair);
}

/* Its numbers run ahead of the clock then, and go on: what is above them moves with them. Before
 * anybody has noticed, and of the batond that did not grant them, too. */
static void fences_grow_though_all_is_lost_long_after_the_clock_went_back(void **state)
{
    enum { GRANTS = 5 };
    (void)state;
    for (enum loss loss = 0; loss < LOSSES; loss++) {
        struct jumping_clock clock;
        struct pair pair;
        int64_t fence = 0;
        jumping_clock_open(&clock);
        pair_open(&pair, &(struct redis_options){.environment = clock.environment}, AUTO);
        struct http_client *client = pair.client[0], *other = pair.client[1];
        answers(client, "POST /locks/before?ttl=100ms", NULL, 201, NULL);
        jumping_clock_set(&clock, -600);
        struct asking asking = {client, "/locks/other?ttl=100ms"};
        assert_true(clock_wait_until(comes_to_quarantine, &asking, CLOCK_HANG_MS));
        for (int i = 0; i < GRANTS; i++) {
            assert_granted_between(client, "/locks/n?ttl=1s", 0, clock_ms() + CLOCK_HANG_MS);
            assert_true(member_integer(client, "fence") > fence);
            fence = member_integer(client, "fence");
            answers(client, "DELETE /locks/n?force=true", NULL, 200, NULL);
        }
        for (int i = 0; i < 2; i++) { /* and that moves on with a loss, as well */
            lose_all(&pair, loss);
            assert_granted_between(i ? client : other, "/locks/n?ttl=100ms", 0,
                                   clock_ms() + CLOCK_HANG_MS);
            print_message("lost (%d): %lld after %lld\n", loss,
                          (long long)member_integer(i ? client : other, "fence"), (long long)fence);
            assert_true(member_integer(i ? client : other, "fence") > fence);
            fence = member_integer(i ? client : other, "fence");
        }
        pair_close(&pair);
        jumping_clock_close(&clock);
    }
}

/* Nobody has seen it go back, but what is told of a name gives it away: to both batonds, by the
 * record.
 */
static void fences_grow_though_the_clock_went_back_while_no_batond_was_there(void **state)
{
    struct jumping_clock clock;
    struct pair pair;
    (void)state;
    jumping_clock_open(&clock);
    jumping_clock_set(&clock, 600);
    pair_open(&pair, &(struct redis_options){.environment = clock.environment}, AUTO);
    answers(pair.client[0], "POST /locks/n", NULL, 201, NULL);
    int64_t fence = member_integer(pair.client[0], "fence");
    pair_close_batonds(&pair);
    jumping_clock_set(&clock, 0);
    pair_open_batonds(&pair, AUTO);
    answers(pair.client[0], "GET /locks/n", NULL, 200, NULL);
    clock_sleep_ms(2 * NOTICED_MS); /* nothing tells when the other one has looked */
    freeReplyObject(redis_process_command(&pair.redis, "FLUSHALL"));
    answers(pair.client[1], "POST /locks/n", NULL, 503, "quarantined");
    clock_sleep_ms(NOTICED_MS);
    /* By this clock the hold ends in ten minutes. */
    answers(pair.client[1], "DELETE /quarantine?reason=it%20is%20over", NULL, 200, NULL);
    assert_granted_between(pair.client[1], "/locks/n", 0, clock_ms() + CLOCK_HANG_MS);
    assert_true(member_integer(pair.client[1], "fence") > fence);
    pair_close(&pair);
    jumping_clock_close(&clock);
}

/* A Redis that is slow for a while is no jump, and its calls are made all the same. */
static void a_slow_redis_is_no_jump(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, NULL, AUTO);
    answers(pair.client[0], "POST /locks/n?ttl=1m", NULL, 201, NULL);
    for (int i = 0; i < 3; i++) {
        char request[40];
        snprintf(request, sizeof request, "POST /locks/slow-%d", i);
        int64_t begun = clock_ms();
        redis_process_freeze(&pair.redis);
        struct parked *asks = parked_send(pair.batond[0].port, NULL, request, NULL);
        clock_sleep_ms((CLOCK_JUMP_US / 1000 + STORE_DEADLINE_MS) / 2);
        redis_process_thaw(&pair.redis);
        long status = parked_answer(asks, CLOCK_HANG_MS);
        if (clock_ms() - begun < STORE_DEADLINE_MS) /* or the machine is slow as well */
            assert_int_equal(status, 201);
        parked_close(asks);
    }
    pair_close(&pair);
}

/* One batond sees the clock ahead, which is right again before the other has looked. */
static void a_clock_that_jumps_there_and_back_ends_nothing(void **state)
{
    enum { TRIES = 4, STEP_MS = 230, LONG_MS = 5 * 60 * 1000 };
    (void)state;
    for (int i = 0; i < TRIES; i++) {
        struct jumping_clock clock;
        struct pair pair;
        jumping_clock_open(&clock);
        pair_open(&pair, &(struct redis_options){.environment = clock.environment}, AUTO);
        answers(pair.client[0], "POST /locks/n?ttl=5m", NULL, 201, NULL);
        clock_sleep_ms(1000 + i * STEP_MS); /* the looks are at some time of each second */
        jumping_clock_set(&clock, 3600);
        http_call(pair.client[0], "GET", "/locks/n", NULL); /* it ends the hold */
        jumping_clock_set(&clock, 0);
        assert_int_not_equal(http_call(pair.client[1], "POST", "/locks/n?ttl=5m", NULL), 201);
        if (pair.client[1]->reply.status == 503) {
            assert_string_equal(http_text(pair.client[1], "code"), "quarantined");
            assert_string_equal(http_text(pair.client[1], "reason"), "clock");
            assert_in_range(http_integer(pair.client[1], "retry_after_ms"), LONG_MS - CLOCK_HANG_MS,
                            2 * LONG_MS);
        }
        pair_close(&pair);
        jumping_clock_close(&clock);
    }
}

/* With the same clock, its numbers go on where those of the one before it had come to. */
static void another_run_of_redis_lets_no_fence_run_ahead_of_the_clock(void **state)
{
    enum { NAMES = 3, MARGIN_US = 200000 };
    struct pair pair;
    (void)state;
    pair_open(&pair, NULL, "--quarantine=off");
    answers(pair.client[0], "POST /locks/n", NULL, 201, NULL);
    redis_process_kill(&pair.redis);
    redis_process_resume(&pair.redis);
    for (int i = 0; i < 2; i++)
        assert_true(comes_to_answer(pair.client[i], "/readyz", 200, CLOCK_HANG_MS));
    for (int i = 0; i < NAMES; i++) { /* at first nothing is known of the name, then its end */
        struct timespec now;
        answers(pair.client[i % 2], "POST /locks/n", NULL, 201, NULL);
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t now_us = now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
        assert_true(member_integer(pair.client[i % 2], "fence") < now_us + MARGIN_US);
        answers(pair.client[i % 2], "DELETE /locks/n?force=true", NULL, 200, NULL);
    }
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_time_that_has_passed_is_less_than_none),
        cmocka_unit_test(what_a_jump_has_begun_can_be_ended),
        cmocka_unit_test(a_clock_that_jumps_makes_nobody_hold_a_lock_twice),
        cmocka_unit_test(fences_grow_though_all_is_lost_and_the_clock_goes_back),
        cmocka_unit_test(fences_grow_though_the_newest_are_lost_and_the_clock_goes_back),
        cmocka_unit_test(fences_grow_though_all_is_lost_long_after_the_clock_went_back),
        cmocka_unit_test(fences_grow_though_the_clock_went_back_while_no_batond_was_there),
        cmocka_unit_test(a_slow_redis_is_no_jump),
        cmocka_unit_test(a_clock_that_jumps_there_and_back_ends_nothing),
        cmocka_unit_test(another_run_of_redis_lets_no_fence_run_ahead_of_the_clock),
    };
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
