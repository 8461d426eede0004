/* The servers that wait for a name: their standing, and what becomes of their waiters. */
#include "tests/scripts/scripts.h"

#include "tests/support/cmocka.h"

#include <string.h>

/* Parks the request of attempt TOKEN; `more` are further members. */
#define park(scripts, name_of_token, where, ...)                                                   \
    assert_status(acquire(scripts, .token = name_of_token, .attempt = name_of_token,               \
                          .server = where, __VA_ARGS__),                                           \
                  "waiting")
#define look_again(scripts, name_of_token, where, ...)                                             \
    acquire(scripts, .token = name_of_token, .attempt = name_of_token, .server = where,            \
            .again = true, __VA_ARGS__)

static void assert_holds(struct scripts *scripts, const char *token)
{
    if (!inspect(scripts, "n", token).mine)
        fail_msg("%s has no hold", token);
}

/* So many hold it together: owners A, B and so on, with tokens a, b and so on. */
static void share(struct scripts *scripts, int count)
{
    for (int i = 0; i < count; i++)
        acquire(scripts, .token = (char[]){(char)('a' + i), '\0'}, .mode = "shared",
                .owner = (char[]){(char)('A' + i), '\0'});
}

static void assert_waits(struct scripts *scripts, const char *token)
{
    if (inspect(scripts, "n", token).mine)
        fail_msg("%s has a hold", token);
}

/* Whether the server has to ask again of the name "n". */
static bool must_ask_again(struct scripts *scripts, const char *server, int64_t lease_ms)
{
    static const char *const NAMES[] = {"n"};
    struct standing standing;
    heartbeat(scripts, server, lease_ms, 1, NAMES, &standing);
    return standing.waits < 0;
}

/* It costs one claim window in all, and nobody loses a place. */
TEST_WITH_CLOCK(a_server_that_missed_a_claim_is_passed_over)
{
    acquire(scripts, .token = "x");
    park(scripts, "a", "one", .claim_ms = 30);
    park(scripts, "b", "one", .claim_ms = 30);
    park(scripts, "c", "two", .claim_ms = 30000);
    assert_false(must_ask_again(scripts, "one", 60000));
    release(scripts, "n", "x");
    assert_holds(scripts, "a");
    miss_turns(scripts, 30);
    struct seen seen = inspect(scripts, "n", "c");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.holds, 1);
    assert_int_equal(seen.waiters, 2);
    assert_string_equal(seen.last_reason, "expired");
    assert_true(must_ask_again(scripts, "one", 60000));
    assert_false(must_ask_again(scripts, "two", 60000));

    assert_status(look_again(scripts, "b", "one", .claim_ms = 30000), "waiting");
    assert_false(must_ask_again(scripts, "one", 60000));
    look_again(scripts, "c", "two", .ttl_ms = 0);
    release(scripts, "n", "c");
    assert_holds(scripts, "a");
    sleep_past(scripts, 30);
    assert_int_equal(inspect(scripts, "n", "a").holds, 0);
    assert_status(look_again(scripts, "a", "one", .ttl_ms = 0), "claimed");
    release(scripts, "n", "a");
    assert_holds(scripts, "b");
}

TEST_WITH_CLOCK(a_dead_server_takes_its_waiters_along)
{
    acquire(scripts, .token = "x");
    park(scripts, "a", "one", .lease_ms = 30);
    park(scripts, "b", "one", .lease_ms = 30);
    park(scripts, "c", "two", .lease_ms = 60000);
    assert_int_equal(inspect(scripts, "n", "").waiters, 3);
    sleep_past(scripts, 30);
    assert_true(must_ask_again(scripts, "one", 60000));
    assert_int_equal(inspect(scripts, "n", "").waiters, 1);
    release(scripts, "n", "x");
    assert_holds(scripts, "c");
    assert_true(must_ask_again(scripts, "one", 60000));
}

