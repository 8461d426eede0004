/* Who gets a hold: every mode, limits, owners, repeats. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

#include <string.h>

TEST_ON_REDIS_TIME(a_free_name_is_granted)
{
    int64_t before = redis_now(scripts);
    struct answer granted =
        acquire(scripts, .token = "t", .owner = "me", .ttl_ms = 5000, .meta = "{\"a\":1}");
    assert_status(granted, "granted");
    assert_in_range(granted.fence, before, redis_now(scripts));
    assert_int_equal(granted.version, granted.fence);
    assert_int_equal(granted.ttl_ms, 5000);
    assert_int_equal(granted.holds, 1);
    assert_int_equal(granted.limit, 0);
    assert_string_equal(granted.owner, "me");
    assert_string_equal(granted.mode, "exclusive");
    struct seen seen = inspect(scripts, "n", "t");
    assert_int_equal(seen.version, granted.version);
    assert_in_range(seen.shown_holds[0].ttl_ms, 1000, 5000);
    assert_string_equal(seen.shown_holds[0].owner, "me");
    assert_string_equal(seen.shown_holds[0].mode, "exclusive");
    assert_string_equal(seen.shown_holds[0].meta, "{\"a\":1}");
}

/* Of a token that no request can have used before, less has to be looked up. */
TEST_WITH_CLOCK(a_new_token_is_granted_the_same)
{
    for (int i = 0; i < 2; i++) {
        bool is_new = i == 1;
        scripts_reset_with_own_clock(scripts);
        struct answer shared =
            acquire(scripts, .token = "a", .owner = "A", .mode = "shared", .limit = 2,
                    .ttl_ms = 2000, .meta = "{\"a\":1}", .attempt = "one", .token_is_new = is_new);
        assert_status(shared, "granted");
        assert_int_equal(shared.version, shared.fence);
        assert_int_equal(shared.holds, 1);
        assert_int_equal(shared.limit, 2);
        assert_string_equal(shared.owner, "A");
        assert_string_equal(shared.mode, "shared");
        struct seen seen = inspect(scripts, "n", "a");
        assert_int_equal(seen.version, shared.version);
        assert_in_range(seen.shown_holds[0].ttl_ms, 100, 2000);
        assert_string_equal(seen.shown_holds[0].owner, "A");
        assert_string_equal(seen.shown_holds[0].mode, "shared");
        assert_int_equal(seen.limit, 2);
        assert_string_equal(seen.shown_holds[0].meta, "{\"a\":1}");
        assert_status(acquire(scripts, .token = "x", .token_is_new = is_new), "locked");
        assert_status(take_back(scripts, "n", "a", "one"), "released");

        acquire(scripts, .token = "b", .ttl_ms = 40, .token_is_new = is_new);
        assert_status(acquire(scripts, .token = "c", .token_is_new = is_new), "locked");
        assert_status(acquire(scripts, .token = "b"), "holding");
        sleep_past(scripts, 40);
        assert_status(release(scripts, "n", "b"), "not_held");
        assert_int_equal(acquire(scripts, .token = "c", .token_is_new = is_new).holds, 1);
        assert_status(acquire(scripts, .token = "d", .token_is_new = is_new), "locked");
    }
}

TEST_WITH_CLOCK(an_exclusive_hold_excludes_everybody_else)
{
    struct answer mine = acquire(scripts, .token = "a", .owner = "A", .meta = "{}");
    struct answer exclusive = acquire(scripts, .token = "b");
    assert_status(exclusive, "locked");
    assert_status(acquire(scripts, .token = "b", .mode = "shared"), "locked");
    assert_status(acquire(scripts, .token = "b", .mode = "shared", .limit = 5), "locked");

    assert_int_equal(exclusive.view.holds, 1);
    assert_int_equal(exclusive.view.version, mine.version);
    assert_int_equal(exclusive.view.shown, 1);
    assert_string_equal(exclusive.view.shown_holds[0].owner, "A");
    assert_string_equal(exclusive.view.shown_holds[0].meta, "{}");
    assert_int_equal(exclusive.view.shown_holds[0].fence, mine.fence);
    assert_int_equal(exclusive.view.waiters, 0);
}

TEST_WITH_CLOCK(names_do_not_know_each_other)
{
    assert_status(acquire(scripts, .name = "a", .token = "t1"), "granted");
    assert_status(acquire(scripts, .name = "b", .token = "t2"), "granted");
    assert_status(renew(scripts, "b", "t1", 0), "not_held");
    assert_status(release(scripts, "b", "t1"), "not_held");
    assert_status(acquire(scripts, .name = "a", .token = "t2"), "locked");
}

