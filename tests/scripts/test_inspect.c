/* What others see of a name, breaking it, and the listing of all that are held. */
#include "tests/scripts/scripts.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_ON_REDIS_TIME(a_name_never_used_is_free)
{
    struct seen seen = inspect(scripts, "n", "a");
    assert_int_equal(seen.holds, 0);
    assert_int_equal(seen.shown, 0);
    assert_int_equal(seen.mine, 0);
    assert_int_equal(seen.limit, 0);
    assert_int_equal(seen.waiters, 0);
    assert_int_equal(seen.last_fence, 0);
    assert_int_equal(key_count(scripts), 0);
    assert_int_equal(seen.version % (scripts->retention_ms * 1000), 0);
    assert_in_range(seen.version, redis_now(scripts) - 2 * scripts->retention_ms * 1000,
                    redis_now(scripts));
}

TEST_WITH_CLOCK(a_hold_is_shown_without_its_token)
{
    struct answer held =
        acquire(scripts, .token = "t", .owner = "A", .ttl_ms = 20000, .meta = "{\"m\":[1,2]}");
    sleep_past(scripts, 20);
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.version, held.version);
    assert_int_equal(seen.holds, 1);
    assert_int_equal(seen.shown, 1);
    const struct seen_hold *hold = &seen.shown_holds[0];
    assert_string_equal(hold->owner, "A");
    assert_string_equal(hold->mode, "exclusive");
    assert_string_equal(hold->meta, "{\"m\":[1,2]}");
    assert_int_equal(hold->fence, held.fence);
    assert_in_range(hold->ttl_ms, 10000, 19980);
    assert_in_range(hold->held_ms, 20, 10000);
}

TEST_WITH_CLOCK(a_token_learns_whether_it_holds)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared");
    assert_int_equal(inspect(scripts, "n", "a").mine, 1);
    assert_int_equal(inspect(scripts, "n", "b").mine, 0);
    assert_int_equal(inspect(scripts, "n", "A").mine, 0);
    acquire(scripts, .token = "b", .mode = "shared");
    assert_int_equal(inspect(scripts, "n", "a").mine, 1);
    assert_int_equal(inspect(scripts, "n", "b").mine, 1);
    assert_int_equal(inspect(scripts, "n", "").mine, 0);
    release(scripts, "n", "a");
    assert_int_equal(inspect(scripts, "n", "a").mine, 0);
}

TEST_WITH_CLOCK(the_last_release_is_reported_with_its_reason_and_its_owner)
{
    struct answer held = acquire(scripts, .token = "a");
    assert_int_equal(inspect(scripts, "n", "").last_fence, 0);
    release(scripts, "n", "a");
    sleep_past(scripts, 10);
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.last_fence, held.fence);
    assert_string_equal(seen.last_reason, "released");
    assert_string_equal(seen.last_owner, "a");
    assert_in_range(seen.last_ago_ms, 10, 10000);

    held = acquire(scripts, .token = "b");
    seen = acquire(scripts, .token = "refused", .token_is_new = true).view;
    assert_string_equal(seen.last_owner, "a");
    break_all(scripts, "n");
    seen = inspect(scripts, "n", "");
    assert_int_equal(seen.last_fence, held.fence);
    assert_string_equal(seen.last_reason, BROKEN);
    assert_string_equal(seen.last_owner, "b");

    held = acquire(scripts, .token = "c", .ttl_ms = 20);
    sleep_until(scripts, held.fence + 40000);
    seen = inspect(scripts, "n", "");
    assert_int_equal(seen.last_fence, held.fence);
    assert_string_equal(seen.last_reason, "expired");
    assert_string_equal(seen.last_owner, "c");
    assert_in_range(seen.last_ago_ms, 20, 10000);
}

static void check_line(struct scripts *scripts, const char *owners)
{
    char line[256] = "";
    struct seen seen = inspect(scripts, "n", "");
    for (size_t i = 0; i < seen.line; i++) {
        const char *owner = seen.in_line[i].owner; /* and the token, too */
        strcat(line, owner);
        assert_int_equal(inspect(scripts, "n", owner).position, i + 1);
    }
    assert_string_equal(line, owners);
}

/* Whichever server they asked. Who keeps a place stands in it; who missed the turn is behind all.
 */
