/* Renewing sets what remains of a live hold: it never adds, and never revives. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

TEST_WITH_CLOCK(a_renewal_sets_and_does_not_add)
{
    struct answer held = acquire(scripts, .token = "a", .owner = "A", .ttl_ms = 20000);
    for (int i = 0; i < 3; i++) {
        struct answer renewed = renew(scripts, "n", "a", 30000);
        assert_status(renewed, "renewed");
        assert_int_equal(renewed.ttl_ms, 30000);
        assert_int_equal(renewed.fence, held.fence);
        assert_int_equal(renewed.version, held.version);
        assert_int_equal(renewed.holds, 1);
        assert_string_equal(renewed.owner, "A");
        assert_string_equal(renewed.mode, "exclusive");
    }
    assert_in_range(inspect(scripts, "n", "").shown_holds[0].ttl_ms, 25000, 30000);
}

TEST_WITH_CLOCK(a_renewal_sets_in_a_hold_set_too)
{
    acquire(scripts, .token = "a", .mode = "shared", .limit = 4, .ttl_ms = 20000);
    acquire(scripts, .token = "b", .mode = "shared", .limit = 4, .ttl_ms = 10000);
    for (int i = 0; i < 3; i++) {
        struct answer renewed = renew(scripts, "n", "b", 30000);
        assert_int_equal(renewed.ttl_ms, 30000);
        assert_int_equal(renewed.limit, 4);
        assert_string_equal(renewed.mode, "shared");
    }
    struct seen seen = inspect(scripts, "n", "");
    assert_string_equal(seen.shown_holds[0].owner, "a");
    assert_in_range(seen.shown_holds[0].ttl_ms, 15000, 20000);
    assert_in_range(seen.shown_holds[1].ttl_ms, 25000, 30000);
}

TEST_WITH_CLOCK(a_renewal_shortens_too)
{
    acquire(scripts, .token = "a", .ttl_ms = 60000);
    assert_int_equal(renew(scripts, "n", "a", 50).ttl_ms, 50);
    int64_t after = scripts->clock_us;
    assert_status(acquire(scripts, .token = "b"), "locked");
    sleep_past(scripts, 50);
    struct answer next = acquire(scripts, .token = "b");
    assert_status(next, "granted");
    assert_true(next.fence > after + 50000);
}

TEST_WITH_CLOCK(a_renewed_hold_outlives_its_first_ttl)
{
    for (int in_set = 0; in_set < 2; in_set++) {
        scripts_reset_with_own_clock(scripts);
        acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = 60);
        if (in_set)
            acquire(scripts, .token = "b", .mode = "shared", .ttl_ms = 60);
        assert_status(renew(scripts, "n", "a", 5000), "renewed");
        sleep_past(scripts, 80);
        assert_status(acquire(scripts, .token = "x"), "locked");
        assert_int_equal(inspect(scripts, "n", "a").mine, 1);
        assert_int_equal(inspect(scripts, "n", "a").holds, 1);
    }
}

TEST_WITH_CLOCK(without_a_ttl_it_is_the_one_last_given)
{
    acquire(scripts, .token = "a", .ttl_ms = 20000);
    sleep_past(scripts, 5);
    assert_int_equal(renew(scripts, "n", "a", 0).ttl_ms, 20000);
    assert_int_equal(renew(scripts, "n", "a", 7000).ttl_ms, 7000);
    assert_int_equal(renew(scripts, "n", "a", 0).ttl_ms, 7000);
    acquire(scripts, .token = "a", .ttl_ms = 9000);
    assert_int_equal(renew(scripts, "n", "a", 0).ttl_ms, 7000);
    acquire(scripts, .token = "b", .owner = "a", .reenters = true, .ttl_ms = 9000);
    assert_int_equal(renew(scripts, "n", "a", 0).ttl_ms, 7000);
    assert_int_equal(renew(scripts, "n", "b", 0).ttl_ms, 9000);
}

TEST_WITH_CLOCK(an_expired_hold_is_not_revived)
{
    struct answer held = acquire(scripts, .token = "a", .ttl_ms = 40);
    sleep_until(scripts, held.fence + 40000);
    assert_status(renew(scripts, "n", "a", 60000), "not_held");
    assert_status(renew(scripts, "n", "a", 0), "not_held");
    struct seen seen = inspect(scripts, "n", "a");
    assert_int_equal(seen.holds, 0);
    assert_int_equal(seen.version, held.fence + 40000);
    assert_status(acquire(scripts, .token = "b"), "granted");
    assert_status(renew(scripts, "n", "a", 60000), "not_held");
}

TEST_WITH_CLOCK(a_released_or_broken_hold_is_not_revived)
{
    acquire(scripts, .token = "a");
    release(scripts, "n", "a");
    assert_status(renew(scripts, "n", "a", 0), "not_held");
    acquire(scripts, .token = "b");
    break_all(scripts, "n");
    assert_status(renew(scripts, "n", "b", 0), "not_held");
    assert_int_equal(inspect(scripts, "n", "").holds, 0);
}

TEST_ON_REDIS_TIME(only_its_token_renews_a_hold)
{
    acquire(scripts, .token = "a", .owner = "A", .ttl_ms = 10000);
    assert_status(renew(scripts, "n", "A", 60000), "not_held");
    assert_status(renew(scripts, "n", "", 60000), "not_held");
    assert_status(renew(scripts, "m", "a", 60000), "not_held");
    assert_in_range(inspect(scripts, "n", "").shown_holds[0].ttl_ms, 5000, 10000);
    assert_int_equal(key_count(scripts), 1);
}

RUN_SCRIPT_TESTS
