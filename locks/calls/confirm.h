/* confirm.h: delays a reply with a hold until Redis' epoch covers the hold (guard.h) and enough
 * replicas have it. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_CONFIRM_H
#define BATON_LOCKS_CALLS_CONFIRM_H

#include "locks/locks.h"

/* If a request asks for replicas, these replies wait for them:
 *
 * - a new grant, at once or by hand-over. Without enough replicas the caller takes it back as a
 *   grant in doubt (redelivery.h), so the next waiter gets the lock. If the client repeats its
 *   request before that, the later attempt finds the hold and confirms it anew;
 * - a repeated acquire whose token has the hold already: its reply promises as much as the first.
 *   Without enough replicas the hold stays for the requests that have got it;
 * - several names: once, when the last is held and all have their TTL;
 * - a renewal, by client or worker. Without enough replicas the hold stays, and lasts as long as
 *   its last confirmed reply said.
 *
 * A release does not wait: on a replica that still has the hold, the hold only ends later.
 *
 * The reply has the TTL that remains after the wait; a hold that has expired by then is
 * UNCONFIRMED. If the client hangs up meanwhile, the grant is taken back as at any other moment. */

/* `reply` has a hold (DONE or REPEATED), as Redis replied at `mark`. `done` gets the same reply
 * once the epoch covers the hold and `replicas` replicas have it. Otherwise it gets
 * LOCKS_UNCONFIRMED, or LOCKS_UNAVAILABLE if the connection to Redis was lost meanwhile, with
 * `error` and `attempt`. `done` runs once, from the loop and never before this returns. Returns
 * false if the reply need not wait; then `done` does not run. */
bool confirm_reply(struct locks *locks, const struct locks_reply *reply, struct store_mark mark,
                   int64_t replicas, locks_done *done, void *context);

#endif