TEST_WITH_CLOCK(shared_holds_admit_one_another)
{
    struct answer one = acquire(scripts, .token = "a", .mode = "shared");
    struct answer two = acquire(scripts, .token = "b", .mode = "shared");
    struct answer three = acquire(scripts, .token = "c", .mode = "shared");
    assert_status(one, "granted");
    assert_status(two, "granted");
    assert_status(three, "granted");
    assert_true(one.fence < two.fence && two.fence < three.fence);
    assert_int_equal(three.holds, 1);
    assert_status(acquire(scripts, .token = "d"), "locked");
    assert_int_equal(inspect(scripts, "n", "").holds, 3);
}

TEST_WITH_CLOCK(a_limit_counts_the_holds_of_one_owner_too)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared", .limit = 2);
    struct answer again =
        acquire(scripts, .token = "b", .owner = "A", .mode = "shared", .limit = 2);
    assert_status(again, "granted");
    assert_int_equal(again.holds, 2);
    assert_status(acquire(scripts, .token = "c", .owner = "A", .mode = "shared", .limit = 2),
                  "locked");
}

TEST_WITH_CLOCK(an_own_exclusive_hold_takes_no_place_of_the_limit)
{
    acquire(scripts, .token = "x", .owner = "A", .reenters = true);
    assert_status(acquire(scripts, .token = "a", .owner = "A", .reenters = true, .mode = "shared",
                          .limit = 1),
                  "granted");
    assert_status(acquire(scripts, .token = "b", .owner = "A", .reenters = true, .mode = "shared",
                          .limit = 1),
                  "locked");
}

/* So a limit can change while the lock is busy. */
TEST_WITH_CLOCK(requests_go_by_their_own_limits)
{
    acquire(scripts, .token = "a", .mode = "shared", .limit = 2);
    acquire(scripts, .token = "b", .mode = "shared", .limit = 2);
    struct answer other = acquire(scripts, .token = "c", .mode = "shared", .limit = 3);
    assert_status(other, "granted");
    assert_int_equal(other.other_limit, 2 + 1);
    assert_int_equal(inspect(scripts, "n", "").limit, 3);
    other = acquire(scripts, .token = "d", .mode = "shared", .limit = 2);
    assert_status(other, "locked");
    assert_int_equal(other.other_limit, 3 + 1);
    assert_int_equal(other.view.holds, 3);
    assert_status(acquire(scripts, .token = "d", .mode = "shared"), "granted");
    assert_status(acquire(scripts, .token = "e", .mode = "shared", .limit = 4), "locked");
    struct answer repeat =
        acquire(scripts, .token = "a", .owner = MADE "B", .mode = "shared", .limit = 2);
    assert_status(repeat, "holding");
    assert_int_equal(repeat.limit, 2);
    release(scripts, "n", "b");
    release(scripts, "n", "c");
    assert_status(acquire(scripts, .token = "e", .mode = "shared", .limit = 2), "locked");
    assert_status(acquire(scripts, .token = "e", .mode = "shared", .limit = 3), "granted");
}

TEST_WITH_CLOCK(permits_are_granted_all_or_none)
{
    struct answer three =
        acquire(scripts, .token = "a", .mode = "shared", .limit = 5, .permits = 3);
    assert_status(three, "granted");
    assert_int_equal(acquire(scripts, .token = "a", .owner = MADE "B", .mode = "shared", .limit = 5,
                             .permits = 3)
                         .permits,
                     3);
    assert_status(acquire(scripts, .token = "b", .mode = "shared", .limit = 5, .permits = 3),
                  "locked");
    assert_status(acquire(scripts, .token = "b", .mode = "shared", .limit = 5, .permits = 2),
                  "granted");
    struct answer none = acquire(scripts, .token = "c", .mode = "shared", .limit = 5);
    assert_status(none, "locked");
    assert_int_equal(none.view.holds + none.view.extra_permits, 5);
    struct answer other =
        acquire(scripts, .token = "b", .owner = MADE "B", .mode = "shared", .limit = 5);
    assert_status(other, "token_in_use");
    assert_int_equal(other.permits, 2);
    release(scripts, "n", "a");
    assert_int_equal(inspect(scripts, "n", "").extra_permits, 1);
    assert_status(acquire(scripts, .token = "d", .mode = "shared", .limit = 5, .permits = 4),
                  "locked");
    assert_status(acquire(scripts, .token = "d", .mode = "shared", .limit = 5, .permits = 3),
                  "granted");
    break_all(scripts, "n");
    assert_int_equal(inspect(scripts, "n", "").extra_permits, 0);
    assert_status(acquire(scripts, .token = "e", .mode = "shared", .limit = 5, .permits = 5),
                  "granted");
}

