/* What becomes of the place or the hold of a request that ends. */
#include "tests/scripts/scripts.h"

#include "tests/support/cmocka.h"

#include <string.h>

#define park(scripts, name_of_token, where, ...)                                                   \
    assert_status(acquire(scripts, .token = name_of_token, .attempt = name_of_token,               \
                          .server = where, __VA_ARGS__),                                           \
                  "waiting")

/* x holds, a waits with attempt "a", then b. */
static void set_out(struct scripts *scripts)
{
    acquire(scripts, .token = "x", .attempt = "x");
    park(scripts, "a", "one", .claim_ms = 5000);
    park(scripts, "b", "two", .claim_ms = 5000);
}

static bool holds(struct scripts *scripts, const char *token)
{
    return inspect(scripts, "n", token).mine;
}

static int64_t count_waiters(struct scripts *scripts)
{
    return inspect(scripts, "n", "").waiters;
}

TEST_WITH_CLOCK(a_wait_that_is_over_may_keep_the_place)
{
    set_out(scripts);
    struct answer over =
        leave(scripts, .token = "a", .attempt = "a", .why = "timeout", .keep_ms = 30);
    assert_status(over, "timeout");
    assert_int_equal(over.view.waiters, 2);
    park(scripts, "a", "two", .claim_ms = 5000);
    leave(scripts, .token = "a", .attempt = "a", .why = "timeout", .keep_ms = 30);
    sleep_past(scripts, 30);
    assert_int_equal(count_waiters(scripts), 1);
}

/* The waiter is alone, so its server is in the main key with it. */
TEST_WITH_CLOCK(granted_waiter_that_keeps_its_place_leaves_its_server_listed)
{
    acquire(scripts, .token = "x", .attempt = "x");
    park(scripts, "a", "one", .claim_ms = 5000);
    release(scripts, "n", "x");
    leave(scripts, .token = "a", .attempt = "a", .why = "gone", .keep_ms = 5000);
    redisReply *servers =
        redis_process_command(&scripts->redis, "HKEYS %s", key_of("n", ":servers").text);
    assert_int_equal(servers->elements, 1);
    assert_string_equal(servers->element[0]->str, "one");
    freeReplyObject(servers);
}

TEST_WITH_CLOCK(a_grant_at_the_last_moment_is_claimed)
{
    set_out(scripts);
    release(scripts, "n", "x");
    struct answer claimed = leave(scripts, .token = "a", .attempt = "a", .why = "timeout");
    assert_status(claimed, "claimed");
    assert_int_equal(claimed.ttl_ms, 30000);
    assert_string_equal(claimed.owner, "a");
    struct answer again = leave(scripts, .token = "a", .attempt = "a", .why = "timeout");
    assert_status(again, "claimed");
    assert_int_equal(again.fence, claimed.fence);
    assert_status(leave(scripts, .token = "a", .attempt = "a", .why = "gone"), "left");
    assert_true(holds(scripts, "b"));
}

TEST_WITH_CLOCK(a_place_that_a_later_request_has_stays)
{
    static const char *const WHY[] = {"timeout", "gone", "drain", "stale"};
    for (int i = 0; i < 4; i++) {
        scripts_reset_with_own_clock(scripts);
        set_out(scripts);
        assert_status(acquire(scripts, .token = "a", .attempt = "later", .server = "two"),
                      "waiting");
        struct answer left = leave(scripts, .token = "a", .attempt = "a", .why = WHY[i]);
        assert_status(left, i ? "left" : "timeout");
        assert_int_equal(count_waiters(scripts), 2);
        release(scripts, "n", "x");
        assert_true(holds(scripts, "a"));
        left = leave(scripts, .token = "a", .attempt = "a", .why = WHY[i]);
        assert_status(left, i ? "left" : "timeout");
        assert_true(holds(scripts, "a"));
        assert_status(
            acquire(scripts, .token = "a", .attempt = "later", .again = true, .server = "two"),
            "claimed");
    }
}

TEST_WITH_CLOCK(a_client_that_has_gone_leaves_no_phantom)
{
    for (int claimed = 0; claimed < 2; claimed++) {
        scripts_reset_with_own_clock(scripts);
        set_out(scripts);
        release(scripts, "n", "x");
        if (claimed)
            assert_status(
                acquire(scripts, .token = "a", .attempt = "a", .again = true, .server = "one"),
                "claimed");
        assert_status(leave(scripts, .token = "a", .attempt = "a", .why = "gone"), "left");
        assert_true(holds(scripts, "b"));
        assert_int_equal(inspect(scripts, "n", "a").holds, 1);
        assert_status(release(scripts, "n", "a"), "not_held");
        assert_status(acquire(scripts, .token = "a", .server = "one"), "waiting");
    }
}

