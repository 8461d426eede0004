/* The epoch of Redis' data: the windows of the longest TTL, and what ends or begins a quarantine.
 */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char EPOCH[] = "00000000000000e1", OTHER[] = "00000000000000e2";

enum { SECOND = 1000000, MORE = 5 * SECOND };
static const int64_t HOUR = INT64_C(3600) * SECOND, MINUTE = INT64_C(60) * SECOND;

static struct epoch_seen begin(struct scripts *scripts, const char *epoch, const char *next,
                               int64_t span, int64_t until)
{
    char longest[32], opens[32];
    snprintf(longest, sizeof longest, "%" PRId64, span);
    snprintf(opens, sizeof opens, "%" PRId64, until);
    return change_epoch(scripts, epoch, WORDS("begin", longest, "id", next, "until", opens));
}

static struct epoch_seen raise(struct scripts *scripts, int64_t span)
{
    char longest[32];
    snprintf(longest, sizeof longest, "%" PRId64, span);
    return change_epoch(scripts, EPOCH, WORDS("raise", longest));
}

TEST_WITH_CLOCK(span_is_the_longest_ttl_of_its_window)
{
    begin(scripts, "", EPOCH, 0, 0);
    assert_int_equal(raise(scripts, 30 * SECOND).span, 30 * SECOND);
    assert_int_equal(raise(scripts, SECOND).span, 30 * SECOND);
    struct epoch_seen seen = raise(scripts, HOUR);
    assert_int_equal(seen.span, HOUR);
    assert_int_equal(seen.turns, scripts->clock_us + MINUTE + MORE);
}

TEST_WITH_CLOCK(window_lasts_as_long_as_the_span_before_it)
{
    begin(scripts, "", EPOCH, 0, 0);
    struct epoch_seen seen = raise(scripts, HOUR);
    scripts->clock_us = seen.turns - 1;
    assert_int_equal(raise(scripts, SECOND).before, 0);
    scripts->clock_us++;
    seen = raise(scripts, SECOND);
    assert_int_equal(seen.span, SECOND);
    assert_int_equal(seen.before, HOUR);
    assert_int_equal(seen.turns, scripts->clock_us + HOUR + MORE);
    scripts->clock_us = seen.turns;
    seen = raise(scripts, 0);
    assert_int_equal(seen.span, 0);
    assert_int_equal(seen.before, SECOND);
    assert_int_equal(seen.turns, scripts->clock_us + MINUTE + MORE);
}

TEST_WITH_CLOCK(new_epoch_begins_with_the_span_of_what_may_run)
{
    begin(scripts, "", EPOCH, 0, 0);
    raise(scripts, SECOND);
    struct epoch_seen seen = begin(scripts, EPOCH, OTHER, HOUR, 0);
    assert_string_equal(seen.id, OTHER);
    assert_int_equal(seen.span, 0);
    assert_int_equal(seen.before, HOUR);
    assert_int_equal(seen.turns, scripts->clock_us + HOUR + MORE);
}

/* Both have read the epoch before: one reports a TTL to a client, then the other begins. */
TEST_WITH_CLOCK(begin_after_a_raise_keeps_the_span)
{
    for (int keeps_id = 0; keeps_id < 2; keeps_id++) {
        redis_process_flush(&scripts->redis);
        begin(scripts, "", EPOCH, 0, 0);
        raise(scripts, HOUR);
        struct epoch_seen seen = begin(scripts, EPOCH, keeps_id ? EPOCH : OTHER, SECOND, 0);
        assert_int_equal(seen.before, HOUR);
        assert_int_equal(seen.turns, scripts->clock_us + HOUR + MORE);
        seen = begin(scripts, seen.id, seen.id, 0, 0);
        assert_int_equal(seen.before, HOUR);
    }
}

TEST_WITH_CLOCK(late_begin_ends_no_quarantine)
{
    int64_t until = scripts->clock_us + HOUR;
    begin(scripts, "", EPOCH, 0, until);
    assert_int_equal(begin(scripts, EPOCH, EPOCH, 0, until - SECOND).until, until);
    assert_int_equal(begin(scripts, EPOCH, EPOCH, 0, until + SECOND).until, until + SECOND);
}

/* By the clock that was ahead the quarantine has ended; by this one it would last for an hour. */
TEST_WITH_CLOCK(begin_by_a_clock_that_went_back_keeps_no_end_of_the_one_before)
{
    int64_t back = scripts->clock_us;
    scripts->clock_us += HOUR;
    begin(scripts, "", EPOCH, 0, scripts->clock_us + MINUTE);
    scripts->clock_us = back;
    struct epoch_seen seen = begin(scripts, EPOCH, OTHER, 0, back + SECOND);
    assert_int_equal(seen.until, back + SECOND);
    assert_int_equal(seen.since, back);
    begin(scripts, OTHER, EPOCH, 0, 0);
    scripts->clock_us -= HOUR;
    seen = begin(scripts, EPOCH, OTHER, 0, 0);
    assert_int_equal(seen.until, 0);
    assert_int_equal(seen.since, 0); /* and nobody begins again because of it */
}

TEST_WITH_CLOCK(epoch_of_another_id_is_left_alone)
{
    begin(scripts, "", OTHER, 0, 0);
    assert_int_equal(raise(scripts, HOUR).span, 0);
    assert_int_equal(change_epoch(scripts, EPOCH, WORDS("extend", "9", "epoch", "0", "0")).until,
                     0);
    assert_string_equal(begin(scripts, EPOCH, EPOCH, 0, 0).id, OTHER);
    assert_string_equal(begin(scripts, "", EPOCH, 0, 0).id, OTHER);
}

TEST_WITH_CLOCK(without_an_epoch_only_begin_writes)
{
    change_epoch(scripts, "", WORDS("raise", "9"));
    change_epoch(scripts, "", WORDS("extend", "9", "epoch", "9", "9"));
    change_epoch(scripts, "", WORDS("end", "00000000000000e3", "somebody"));
    assert_int_equal(redis_process_integer(&scripts->redis, "EXISTS baton:epoch"), 0);
    assert_string_equal(begin(scripts, "", EPOCH, 0, 0).id, EPOCH);
}

/* A second loss in a quarantine: whoever looks later counts from the second. */
TEST_WITH_CLOCK(quarantine_began_when_the_last_loss_was_noticed)
{
    int64_t first = scripts->clock_us, until = first + HOUR;
    assert_int_equal(begin(scripts, "", EPOCH, 0, until).since, first);
    scripts->clock_us += SECOND;
    assert_int_equal(raise(scripts, 0).since, first);
    assert_int_equal(begin(scripts, EPOCH, OTHER, 0, until).since, scripts->clock_us);
}

TEST_WITH_CLOCK(end_begins_an_epoch_where_there_is_a_quarantine)
{
    const char *const *end = WORDS("end", "00000000000000e3", "somebody");
    begin(scripts, "", OTHER, 0, 0);
    assert_string_equal(change_epoch(scripts, EPOCH, end).id, OTHER);
    begin(scripts, OTHER, EPOCH, 0, scripts->clock_us + HOUR);
    struct epoch_seen seen = change_epoch(scripts, OTHER, end); /* whosever it is */
    assert_string_equal(seen.id, end[1]);
    assert_int_equal(seen.until, 0);
}

RUN_TESTS(scripts_start, scripts_stop)
