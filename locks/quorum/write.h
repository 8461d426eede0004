/* write.h: renews, releases and breaks the holds of a quorum, and takes attempts back. Internal to
 * locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_WRITE_H
#define BATON_LOCKS_QUORUM_WRITE_H

#include "locks/locks.h"

/* The operations of engine.h. */
void quorum_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                  int64_t replicas, struct slice by, locks_done *done, void *context);
void quorum_release(struct locks *locks, struct slice name, struct slice token,
                    const struct attempt *attempt, locks_done *done, void *context);
void quorum_break(struct locks *locks, struct slice name, locks_done *done, void *context);
void quorum_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context);
void quorum_take_back(struct locks *locks, struct slice name, struct slice token,
                      const struct attempt *attempt, int64_t keep_ms);

#endif
