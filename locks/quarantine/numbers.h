/* numbers.h: an upper bound of the numbers (fences and versions) that Redis has given. Internal to
 * locks/. */
#ifndef BATON_LOCKS_QUARANTINE_NUMBERS_H
#define BATON_LOCKS_QUARANTINE_NUMBERS_H

#include <stdint.h>

/* A new number of a name is the time by Redis' clock, or the name's last number plus 1, if that is
 * greater. So all that Redis has lost was numbered below the time of the loss.
 *
 * If the clock goes back, or if a node whose clock was ahead is replaced, numbers stay ahead of the
 * clock. They go on at half its speed until it has caught up with them, at `level`. Every worker
 * reads that from the epoch, and scripts get it with their stamp. So numbers grow with time by the
 * same rule everywhere, even in the second before a loss is noticed. (Redis takes more than two
 * microseconds for each number. A jump of the clock counts as time, too.) All times are Redis', in
 * microseconds. */
struct numbers {
    int64_t floor; /* at least every number that was given and then lost */
    int64_t level; /* until the clock has reached this, numbers are ahead of it */
};

/* At least every number that was given when the clock was at `time`. */
int64_t numbers_at(const struct numbers *numbers, int64_t time);

/* Makes all new numbers at least `number` from now on, when the clock is at `time` at the
 * earliest. */
void numbers_raise(struct numbers *numbers, int64_t number, int64_t time);

/* Adds what another worker knows. */
void numbers_learn(struct numbers *numbers, int64_t floor, int64_t level);

#endif
