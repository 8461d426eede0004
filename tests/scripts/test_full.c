/* A Redis without memory left: nothing new is granted, but what is there can be kept and freed. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static void fill(struct scripts *scripts)
{
    scripts_limit_memory(scripts, 1);
}

static void empty(struct scripts *scripts)
{
    scripts_limit_memory(scripts, 0);
}

static int clean(void **state)
{
    empty(*state);
    return scripts_clean_with_own_clock(state);
}

static void assert_oom(struct answer answer)
{
    if (!strstr(answer.status, "OOM"))
        fail_msg("not an OOM error: %s", answer.status);
}

TEST_ON_SCRIPTS(full_redis_grants_nothing_new, clean, NULL)
{
    fill(scripts);
    assert_oom(acquire(scripts, .token = "a"));
    assert_oom(acquire(scripts, .token = "a", .token_is_new = true));
    assert_oom(acquire(scripts, .token = "a", .mode = "shared"));
    assert_int_equal(key_count(scripts), 2); /* the clock of the test */
    assert_int_equal(inspect(scripts, "n", "a").holds, 0);
    empty(scripts);
    assert_status(acquire(scripts, .token = "a"), "granted");
}

TEST_WITH(a_failed_acquire_changes_nothing, clean, NULL)
{
    struct scripts *scripts = *state;
    for (int many = 1; many <= 3; many++) {
        clean(state);
        struct answer last = {.version = 0};
        static const char *const TOKENS[] = {"a", "b", "c"};
        for (int i = 0; i < many; i++)
            last = acquire(scripts, .token = TOKENS[i], .mode = "shared");
        int64_t keys = key_count(scripts);
        fill(scripts);
        assert_oom(acquire(scripts, .token = "x", .mode = "shared"));
        assert_oom(
            acquire(scripts, .token = "x", .owner = "a", .reenters = true, .mode = "shared"));
        assert_status(acquire(scripts, .token = "x"), "locked");
        assert_oom(
            acquire(scripts, .token = "x", .server = "one", .lease_ms = 1000, .claim_ms = 100));
        assert_int_equal(key_count(scripts), keys);
        struct seen seen = inspect(scripts, "n", "a");
        assert_int_equal(seen.holds, many);
        assert_int_equal(seen.version, last.version);
        assert_int_equal(seen.mine, 1);
        assert_int_equal(seen.waiters, 0);
        empty(scripts);
        for (int i = 0; i < many; i++)
            assert_status(release(scripts, "n", TOKENS[i]), "released");
        assert_int_equal(inspect(scripts, "n", "").holds, 0);
    }
}

TEST_ON_SCRIPTS(single_hold_is_renewed_and_released, clean, NULL)
{
    acquire(scripts, .token = "a", .ttl_ms = 20000);
    fill(scripts);
    assert_int_equal(renew(scripts, "n", "a", 30000).ttl_ms, 30000);
    assert_status(release(scripts, "n", "a"), "released");
    assert_status(release(scripts, "n", "a"), "released");
    assert_int_equal(inspect(scripts, "n", "a").holds, 0);
}

/* The release before has to make room for this one's. */
TEST_ON_SCRIPTS(a_second_release_within_seconds_works_too, clean, NULL)
{
    for (int round = 0; round < 2; round++) {
        char token[3] = {(char)('a' + round), 'x', '\0'};
        acquire(scripts, .token = token);
        release(scripts, "n", token);
    }
    acquire(scripts, .token = "c");
    struct answer last = acquire(scripts, .token = "d", .owner = "c", .reenters = true);
    fill(scripts);
    assert_status(release(scripts, "n", "c"), "released");
    assert_status(release(scripts, "n", "d"), "released");
    assert_true(inspect(scripts, "n", "").version > last.version);

    empty(scripts);
    assert_status(acquire(scripts, .token = "e"), "granted");
    fill(scripts);
    assert_status(release(scripts, "n", "e"), "released");
}