/* Whoever finds a hold of its token shares it with those before it. */
TEST_WITH_CLOCK(hold_found_by_several_requests_ends_when_all_have_left)
{
    static const char *const ORDERS[] = {"123", "132", "213",    "231",
                                         "312", "321", "112233", "2213"};
    for (size_t i = 0; i < sizeof ORDERS / sizeof ORDERS[0]; i++) {
        char token[2] = {(char)('a' + i), '\0'}, left[4] = "";
        assert_status(acquire(scripts, .token = token, .attempt = "1"), "granted");
        assert_status(acquire(scripts, .token = token, .attempt = "2"), "holding");
        assert_status(acquire(scripts, .token = token, .attempt = "3"), "holding");
        assert_status(acquire(scripts, .token = token, .attempt = "2"), "holding");
        leave(scripts, .token = token, .attempt = "4", .why = "gone");
        for (const char *at = ORDERS[i]; *at; at++) {
            char attempt[2] = {*at, '\0'};
            assert_int_equal(inspect(scripts, "n", token).mine, strlen(left) < 3);
            leave(scripts, .token = token, .attempt = attempt, .why = "gone");
            if (!strchr(left, *at))
                strcat(left, attempt);
        }
        assert_int_equal(inspect(scripts, "n", token).holds, 0);
    }
}

TEST_WITH_CLOCK(hold_known_to_its_client_is_not_taken_back)
{
    char attempt[8];
    acquire(scripts, .token = "a", .attempt = "1");
    acquire(scripts, .token = "a", .attempt = "2");
    renew(scripts, "n", "a", 0);
    acquire(scripts, .token = "a", .attempt = "3");
    for (int i = 1; i <= 3; i++) {
        snprintf(attempt, sizeof attempt, "%d", i);
        leave(scripts, .token = "a", .attempt = attempt, .why = "gone");
    }
    assert_true(inspect(scripts, "n", "a").mine);
    release(scripts, "n", "a");
    for (int i = 1; i <= 200; i++) { /* so many are not told apart */
        snprintf(attempt, sizeof attempt, "%d", i);
        acquire(scripts, .token = "b", .attempt = attempt);
    }
    for (int i = 1; i <= 200; i++) {
        snprintf(attempt, sizeof attempt, "%d", i);
        leave(scripts, .token = "b", .attempt = attempt, .why = "gone");
    }
    assert_true(inspect(scripts, "n", "b").mine);
}

/* It stands in front of those that came later, though its place was long forgotten. */
TEST_WITH_CLOCK(grant_waits_no_longer_than_the_place_is_kept)
{
    for (int i = 0; i < 3; i++) {
        scripts_reset_with_own_clock(scripts);
        set_out(scripts);
        if (i > 0) /* its turn comes while it is there, and once it has claimed */
            release(scripts, "n", "x");
        if (i == 2)
            acquire(scripts, .token = "a", .attempt = "a", .server = "one", .again = true);
        leave(scripts, .token = "a", .attempt = "a", .why = "gone", .keep_ms = 100);
        if (i == 0) {
            sleep_past(scripts, 60);
            release(scripts, "n", "x");
        }
        assert_true(holds(scripts, "a"));
        sleep_past(scripts, i == 0 ? 40 : 100);
        assert_true(holds(scripts, "b"));
        assert_int_equal(count_waiters(scripts), 0);
    }
}

TEST_WITH_CLOCK(a_limit_is_kept_for_one_that_has_gone)
{
    acquire(scripts, .token = "y", .attempt = "y", .mode = "shared", .limit = 3);
    leave(scripts, .token = "y", .attempt = "y", .why = "gone", .keep_ms = 20000, .claim_ms = 10);
    sleep_past(scripts, 10);
    struct answer back = acquire(scripts, .token = "y", .mode = "shared", .limit = 3);
    assert_status(back, "claimed");
    assert_int_equal(back.limit, 3);
    assert_status(acquire(scripts, .token = "z", .mode = "shared", .limit = 3), "granted");
}

TEST_WITH_CLOCK(a_server_that_drains_leaves_its_waiters_a_lease)
{
    set_out(scripts);
    assert_status(leave(scripts, .token = "a", .attempt = "a", .why = "drain", .lease_ms = 20000),
                  "left");
    assert_int_equal(count_waiters(scripts), 2);
    assert_status(acquire(scripts, .token = "a", .server = "two"), "waiting");
    release(scripts, "n", "x");
    assert_true(holds(scripts, "a"));
}

RUN_SCRIPT_TESTS
