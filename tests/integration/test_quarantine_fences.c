/* The fences of a name grow though Redis has lost its data and its clock has gone back. */
#include "tests/support/fixtures/pair.h"

#include <time.h>

enum { NOTICED_MS = 1300 }; /* one look each second */

static const char AUTO[] = "--quarantine=auto";

/* The numbers of a name that Redis has forgotten come from its clock. */
TEST(fences_grow_though_all_is_lost_and_the_clock_goes_back)
{
    struct pair pair;
    pair_open_on_clock(&pair, 0);
    answers(pair.client[0], "POST /locks/n?ttl=100ms", NULL, 201, NULL);
    int64_t fence = member_integer(pair.client[0], "fence");
    jumping_clock_set(&pair.clock, -600);
    pair_restart(&pair);
    comes_to_grant(pair.client[1], "/locks/n?ttl=1s");
    assert_true(member_integer(pair.client[1], "fence") > fence);
    pair_close(&pair);
}

/* Nor are the last of them given again where it has an older one of the name. */
TEST(numbers_grow_though_the_newest_are_lost_and_the_clock_goes_back)
{
    struct pair pair;
    pair_open_on_clock(&pair, 0);
    answers(pair.client[0], "POST /locks/n?ttl=100ms", NULL, 201, NULL);
    redis_process_save(&pair.redis);
    comes_to_grant(pair.client[0], "/locks/n?ttl=100ms");
    int64_t fence = member_integer(pair.client[0], "fence");
    jumping_clock_set(&pair.clock, -600);
    pair_restart(&pair);
    assert_int_equal(redis_process_integer(&pair.redis, "EXISTS baton:{n}"), 1);
    answers(pair.client[1], "GET /locks/n", NULL, 200, NULL);
    assert_true(member_integer(pair.client[1], "version") > fence);
    answers(pair.client[1], "DELETE /locks/n?force=true", NULL, 200, NULL);
    comes_to_grant(pair.client[1], "/locks/n?ttl=1s");
    assert_true(member_integer(pair.client[1], "fence") > fence);
    pair_close(&pair);
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
TEST(fences_grow_though_all_is_lost_long_after_the_clock_went_back)
{
    enum { GRANTS = 5 };
    for (enum loss loss = 0; loss < LOSSES; loss++) {
        struct pair pair;
        int64_t fence = 0;
        pair_open_on_clock(&pair, 0);
        struct http_client *client = pair.client[0], *other = pair.client[1];
        answers(client, "POST /locks/before?ttl=100ms", NULL, 201, NULL);
        jumping_clock_set(&pair.clock, -600);
        struct asking asking = {client, "/locks/other?ttl=100ms"};
        assert_true(clock_wait_until(comes_to_quarantine, &asking, CLOCK_HANG_MS));
        for (int i = 0; i < GRANTS; i++) {
            comes_to_grant(client, "/locks/n?ttl=1s");
            assert_true(member_integer(client, "fence") > fence);
            fence = member_integer(client, "fence");
            answers(client, "DELETE /locks/n?force=true", NULL, 200, NULL);
        }
        for (int i = 0; i < 2; i++) { /* and that moves on with a loss, as well */
            lose_all(&pair, loss);
            comes_to_grant(i ? client : other, "/locks/n?ttl=100ms");
            print_message("lost (%d): %lld after %lld\n", loss,
                          (long long)member_integer(i ? client : other, "fence"), (long long)fence);
            assert_true(member_integer(i ? client : other, "fence") > fence);
            fence = member_integer(i ? client : other, "fence");
        }
        pair_close(&pair);
    }
}

/* Nobody has seen it go back, but what is told of a name gives it away: to both batonds, by the
 * epoch.
 */
TEST(fences_grow_though_the_clock_went_back_while_no_batond_was_there)
{
    struct pair pair;
    pair_open_on_clock(&pair, 600);
    answers(pair.client[0], "POST /locks/n", NULL, 201, NULL);
    int64_t fence = member_integer(pair.client[0], "fence");
    pair_close_batonds(&pair);
    jumping_clock_set(&pair.clock, 0);
    pair_open_batonds(&pair, AUTO);
    answers(pair.client[0], "GET /locks/n", NULL, 200, NULL);
    redis_process_await_looks(&pair.redis, 4);
    freeReplyObject(redis_process_command(&pair.redis, "FLUSHALL"));
    answers(pair.client[1], "POST /locks/n", NULL, 503, "quarantined");
    clock_sleep_ms(NOTICED_MS);
    /* By this clock the hold ends in ten minutes. */
    end_quarantine(pair.client[1]);
    comes_to_grant(pair.client[1], "/locks/n");
    assert_true(member_integer(pair.client[1], "fence") > fence);
    pair_close(&pair);
}

/* With the same clock, its numbers go on where those of the one before it had come to. */
TEST(another_run_of_redis_lets_no_fence_run_ahead_of_the_clock)
{
    enum { NAMES = 3, MARGIN_US = 200000 };
    struct pair pair;
    pair_open(&pair, NULL, "--quarantine=off");
    answers(pair.client[0], "POST /locks/n", NULL, 201, NULL);
    redis_process_await_looks(&pair.redis, 4); /* one that was quick tells enough of the clock */
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
