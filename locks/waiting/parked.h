/* parked.h: what waiting requests of both engines have in common: how the caller abandons them.
 * Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_PARKED_H
#define BATON_LOCKS_WAITING_PARKED_H

/* The first member of every struct that locks_wait returns. */
struct parked {
    void (*give_up)(struct parked *parked);
};

#endif
