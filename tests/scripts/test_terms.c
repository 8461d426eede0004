/* What bounds a hold besides its TTL, from its grant on: at_least, for which the name stays taken
 * though it is released, and max_held, beyond which no renewal carries it. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

/* sleep_past sleeps a little more. */
#define assert_left(ms, expected) assert_in_range(ms, (expected)-1, expected)

TEST_WITH_CLOCK(at_least_keeps_a_released_name_taken)
{
    struct answer held = acquire(scripts, .token = "a", .owner = "A", .at_least_ms = 1000);
    assert_int_equal(held.ttl_ms, 30000);
    sleep_past(scripts, 300);
    struct answer released = release(scripts, "n", "a");
    assert_status(released, "released");
    assert_left(released.free_in_ms, 700);
    assert_int_equal(released.held_ms, 300);
    assert_int_equal(released.holds, 0);
    struct answer refused = acquire(scripts, .token = "b");
    assert_status(refused, "locked");
    assert_int_equal(refused.view.holds, 1);
    assert_int_equal(refused.view.shown_holds[0].released, 1);
    assert_left(refused.view.shown_holds[0].ttl_ms, 700);
    assert_string_equal(refused.view.shown_holds[0].owner, "A");
    assert_string_equal(refused.view.last_reason, "released");
    sleep_past(scripts, 699);
    assert_status(acquire(scripts, .token = "b"), "locked");
    sleep_past(scripts, 1);
    struct answer next = acquire(scripts, .token = "b");
    assert_status(next, "granted");
    assert_true(next.fence > released.version);
}

TEST_WITH_CLOCK(at_least_ends_as_a_release_and_not_as_an_expiry)
{
    acquire(scripts, .token = "a", .at_least_ms = 1000);
    struct answer released = release(scripts, "n", "a");
    sleep_past(scripts, 1000);
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(scripts->expired_count, 0);
    assert_int_equal(seen.holds, 0);
    assert_true(seen.version > released.version);
    assert_string_equal(seen.last_reason, "released");
    assert_int_equal(seen.last_fence, released.fence);
    assert_int_equal(seen.last_ago_ms, 1000);
}

TEST_WITH_CLOCK(at_least_that_is_over_frees_the_name_at_once)
{
    acquire(scripts, .token = "a", .at_least_ms = 1000);
    sleep_past(scripts, 1000);
    assert_int_equal(release(scripts, "n", "a").free_in_ms, 0);
    assert_status(acquire(scripts, .token = "b"), "granted");
}

TEST_WITH_CLOCK(lease_is_never_shorter_than_at_least)
{
    struct answer held = acquire(scripts, .token = "a", .ttl_ms = 100, .at_least_ms = 1000);
    assert_int_equal(inspect(scripts, "n", "").shown_holds[0].ttl_ms, 1000);
    sleep_past(scripts, 500);
    assert_left(inspect(scripts, "n", "").shown_holds[0].at_least_ms, 500);
    struct answer renewed = renew(scripts, "n", "a", 100);
    assert_status(renewed, "renewed");
    assert_left(renewed.ttl_ms, 500);
    sleep_past(scripts, 450);
    assert_int_equal(renew(scripts, "n", "a", 0).ttl_ms, 100);
    sleep_past(scripts, 100);
    assert_status(acquire(scripts, .token = "b"), "granted");
    assert_int_equal(scripts->expired_count, 1);
    assert_int_equal(scripts->expired[0].fence, held.fence);
}

TEST_WITH_CLOCK(released_token_neither_renews_nor_releases_what_stays_taken)
{
    acquire(scripts, .token = "a", .at_least_ms = 1000);
    struct answer released = release(scripts, "n", "a");
    assert_status(renew(scripts, "n", "a", 1000), "not_held");
    assert_int_equal(inspect(scripts, "n", "a").mine, 0);
    assert_status(acquire(scripts, .token = "a"), "released");
    sleep_past(scripts, 400);
    struct answer repeated = release(scripts, "n", "a");
    assert_true(repeated.repeated);
    assert_left(repeated.free_in_ms, 600);
    assert_int_equal(repeated.fence, released.fence);
    sleep_past(scripts, 600);
    assert_int_equal(release(scripts, "n", "a").free_in_ms, 0);
}

