/* What the stamp of a call says: a script that comes too late does nothing at all, and before
 * grants begin again nobody is granted anything, by whatever way. */
#include "tests/scripts/inboxes.h"
#include "tests/support/cmocka.h"

#include <string.h>

enum { SECOND_US = 1000000, HOUR_US_IN_S = 3600 };

/* From now on nothing is granted for so long, by a clock that only this test moves. */
static void begin(struct scripts *scripts, int64_t seconds)
{
    scripts->opens_us = scripts->clock_us + seconds * SECOND_US;
}

static void pass(struct scripts *scripts, int64_t seconds)
{
    scripts->clock_us += seconds * SECOND_US;
}

TEST_WITH_CLOCK(quarantine_grants_nothing_before_its_end)
{
    static const char *const MODES[] = {"exclusive", "shared"};
    for (size_t i = 0; i < 2; i++) {
        for (int is_new = 0; is_new < 2; is_new++) {
            begin(scripts, 10);
            struct answer answer =
                acquire(scripts, .token = "a", .mode = MODES[i], .token_is_new = is_new);
            assert_string_equal(answer.status, "quarantined");
            assert_in_range(answer.next_ms, 9999, 10000);
            assert_int_equal(key_count(scripts), 2); /* the clock of the test */
        }
    }
    pass(scripts, 10);
    assert_status(acquire(scripts, .token = "a", .token_is_new = true), "granted");
}

TEST_WITH_CLOCK(quarantine_refuses_another_hold_of_an_owner)
{
    acquire(scripts, .token = "a", .owner = "me", .reenters = true, .token_is_new = true);
    begin(scripts, 10);
    assert_status(acquire(scripts, .token = "b", .owner = "me", .reenters = true), "quarantined");
    assert_status(acquire(scripts, .token = "b", .owner = "me", .reenters = true, .server = "one"),
                  "quarantined");
    assert_status(acquire(scripts, .token = "c", .owner = "you", .reenters = true), "locked");
    assert_status(renew(scripts, "n", "a", 60000), "renewed");
    assert_status(acquire(scripts, .token = "a", .owner = "me", .reenters = true), "holding");
    assert_status(release(scripts, "n", "a"), "released");
}

TEST_WITH_CLOCK(quarantine_queues_a_newcomer)
{
    for (int is_new = 0; is_new < 2; is_new++) {
        begin(scripts, 10);
        const char *token = is_new ? "new" : "old";
        struct answer answer = acquire(scripts, .name = token, .token = token, .attempt = token,
                                       .server = "one", .lease_ms = 600000, .token_is_new = is_new);
        assert_status(answer, "waiting");
        assert_in_range(answer.next_ms, 9999, 10001);
        assert_int_equal(inspect(scripts, token, "").holds, 0);
    }
}

/* By the end of its wait, and by a request without one. */
static void assert_reported_at_its_place(struct scripts *scripts, const char *token,
                                         const char *mode, const char *at_the_end,
                                         const char *without_wait)
{
    assert_status(
        leave(scripts, .token = token, .attempt = token, .why = "timeout", .keep_ms = 10000),
        at_the_end);
    assert_status(acquire(scripts, .token = token, .mode = mode), without_wait);
    assert_int_equal(inspect(scripts, "n", token).mine, 0);
}

TEST_WITH_CLOCK(kept_place_learns_of_the_quarantine_unless_a_hold_is_in_its_way)
{
    static const char *const HOLDS[] = {NULL, "shared", "exclusive"};
    for (size_t i = 0; i < 3; i++) {
        redis_process_flush(&scripts->redis);
        scripts->opens_us = 0;
        if (HOLDS[i])
            acquire(scripts, .token = "a", .mode = HOLDS[i]);
        begin(scripts, 5);
        acquire(scripts, .token = "b", .attempt = "b", .mode = "shared", .server = "one");
        acquire(scripts, .token = "c", .attempt = "c", .server = "two");
        assert_int_equal(inspect(scripts, "n", "").waiters, 2);
        bool is_free = i == 0, is_held = i == 2;
        assert_reported_at_its_place(scripts, "b", "shared", is_held ? "timeout" : "quarantined",
                                     is_held ? "locked" : "quarantined");
        assert_reported_at_its_place(scripts, "c", NULL, is_free ? "quarantined" : "timeout",
                                     is_free ? "quarantined" : "locked");
        assert_int_equal(inspect(scripts, "n", "").waiters, 2);
    }
    redis_process_flush(&scripts->redis); /* the waiters are lost as well */
    assert_status(leave(scripts, .token = "b", .attempt = "b", .why = "timeout"), "quarantined");
}