/* Those that want few do not pass the one that wants many. */
TEST_WITH_CLOCK(waiter_for_many_permits_is_not_passed)
{
    acquire(scripts, .token = "a", .mode = "shared", .limit = 4, .permits = 2);
    acquire(scripts, .token = "b", .mode = "shared", .limit = 4);
    assert_status(acquire(scripts, .token = "many", .mode = "shared", .limit = 4, .permits = 4,
                          .server = "one"),
                  "waiting");
    assert_status(acquire(scripts, .token = "few", .mode = "shared", .limit = 4), "locked");
    assert_status(acquire(scripts, .token = "few", .mode = "shared", .limit = 4, .server = "one"),
                  "waiting");
    release(scripts, "n", "b");
    assert_int_equal(inspect(scripts, "n", "few").mine, 0);
    release(scripts, "n", "a");
    assert_int_equal(inspect(scripts, "n", "many").mine, 1);
    assert_int_equal(inspect(scripts, "n", "few").mine, 0);
    assert_int_equal(acquire(scripts, .token = "many", .owner = MADE "B", .mode = "shared",
                             .limit = 4, .permits = 4, .attempt = "m")
                         .permits,
                     4);
    release(scripts, "n", "many");
    assert_int_equal(inspect(scripts, "n", "few").mine, 1);
}

TEST_WITH_CLOCK(waiters_are_served_in_order_each_by_its_own_limit)
{
    acquire(scripts, .token = "a", .mode = "shared", .limit = 2);
    acquire(scripts, .token = "b", .mode = "shared", .limit = 2);
    struct answer first =
        acquire(scripts, .token = "w1", .mode = "shared", .limit = 1, .server = "one");
    assert_status(first, "waiting");
    assert_int_equal(first.other_limit, 2 + 1);
    assert_status(acquire(scripts, .token = "w2", .mode = "shared", .limit = 3, .server = "one"),
                  "waiting");
    assert_status(acquire(scripts, .token = "c", .mode = "shared", .limit = 9), "locked");
    release(scripts, "n", "a");
    assert_int_equal(inspect(scripts, "n", "w2").mine, 0);
    release(scripts, "n", "b");
    assert_int_equal(inspect(scripts, "n", "w1").mine, 1);
    assert_int_equal(inspect(scripts, "n", "w2").mine, 1);
}

TEST_WITH_CLOCK(a_limit_is_gone_with_the_last_shared_hold)
{
    acquire(scripts, .token = "a", .owner = "A", .reenters = true, .mode = "shared", .limit = 3);
    acquire(scripts, .token = "x", .owner = "A", .reenters = true);
    release(scripts, "n", "a");
    assert_int_equal(inspect(scripts, "n", "").limit, 0);
    assert_status(acquire(scripts, .token = "b", .owner = "A", .reenters = true, .mode = "shared",
                          .limit = 4),
                  "granted");
    release(scripts, "n", "b");
    release(scripts, "n", "x");
    assert_status(acquire(scripts, .token = "c", .mode = "shared", .limit = 5), "granted");
}

TEST_WITH_CLOCK(an_owner_enters_again)
{
    struct answer one =
        acquire(scripts, .token = "a", .owner = "A", .reenters = true, .ttl_ms = 10000);
    struct answer two = acquire(scripts, .token = "b", .owner = "A", .reenters = true,
                                .ttl_ms = 20000, .token_is_new = true);
    assert_status(two, "granted");
    assert_int_equal(two.holds, 2);
    assert_int_equal(two.ttl_ms, 20000);
    assert_true(two.fence > one.fence);
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, 2);
    assert_in_range(seen.shown_holds[0].ttl_ms, 5000, 10000);
    assert_in_range(seen.shown_holds[1].ttl_ms, 15000, 20000);
    assert_status(acquire(scripts, .token = "c", .owner = "B", .reenters = true), "locked");
    assert_status(release(scripts, "n", "a"), "released");
    assert_status(acquire(scripts, .token = "c", .owner = "B", .reenters = true), "locked");
    assert_status(release(scripts, "n", "b"), "released");
    assert_status(acquire(scripts, .token = "c", .owner = "B", .reenters = true), "granted");
}

