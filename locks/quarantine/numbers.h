/* numbers.h: below which numbers (fences and versions) of names Redis may have given some. Internal
 * to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_NUMBERS_H
#define BATON_LOCKS_QUARANTINE_NUMBERS_H

#include <stdint.h>

/* A new number of a name is the time by Redis' clock, or the name's last number and 1, if that is
 * greater. So all that Redis has lost was numbered below the time of the loss.
 *
 * If the clock goes back, or if a node whose clock was ahead is replaced, numbers stay ahead of
 * the clock. They go on at half its speed until the clock has caught up with them, at `level`.
 * Every worker knows that from the epoch, and scripts get it with their stamp. So numbers grow
 * with time by the same rule for all, also in the second before a loss is noticed. (Redis takes
 * more than two microseconds for each number. A jump of the clock counts as time, too.) All times
 * are Redis', in microseconds. */
struct numbers {
    int64_t floor; /* at least every number that was given and then lost */
    int64_t level; /* until the clock has reached this, numbers are ahead of it */
};

/* At least every number that was given when the clock was at `time`. */
int64_t numbers_at(const struct numbers *numbers, int64_t time);

/* From now on, when the clock is at `time` at the earliest, all new numbers are at least `number`.
 */
void numbers_raise(struct numbers *numbers, int64_t number, int64_t time);

/* Takes account of what another worker knows. */
void numbers_learn(struct numbers *numbers, int64_t floor, int64_t level);

#endif