TEST_WITH_CLOCK(waiters_are_shown_in_the_order_of_their_turns)
{
    acquire(scripts, .token = "h");
    acquire(scripts, .token = "a", .attempt = "a", .server = "one", .claim_ms = 20);
    check_line(scripts, "a");
    acquire(scripts, .token = "b", .server = "two", .mode = "shared");
    acquire(scripts, .token = "c", .attempt = "c", .server = "one", .keep_ms = 20000);
    acquire(scripts, .token = "d", .server = "two");
    check_line(scripts, "abcd");
    leave(scripts, .token = "c", .attempt = "c", .why = "timeout", .keep_ms = 20000);
    check_line(scripts, "abcd");
    sleep_past(scripts, 20);
    struct seen seen = inspect(scripts, "n", "");
    assert_string_equal(seen.in_line[1].mode, "shared");
    assert_string_equal(seen.in_line[2].mode, "exclusive");
    for (size_t i = 0; i < seen.line; i++)
        assert_in_range(seen.in_line[i].waited_ms, 19, 10000); /* the later, by 1 us each */
    release(scripts, "n", "h"); /* the turn of a, whose server does not answer */
    check_line(scripts, "bcd");
    miss_turns(scripts, 20);
    check_line(scripts, "cda"); /* b holds it */
}

TEST_ON_REDIS_TIME(holds_and_waiters_show_their_client_and_since_when)
{
    int64_t before = redis_now(scripts);
    struct answer held = acquire(scripts, .token = "a", .meta = "10.0.0.1{\"b\":1}");
    acquire(scripts, .token = "b", .server = "one", .meta = "::1{}");
    acquire(scripts, .token = "c", .server = "one", .meta = "10.0.0.3");
    struct seen seen = inspect(scripts, "n", "");
    assert_string_equal(seen.shown_holds[0].meta, "10.0.0.1{\"b\":1}");
    assert_in_range(seen.shown_holds[0].since_us, before, held.fence);
    assert_string_equal(seen.in_line[0].client, "::1");
    assert_string_equal(seen.in_line[1].client, "10.0.0.3");
    assert_in_range(seen.in_line[0].since_us, before, redis_now(scripts));
}

/* The version is of who holds the lock, and a claim makes no other holder. */
TEST_WITH_CLOCK(claim_moves_since_and_no_version)
{
    acquire(scripts, .token = "a");
    acquire(scripts, .token = "b", .attempt = "b1", .server = "one");
    release(scripts, "n", "a");
    struct seen granted = inspect(scripts, "n", "");
    sleep_past(scripts, 5);
    assert_status(acquire(scripts, .token = "b", .attempt = "b1", .server = "one"), "claimed");
    struct seen claimed = inspect(scripts, "n", "");
    assert_true(claimed.shown_holds[0].since_us >= granted.shown_holds[0].since_us + 5000);
    assert_int_equal(claimed.version, granted.version);
}