TEST_WITH_CLOCK(owner_does_not_enter_what_stays_taken)
{
    acquire(scripts, .token = "a", .owner = "A", .at_least_ms = 1000);
    release(scripts, "n", "a");
    assert_status(acquire(scripts, .token = "b", .owner = "A", .reenters = true), "locked");
}

TEST_WITH_CLOCK(break_ends_what_stays_taken)
{
    struct answer held = acquire(scripts, .token = "a", .at_least_ms = 1000);
    release(scripts, "n", "a");
    assert_int_equal(break_all(scripts, "n").count, 1);
    assert_string_equal(inspect(scripts, "n", "").last_reason, BROKEN);
    assert_int_equal(inspect(scripts, "n", "").last_fence, held.fence);
    assert_status(acquire(scripts, .token = "b"), "granted");
}

TEST_WITH_CLOCK(grant_that_is_taken_back_frees_the_name_at_once)
{
    acquire(scripts, .token = "a", .attempt = "p", .at_least_ms = 1000);
    take_back(scripts, "n", "a", "p");
    assert_status(acquire(scripts, .token = "b"), "granted");
}

TEST_WITH_CLOCK(waiter_is_granted_when_at_least_is_over)
{
    acquire(scripts, .token = "a", .at_least_ms = 1000);
    acquire(scripts, .token = "b", .server = "one", .at_least_ms = 2000);
    scripts->due_ms = -1;
    release(scripts, "n", "a");
    assert_int_equal(scripts->due_ms, 1000); /* its server knows when to look */
    sleep_past(scripts, 999);
    tick(scripts, "n", "one");
    assert_int_equal(inspect(scripts, "n", "b").mine, 0);
    sleep_past(scripts, 1);
    tick(scripts, "n", "one");
    sleep_past(scripts, 500);
    struct answer claimed = acquire(scripts, .token = "b");
    assert_status(claimed, "claimed");
    assert_int_equal(claimed.at_least_ms, 2000); /* from when it has the hold */
    assert_int_equal(release(scripts, "n", "b").free_in_ms, 2000);
}

TEST_WITH_CLOCK(waiter_that_is_granted_by_a_release_learns_its_terms)
{
    acquire(scripts, .token = "a");
    acquire(scripts, .token = "b", .server = "one", .ttl_ms = 9000, .at_least_ms = 2000,
            .max_held_ms = 5000);
    struct answer released = release_at(scripts, "n", "a", "one");
    assert_string_not_equal(released.next_attempt, "");
    assert_int_equal(released.ttl_ms, 5000);
    assert_int_equal(released.at_least_ms, 2000);
    assert_int_equal(released.max_held_ms, 5000);
}

TEST_WITH_CLOCK(slot_of_a_semaphore_stays_taken)
{
    acquire(scripts, .token = "a", .mode = "shared", .limit = 2, .at_least_ms = 1000);
    acquire(scripts, .token = "b", .mode = "shared", .limit = 2);
    assert_int_equal(release(scripts, "n", "a").free_in_ms, 1000);
    assert_status(acquire(scripts, .token = "c", .mode = "shared", .limit = 2), "locked");
    release(scripts, "n", "b");
    assert_status(acquire(scripts, .token = "c", .mode = "shared", .limit = 2), "granted");
    assert_status(acquire(scripts, .token = "d", .mode = "shared", .limit = 2), "locked");
    sleep_past(scripts, 1000);
    assert_status(acquire(scripts, .token = "d", .mode = "shared", .limit = 2), "granted");
}

/* A token is forgotten sooner than what it has released may end. */
TEST_WITH_CLOCK(token_that_comes_again_releases_another_hold)
{
    enum { FORGOTTEN_MS = 63000, AT_LEAST_MS = 2 * FORGOTTEN_MS };
    static const char *const other[] = {"b", "c"};
    for (int64_t i = 1; i <= 2; i++) {
        struct answer held = acquire(scripts, .token = "a", .mode = "shared", .limit = 2,
                                     .at_least_ms = AT_LEAST_MS);
        assert_status(held, "granted");
        assert_int_equal(release(scripts, "n", "a").free_in_ms, AT_LEAST_MS);
        assert_int_equal(inspect(scripts, "n", "").holds, i);
        assert_int_equal(inspect(scripts, "n", "").shown, i);
        sleep_past(scripts, FORGOTTEN_MS);
        acquire(scripts, .token = other[i - 1], .mode = "shared");
        release(scripts, "n", other[i - 1]); /* it takes the place of the last one */
    }
    assert_int_equal(inspect(scripts, "n", "").holds, 1);
    assert_status(acquire(scripts, .token = "d", .mode = "shared", .limit = 1), "locked");
    sleep_past(scripts, FORGOTTEN_MS);
    assert_int_equal(inspect(scripts, "n", "").holds, 0);
    assert_status(acquire(scripts, .token = "d"), "granted");
}

