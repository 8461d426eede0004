/* The windows in which the longest TTL is remembered, with workers that are slow, stand still or
 * come late: no hold that still runs is longer than what the epoch and its worker know. */
#include "locks/quarantine/span.h"
#include "tests/support/cmocka.h"
#include "tests/support/seed.h"

#include <string.h>

enum { WORKERS = 3, HISTORIES = 100000, STEPS = 60, HOLDS = 4 * STEPS, SECOND = 1000000 };

enum mistake {
    NO_MISTAKE,
    LOWERED_AFTER_ONE_WINDOW,
    REPORTED_BEFORE_RAISED,
    WINDOW_OF_A_MINUTE,
    MISTAKES
};

/* As scripts/epoch.lua keeps it, by a clock that is as ours. */
struct epoch {
    int64_t span, before, turns;
};

enum step { IDLE, ASKED, WRITTEN };

struct worker {
    struct span span;
    enum step step;
    int64_t ttl, asked;    /* of the hold that waits until the epoch has its TTL */
    struct epoch observed; /* what the answer of the epoch says, that is on its way */
};

struct hold {
    int64_t ttl, ends;
    int worker;
};

struct history {
    enum mistake mistake;
    int64_t now;
    struct epoch epoch;
    struct worker workers[WORKERS];
    struct hold holds[HOLDS];
    int count, uncovered;
};

static uint64_t chance;

static int64_t below(int64_t most)
{
    return (int64_t)(seed_mix(chance++) % (uint64_t)most);
}

/* Most are short, some last for up to a day. */
static int64_t some_ttl(void)
{
    static const int64_t MOST[] = {SECOND, 30 * SECOND, 30 * SECOND, 600 * (int64_t)SECOND,
                                   86400 * (int64_t)SECOND};
    return 1 + below(MOST[below(sizeof MOST / sizeof MOST[0])]);
}

