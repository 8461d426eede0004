/* parked.h: how a request that waits is given up, whichever engine serves it. Internal to locks/.
 */
#ifndef BATON_LOCKS_WAITING_PARKED_H
#define BATON_LOCKS_WAITING_PARKED_H

/* The first member of all that locks_wait returns. */
struct parked {
    void (*give_up)(struct parked *parked);
};

static inline void parked_give_up(struct parked *parked)
{
    parked->give_up(parked);
}

#endif
