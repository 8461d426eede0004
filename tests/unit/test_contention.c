/* What is reported of contention, by what happened. */
#include "api/stats/contention.h"
#include "tests/support/cmocka.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t ahead_s; /* of the machine's clocks */

/* In place of libc's. */
int shifted_clock(clockid_t clock, struct timespec *ret) __asm__("clock_gettime");

int shifted_clock(clockid_t clock, struct timespec *ret)
{
    long result = syscall(SYS_clock_gettime, clock, ret);
    ret->tv_sec += ahead_s;
    return (int)result;
}

static bool all(void *context, struct slice name)
{
    (void)context, (void)name;
    return true;
}

static bool but_secrets(void *context, struct slice name)
{
    (void)context;
    return name.bytes[0] != 's';
}

static int start(void **state)
{
    static struct contention contention;
    contention_open(&contention, 3);
    *state = &contention;
    return 0;
}

static int stop(void **state)
{
    contention_close(*state);
    return 0;
}

static void queue(struct contention *contention, size_t part, const char *name)
{
    struct lock_event queued = lock_event_of(LOCK_EVENT_QUEUED, slice_of(name));
    contention_add(contention->parts[part], &queued);
}

static void end(struct contention *contention, size_t part, const char *name,
                enum lock_event_kind kind, int64_t waited_us)
{
    struct lock_event ended = lock_event_of(kind, slice_of(name));
    ended.waited_us = waited_us;
    contention_add(contention->parts[part], &ended);
}

static void end_hold(struct contention *contention, size_t part, const char *name,
                     enum lock_event_kind kind, int64_t held_ms, int64_t count)
{
    struct lock_event ended = lock_event_of(kind, slice_of(name));
    ended.held_ms = held_ms;
    ended.count = count;
    contention_add(contention->parts[part], &ended);
}

static void assert_waiting(const struct contention_view *view, size_t i, const char *name,
                           uint64_t waiters)
{
    assert_true(i < view->waiting_count);
    assert_true(slice_equals((struct slice){view->waiting[i].name, view->waiting[i].length}, name));
    assert_int_equal(view->waiting[i].waiters, waiters);
}

static void assert_ranked(const struct contention_view *view, enum contention_list list, size_t i,
                          const char *name, uint64_t value)
{
    assert_true(i < view->lists[list].count);
    const struct ranked *ranked = &view->lists[list].all[i];
    assert_true(slice_equals((struct slice){ranked->name, ranked->length}, name));
    assert_int_equal(ranked->value, value);
    assert_int_equal(ranked->error, 0);
}

TEST_WITH(view_is_empty_at_first, start, stop)
{
    struct contention_view view = contention_view(*state, all, NULL);
    assert_int_equal(view.waiting_count, 0);
    for (size_t i = 0; i < CONTENTION_LISTS; i++)
        assert_int_equal(view.lists[i].count, 0);
    contention_view_free(&view);
    view = contention_view(NULL, all, NULL);
    assert_int_equal(view.waiting_count, 0);
    contention_view_free(&view);
}

/* At whichever worker: each ends where it began. */
TEST_WITH(present_waiters_are_reported, start, stop)
{
    struct contention *contention = *state;
    queue(contention, 0, "a");
    queue(contention, 1, "b");
    queue(contention, 1, "b");
    queue(contention, 2, "b");
    queue(contention, 2, "secret");
    struct contention_view view = contention_view(contention, but_secrets, NULL);
    assert_int_equal(view.waiting_count, 2);
    assert_waiting(&view, 0, "b", 3);
    assert_waiting(&view, 1, "a", 1);
    assert_ranked(&view, CONTENTION_MOST_WAITS, 0, "b", 3);
    assert_ranked(&view, CONTENTION_MOST_WAITERS, 0, "b", 2);
    contention_view_free(&view);

    end(contention, 0, "a", LOCK_EVENT_TIMEOUT, 5000000);
    end(contention, 1, "b", LOCK_EVENT_GRANTED, 7000);
    end(contention, 2, "b", LOCK_EVENT_ABANDONED, 9000);
    end(contention, 2, "free", LOCK_EVENT_GRANTED, -1); /* has not waited */
    view = contention_view(contention, all, NULL);
    assert_int_equal(view.waiting_count, 2);
    assert_waiting(&view, 0, view.waiting[0].length == 1 ? "b" : "secret", 1);
    assert_int_equal(view.lists[CONTENTION_LONGEST_WAITS].count, 2);
    assert_ranked(&view, CONTENTION_LONGEST_WAITS, 0, "a", 5000);
    assert_ranked(&view, CONTENTION_LONGEST_WAITS, 1, "b", 9);
    contention_view_free(&view);
    end(contention, 1, "b", LOCK_EVENT_CANCELLED, 1);
    end(contention, 2, "secret", LOCK_EVENT_UNAVAILABLE, 1);
    view = contention_view(contention, all, NULL);
    assert_int_equal(view.waiting_count, 0);
    contention_view_free(&view);
}

TEST_WITH(ends_of_holds_are_reported, start, stop)
{
    struct contention *contention = *state;
    end_hold(contention, 0, "a", LOCK_EVENT_RELEASED, 700, 1);
    end_hold(contention, 1, "a", LOCK_EVENT_EXPIRED, 300, 1);
    end_hold(contention, 2, "a", LOCK_EVENT_EXPIRED, -1, 40);
    end_hold(contention, 2, "b", LOCK_EVENT_EXPIRED, 900, 1);
    struct contention_view view = contention_view(contention, all, NULL);
    assert_int_equal(view.lists[CONTENTION_LONGEST_HOLDS].count, 2);
    assert_ranked(&view, CONTENTION_LONGEST_HOLDS, 0, "b", 900);
    assert_ranked(&view, CONTENTION_LONGEST_HOLDS, 1, "a", 700);
    assert_ranked(&view, CONTENTION_MOST_EXPIRATIONS, 0, "a", 41);
    assert_ranked(&view, CONTENTION_MOST_EXPIRATIONS, 1, "b", 1);
    contention_view_free(&view);
}

static size_t holds_reported(const struct contention *contention, uint64_t *window_ms)
{
    struct contention_view view = contention_view(contention, all, NULL);
    size_t count = view.lists[CONTENTION_LONGEST_HOLDS].count;
    *window_ms = view.window_ms;
    contention_view_free(&view);
    return count;
}

/* Also where nothing has happened for a night. */
TEST_WITH(holds_older_than_two_windows_are_forgotten, start, stop)
{
    enum { HOUR_S = CONTENTION_WINDOW_MS / 1000 };
    struct contention *contention = *state;
    uint64_t window_ms;
    end_hold(contention, 0, "a", LOCK_EVENT_RELEASED, 700, 1);
    ahead_s += HOUR_S + 60;
    assert_int_equal(holds_reported(contention, &window_ms), 1);
    ahead_s += HOUR_S;
    assert_int_equal(holds_reported(contention, &window_ms), 0);
    end_hold(contention, 0, "b", LOCK_EVENT_RELEASED, 700, 1);
    ahead_s += 10 * HOUR_S;
    assert_int_equal(holds_reported(contention, &window_ms), 0);
    assert_true(window_ms <= 2 * CONTENTION_WINDOW_MS);
}