TEST_WITH_CLOCK(ten_waiters_are_shown)
{
    static const char *const NAMES[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    acquire(scripts, .token = "holder");
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        acquire(scripts, .token = NAMES[i], .server = i % 2 ? "one" : "two");
    check_line(scripts, "abcdefghij");
    assert_int_equal(inspect(scripts, "n", "").waiters, 12);
    struct page *page = list(scripts, "0", "baton:{*}", 10, 2000, NULL, 0);
    assert_int_equal(page->views[0].line, SHOWN);
    free(page);
    assert_int_equal(acquire(scripts, .token = "m").view.line, 0); /* a refusal does not say */
}

TEST_WITH_CLOCK(a_break_ends_every_hold)
{
    for (int many = 1; many <= 3; many++) {
        char token[24];
        for (int i = 0; i < many; i++) {
            snprintf(token, sizeof token, "t%d.%d", many, i);
            acquire(scripts, .token = token, .mode = "shared", .limit = 9);
        }
        int64_t version = inspect(scripts, "n", "").version;
        struct answer broken = break_all(scripts, "n");
        assert_int_equal(broken.count, many);
        assert_true(broken.version >= version + many);
        struct seen seen = inspect(scripts, "n", "");
        assert_int_equal(seen.holds, 0);
        assert_int_equal(seen.limit, 0);
        assert_int_equal(seen.version, broken.version);
        assert_status(release(scripts, "n", token), "not_held");
    }
    assert_status(acquire(scripts, .token = "x"), "granted");
}

TEST_WITH_CLOCK(break_by_fence_ends_that_hold_alone)
{
    int64_t gone = acquire(scripts, .token = "gone").fence;
    release(scripts, "n", "gone");
    for (int many = 1; many <= 3; many++) {
        char token[24];
        int64_t fence = 0;
        for (int i = 0; i < many; i++) {
            snprintf(token, sizeof token, "t%d.%d", many, i);
            fence = acquire(scripts, .token = token, .mode = "shared").fence;
        }
        int64_t version = inspect(scripts, "n", "").version;
        struct answer broken = break_hold(scripts, "n", gone);
        assert_int_equal(broken.count, 0);
        assert_int_equal(broken.version, version);
        broken = break_hold(scripts, "n", fence);
        assert_int_equal(broken.count, 1);
        assert_string_equal(broken.owner, token);
        assert_status(release(scripts, "n", token), "not_held");
        struct seen seen = inspect(scripts, "n", "");
        assert_int_equal(seen.holds, many - 1);
        assert_string_equal(seen.last_reason, BROKEN);
        assert_string_equal(seen.last_owner, token);
        assert_int_equal(break_hold(scripts, "n", fence).count, 0);
        assert_int_equal(break_all(scripts, "n").count, many - 1);
    }
}

TEST_WITH_CLOCK(break_by_fence_hands_over)
{
    int64_t fence = acquire(scripts, .token = "a").fence;
    acquire(scripts, .token = "b", .server = "one");
    break_hold(scripts, "n", fence);
    assert_string_equal(inspect(scripts, "n", "").shown_holds[0].owner, "b");
}

TEST_ON_REDIS_TIME(a_break_of_a_free_name_ends_nothing)
{
    assert_int_equal(break_all(scripts, "n").count, 0);
    assert_int_equal(key_count(scripts), 0);
    acquire(scripts, .token = "a");
    struct answer released = release(scripts, "n", "a");
    struct answer broken = break_all(scripts, "n");
    assert_int_equal(broken.count, 0);
    assert_int_equal(broken.version, released.version);
    assert_status(release(scripts, "n", "a"), "released");
}

/* Follows the cursor to the end; counts how often each of the names lock0, lock1... was listed. */
static size_t list_all(struct scripts *scripts, const char *pattern, int64_t limit, int64_t budget,
                       int *seen, size_t names)
{
    size_t listed = 0, pages = 0;
    struct page *page = NULL, *next;
    do {
        assert_true(pages++ < 10000);
        next = list(scripts, page ? page->cursor : "0", pattern, limit, budget,
                    page ? page->rest : NULL, page ? page->rest_count : 0);
        free(page);
        page = next;
        assert_string_equal(page->error, "");
        assert_true((int64_t)page->count <= limit);
        for (size_t i = 0; i < page->count; i++) {
            size_t name = strtoul(strstr(page->keys[i], "lock") + 4, NULL, 10);
            assert_true(name < names);
            assert_true(page->views[i].holds > 0);
            seen[name]++;
        }
        listed += page->count;
    } while (page->cursor[0] || page->rest_count > 0);
    free(page);
    return listed;
}

enum { LOCKS = 300, HOUR_MS = 3600 * 1000 };

/* They last for as long as it takes to list them, also where sanitizers make that slow. */
static void make_locks(struct scripts *scripts)
{
    scripts->unwatched = true;
    for (int i = 0; i < LOCKS; i++) {
        char name[24];
        snprintf(name, sizeof name, "lock%d", i);
        acquire(scripts, .name = name, .token = "a", .mode = "shared", .ttl_ms = HOUR_MS);
        if (i % 3 == 0)
            acquire(scripts, .name = name, .token = "b", .mode = "shared", .ttl_ms = HOUR_MS);
    }
    scripts->unwatched = false;
}

TEST_WITH_CLOCK(every_held_name_is_listed)
{
    static const int64_t LIMITS[] = {1, 7, 100, 1000}, BUDGETS[] = {1, 50, 2000};
    make_locks(scripts);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++) {
            int seen[LOCKS] = {0};
            assert_true(list_all(scripts, "baton:{*}", LIMITS[i], BUDGETS[j], seen, LOCKS) >=
                        LOCKS);
            for (int k = 0; k < LOCKS; k++)
                assert_true(seen[k] > 0);
        }
}

/* How many locks a listing by owner and time shows, and the owner of the first hold shown. */
static size_t list_by(struct scripts *scripts, const char *owner, int64_t held_ms, char *ret_first)
{
    scripts->list_owner = owner;
    scripts->list_held_ms = held_ms;
    struct page *page = list(scripts, "0", "baton:{*}", 10, 2000, NULL, 0);
    size_t count = page->count;
    assert_string_equal(page->cursor, "");
    if (ret_first)
        strcpy(ret_first, count > 0 ? page->views[0].shown_holds[0].owner : "");
    free(page);
    scripts->list_owner = NULL;
    scripts->list_held_ms = 0;
    return count;
}

