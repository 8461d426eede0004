/* The functions of locks.h about quarantines. */
#include "locks/calls/operation.h"
#include "locks/quarantine/clock_skew.h"
#include "locks/quarantine/end_early.h"
#include "locks/quarantine/pause.h"

int64_t locks_quarantine(const struct locks *locks, struct slice name,
                         enum quarantine_reason *ret_reason)
{
    char key[KEY_LENGTH];
    struct slice all = slice_of(NULL);
    return pause_left_ms(locks->guard, name.bytes ? operation_key(locks, name, key) : all,
                         ret_reason);
}

int64_t locks_pause(const struct locks *locks, enum quarantine_reason *ret_reason)
{
    return pause_of_any_ms(locks->guard, ret_reason);
}

int64_t locks_pause_after_loss(const struct locks *locks)
{
    return pause_after_loss_ms(locks->guard);
}

bool locks_next_quarantine(const struct locks *locks, unsigned *position,
                           struct quarantine_state *ret)
{
    return pause_next(locks->guard, position, ret);
}

unsigned locks_quarantined(const struct locks *locks)
{
    return pause_count(locks->guard);
}

int64_t locks_clocks_apart(const struct locks *locks)
{
    return clock_skew_ms(locks->guard);
}

bool locks_end_quarantines(struct locks *locks, locks_quarantines_ended *done, void *context)
{
    return end_early(locks->guard, done, context);
}