TEST_WITH_CLOCK(heartbeat_reports_which_names_have_moved)
{
    static const char *const NAMES[] = {"never", "good", "dead", "suspect", "good", "other"};
    struct standing standing[6];
    for (int i = 1; i < 4; i++)
        acquire(scripts, .name = NAMES[i], .token = "x");
    acquire(scripts, .name = "good", .token = "a", .server = "one");
    acquire(scripts, .name = "dead", .token = "a", .server = "one", .lease_ms = 20);
    acquire(scripts, .name = "suspect", .token = "a", .server = "one", .claim_ms = 20);
    acquire(scripts, .name = "suspect", .token = "b", .server = "one", .claim_ms = 20);
    release(scripts, "suspect", "x");
    for (int i = 0; i < 2; i++) {
        sleep_past(scripts, 10);
        inspect(scripts, "suspect", "");
    }
    heartbeat(scripts, "one", 60000, 6, NAMES, standing);
    static const int64_t WAITS[] = {-1, 1, -1, -1, 1, -1};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(standing[i].waits, WAITS[i]);
}

/* A killed server leaves the places of those who keep them; they come back elsewhere. */
TEST_WITH_CLOCK(kept_places_outlive_their_server)
{
    acquire(scripts, .token = "x");
    park(scripts, "a", "one", .lease_ms = 30, .keep_ms = 5000, .claim_ms = 5000);
    park(scripts, "b", "one", .lease_ms = 30);
    park(scripts, "c", "two", .keep_ms = 0);
    sleep_past(scripts, 30);
    assert_int_equal(inspect(scripts, "n", "").waiters, 2);
    assert_status(acquire(scripts, .token = "a", .server = "two"), "waiting");
    release(scripts, "n", "x");
    assert_holds(scripts, "a");
}

TEST_WITH_CLOCK(a_queue_has_a_bound)
{
    acquire(scripts, .token = "x");
    park(scripts, "a", "one", .bound = 2);
    park(scripts, "b", "two", .bound = 2);
    struct answer many = acquire(scripts, .token = "c", .server = "one", .bound = 2);
    assert_status(many, "too_many_waiters");
    assert_int_equal(many.count, 2);
    assert_status(look_again(scripts, "a", "one", .bound = 2), "waiting");
    assert_int_equal(inspect(scripts, "n", "").waiters, 2);
    release(scripts, "n", "b");
    park(scripts, "c", "one", .bound = 2);
}

TEST_WITH_CLOCK(an_upgrade_waits_in_front)
{
    share(scripts, 2);
    park(scripts, "x", "one", .ttl_ms = 0);
    park(scripts, "up", "two", .owner = "A", .reenters = true);
    release(scripts, "n", "b");
    assert_holds(scripts, "up");
    assert_waits(scripts, "x");
    assert_status(look_again(scripts, "up", "two", .ttl_ms = 0), "claimed");
    release(scripts, "n", "up");
    assert_waits(scripts, "x");
    release(scripts, "n", "a");
    assert_holds(scripts, "x");
}

TEST_WITH_CLOCK(a_second_upgrade_is_a_conflict_until_the_first_is_done)
{
    share(scripts, 2);
    park(scripts, "up", "one", .owner = "A", .reenters = true);
    assert_status(acquire(scripts, .token = "u2", .owner = "B", .reenters = true),
                  "upgrade_conflict");
    assert_status(acquire(scripts, .token = "u2", .owner = "B", .reenters = true, .server = "one"),
                  "upgrade_conflict");
    assert_status(acquire(scripts, .token = "u2", .owner = "A", .reenters = true), "locked");
    assert_status(look_again(scripts, "up", "one", .owner = "A", .reenters = true), "waiting");
    assert_status(acquire(scripts, .token = "b2", .owner = "B", .reenters = true, .mode = "shared"),
                  "granted");
    assert_status(acquire(scripts, .token = "c", .mode = "shared"), "locked");
    release(scripts, "n", "up");
    assert_status(acquire(scripts, .token = "u2", .owner = "B", .reenters = true), "locked");
    park(scripts, "u3", "one", .owner = "B", .reenters = true);
    leave(scripts, .token = "u3", .attempt = "u3", .why = "timeout");
    park(scripts, "u4", "one", .owner = "A", .reenters = true);
}