TEST_WITH_CLOCK(list_by_owner_and_time_shows_the_holds_that_fit)
{
    char first[TEXT];
    acquire(scripts, .name = "x", .token = "1", .owner = "ann", .ttl_ms = 100000);
    acquire(scripts, .name = "y", .token = "2",
            .owner = "ci\x1f"
                     "ann",
            .ttl_ms = 100000);
    acquire(scripts, .name = "z", .token = "3", .owner = "joann", .ttl_ms = 100000);
    for (int i = 0; i < 20; i++) {
        char token[24];
        snprintf(token, sizeof token, "t%02d", i);
        acquire(scripts, .name = "s", .token = token, .mode = "shared", .ttl_ms = 50000 + i);
    }
    assert_int_equal(list_by(scripts, "", 0, NULL), 4);
    assert_int_equal(list_by(scripts, "ann", 0, NULL), 2);
    assert_int_equal(list_by(scripts, "ci", 0, NULL), 0);
    assert_int_equal(list_by(scripts, "t19", 0, first), 1);
    assert_string_equal(first, "t19");
    sleep_past(scripts, 1000);
    acquire(scripts, .name = "late", .token = "4", .owner = "ann");
    assert_int_equal(list_by(scripts, "", 1000, NULL), 4);
    assert_int_equal(list_by(scripts, "ann", 1000, NULL), 2);
    assert_int_equal(list_by(scripts, "ann", 0, NULL), 3);
    assert_int_equal(list_by(scripts, "", 5000, NULL), 0);
}

/* They take Redis five times as long as plain ones, and all else waits meanwhile. */
TEST_WITH_CLOCK(a_page_of_names_with_queues_ends_early)
{
    int seen[LOCKS] = {0};
    make_locks(scripts);
    scripts->unwatched = true;
    for (int i = 0; i < LOCKS; i++) {
        char name[24];
        snprintf(name, sizeof name, "lock%d", i);
        for (int j = 0; j < 2; j++)
            acquire(scripts, .name = name, .token = j ? "x" : "w", .attempt = "p", .server = "one");
    }
    struct page *page = list(scripts, "0", "baton:{*}", 1000, 2000, NULL, 0);
    assert_in_range(page->count, 100, 200);
    free(page);
    assert_int_equal(list_all(scripts, "baton:{*}", 1000, 2000, seen, LOCKS), LOCKS);
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(seen[i], 1);
}

TEST_WITH_CLOCK(free_or_other_names_are_not_listed)
{
    int seen[LOCKS] = {0};
    make_locks(scripts);
    for (int i = 0; i < LOCKS; i += 2) {
        char name[24];
        snprintf(name, sizeof name, "lock%d", i);
        break_all(scripts, name);
    }
    renew(scripts, "lock1", "a", 20);
    acquire(scripts, .name = "other");
    sleep_past(scripts, 20);
    assert_int_equal(list_all(scripts, "baton:{lock*}", 100, 2000, seen, LOCKS), LOCKS / 2 - 1);
    assert_int_equal(seen[1], 0);
    assert_int_equal(seen[3], 1);
}

TEST_WITH_CLOCK(a_page_that_overflows_hands_the_rest_back)
{
    make_locks(scripts);
    struct page *page = list(scripts, "0", "baton:{*}", 1, 2000, NULL, 0);
    for (int i = 0; i < LOCKS && page->rest_count == 0;
         i++) { /* SCAN may find just one in a part */
        struct page *before = page;
        assert_string_not_equal(before->cursor, "");
        page = list(scripts, before->cursor, "baton:{*}", 1, 2000, NULL, 0);
        free(before);
    }
    assert_int_equal(page->count, 1);
    assert_true(page->rest_count > 0);
    size_t rest_count = page->rest_count;
    struct page *next = list(scripts, "", "baton:{*}", 1000, 2000, page->rest, rest_count);
    assert_int_equal(next->count, rest_count);
    assert_string_equal(next->cursor, "");
    assert_int_equal(next->rest_count, 0);
    free(page);
    free(next);
}

TEST_WITH_CLOCK(a_listing_is_not_disturbed_by_the_ready_check)
{
    acquire(scripts, .name = "lock0");
    ready(scripts);
    int seen[1] = {0};
    assert_int_equal(list_all(scripts, "baton:{*}", 100, 2000, seen, 1), 1);
}

RUN_TESTS(scripts_start, scripts_stop)