/* An owner is a label: with the same one, two clients exclude each other. */
TEST_WITH_CLOCK(same_owner_without_reentry_is_refused)
{
    acquire(scripts, .token = "a", .owner = "A");
    for (int is_new = 0; is_new < 2; is_new++)
        assert_status(acquire(scripts, .token = "b", .owner = "A", .token_is_new = is_new),
                      "locked");
    assert_status(acquire(scripts, .token = "s", .owner = "A", .mode = "shared"), "locked");
    assert_status(acquire(scripts, .token = "c", .owner = "A", .reenters = true), "granted");
    assert_status(acquire(scripts, .token = "b", .owner = "A"), "locked");
    assert_status(release(scripts, "n", "a"), "released");
    assert_status(acquire(scripts, .token = "b", .owner = "A"), "locked");
    assert_status(release(scripts, "n", "c"), "released");
    assert_status(acquire(scripts, .token = "b", .owner = "A"), "granted");
}

TEST_WITH_CLOCK(only_reader_of_same_owner_without_reentry_is_refused)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared");
    assert_status(acquire(scripts, .token = "x", .owner = "A"), "locked");
    assert_status(acquire(scripts, .token = "x", .owner = "A", .reenters = true), "granted");
}

/* Both wait; only who re-enters passes the queue. */
TEST_WITH_CLOCK(waiters_of_same_owner_are_granted_in_turn_unless_they_reenter)
{
    acquire(scripts, .token = "a", .owner = "A");
    assert_status(acquire(scripts, .token = "b", .owner = "A", .server = "one"), "waiting");
    assert_status(acquire(scripts, .token = "c", .owner = "A", .server = "one"), "waiting");
    assert_status(acquire(scripts, .token = "d", .owner = "A", .reenters = true, .server = "one"),
                  "granted");
    release(scripts, "n", "a");
    assert_int_equal(inspect(scripts, "n", "b").mine, 0);
    release(scripts, "n", "d");
    assert_int_equal(inspect(scripts, "n", "b").mine, 1);
    assert_int_equal(inspect(scripts, "n", "").holds, 1);
    release(scripts, "n", "b");
    assert_int_equal(inspect(scripts, "n", "c").mine, 1);
}

TEST_WITH_CLOCK(only_that_owner_enters_again)
{
    acquire(scripts, .token = "a", .owner = "owner", .reenters = true);
    assert_status(acquire(scripts, .token = "b", .owner = "owner2", .reenters = true), "locked");
    assert_status(acquire(scripts, .token = "b", .owner = "Owner", .reenters = true), "locked");
    assert_status(acquire(scripts, .token = "b", .owner = "owne", .reenters = true), "locked");
    assert_status(acquire(scripts, .token = "b", .owner = "a", .reenters = true), "locked");
}

TEST_WITH_CLOCK(an_upgrade_needs_no_other_owner)
{
    acquire(scripts, .token = "a", .owner = "A", .reenters = true, .mode = "shared");
    acquire(scripts, .token = "b", .owner = "B", .reenters = true, .mode = "shared");
    assert_status(acquire(scripts, .token = "x", .owner = "A", .reenters = true), "locked");
    release(scripts, "n", "b");
    struct answer upgraded = acquire(scripts, .token = "x", .owner = "A", .reenters = true);
    assert_status(upgraded, "granted");
    assert_int_equal(upgraded.holds, 2);
    assert_status(acquire(scripts, .token = "b2", .owner = "B", .reenters = true, .mode = "shared"),
                  "locked");
    assert_status(acquire(scripts, .token = "a2", .owner = "A", .reenters = true, .mode = "shared"),
                  "granted");
    release(scripts, "n", "x");
    assert_status(acquire(scripts, .token = "b2", .owner = "B", .reenters = true, .mode = "shared"),
                  "granted");
}

TEST_WITH_CLOCK(a_downgrade_lets_others_share)
{
    acquire(scripts, .token = "x", .owner = "A", .reenters = true);
    assert_status(acquire(scripts, .token = "a", .owner = "A", .reenters = true, .mode = "shared"),
                  "granted");
    assert_status(acquire(scripts, .token = "b", .owner = "B", .reenters = true, .mode = "shared"),
                  "locked");
    release(scripts, "n", "x");
    assert_status(acquire(scripts, .token = "b", .owner = "B", .reenters = true, .mode = "shared"),
                  "granted");
    assert_status(acquire(scripts, .token = "y", .owner = "A", .reenters = true), "locked");
}