/* Its owner is granted while the server of the other is passed over. */
TEST_WITH_CLOCK(waiting_upgrade_does_not_pass_that_of_another_owner)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared", .limit = 2);
    acquire(scripts, .token = "b", .owner = "B", .mode = "shared", .limit = 2);
    park(scripts, "c", "one", .owner = "C", .mode = "shared", .limit = 2);
    park(scripts, "c2", "one", .owner = "C", .reenters = true);
    park(scripts, "a2", "two", .owner = "A", .reenters = true, .claim_ms = 30);
    release(scripts, "n", "b");
    assert_holds(scripts, "a2");
    miss_turns(scripts, 30);
    assert_holds(scripts, "c");
    assert_status(look_again(scripts, "a2", "two", .owner = "A", .reenters = true), "waiting");
    assert_int_equal(inspect(scripts, "n", "a2").position, 1);
    assert_int_equal(inspect(scripts, "n", "c2").position, 2);
}

TEST_WITH_CLOCK(missed_reentry_comes_back_behind_that_of_another_owner)
{
    share(scripts, 3);
    park(scripts, "x", "one", .mode = "shared", .limit = 3);
    park(scripts, "a2", "two", .owner = "A", .reenters = true, .mode = "shared", .limit = 3,
         .claim_ms = 20);
    release(scripts, "n", "c");
    assert_holds(scripts, "a2");
    park(scripts, "b2", "one", .owner = "B", .reenters = true, .mode = "shared", .limit = 2);
    sleep_past(scripts, 10);
    tick(scripts, "n", "nobody");
    assert_int_equal(inspect(scripts, "n", "b2").position, 1);
    assert_int_equal(inspect(scripts, "n", "a2").position, 3);
}

/* A server that has nothing to do with the name any more is dropped. */
TEST_WITH_CLOCK(servers_that_are_done_leave_nothing)
{
    scripts->clock_us = 0; /* whose keys would be counted */
    acquire(scripts, .token = "x");
    park(scripts, "a", "one", .ttl_ms = 0);
    park(scripts, "b", "two", .ttl_ms = 0);
    assert_int_equal(key_count(scripts), 5); /* the name, servers, waiters, two queues */
    release(scripts, "n", "b");
    assert_true(must_ask_again(scripts, "two", 60000));
    assert_false(must_ask_again(scripts, "one", 60000));
    leave(scripts, .token = "a", .attempt = "a", .why = "timeout");
    assert_int_equal(key_count(scripts), 2); /* the name, and that b was cancelled */
}

/* Whatever is left of a name ends by itself: two leases and a minute after the last was heard of,
 * or the retention. Every operation of these tests looks whether a key has no end at all. */
TEST_WITH_CLOCK(the_keys_of_waiters_end)
{
    static const char *const KEYS[] = {"",           ":servers",      ":waiters",     ":ends",
                                       ":queue:one", ":queue:absent", ":queue:missed"};
    scripts->retention_ms = 1000;
    acquire(scripts, .token = "x", .ttl_ms = 100);
    park(scripts, "a", "one", .lease_ms = 5000, .claim_ms = 20);
    park(scripts, "b", "two", .lease_ms = 5000, .keep_ms = 30000);
    park(scripts, "c", "two", .lease_ms = 5000, .claim_ms = 20);
    leave(scripts, .token = "a", .attempt = "a", .why = "timeout", .keep_ms = 30000);
    release(scripts, "n", "x");
    sleep_past(scripts, 20);
    inspect(scripts, "n", "");
    leave(scripts, .token = "c", .attempt = "c", .why = "drain", .lease_ms = 5000);
    park(scripts, "d", "one", .lease_ms = 5000);
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        int64_t pttl = redis_process_integer(&scripts->redis, "PTTL %s", key_of("n", KEYS[i]).text);
        if (pttl < 60000 || pttl > 70200)
            fail_msg("%s ends in %lld ms", KEYS[i], (long long)pttl);
    }
}

