/* A clock of Redis that jumps ends no hold before its time, nor after: batond notices it. */
#include "locks/quarantine/clock.h"
#include "redis/types/result.h"
#include "tests/support/faults/jumping_clock.h"
#include "tests/support/fixtures/on_quorum.h"
#include "tests/support/fixtures/pair.h"
#include "tests/support/fixtures/parked.h"

#include <stdio.h>

enum {
    TTL_MS = 3000,
    LONGEST_MS = TTL_MS + 2000 + 1500, /* of a quarantine after that, with what is rounded */
    NOTICED_MS = 1300,                 /* one look each second */
};

static const char AUTO[] = "--quarantine=auto";

struct jump {
    int seconds;
    struct pair pair;
    int64_t ends, fence;
    bool is_over;
};

static void jump(struct jump *jump)
{
    jump->ends = clock_ms() + TTL_MS; /* at least */
    answers(jump->pair.client[0], "POST /locks/n?ttl=3s", NULL, 201, NULL);
    jump->fence = member_integer(jump->pair.client[0], "fence");
    jumping_clock_set(&jump->pair.clock, jump->seconds);
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
TEST(a_clock_that_jumps_makes_nobody_hold_a_lock_twice)
{
    enum { JUMPS = 3 };
    struct jump jumps[JUMPS] = {{.seconds = 60}, {.seconds = 3600}, {.seconds = -60}};
    int over = 0;
    for (size_t i = 0; i < JUMPS; i++)
        pair_open_on_clock(&jumps[i].pair, 0);
    for (size_t i = 0; i < JUMPS; i++)
        jump(&jumps[i]);
    for (; over < JUMPS; clock_sleep_ms(10)) {
        over = 0;
        for (size_t i = 0; i < JUMPS; i++)
            over += has_ended(&jumps[i]);
    }
    for (size_t i = 0; i < JUMPS; i++)
        pair_close(&jumps[i].pair);
}

/* All have noticed the jump, and none says it again. */
TEST(quarantine_of_a_clock_jump_can_be_ended)
{
    struct jump ahead = {.seconds = 3600};
    pair_open_on_clock(&ahead.pair, 0);
    answers(ahead.pair.client[1], "POST /locks/long?ttl=1h", NULL, 201, NULL);
    jump(&ahead);
    redis_process_await_looks(&ahead.pair.redis, 4);
    end_quarantine(ahead.pair.client[0]);
    for (int i = 0; i < 2; i++)
        comes_to_grant(ahead.pair.client[i], i == 0 ? "/locks/a" : "/locks/b");
    clock_sleep_ms(NOTICED_MS);
    for (int i = 0; i < 2; i++)
        answers(ahead.pair.client[i], i == 0 ? "POST /locks/c" : "POST /locks/d", NULL, 201, NULL);
    pair_close(&ahead.pair);
}

/* By the clock that is set right again, the end of the first quarantine is an hour away. */
TEST(clock_that_is_set_right_begins_no_quarantine_of_the_way_back)
{
    struct jump ahead = {.seconds = 3600};
    pair_open_on_clock(&ahead.pair, 0);
    jump(&ahead);
    comes_to_grant(ahead.pair.client[0], "/locks/other?ttl=100ms");
    redis_process_await_looks(&ahead.pair.redis, 4); /* all have seen that it is over */
    jumping_clock_set(&ahead.pair.clock, 0);
    for (int i = 0; i < 2; i++) {
        struct asking asking = {ahead.pair.client[i], "/locks/another?ttl=100ms"};
        assert_true(clock_wait_until(comes_to_quarantine, &asking, CLOCK_HANG_MS));
        assert_in_range(quarantine_left_ms(asking.client), 0, LONGEST_MS);
    }
    comes_to_grant(ahead.pair.client[1], "/locks/another?ttl=100ms");
    pair_close(&ahead.pair);
}

TEST(no_time_that_has_passed_is_less_than_none)
{
    struct pair pair;
    char token[TOKEN_TEXT];
    pair_open_on_clock(&pair, 0);
    struct http_client *client = pair.client[0];
    acquire_lock(client, "n?ttl=60s", token);
    jumping_clock_set(&pair.clock, -60);
    answers(client, "GET /locks/n", NULL, 200, NULL);
    assert_in_range(member_integer(client, "holders.0.held_ms"), 0, CLOCK_HANG_MS);
    release_lock(client, token, "n");
    assert_in_range(member_integer(client, "held_ms"), 0, CLOCK_HANG_MS);
    jumping_clock_set(&pair.clock, -120);
    answers(client, "GET /locks/n", NULL, 200, NULL);
    assert_in_range(member_integer(client, "last_release.ago_ms"), 0, CLOCK_HANG_MS);
    pair_close(&pair);
}

/* A Redis that is slow for a while is no jump, and its calls are made all the same. */
TEST(a_slow_redis_is_no_jump)
{
    struct pair pair;
    pair_open(&pair, NULL, AUTO);
    answers(pair.client[0], "POST /locks/n?ttl=1m", NULL, 201, NULL);
    for (int i = 0; i < 3; i++) {
        char request[40];
        snprintf(request, sizeof request, "POST /locks/slow-%d", i);
        int64_t begun = clock_ms();
        redis_process_freeze(&pair.redis);
        struct parked *asks = parked_send(pair.batond[0].port, NULL, request, NULL);
        clock_sleep_ms(CLOCK_JUMP_US / 1000 + 150);
        redis_process_thaw(&pair.redis);
        long status = parked_answer(asks, CLOCK_HANG_MS);
        if (clock_ms() - begun < redis_patience_ms()) /* or the machine is slow as well */
            assert_int_equal(status, 201);
        parked_close(asks);
    }
    pair_close(&pair);
}

/* One batond sees the clock ahead, which is right again before the other has looked. */
TEST(a_clock_that_jumps_there_and_back_ends_nothing)
{
    enum { TRIES = 4, STEP_MS = 230, LONG_MS = 5 * 60 * 1000 };
    for (int i = 0; i < TRIES; i++) {
        struct pair pair;
        pair_open_on_clock(&pair, 0);
        answers(pair.client[0], "POST /locks/n?ttl=5m", NULL, 201, NULL);
        clock_sleep_ms(1000 + i * STEP_MS); /* the looks are at some time of each second */
        jumping_clock_set(&pair.clock, 3600);
        http_call(pair.client[0], "GET", "/locks/n", NULL); /* it ends the hold */
        jumping_clock_set(&pair.clock, 0);
        assert_int_not_equal(http_call(pair.client[1], "POST", "/locks/n?ttl=5m", NULL), 201);
        if (pair.client[1]->reply.status == 503) {
            assert_string_equal(http_text(pair.client[1], "code"), "quarantined");
            assert_string_equal(http_text(pair.client[1], "reason"), "clock");
            assert_in_range(quarantine_left_ms(pair.client[1]), LONG_MS - CLOCK_HANG_MS,
                            2 * LONG_MS);
        }
        pair_close(&pair);
    }
}

/* A member of a quorum is asked to raise its span before it is asked for the hold. Its epoch goes
 * on to the next window then, and no longer says what the window before the last one had. */
TEST(jump_that_a_longer_ttl_meets_first_forgets_no_hold)
{
    enum { LONG_MS = 30 * 60 * 1000 };
    struct jumping_clock clock;
    struct quorum_servers servers;
    struct batond_process batond;
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    jumping_clock_open(&clock);
    quorum_servers_start_on(&servers, &(struct quorum_options){.environment = {clock.environment}});
    struct http_client *client = batond_open(&batond, servers.url, LIST("--workers=1", AUTO));
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    await_up(client, "5 of 5");
    answers(client, "POST /locks/n?ttl=1m", NULL, 201, NULL);
    freeReplyObject(
        redis_process_command(&servers.members[0], "HSET baton:epoch before %d000", LONG_MS));
    do {
        assert_true(clock_ms() < until);
        answers(client, "GET /quarantine", NULL, 200, NULL);
    } while (member_integer(client, "loss_would_cost_ms") < LONG_MS);
    jumping_clock_set(&clock, 7200);
    answers(client, "POST /locks/m?ttl=2m", NULL, 201, NULL);
    do {
        assert_true(clock_ms() < until);
        answers(client, "GET /quarantine", NULL, 200, NULL);
    } while (json_array_size(member(client, "servers")) == 0);
    const json_t *server = json_array_get(member(client, "servers"), 0);
    assert_in_range(json_integer_value(json_object_get(server, "left_ms")), LONG_MS - CLOCK_HANG_MS,
                    2 * LONG_MS);
    batond_close(&batond, client);
    quorum_servers_stop(&servers);
    jumping_clock_close(&clock);
}