TEST_WITH_CLOCK(a_repeat_reports_the_hold_as_it_is)
{
    struct answer granted =
        acquire(scripts, .token = "t", .owner = "A", .mode = "shared", .limit = 7, .ttl_ms = 20000);
    sleep_past(scripts, 20);
    struct answer repeat = acquire(scripts, .token = "t", .owner = MADE "B", .mode = "shared",
                                   .limit = 7, .ttl_ms = 90000, .meta = "{\"x\":1}");
    assert_status(repeat, "holding");
    assert_int_equal(repeat.fence, granted.fence);
    assert_int_equal(repeat.version, granted.version);
    assert_in_range(repeat.ttl_ms, 10000, 19980);
    assert_int_equal(repeat.holds, 1);
    assert_int_equal(repeat.limit, 7);
    assert_string_equal(repeat.owner, "A");
    assert_string_equal(repeat.mode, "shared");
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, 1);
    assert_int_equal(seen.version, granted.version);
    assert_string_equal(seen.shown_holds[0].meta, "");
}

/* What a token was used for, and what differs from that in a later request. */
static const struct {
    struct acquiring later;
    bool is_other;
} USES[] = {
    {{.owner = "A", .mode = "shared", .limit = 7, .set = 5}, false},
    {{.owner = "A", .mode = "shared", .limit = 7, .set = 5, .reenters = true}, false},
    {{.owner = MADE "B", .mode = "shared", .limit = 7, .set = 5}, false},
    {{.owner = "B", .mode = "shared", .limit = 7, .set = 5}, true},
    {{.owner = "A", .limit = 0, .set = 5}, true},
    {{.owner = "A", .mode = "shared", .limit = 6, .set = 5}, true},
    {{.owner = "A", .mode = "shared", .limit = 0, .set = 5}, true},
    {{.owner = "A", .mode = "shared", .limit = 7, .set = 6}, true},
    {{.owner = "A", .mode = "shared", .limit = 7, .set = 0}, true},
};

/* The table's second use: it differs as long as the token waits. */
static bool is_other_use(size_t i, const char *usual)
{
    return USES[i].is_other || (USES[i].later.reenters && strcmp(usual, "holding") != 0);
}

static void check_use(struct scripts *scripts, size_t i, const char *token, const char *usual)
{
    struct acquiring later = USES[i].later;
    later.token = token;
    later.server = strcmp(usual, "waiting") == 0 ? "one" : NULL;
    struct answer answer = acquire_with(scripts, &later);
    bool is_other = is_other_use(i, usual);
    assert_status(answer, is_other ? "token_in_use" : usual);
    if (!is_other)
        return;
    assert_int_equal(answer.reentry, later.reenters ? -1 : 0);
    assert_string_equal(answer.mode, "shared");
    assert_string_equal(answer.owner, "A");
    assert_int_equal(answer.limit, 7);
    assert_int_equal(answer.count, later.set != 5);
}

TEST_WITH_CLOCK(token_that_holds_is_refused_for_another_use)
{
    for (int in_set = 0; in_set < 2; in_set++) {
        acquire(scripts, .token = "t", .owner = "A", .mode = "shared", .limit = 7, .set = 5);
        for (int i = 0; i < in_set; i++)
            acquire(scripts, .token = "other", .mode = "shared", .limit = 7);
        for (size_t i = 0; i < sizeof USES / sizeof USES[0]; i++)
            check_use(scripts, i, "t", "holding");
        assert_int_equal(inspect(scripts, "n", "t").holds, 1 + in_set);
        assert_status(renew(scripts, "n", "t", 0), "renewed");
        check_use(scripts, 0, "t", "holding");
        release(scripts, "n", "t");
        scripts_reset(scripts);
    }
}

TEST_WITH_CLOCK(token_that_waits_is_refused_for_another_use)
{
    acquire(scripts, .token = "x");
    assert_status(acquire(scripts, .token = "t", .owner = "A", .mode = "shared", .limit = 7,
                          .set = 5, .server = "one"),
                  "waiting");
    for (size_t i = 0; i < sizeof USES / sizeof USES[0]; i++)
        check_use(scripts, i, "t", "waiting");
    release(scripts, "n", "x");
    for (size_t i = 3; i < sizeof USES / sizeof USES[0]; i++)
        check_use(scripts, i, "t", "claimed");
    check_use(scripts, 0, "t", "claimed");
}