TEST_ON_SCRIPTS(holds_of_a_hold_set_are_renewed_and_released, clean, NULL)
{
    acquire(scripts, .token = "a", .mode = "shared");
    acquire(scripts, .token = "b", .mode = "shared");
    acquire(scripts, .token = "c", .mode = "shared");
    fill(scripts);
    assert_status(renew(scripts, "n", "a", 20000), "renewed");
    assert_status(renew(scripts, "n", "b", 90000), "renewed");
    assert_status(release(scripts, "n", "b"), "released");
    assert_status(release(scripts, "n", "c"), "released");
    assert_status(take_back(scripts, "n", "a", "attempt"), "not_held");
    assert_status(release(scripts, "n", "a"), "released");
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, 0);
}

TEST_ON_SCRIPTS(a_grant_is_taken_back, clean, NULL)
{
    acquire(scripts, .token = "a", .attempt = "one");
    fill(scripts);
    assert_status(take_back(scripts, "n", "a", "one"), "released");
    assert_int_equal(inspect(scripts, "n", "a").holds, 0);
}

TEST_ON_SCRIPTS(holds_are_broken, clean, NULL)
{
    acquire(scripts, .name = "released", .token = "z");
    release(scripts, "released", "z");
    acquire(scripts, .name = "released", .token = "a");
    acquire(scripts, .name = "single", .token = "a");
    acquire(scripts, .name = "set", .token = "a", .mode = "shared");
    acquire(scripts, .name = "set", .token = "b", .mode = "shared");
    fill(scripts);
    assert_int_equal(break_all(scripts, "released").count, 1);
    assert_int_equal(break_all(scripts, "single").count, 1);
    assert_int_equal(break_all(scripts, "set").count, 2);
    assert_int_equal(inspect(scripts, "set", "").holds, 0);
}

/* Every operation that notices an expiry writes it down. */
TEST_WITH(an_expiry_is_noticed, clean, NULL)
{
    struct scripts *scripts = *state;
    for (int i = 0; i < 24; i++) {
        bool in_set = i & 1, after_release = i & 2;
        clean(state);
        if (after_release) {
            acquire(scripts, .token = "z1");
            release(scripts, "n", "z1");
            acquire(scripts, .token = "z2");
            release(scripts, "n", "z2");
        }
        acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = 10);
        if (in_set)
            acquire(scripts, .token = "b", .mode = "shared", .ttl_ms = 10);
        fill(scripts);
        sleep_past(scripts, 10);
        struct answer answer = {.status = "not_held"};
        if (i / 4 == 0)
            answer = renew(scripts, "n", "a", 0);
        else if (i / 4 == 1)
            answer = release(scripts, "n", "a");
        else if (i / 4 == 2)
            answer = take_back(scripts, "n", "a", "attempt");
        else if (i / 4 == 3)
            assert_int_equal(break_all(scripts, "n").count, 0);
        else if (i / 4 == 4)
            assert_int_equal(inspect(scripts, "n", "a").holds, 0);
        else {
            struct page *page = list(scripts, "0", "baton:{*}", 10, 1000, NULL, 0);
            assert_string_equal(page->error, "");
            assert_int_equal(page->count, 0);
            free(page);
        }
        assert_status(answer, "not_held");
        assert_string_equal(inspect(scripts, "n", "").last_reason, "expired");
    }
}

TEST_ON_SCRIPTS(a_waiter_is_granted_and_cancelled, clean, NULL)
{
    acquire(scripts, .token = "a");
    for (int i = 0; i < 3; i++) {
        char token[2] = {(char)('b' + i), '\0'};
        assert_status(
            acquire(scripts, .token = token, .server = "one", .lease_ms = 60000, .claim_ms = 60000),
            "waiting");
    }
    fill(scripts);
    assert_status(release(scripts, "n", "c"), "cancelled");
    assert_status(release(scripts, "n", "a"), "released");
    assert_int_equal(inspect(scripts, "n", "b").mine, 1);
    assert_status(acquire(scripts, .token = "b"), "claimed");
    assert_int_equal(break_all(scripts, "n").count, 1);
    assert_int_equal(inspect(scripts, "n", "d").mine, 1);
}

