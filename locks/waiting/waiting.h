/* waiting.h: the requests that wait in the queue of a name. Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_WAITING_H
#define BATON_LOCKS_WAITING_WAITING_H

#include "locks/locks.h"

struct subscription;

/* As locks_wait. */
struct waiter *waiting_begin(struct locks *locks, const struct acquire *acquire,
                             const struct acquirer *acquirer, locks_done *done);

/* Each waiter whose client is connected asks Redis again. That claims a grant whose message was
 * lost, and queues the waiter anew if Redis has lost it. Returns how many waiters asked. */
size_t waiting_check(struct subscription *subscription);

/* How many waiters are in the queue, by the last reply of Redis. */
size_t waiting_count(const struct subscription *subscription);

/* Messages about one attempt. */

/* Its turn has come. If the attempt has no waiter, the grant is taken back. */
void waiting_granted(struct locks *locks, struct slice key, struct slice attempt,
                     struct slice token);

/* A release that this worker sent has granted this hold to the attempt and claimed it. Owner and
 * mode are those of the first request in the queue, the TTL that of the token's last request. */
void waiting_claimed(struct locks *locks, struct slice key, struct slice attempt,
                     const struct hold *hold);

/* A release has taken the attempt out of the queue. */
void waiting_cancelled(struct locks *locks, struct slice key, struct slice attempt);

/* Answers all waiters; they keep their places in the queue. */
void waiting_drain(struct locks *locks);

#endif