TEST_WITH_CLOCK(quarantine_refuses_upgrade)
{
    acquire(scripts, .token = "a", .owner = "me", .reenters = true, .mode = "shared");
    acquire(scripts, .token = "b", .owner = "you", .reenters = true, .mode = "shared");
    assert_status(acquire(scripts, .token = "w", .owner = "me", .reenters = true, .attempt = "w",
                          .server = "one", .lease_ms = 600000),
                  "waiting");
    begin(scripts, 10);
    release(scripts, "n", "b");
    for (int again = 0; again < 2; again++)
        assert_status(acquire(scripts, .token = "w", .owner = "me", .reenters = true,
                              .attempt = "w", .server = "one", .lease_ms = 600000, .again = again),
                      "waiting");
    assert_int_equal(inspect(scripts, "n", "w").mine, 0);
    pass(scripts, 10);
    assert_status(acquire(scripts, .token = "w", .owner = "me", .reenters = true, .attempt = "w",
                          .server = "one", .lease_ms = 600000, .again = true),
                  "claimed");
}

/* The hold admits the first waiter, and only the quarantine does not: it is no front, which waits
 * for the end of the hold. */
TEST_WITH_CLOCK(waiter_that_the_hold_admits_is_granted_after_quarantine)
{
    acquire(scripts, .token = "a", .mode = "shared");
    begin(scripts, 10);
    assert_status(acquire(scripts, .token = "b", .mode = "shared", .server = "one"), "waiting");
    assert_status(acquire(scripts, .token = "c", .server = "one"), "waiting");
    pass(scripts, 10);
    tick(scripts, "n", "one");
    struct seen seen = inspect(scripts, "n", "b");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.waiters, 1);
}

/* The same, where the end of the hold was nearer than that of the quarantine when it was queued. */
TEST_WITH_CLOCK(renewal_keeps_no_waiter_from_its_grant_after_quarantine)
{
    acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = 5000);
    begin(scripts, 10);
    assert_status(acquire(scripts, .token = "b", .mode = "shared", .server = "one"), "waiting");
    assert_status(acquire(scripts, .token = "c", .server = "one"), "waiting");
    assert_status(renew(scripts, "n", "a", 60000), "renewed");
    pass(scripts, 5);
    assert_in_range(tick(scripts, "n", "one").next_ms, 1, 5001);
    pass(scripts, 5);
    tick(scripts, "n", "one");
    assert_int_equal(inspect(scripts, "n", "b").mine, 1);
}

/* A release hands over at once, if it may: by its short ways and by its long one. */
TEST_WITH_CLOCK(release_in_quarantine_grants_nobody)
{
    for (int waiters = 1; waiters < 4; waiters++) {
        char token[] = "w1";
        redis_process_flush(&scripts->redis);
        scripts->opens_us = 0;
        acquire(scripts, .token = "a", .token_is_new = true);
        for (int i = 0; i < waiters; i++, token[1]++)
            assert_status(acquire(scripts, .token = token, .attempt = token,
                                  .server = waiters == 3 && i == 1 ? "two" : "one",
                                  .lease_ms = 600000),
                          "waiting");
        begin(scripts, 10);
        struct answer answer = release_at(scripts, "n", "a", "one");
        assert_status(answer, "released");
        assert_string_equal(answer.next_attempt, "");
        assert_int_equal(inspect(scripts, "n", "").holds, 0);
        assert_int_equal(inspect(scripts, "n", "").waiters, waiters);
        assert_in_range(tick(scripts, "n", "one").next_ms, 9999, 10001);
        pass(scripts, 10);
        tick(scripts, "n", "one");
        assert_status(
            acquire(scripts, .token = "w1", .attempt = "w1", .server = "one", .again = true),
            "claimed");
    }
}