/* Its record and the hold's are one, so that nothing can be freed first. */
TEST_ON_SCRIPTS(single_waiter_claims, clean, NULL)
{
    acquire(scripts, .token = "x");
    acquire(scripts, .token = "a", .attempt = "a1", .server = "one");
    release_at(scripts, "n", "x", "two");
    fill(scripts);
    struct answer claimed =
        acquire(scripts, .token = "a", .attempt = "a1", .server = "one", .again = true);
    assert_status(claimed, "claimed");
    assert_int_equal(claimed.ttl_ms, 30000);
    assert_status(release(scripts, "n", "a"), "released");
}

/* Whatever is due of those who wait can be done, and what they have can be kept. */
TEST_ON_SCRIPTS(those_who_wait_are_looked_after, clean, NULL)
{
    static const char *const NAMES[] = {"n"};
    struct standing standing;
    acquire(scripts, .token = "x", .ttl_ms = 20);
    for (int i = 0; i < 4; i++) {
        char token[2] = {(char)('a' + i), '\0'};
        acquire(scripts, .token = token, .attempt = token, .server = "one", .claim_ms = 20);
    }
    fill(scripts);
    heartbeat(scripts, "one", 70000, 1, NAMES, &standing);
    assert_int_equal(standing.waits, 4);
    assert_status(acquire(scripts, .token = "d", .attempt = "d", .server = "one", .again = true,
                          .claim_ms = 20),
                  "waiting");
    assert_status(leave(scripts, .token = "d", .attempt = "d", .why = "timeout", .keep_ms = 50),
                  "timeout");
    assert_status(leave(scripts, .token = "c", .attempt = "c", .why = "drain"), "left");
    sleep_past(scripts, 20);
    assert_status(tick(scripts, "n", "one"), "next");
    assert_int_equal(inspect(scripts, "n", "a").mine, 1);
    sleep_past(scripts, 10);
    assert_status(tick(scripts, "n", "one"), "next"); /* it has another turn */
    assert_int_equal(inspect(scripts, "n", "a").mine, 1);
    sleep_past(scripts, 10);
    assert_status(tick(scripts, "n", "one"), "next"); /* a goes back, its server is suspect */
    assert_int_equal(inspect(scripts, "n", "c").mine, 1);
    sleep_past(scripts, 20);
    assert_status(watch(scripts, "n", "one", 0), "next");
    assert_status(acquire(scripts, .token = "a", .attempt = "a", .server = "one", .again = true),
                  "claimed");
    assert_status(leave(scripts, .token = "a", .attempt = "a", .why = "gone", .keep_ms = 5000),
                  "left");
    assert_status(acquire(scripts, .token = "a"), "claimed");
    assert_status(release(scripts, "n", "a"), "released");
    assert_int_equal(inspect(scripts, "n", "b").mine, 1);
    assert_status(renew(scripts, "n", "b", 60000), "renewed");
}

TEST_WITH(full_redis_takes_no_new_waiter_or_watcher, clean, NULL)
{
    struct scripts *scripts = *state;
    for (int many = 0; many < 2; many++) {
        clean(state);
        acquire(scripts, .token = "x");
        if (many)
            acquire(scripts, .token = "a", .server = "one");
        int64_t keys = key_count(scripts);
        fill(scripts);
        assert_oom(acquire(scripts, .token = "b", .server = "one"));
        assert_oom(acquire(scripts, .token = "b", .server = "two"));
        assert_oom(acquire(scripts, .token = "c", .token_is_new = true, .server = "one"));
        assert_oom(watch(scripts, "n", "two", 0));
        assert_oom(watch(scripts, "m", "two", 0));
        assert_int_equal(key_count(scripts), keys);
        assert_int_equal(inspect(scripts, "n", "").waiters, many);
    }
}

RUN_SCRIPT_TESTS