/* A name's queue outlives a retention that is shorter than the wait. */
TEST_WITH_CLOCK(waiters_outlive_the_retention)
{
    scripts->clock_us = 0;
    scripts->retention_ms = 20;
    acquire(scripts, .token = "x", .ttl_ms = 20);
    park(scripts, "a", "one", .keep_ms = 5000, .claim_ms = 20);
    leave(scripts, .token = "a", .attempt = "a", .why = "timeout", .keep_ms = 5000);
    sleep_past(scripts, 100);
    assert_holds(scripts, "a");
    sleep_past(scripts, 100);
    assert_int_equal(inspect(scripts, "n", "").waiters, 1);
    assert_status(acquire(scripts, .token = "a"), "claimed");
}

/* What is left of a name whose main key was lost does not come back to life. */
TEST_WITH_CLOCK(waiters_of_a_lost_name_do_not_haunt_it)
{
    acquire(scripts, .token = "x");
    park(scripts, "a", "one", .keep_ms = 50);
    park(scripts, "b", "two", .keep_ms = 50);
    leave(scripts, .token = "b", .attempt = "b", .why = "timeout", .keep_ms = 50000);
    delete_key(scripts, "n", "");
    acquire(scripts, .token = "y");
    park(scripts, "c", "one", .ttl_ms = 0);
    assert_int_equal(inspect(scripts, "n", "").waiters, 1);
    park(scripts, "d", "one", .ttl_ms = 0);
    leave(scripts, .token = "d", .attempt = "d", .why = "drain");
    release(scripts, "n", "y");
    assert_holds(scripts, "c");
    look_again(scripts, "c", "one", .ttl_ms = 0);
    release(scripts, "n", "c");
    assert_holds(scripts, "d");
    assert_status(look_again(scripts, "a", "one", .ttl_ms = 0), "waiting");
}

TEST_WITH_CLOCK(any_key_may_be_lost)
{
    static const char *const LOST[] = {":servers",      ":waiters",      ":ends",    ":queue:one",
                                       ":queue:absent", ":queue:missed", ":entrants"};
    for (size_t i = 0; i < sizeof LOST / sizeof LOST[0]; i++) {
        scripts_reset_with_own_clock(scripts);
        acquire(scripts, .token = "x");
        park(scripts, "a", "one", .claim_ms = 10, .keep_ms = 50);
        park(scripts, "b", "one", .claim_ms = 10, .keep_ms = 50, .owner = "a", .reenters = true);
        park(scripts, "c", "one", .claim_ms = 10);
        leave(scripts, .token = "a", .attempt = "a", .why = "timeout", .keep_ms = 50);
        leave(scripts, .token = "b", .attempt = "b", .why = "timeout", .keep_ms = 50);
        release(scripts, "n", "x");
        sleep_past(scripts, 10);
        delete_key(scripts, "n", LOST[i]);
        tick(scripts, "n", "one");
        delete_key(scripts, "n", LOST[i]);
        sleep_past(scripts, 50);
        tick(scripts, "n", "one");
        sleep_past(scripts, 10);
        break_all(scripts, "n");
        struct answer new = acquire(scripts, .token = "y", .ttl_ms = 20);
        if (strcmp(new.status, "granted") != 0 && strcmp(new.status, "locked") != 0)
            fail_msg("%s lost: %s", LOST[i], new.status);
        struct answer again = look_again(scripts, "c", "one", .ttl_ms = 0);
        if (strcmp(again.status, "waiting") == 0) {
            sleep_past(scripts, 30);
            again = look_again(scripts, "c", "one", .ttl_ms = 0);
        }
        assert_status(again, "claimed");
        assert_int_equal(inspect(scripts, "n", "").waiters, 0);
    }
}

/* Where nothing but the main key was lost, nobody is in the queue any more either. */
TEST_WITH_CLOCK(a_server_whose_queue_was_lost_is_notified)
{
    scripts->keys_were_lost = true;
    acquire(scripts, .token = "x");
    acquire(scripts, .token = "a", .attempt = "a", .server = "one");
    assert_false(must_ask_again(scripts, "one", 60000));
    delete_key(scripts, "n", "");
    assert_true(must_ask_again(scripts, "one", 60000));
    assert_status(acquire(scripts, .token = "a", .attempt = "a", .again = true, .server = "one"),
                  "granted");
}

RUN_SCRIPT_TESTS