TEST_WITH_CLOCK(quarantine_grants_nobody_whatever_ends_the_hold)
{
    static const char *const WAYS[] = {"expiry", "break", "look", "leave", "newcomer"};
    for (size_t i = 0; i < sizeof WAYS / sizeof WAYS[0]; i++) {
        redis_process_flush(&scripts->redis);
        scripts->opens_us = 0;
        acquire(scripts, .token = "a", .ttl_ms = 2000, .token_is_new = true);
        acquire(scripts, .token = "w", .attempt = "w", .server = "one", .lease_ms = 600000);
        begin(scripts, 10);
        if (!strcmp(WAYS[i], "break"))
            break_all(scripts, "n");
        else
            pass(scripts, 3);
        if (!strcmp(WAYS[i], "leave"))
            leave(scripts, .token = "x", .attempt = "x", .why = "gone");
        if (!strcmp(WAYS[i], "newcomer"))
            assert_status(
                acquire(scripts, .token = "x", .attempt = "x", .server = "one", .lease_ms = 600000),
                "waiting");
        tick(scripts, "n", "one");
        assert_int_equal(inspect(scripts, "n", "").holds, 0);
        assert_status(acquire(scripts, .token = "w", .attempt = "w", .server = "one",
                              .lease_ms = 600000, .again = true),
                      "waiting");
        pass(scripts, 10);
        tick(scripts, "n", "one");
        assert_int_equal(inspect(scripts, "n", "").holds, 1);
    }
}

/* From now on Redis has data of the epoch that operations know. */
static void know_the_epoch(struct scripts *scripts)
{
    redis_process_flush(&scripts->redis);
    scripts->epoch = "00000000000000e1";
    freeReplyObject(
        redis_process_command(&scripts->redis, "HSET baton:epoch id %s", scripts->epoch));
}

/* Redis has other data than batond knows of, since its last look: with another epoch, or
 * without any. */
static void replace_data(struct scripts *scripts, bool has_epoch)
{
    freeReplyObject(redis_process_command(
        &scripts->redis, has_epoch ? "HSET baton:epoch id 00000000000000e2" : "DEL baton:epoch"));
}

TEST_WITH_CLOCK(on_other_data_nothing_is_granted)
{
    for (int way = 0; way < 4; way++) {
        bool is_new = way % 2;
        know_the_epoch(scripts);
        assert_status(acquire(scripts, .name = "m", .token = "m", .owner = "me", .reenters = true),
                      "granted");
        replace_data(scripts, way / 2);
        struct answer answer = acquire(scripts, .token = "a", .token_is_new = is_new);
        assert_status(answer, "quarantined");
        assert_in_range(answer.next_ms, 999, 1000);
        assert_string_equal(answer.reason, "epoch");
        assert_status(acquire(scripts, .name = "m", .token = "b", .owner = "me", .reenters = true),
                      "quarantined");
        assert_status(acquire(scripts, .name = "m", .token = "c", .token_is_new = is_new),
                      "locked");
        assert_status(renew(scripts, "m", "m", 60000), "renewed");
        assert_status(release(scripts, "m", "m"), "released");
        answer = acquire(scripts, .token = "w", .attempt = "w", .server = "one", .lease_ms = 600000,
                         .token_is_new = is_new);
        assert_status(answer, "waiting");
        assert_in_range(answer.next_ms, 999, 1001);
        assert_int_equal(inspect(scripts, "n", "").holds, 0);
        scripts->epoch = "00000000000000e2"; /* batond has looked */
        replace_data(scripts, true);
        tick(scripts, "n", "one");
        assert_int_equal(inspect(scripts, "n", "w").mine, 1);
    }
}