/* A large hold set that ends at once is not looked at hold by hold, unless it has released ones. */
TEST_WITH_CLOCK(released_among_very_many_are_not_reported_as_expired)
{
    enum { MANY = 1100, RELEASED = 50 };
    char token[24];
    for (int i = 0; i < MANY; i++) {
        snprintf(token, sizeof token, "t%d", i);
        acquire(scripts, .token = token, .mode = "shared", .ttl_ms = 5000, .at_least_ms = 5000);
        if (i < RELEASED)
            release(scripts, "n", token);
    }
    int64_t reported = 0;
    sleep_past(scripts, 5000);
    scripts->expired_count = 0;
    assert_int_equal(inspect(scripts, "n", "").holds, 0);
    for (size_t i = 0; i < scripts->expired_count; i++)
        reported += scripts->expired[i].fence ? 1 : scripts->expired[i].count;
    assert_int_equal(reported, MANY - RELEASED);
}

TEST_WITH_CLOCK(max_held_bounds_the_lease)
{
    struct answer held = acquire(scripts, .token = "a", .ttl_ms = 5000, .max_held_ms = 1000);
    assert_int_equal(held.ttl_ms, 1000);
    assert_int_equal(inspect(scripts, "n", "").shown_holds[0].ttl_ms, 1000);
    sleep_past(scripts, 1000);
    assert_status(acquire(scripts, .token = "b"), "granted");
}

TEST_WITH_CLOCK(renewal_that_reaches_max_held_is_capped_and_the_next_is_refused)
{
    acquire(scripts, .token = "a", .ttl_ms = 600, .max_held_ms = 1000);
    sleep_past(scripts, 200);
    struct answer renewed = renew(scripts, "n", "a", 0);
    assert_status(renewed, "renewed");
    assert_left(renewed.ttl_ms, 600);
    assert_left(renewed.max_held_ms, 800);
    sleep_past(scripts, 300);
    renewed = renew(scripts, "n", "a", 0);
    assert_status(renewed, "renewed");
    assert_left(renewed.ttl_ms, 500);
    assert_left(renewed.max_held_ms, 500);
    sleep_past(scripts, 100);
    renewed = renew(scripts, "n", "a", 0);
    assert_status(renewed, "final");
    assert_left(renewed.ttl_ms, 400);
    assert_status(renew(scripts, "n", "a", 300), "renewed"); /* it may become shorter */
    assert_status(renew(scripts, "n", "a", 600), "renewed");
    assert_status(renew(scripts, "n", "a", 600), "final");
    sleep_past(scripts, 400);
    assert_status(renew(scripts, "n", "a", 600), "not_held");
    assert_int_equal(scripts->expired_count, 1);
}

TEST_WITH_CLOCK(max_held_counts_from_the_claim_of_a_waiter)
{
    acquire(scripts, .token = "a");
    acquire(scripts, .token = "b", .server = "one", .claim_ms = 5000, .max_held_ms = 1000);
    release(scripts, "n", "a");
    sleep_past(scripts, 2000);
    struct answer claimed = acquire(scripts, .token = "b");
    assert_status(claimed, "claimed");
    assert_int_equal(claimed.ttl_ms, 1000);
}