TEST_WITH_CLOCK(a_repeat_among_many_holds_counts_once)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared");
    struct answer granted = acquire(scripts, .token = "b", .owner = "A", .mode = "shared");
    for (int i = 0; i < 5; i++) {
        struct answer repeat = acquire(scripts, .token = "b", .owner = "A", .mode = "shared");
        assert_status(repeat, "holding");
        assert_int_equal(repeat.holds, 2);
        assert_int_equal(repeat.fence, granted.fence);
    }
    assert_int_equal(inspect(scripts, "n", "").holds, 2);
    release(scripts, "n", "a");
    release(scripts, "n", "b");
    assert_int_equal(inspect(scripts, "n", "").holds, 0);
}

TEST_WITH_CLOCK(a_released_token_is_refused)
{
    acquire(scripts, .token = "t");
    release(scripts, "n", "t");
    struct seen before = inspect(scripts, "n", "");
    assert_status(acquire(scripts, .token = "t"), "released");
    assert_status(
        acquire(scripts, .token = "t", .server = "one", .lease_ms = 1000, .claim_ms = 100),
        "released");
    struct seen after = inspect(scripts, "n", "");
    assert_int_equal(after.version, before.version);
    assert_int_equal(after.holds, 0);
    assert_int_equal(after.waiters, 0);
    acquire(scripts, .token = "u");
    assert_status(acquire(scripts, .token = "t"), "released");
    release(scripts, "n", "u");
    assert_status(acquire(scripts, .token = "t"), "released");
    assert_status(acquire(scripts, .token = "u"), "released");
}

TEST_WITH_CLOCK(a_refusal_changes_nothing)
{
    struct answer held = acquire(scripts, .token = "a", .ttl_ms = 20000);
    int64_t keys = key_count(scripts);
    for (int i = 0; i < 3; i++)
        assert_status(acquire(scripts, .token = "b"), "locked");
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.version, held.version);
    assert_int_equal(seen.holds, 1);
    assert_int_equal(key_count(scripts), keys);
    release(scripts, "n", "a");
    assert_status(acquire(scripts, .token = "b"), "granted");
}

TEST_WITH_CLOCK(a_hold_lives_to_the_end_of_its_ttl)
{
    struct answer first = acquire(scripts, .token = "a", .ttl_ms = 150);
    sleep_until(scripts, first.fence + 149999);
    assert_status(acquire(scripts, .token = "b"), "locked");
    sleep_until(scripts, first.fence + 150000);
    assert_status(acquire(scripts, .token = "b"), "granted");
}

TEST_ON_REDIS_TIME(names_may_hold_any_text)
{
    static const char *const NAMES[] = {"{",   "}",      "{}",    "a{b}c",  "%",
                                        "%7D", "%7B",    "a}b{c", "*",      "[a-z]",
                                        "\\",  "ключ/🔒", "a b",   ":holds", "?"};
    enum { COUNT = sizeof NAMES / sizeof NAMES[0] };
    for (int i = 0; i < COUNT; i++) {
        assert_status(acquire(scripts, .name = NAMES[i], .token = "a", .mode = "shared"),
                      "granted");
        assert_status(acquire(scripts, .name = NAMES[i], .token = "b", .mode = "shared"),
                      "granted");
        assert_status(acquire(scripts, .name = NAMES[i], .token = "c"), "locked");
    }
    assert_int_equal(key_count(scripts), 4 * COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(inspect(scripts, NAMES[i], "a").holds, 2);
        assert_status(release(scripts, NAMES[i], "a"), "released");
        assert_status(release(scripts, NAMES[i], "b"), "released");
        assert_status(acquire(scripts, .name = NAMES[i], .token = "c"), "granted");
    }
}

TEST_ON_REDIS_TIME(owner_and_meta_may_be_long_and_binary)
{
    char owner[129], token[129];
    memset(owner, 0xC3, 128);
    memset(token, 'z', 128);
    owner[128] = token[128] = '\0';
    for (int i = 0; i < 2; i++) {
        assert_status(acquire(scripts, .token = token, .owner = owner, .mode = "shared"),
                      i ? "holding" : "granted");
        struct seen seen = inspect(scripts, "n", token);
        assert_int_equal(seen.mine, 1);
        assert_string_equal(seen.shown_holds[0].owner, owner);
        acquire(scripts, .token = "b", .mode = "shared");
    }
}

RUN_SCRIPT_TESTS