/* What batond knew of is over, and another worker has made it longer since batond last looked. */
TEST_WITH_CLOCK(quarantine_that_another_has_made_longer_goes_on)
{
    for (int is_new = 0; is_new < 2; is_new++) {
        know_the_epoch(scripts);
        begin(scripts, 0);
        freeReplyObject(redis_process_command(&scripts->redis, "HSET baton:epoch until %lld",
                                              (long long)scripts->clock_us + 5 * SECOND_US));
        struct answer answer = acquire(scripts, .token = "a", .token_is_new = is_new);
        assert_status(answer, "quarantined");
        assert_in_range(answer.next_ms, 4999, 5000);
        pass(scripts, 5);
        assert_status(acquire(scripts, .token = "a", .token_is_new = is_new), "granted");
    }
}

/* By the short ways of a release and an expiry, and by their long one. */
TEST_WITH_CLOCK(release_or_expiry_on_other_data_grants_nobody)
{
    for (int way = 0; way < 8; way++) {
        char token[] = "w1";
        int waiters = 1 + way % 4;
        bool is_by_expiry = way / 4;
        know_the_epoch(scripts);
        acquire(scripts, .token = "a", .ttl_ms = 2000, .token_is_new = true);
        for (int i = 0; i < waiters; i++, token[1]++)
            assert_status(acquire(scripts, .token = token, .attempt = token,
                                  .server = waiters == 3 && i == 1 ? "two" : "one",
                                  .lease_ms = 600000),
                          "waiting");
        replace_data(scripts, way % 2);
        if (is_by_expiry)
            pass(scripts, 3);
        else
            assert_string_equal(release_at(scripts, "n", "a", "one").next_attempt, "");
        assert_in_range(tick(scripts, "n", "one").next_ms, 999, 1001);
        assert_int_equal(inspect(scripts, "n", "").holds, 0);
        assert_int_equal(inspect(scripts, "n", "").waiters, waiters);
        scripts->epoch = "00000000000000e2";
        replace_data(scripts, true);
        tick(scripts, "n", "one");
        assert_int_equal(inspect(scripts, "n", "w1").mine, 1);
    }
}

TEST_WITH_CLOCK(in_a_cluster_the_epoch_has_a_tag)
{
    know_the_epoch(scripts);
    scripts->tag = "06S";
    assert_status(acquire(scripts, .token = "a", .token_is_new = true), "quarantined");
    freeReplyObject(redis_process_command(&scripts->redis, "RENAME baton:epoch baton:epoch:{06S}"));
    assert_status(acquire(scripts, .token = "a", .token_is_new = true), "granted");
}

/* In a Cluster the slot of the epoch may have left; and a key of another type is no epoch. */
TEST_WITH_CLOCK(an_epoch_that_cannot_be_read_changes_nothing)
{
    know_the_epoch(scripts);
    freeReplyObject(redis_process_command(&scripts->redis, "SET baton:epoch text"));
    assert_status(acquire(scripts, .token = "a", .token_is_new = true), "granted");
}

/* One batond sees the clock ahead, and what has ended by it. The clock is right again before the
 * others have looked, so nothing keeps them from granting. */
TEST_WITH_CLOCK(hold_ended_by_a_clock_ahead_runs_on)
{
    static const char *const MODES[] = {"exclusive", "shared"};
    for (int i = 0; i < 2; i++) {
        redis_process_flush(&scripts->redis);
        acquire(scripts, .token = "a", .mode = MODES[i], .ttl_ms = 20000, .token_is_new = true);
        pass(scripts, 1);
        renew(scripts, "n", "a", 20000);
        pass(scripts, 60);
        begin(scripts, 70);
        assert_int_equal(inspect(scripts, "n", "a").holds, 0);
        pass(scripts, -60);
        scripts->opens_us = 0;
        struct answer refused = acquire(scripts, .token = "b", .token_is_new = true);
        assert_string_equal(refused.status, "quarantined");
        assert_in_range(refused.next_ms, 19999, 20000);
        struct answer waits = acquire(scripts, .token = "w", .attempt = "w", .server = "one",
                                      .lease_ms = 600000, .claim_ms = 60000);
        assert_string_equal(waits.status, "waiting");
        assert_in_range(waits.next_ms, 19999, 20001);
        pass(scripts, 19);
        tick(scripts, "n", "one");
        assert_int_equal(inspect(scripts, "n", "w").mine, 0);
        pass(scripts, 1);
        tick(scripts, "n", "one");
        assert_int_equal(inspect(scripts, "n", "w").mine, 1);
    }
}

