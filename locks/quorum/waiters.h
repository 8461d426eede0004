/* waiters.h: the requests for a lock of a quorum, with and without waiting. Internal to
 * locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_WAITERS_H
#define BATON_LOCKS_QUORUM_WAITERS_H

#include "locks/locks.h"

struct awaited_name;

/* The operations of engine.h. */
void quorum_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                    void *context);
struct waiter *quorum_wait(struct locks *locks, const struct acquire *acquire,
                           const struct acquirer *acquirer, locks_done *done);

/* The first waiter asks for the lock, if it is present and is not asking already. */
void quorum_waiters_ask(struct awaited_name *awaited);
void quorum_waiters_drain(struct awaited_name *awaited);

/* Ends this worker's waiter with this token. Returns whether there was one. */
bool quorum_waiters_cancel(const struct locks *locks, struct slice key, struct slice token);

#endif
