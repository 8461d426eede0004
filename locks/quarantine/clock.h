/* clock.h: derives Redis' clock from its answers, and notices when it jumps. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_CLOCK_H
#define BATON_LOCKS_QUARANTINE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NS_PER_US = 1000,
    US_PER_MS = 1000,
    US_PER_S = 1000000,
    CLOCK_JUMP_US = 500000,  /* a larger change is neither drift nor a correction of drift */
    CLOCK_DRIFT_PART = 5000, /* two clocks drift apart by at most 1 us in this time: 200 ppm; us */
};

/* How far Redis' clock is ahead of this process' monotonic clock ("ours"), in us. Zeroed:
 * unknown. */
struct redis_clock {
    bool is_known;
    int64_t low;  /* at least this */
    int64_t high; /* at most this */
    int64_t at;   /* when it was measured; our time, us */
};

enum clock_news { CLOCK_STEADY, CLOCK_AHEAD, CLOCK_BACK };

/* This process' monotonic clock, in us. */
int64_t clock_now(void);

/* How long this machine has slept since its start, in us: our clock stood still meanwhile. */
int64_t clock_slept(void);

/* Redis' clock was at `time` at some moment between our moments `sent` and `answered`. Returns
 * whether it has jumped since the last measurement: by more than delays on the way can explain. */
enum clock_news clock_measure(struct redis_clock *clock, int64_t sent, int64_t answered,
                              int64_t time);

/* The latest time that Redis' clock may show at our `moment`. */
int64_t clock_theirs(const struct redis_clock *clock, int64_t moment);

#endif