/* Of what was over before, nobody has to wait for the end by a clock that has gone back since. */
TEST_WITH_CLOCK(hold_over_before_the_clock_went_back_stays_over)
{
    pass(scripts, 3600);
    acquire(scripts, .token = "a", .ttl_ms = 20000, .token_is_new = true);
    pass(scripts, 60);
    assert_int_equal(inspect(scripts, "n", "a").holds, 0);
    pass(scripts, -3600);
    assert_status(acquire(scripts, .token = "b", .token_is_new = true), "granted");
    assert_status(release(scripts, "n", "b"), "released");
    acquire(scripts, .token = "c", .ttl_ms = 20000, .token_is_new = true);
    assert_status(release(scripts, "n", "c"), "released");
    pass(scripts, -1);
    assert_status(acquire(scripts, .token = "d", .token_is_new = true), "granted");
}

/* What was handed over before is not claimed: its waiter is the next again. */
TEST_WITH_CLOCK(handed_over_hold_cannot_be_claimed_in_quarantine)
{
    for (int way = 0; way < 4; way++) {
        redis_process_flush(&scripts->redis);
        scripts->opens_us = 0;
        acquire(scripts, .token = "a", .token_is_new = true);
        acquire(scripts, .token = "w", .attempt = "w", .server = "one", .claim_ms = 60000,
                .lease_ms = 600000, .keep_ms = 30000);
        release(scripts, "n", "a");
        assert_int_equal(inspect(scripts, "n", "w").mine, 1);
        begin(scripts, 10);
        if (way == 0)
            assert_status(acquire(scripts, .token = "w", .attempt = "w", .server = "one",
                                  .lease_ms = 600000, .again = true),
                          "waiting");
        else if (way == 1)
            assert_status(acquire(scripts, .token = "w", .attempt = "later", .server = "one",
                                  .lease_ms = 600000),
                          "waiting");
        else if (way == 2)
            assert_status(renew(scripts, "n", "w", 60000), "not_held");
        else
            assert_status(
                leave(scripts, .token = "w", .attempt = "w", .why = "timeout", .keep_ms = 30000),
                "quarantined");
        if (way != 2) {
            assert_int_equal(inspect(scripts, "n", "w").mine, 0);
            assert_int_equal(inspect(scripts, "n", "w").waiters, 1);
            pass(scripts, 10);
            tick(scripts, "n", "one");
            assert_int_equal(inspect(scripts, "n", "w").mine, 1);
        }
    }
}

/* A script that comes too late: as if nobody had called it. */
TEST_WITH_CLOCK(late_script_changes_nothing)
{
    acquire(scripts, .token = "a", .ttl_ms = 1000, .token_is_new = true);
    acquire(scripts, .token = "w", .attempt = "w", .server = "one", .lease_ms = 600000);
    redisReply *before = redis_process_command(&scripts->redis, "GET baton:{n}");
    scripts->latest_us = scripts->clock_us + SECOND_US / 2;
    pass(scripts, HOUR_US_IN_S); /* all has ended by this clock */
    const struct answer answers[] = {
        acquire(scripts, .token = "b", .token_is_new = true),
        acquire(scripts, .token = "b"),
        acquire(scripts, .token = "w", .attempt = "w", .server = "one", .again = true),
        release(scripts, "n", "a"),
        renew(scripts, "n", "a", 60000),
        leave(scripts, .token = "w", .attempt = "w", .why = "timeout")};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        assert_int_equal(strncmp(answers[i].status, "LATE 1", 6), 0);
    redisReply *after = redis_process_command(&scripts->redis, "GET baton:{n}");
    assert_int_equal(before->len, after->len);
    assert_memory_equal(before->str, after->str, before->len);
    freeReplyObject(before);
    freeReplyObject(after);
    scripts->latest_us = 0;
    pass(scripts, -HOUR_US_IN_S);
    assert_status(renew(scripts, "n", "a", 60000), "renewed");
}

