/* confirm.h: keeps back the word of a hold until it may be told: until Redis' record says how long
 * there may be holds (horizon.h), and enough replicas have it. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_CONFIRM_H
#define BATON_LOCKS_CALLS_CONFIRM_H

#include "locks/locks.h"

/* Which words are kept back for replicas, where a request asks for them:
 *
 * - a new grant, at once or by hand-over: not told before. Short of replicas, whoever asked takes
 *   it back as one in doubt (doubt.h), so the next waiter gets the lock; a client that comes again
 *   with its token before that is a later attempt, finds the hold, and has it confirmed anew;
 * - a repeated acquire whose token has the hold already: the answer promises as much as the first
 *   one. Short of replicas it stays for those requests that were told of it before;
 * - several names: once, when the last is held and all have their TTL;
 * - a renewal, by the client or by the server for a connection that holds: short of replicas, the
 *   hold counts for what its last confirmed word said, and stays;
 * - not a release: a hold that a replica still has although it was released only ends later.
 *
 * Time passes meanwhile: the TTL that is told is what remains at the end, and of a hold that is
 * over by then nobody is told. A client that goes meanwhile is treated as at any other moment of
 * its request: the grant is taken back. */

/* As `reply` says of a hold (DONE or REPEATED), of which Redis has told by `mark`: `done` gets the
 * same when the record covers it and so many replicas have it; else LOCKS_UNCONFIRMED, or
 * LOCKS_UNAVAILABLE where Redis was lost meanwhile, with `error` and `attempt`. It runs once, from
 * the loop and never before this has returned. False: nothing is kept back, it may be told at once,
 * and `done` does not run. */
bool confirm_reply(struct locks *locks, const struct locks_reply *reply, struct store_mark mark,
                   int64_t replicas, locks_done *done, void *context);

#endif
