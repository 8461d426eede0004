/* Servers of which each has another wrong clock: what they say of one lock agrees. */
#include "tests/history/asking.h"
#include "tests/history/wrong_clock.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>

/* Fences grow from server to server, and each says of the others' holds what is true. */
static void assert_clocks_agree(struct http_client **http, int count)
{
    int64_t fence = 0;
    for (int i = 0; i < 10 * count; i++) {
        struct http_client *taker = http[i % count], *other = http[(i + 1) % count];
        assert_int_equal(ask(taker, "POST", "/locks/n?ttl=30s"), 201);
        assert_true(http_integer(taker, "fence") > fence);
        fence = http_integer(taker, "fence");
        char *token = token_of(taker);
        assert_int_equal(ask(other, "POST", "/locks/n"), 409);
        assert_in_range(member_integer(other, "holders.0.ttl_ms"), 1, 30000);
        assert_in_range(member_integer(other, "holders.0.held_ms"), 0, CLOCK_HANG_MS);
        assert_int_equal(ask_with(other, token, "PUT", "/locks/n?ttl=20s"), 200);
        assert_int_equal(ask_with(other, token, "DELETE", "/locks/n"), 200);
        assert_in_range(http_integer(other, "held_ms"), 0, CLOCK_HANG_MS);
        free(token);
    }
}

/* A hold that one server granted ends in time for another. */
static void assert_clocks_agree_on_the_end(struct http_client *taker, struct http_client *other)
{
    int64_t asked = clock_us();
    assert_int_equal(ask(taker, "POST", "/locks/n?ttl=200ms"), 201);
    int64_t granted = clock_us();
    while (ask(other, "POST", "/locks/n?ttl=100ms") == 409) {
        assert_true(clock_us() - granted < CLOCK_HANG_MS * INT64_C(1000));
        clock_sleep_ms(1);
    }
    assert_int_equal(other->reply.status, 201);
    assert_true(clock_us() - asked >= 200000 - 2000);
    clock_sleep_ms(105);
}

TEST_WITH(clocks_of_servers_decide_nothing, pair_clean, NULL)
{
    enum { SERVERS = 3 };
    static const long SHIFTS[SERVERS] = {0, 3600, -3600};
    struct pair *pair = *state;
    struct batond_process batond[SERVERS];
    struct http_client *http[SERVERS];
    struct jumping_clock clock[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        jumping_clock_open(&clock[i]);
        jumping_clock_set(&clock[i], (double)SHIFTS[i]);
        wrong_clock_start(&batond[i], pair->redis.url, &clock[i]);
        http[i] = http_client_new(batond[i].url);
        wrong_clock_assert(http[i], SHIFTS[i]);
    }
    assert_clocks_agree(http, SERVERS);
    for (int i = 0; i < SERVERS; i++)
        assert_clocks_agree_on_the_end(http[i], http[(i + 1) % SERVERS]);
    for (int i = 0; i < SERVERS; i++) {
        batond_close(&batond[i], http[i]);
        jumping_clock_close(&clock[i]);
    }
}

RUN_TESTS(pair_start, pair_stop)