/* Where the clock was ahead once, and the name is forgotten. */
TEST_WITH_CLOCK(numbers_grow_from_the_greatest_time_that_was_seen)
{
    for (int is_new = 0; is_new < 2; is_new++) {
        redis_process_flush(&scripts->redis);
        scripts->floor_us = 0;
        acquire(scripts, .token = "a", .token_is_new = true);
        int64_t before = inspect(scripts, "n", "").version;
        redis_process_flush(&scripts->redis);
        scripts->floor_us = scripts->clock_us;
        pass(scripts, -HOUR_US_IN_S);
        int64_t version = inspect(scripts, "n", "").version;
        assert_true(version >= before);
        assert_int_equal(inspect(scripts, "n", "").version, version);
        struct answer answer = acquire(scripts, .token = "b", .token_is_new = is_new);
        assert_status(answer, "granted");
        assert_true(answer.fence > before);
    }
}

TEST_WITH_CLOCK(a_version_does_not_fall_when_that_time_has_come)
{
    scripts->floor_us = scripts->clock_us;
    pass(scripts, -HOUR_US_IN_S);
    int64_t version = inspect(scripts, "n", "").version;
    pass(scripts, HOUR_US_IN_S + 1);
    assert_true(inspect(scripts, "n", "").version >= version);
}

/* What Redis has is some seconds older than the last numbers, and its clock is behind: a replica
 * was promoted that lacked them, or an old file was read. Returns what they are below. */
static int64_t lose_the_newest(struct scripts *scripts)
{
    scripts->floor_us = scripts->clock_us + 10 * SECOND_US;
    pass(scripts, -HOUR_US_IN_S);
    return scripts->floor_us;
}

static void begin_anew(struct scripts *scripts)
{
    redis_process_flush(&scripts->redis);
    scripts->floor_us = 0;
    pass(scripts, HOUR_US_IN_S);
}

TEST_WITH_CLOCK(numbers_grow_where_the_newest_were_lost)
{
    for (int is_new = 0; is_new < 2; is_new++) { /* a name that is free */
        begin_anew(scripts);
        acquire(scripts, .token = "a");
        release(scripts, "n", "a");
        int64_t floor = lose_the_newest(scripts);
        int64_t fence = acquire(scripts, .token = "b", .token_is_new = is_new).fence;
        assert_true(fence >= floor);
        assert_true(release(scripts, "n", "b").version > fence);
    }
    for (int waiters = 0; waiters < 3; waiters++) { /* or held */
        for (int is_direct = 0; is_direct < 2; is_direct++) {
            begin_anew(scripts);
            acquire(scripts, .token = "a");
            for (int i = 0; i < waiters; i++)
                acquire(scripts, .token = i ? "x" : "w", .server = i ? "two" : "one");
            int64_t floor = lose_the_newest(scripts);
            int64_t version = release_at(scripts, "n", "a", is_direct ? "one" : "other").version;
            assert_true(version >= floor);
            const struct seen seen = inspect(scripts, "n", "");
            assert_int_equal(seen.version, version);
            assert_int_equal(seen.holds, waiters > 0);
            if (waiters > 0)
                assert_true(seen.shown_holds[0].fence >= floor);
        }
    }
}

/* All kinds of records: a free name, one that only a watcher or a queue has, and by way of the
 * number of holds and waiters a single hold, awaited or not, and a hold set. */