TEST_WITH_CLOCK(reentry_is_bounded_by_the_max_held_of_what_it_enters)
{
    acquire(scripts, .token = "a", .owner = "A", .max_held_ms = 10000);
    sleep_past(scripts, 4000);
    struct answer entered = acquire(scripts, .token = "b", .owner = "A", .reenters = true);
    assert_status(entered, "claimed");
    assert_int_equal(entered.holds, 2);
    assert_left(entered.max_held_ms, 6000);
    assert_left(entered.ttl_ms, 6000);
    entered = acquire(scripts, .token = "c", .owner = "A", .reenters = true, .max_held_ms = 2000);
    assert_status(entered, "granted");
    assert_int_equal(entered.max_held_ms, 2000);
    release(scripts, "n", "a");
    release(scripts, "n", "c");
    sleep_past(scripts, 1000);
    entered = acquire(scripts, .token = "d", .owner = "A", .reenters = true, .at_least_ms = 20000);
    assert_in_range(entered.max_held_ms, 4997, 5000); /* each time rounded down */
    assert_in_range(entered.at_least_ms, 4997, 5000);
    assert_in_range(renew(scripts, "n", "d", 30000).ttl_ms, 4996, 5000);
}

TEST_WITH_CLOCK(waiting_reentry_is_bounded_too)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared", .max_held_ms = 10000);
    acquire(scripts, .token = "b", .owner = "B", .mode = "shared");
    acquire(scripts, .token = "u", .owner = "A", .reenters = true, .server = "one", .attempt = "1");
    sleep_past(scripts, 4000);
    release(scripts, "n", "b");
    sleep_past(scripts, 1000); /* before it is claimed */
    struct answer claimed = acquire(scripts, .token = "u", .owner = "A", .reenters = true,
                                    .server = "one", .attempt = "1", .again = true);
    assert_status(claimed, "claimed");
    assert_in_range(claimed.max_held_ms, 4998, 5000); /* each time rounded down */
}

TEST_WITH_CLOCK(reentry_is_bounded_by_a_hold_that_is_not_claimed)
{
    acquire(scripts, .token = "x");
    acquire(scripts, .token = "a", .owner = "A", .max_held_ms = 10000, .server = "one");
    release(scripts, "n", "x");
    sleep_past(scripts, 1000);
    struct answer entered = acquire(scripts, .token = "b", .owner = "A", .reenters = true);
    assert_status(entered, "claimed");
    assert_int_equal(entered.holds, 2);
    assert_left(entered.max_held_ms, 9000);
}

/* An owner's name is a label: holds that do not enter one another have each its own bound. */
TEST_WITH_CLOCK(holds_with_one_owner_name_are_bounded_each_by_itself)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared", .max_held_ms = 10000);
    struct answer other = acquire(scripts, .token = "b", .owner = "A", .mode = "shared");
    assert_status(other, "granted");
    assert_int_equal(inspect(scripts, "n", "b").shown_holds[1].max_held_ms, 0);
}

TEST_WITH_CLOCK(terms_begin_with_a_renewal)
{
    acquire(scripts, .token = "a");
    sleep_past(scripts, 500);
    struct answer renewed = begin_terms(scripts, "n", "a", 1000, 20000);
    assert_status(renewed, "renewed");
    assert_int_equal(renewed.ttl_ms, 20000);
    assert_int_equal(renewed.at_least_ms, 1000);
    assert_int_equal(renewed.max_held_ms, 20000);
    sleep_past(scripts, 400);
    renewed = begin_terms(scripts, "n", "a", 1000, 20000); /* it has them already */
    assert_left(renewed.at_least_ms, 600);
    assert_left(renewed.max_held_ms, 19600);
    assert_left(release(scripts, "n", "a").free_in_ms, 600);
}

TEST_WITH_CLOCK(terms_that_begin_do_not_lengthen_max_held)
{
    acquire(scripts, .token = "a", .max_held_ms = 1000);
    sleep_past(scripts, 400);
    assert_left(begin_terms(scripts, "n", "a", 100, 0).max_held_ms, 600);
    assert_status(acquire(scripts, .name = "m", .token = "a", .max_held_ms = 1000), "granted");
    assert_int_equal(begin_terms(scripts, "m", "a", 0, 300).max_held_ms, 300);
    sleep_past(scripts, 100);
    assert_left(begin_terms(scripts, "m", "a", 0, 300).max_held_ms, 200);
    assert_int_equal(inspect(scripts, "m", "a").shown_holds[0].held_ms, 100); /* they have begun */
}

RUN_SCRIPT_TESTS
