#include "api/stats/hold_counter.h"

#include "base/memory.h"

#include <stdio.h>
#include <time.h>

enum {
    KEYS_MOST = 10000, /* for one scrape: some 30 ms of Redis, a millisecond at a time */
    PATIENCE_MS = 250, /* for one scrape */
    PAUSE_MS = 1000,   /* between two counts, however frequent the scrapes */
};

/* One portion, by one worker. */
struct counting {
    struct hold_counter *hold_counter;
    struct locks *locks;
    void (*done)(void *context);
    void *context;
    uint64_t until; /* nanoseconds of the monotonic clock */
    int64_t keys;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void hold_counter_restart(struct hold_counter *hold_counter)
{
    hold_counter->holds_so_far = 0;
    snprintf(hold_counter->cursor, sizeof hold_counter->cursor, "0");
}

void hold_counter_begin(struct hold_counter *hold_counter)
{
    *hold_counter = (struct hold_counter){.holds = -1};
    hold_counter_restart(hold_counter);
}

static void hold_counter_end(struct counting *counting)
{
    struct hold_counter *hold_counter = counting->hold_counter;
    void (*done)(void *context) = counting->done;
    void *context = counting->context;
    hold_counter->not_before = clock_ns(CLOCK_MONOTONIC) + PAUSE_MS * UINT64_C(1000000);
    atomic_store_explicit(&hold_counter->taken, false, memory_order_release);
    free(counting);
    done(context);
}

static void hold_counter_publish(struct hold_counter *hold_counter)
{
    atomic_store(&hold_counter->holds, hold_counter->holds_so_far);
    atomic_store(&hold_counter->counted_ms, (int64_t)(clock_ns(CLOCK_REALTIME) / 1000000));
    hold_counter_restart(hold_counter);
}

static void hold_counter_go_on(struct counting *counting);

static void hold_counter_on_counted(void *context, const struct locks_count *count)
{
    struct counting *counting = context;
    struct hold_counter *hold_counter = counting->hold_counter;
    if (count->result != LOCKS_DONE) { /* the next Redis may have other cursors */
        hold_counter_restart(hold_counter);
        hold_counter_end(counting);
        return;
    }
    hold_counter->holds_so_far += count->holds;
    counting->keys += count->keys;
    snprintf(hold_counter->cursor, sizeof hold_counter->cursor, "%.*s", (int)count->cursor.length,
             count->cursor.bytes);
    bool complete = slice_equals(count->cursor, "0");
    if (complete)
        hold_counter_publish(hold_counter);
    if (complete || counting->keys >= KEYS_MOST || clock_ns(CLOCK_MONOTONIC) >= counting->until)
        hold_counter_end(counting);
    else
        hold_counter_go_on(counting);
}

static void hold_counter_go_on(struct counting *counting)
{
    locks_count(counting->locks, slice_of(counting->hold_counter->cursor), hold_counter_on_counted,
                counting);
}

bool hold_counter_count(struct hold_counter *hold_counter, struct locks *locks,
                        void (*done)(void *context), void *context)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (atomic_exchange_explicit(&hold_counter->taken, true, memory_order_acquire))
        return false;
    if (now < hold_counter->not_before) {
        atomic_store_explicit(&hold_counter->taken, false, memory_order_release);
        return false;
    }
    struct counting *counting = memory_checked(malloc(sizeof *counting));
    *counting = (struct counting){
        hold_counter, locks, done, context, now + PATIENCE_MS * UINT64_C(1000000), 0};
    hold_counter_go_on(counting);
    return true;
}
