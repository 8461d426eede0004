/* waiting.h: the requests of one name that wait in the queue. Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_WAITING_H
#define BATON_LOCKS_WAITING_WAITING_H

#include "locks/locks.h"

struct subscription;

/* As locks_wait. */
struct waiter *waiting_begin(struct locks *locks, const struct acquire *acquire,
                             const struct acquirer *acquirer, locks_done *done);

/* Each of them whose client is there looks again what has become of it, which claims a grant that
 * it did not hear of, and queues it anew where Redis has lost it. Returns how many did. */
size_t waiting_check(struct subscription *subscription);

/* How many of them Redis has said to wait, and has not answered since. */
size_t waiting_count(const struct subscription *subscription);

/* Messages about one attempt. */

/* Its turn has come. Where nobody waits by this attempt any more, the grant is given back. */
void waiting_granted(struct locks *locks, struct slice key, struct slice attempt,
                     struct slice token);

/* A release that was asked for here has given it this hold, and claimed it: owner and mode are
 * those it has queued with first, the TTL is that of its token's last request, be it another one.
 */
void waiting_claimed(struct locks *locks, struct slice key, struct slice attempt,
                     const struct hold *hold);

/* A release has taken the attempt out of the queue. */
void waiting_cancelled(struct locks *locks, struct slice key, struct slice attempt);

/* Answers all waiters; they keep their places in the queue. */
void waiting_drain(struct locks *locks);

#endif