static int64_t greater(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

static void epoch_raise(struct history *history, int64_t ttl)
{
    struct epoch *epoch = &history->epoch;
    if (history->now >= epoch->turns) {
        bool forgets = history->mistake == LOWERED_AFTER_ONE_WINDOW;
        int64_t length = history->mistake == WINDOW_OF_A_MINUTE
                             ? 60 * (int64_t)SECOND
                             : greater(epoch->span, 60 * (int64_t)SECOND);
        epoch->before = forgets ? 0 : epoch->span;
        epoch->span = 0;
        epoch->turns = history->now + length + 5 * SECOND;
    }
    epoch->span = greater(epoch->span, ttl);
}

static void observe(struct history *history, struct worker *worker, const struct epoch *epoch)
{
    span_see(&worker->span, epoch->span, epoch->before, epoch->turns, history->now);
}

static void report(struct history *history, int worker, int64_t ttl, int64_t asked)
{
    if (history->count < HOLDS)
        history->holds[history->count++] = (struct hold){ttl, asked + ttl, worker};
}

static void grant(struct history *history, int number)
{
    struct worker *worker = &history->workers[number];
    worker->ttl = some_ttl();
    worker->asked = history->now;
    if (span_covers(&worker->span, worker->ttl, history->now)) {
        report(history, number, worker->ttl, history->now);
        return;
    }
    if (history->mistake == REPORTED_BEFORE_RAISED)
        report(history, number, worker->ttl, history->now);
    span_ask(&worker->span, worker->ttl, history->now);
    worker->step = ASKED;
}

/* What a worker does next: it looks, grants, or its question to the epoch goes on its way. */
static void act(struct history *history, int number)
{
    struct worker *worker = &history->workers[number];
    if (worker->step == ASKED) {
        epoch_raise(history, worker->ttl);
        worker->observed = history->epoch;
        worker->step = WRITTEN;
    } else if (worker->step == WRITTEN) {
        observe(history, worker, &worker->observed);
        if (history->mistake != REPORTED_BEFORE_RAISED)
            report(history, number, worker->ttl, worker->asked);
        worker->step = IDLE;
    } else if (below(3) == 0) {
        if (history->now >= history->epoch.turns)
            epoch_raise(history, 0);
        observe(history, worker, &history->epoch);
    } else {
        grant(history, number);
    }
}

static void judge(struct history *history)
{
    const struct epoch *epoch = &history->epoch;
    for (int i = 0; i < history->count; i++) {
        const struct hold *hold = &history->holds[i];
        const struct span *span = &history->workers[hold->worker].span;
        if (hold->ends > history->now && (greater(epoch->span, epoch->before) < hold->ttl ||
                                          span_longest(span, history->now) < hold->ttl))
            history->uncovered++;
    }
}

/* Often until just before a window ends, or just after. */
static void pass(struct history *history)
{
    static const int64_t MOST[] = {SECOND / 100, SECOND, 3 * SECOND, 40 * (int64_t)SECOND,
                                   7200 * (int64_t)SECOND};
    int64_t turns = history->epoch.turns - 1;
    if (history->now < turns && below(4) == 0)
        history->now = turns + below(2);
    else
        history->now += below(MOST[below(sizeof MOST / sizeof MOST[0])]);
}

/* Returns how many holds were not covered at some moment of so many histories. */
static int play(enum mistake mistake, int histories)
{
    int uncovered = 0;
    for (int i = 0; i < histories; i++) {
        struct history history = {.mistake = mistake, .now = 1000 * (int64_t)SECOND};
        for (int step = 0; step < STEPS; step++) {
            pass(&history);
            act(&history, (int)below(WORKERS));
            judge(&history);
        }
        uncovered += history.uncovered;
    }
    return uncovered;
}

TEST(no_hold_is_longer_than_the_span)
{
    assert_int_equal(play(NO_MISTAKE, HISTORIES), 0);
}

TEST(every_mistake_is_found)
{
    for (enum mistake mistake = NO_MISTAKE + 1; mistake < MISTAKES; mistake++)
        if (play(mistake, HISTORIES / 10) == 0)
            fail_msg("mistake %d is not found", mistake);
}

TEST(span_of_a_window_is_forgotten_after_the_next)
{
    struct history history = {.now = 1000 * (int64_t)SECOND};
    struct span *span = &history.workers[0].span;
    const int64_t hour = 3600 * (int64_t)SECOND, more = 10 * (int64_t)SECOND;
    epoch_raise(&history, hour);
    observe(&history, &history.workers[0], &history.epoch);
    assert_int_equal(span_longest(span, history.now), hour);
    for (int window = 0; window < 2; window++) { /* until which it is remembered */
        history.now = history.epoch.turns;
        epoch_raise(&history, SECOND);
        observe(&history, &history.workers[0], &history.epoch);
        assert_int_equal(span_longest(span, history.now), window == 0 ? hour : SECOND);
    }
    /* A worker that cannot look any more forgets, too. */
    assert_int_equal(span_longest(span, history.epoch.turns + SECOND + more), 0);
}

/* A slow member of a quorum makes a hold 10 s after it was asked, and the windows have only 5 s
 * more than the TTL. But the client counts from when batond began to ask, and batond asked the
 * member to raise the span after that. */
TEST(hold_that_is_made_late_is_covered_for_as_long_as_its_client_counts)
{
    struct history history = {.now = 1000 * (int64_t)SECOND};
    const struct epoch *epoch = &history.epoch;
    const int64_t hour = 3600 * (int64_t)SECOND, late = 10 * (int64_t)SECOND;
    epoch_raise(&history, SECOND);
    history.now = epoch->turns - 1; /* the worst moment: the window ends at once */
    int64_t asked = history.now, made = asked + late;
    epoch_raise(&history, hour);
    history.now = epoch->turns;
    epoch_raise(&history, SECOND);
    assert_true(epoch->turns > asked + hour); /* the end of all windows that have it */
    history.now = epoch->turns;
    epoch_raise(&history, SECOND);
    assert_true(history.now < made + hour);
    assert_int_equal(greater(epoch->span, epoch->before), SECOND);
}

TEST(ttl_is_reported_only_by_an_epoch_that_was_just_seen)
{
    struct span span = {0};
    assert_false(span_covers(&span, SECOND, 10 * SECOND));
    span_see(&span, 30 * SECOND, 0, 100 * SECOND, 10 * SECOND);
    assert_true(span_covers(&span, 30 * SECOND, 11 * SECOND));
    assert_false(span_covers(&span, 31 * SECOND, 11 * SECOND));
    assert_false(span_covers(&span, SECOND, 12 * SECOND));
    span_see(&span, 30 * SECOND, 0, 100 * SECOND, 99 * SECOND);
    assert_false(span_covers(&span, SECOND, 100 * SECOND));
}

TEST(requested_span_is_kept_until_the_epoch_has_it)
{
    struct span span = {0};
    span_ask(&span, 60 * SECOND, SECOND);
    assert_int_equal(span_longest(&span, 2 * SECOND), 60 * SECOND);
    span_see(&span, 30 * SECOND, 0, 100 * SECOND, 3 * SECOND);
    assert_int_equal(span_longest(&span, 4 * SECOND), 60 * SECOND);
    span_see(&span, 60 * SECOND, 0, 100 * SECOND, 5 * SECOND);
    assert_int_equal(span.asked, 0);
}

int main(void)
{
    chance = seed_choose();
    return tests_run(NULL, NULL);
}