static void make_record(struct scripts *scripts, int kind)
{
    int holds = kind / 3, waiters = kind % 3;
    begin_anew(scripts);
    scripts->opens_us = holds == 0 && waiters > 0 ? scripts->clock_us + 1 : 0;
    for (int i = 0; i < holds; i++)
        acquire(scripts, .token = i ? "b" : "a", .mode = "shared",
                .ttl_ms = 2 * HOUR_US_IN_S * 1000);
    for (int i = 0; i < waiters; i++)
        acquire(scripts, .token = i ? "x" : "w", .server = "one", .lease_ms = 600000);
    if (kind == 0)
        watch(scripts, "n", "one", 600000);
}

TEST_WITH_CLOCK(versions_do_not_fall_where_the_newest_were_lost)
{
    for (int kind = 0; kind < 9; kind++) {
        static const char *const NAME = "n";
        struct standing standing;
        make_record(scripts, kind);
        int64_t floor = lose_the_newest(scripts);
        scripts->opens_us = scripts->clock_us + SECOND_US;
        heartbeat(scripts, "one", 600000, 1, &NAME, &standing);
        assert_true(standing.version >= floor || standing.waits < 0);
        if (kind >= 3) {
            assert_true(acquire(scripts, .token = "z", .token_is_new = true).view.version >= floor);
            assert_true(renew(scripts, "n", "a", 60000).version >= floor);
        }
        assert_int_equal(inspect(scripts, "n", "").version, floor);
        scripts->floor_us = 0;
        assert_int_equal(inspect(scripts, "n", "").version, floor); /* it is written */
    }
}

TEST_WITH_CLOCK(watchers_learn_of_the_version_that_a_loss_has_raised)
{
    struct inboxes inboxes;
    watch(scripts, "n", "one", 600000);
    inboxes_open(&inboxes, scripts);
    lose_the_newest(scripts);
    tick(scripts, "n", "two");
    inboxes_read(&inboxes);
    assert_int_equal(inboxes.count, 1);
    assert_non_null(strstr(inboxes.text[0], "one c "));
    inboxes_close(&inboxes);
}

/* Nobody has noticed the loss yet, and a waiter makes the first record. */
TEST_WITH_CLOCK(queue_of_a_lost_name_begins_above_its_version)
{
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        scripts->level_us = is_behind ? scripts->clock_us + INT64_C(3600) * SECOND_US : 0;
        acquire(scripts, .token = "a");
        int64_t version = release(scripts, "n", "a").version;
        know_the_epoch(scripts);
        replace_data(scripts, true);
        pass(scripts, 1);
        assert_status(acquire(scripts, .token = "w", .server = "one"), "waiting");
        assert_true(inspect(scripts, "n", "").version > version);
    }
}

/* Whatever else gives a number. */
TEST_WITH_CLOCK(numbers_of_ends_grow_where_the_newest_were_lost)
{
    static const char *const MODES[] = {"exclusive", "shared"};
    for (int i = 0; i < 2; i++) {
        bool is_hold_set = i == 1;
        begin_anew(scripts);
        acquire(scripts, .token = "a", .mode = MODES[i]);
        acquire(scripts, .token = "b", .mode = MODES[i], .owner = "a");
        int64_t floor = lose_the_newest(scripts);
        if (is_hold_set)
            assert_true(acquire(scripts, .token = "c", .mode = "shared").fence >= floor);
        assert_true(break_all(scripts, "n").version >= floor);

        begin_anew(scripts);
        acquire(scripts, .token = "a", .mode = MODES[i], .ttl_ms = 1000);
        floor = lose_the_newest(scripts);
        pass(scripts, HOUR_US_IN_S + 2); /* its end is before that number */
        assert_true(tick(scripts, "n", "one").version >= floor);

        begin_anew(scripts);
        acquire(scripts, .token = "a", .mode = "shared");
        acquire(scripts, .token = "b", .mode = "shared");
        floor = lose_the_newest(scripts);
        delete_key(scripts, "n", ":owners");
        scripts->keys_were_lost = true;
        assert_true(inspect(scripts, "n", "").version >= floor);
        scripts->keys_were_lost = false;
    }
}

RUN_SCRIPT_TESTS
