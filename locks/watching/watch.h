/* watch.h: the requests of one name that wait for it to change. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_WATCH_H
#define BATON_LOCKS_WATCHING_WATCH_H

#include "locks/locks.h"

struct subscription;

/* As locks_watch. */
struct watch *watch_begin(struct locks *locks, struct slice name, struct slice token, int64_t after,
                          int64_t wait_ms, locks_done *done, void *context);

/* The name may have changed: looks at it, once for all its watches. */
void watch_check(struct subscription *subscription);

/* The name has this version now: looks at it if its watches do not know. */
void watch_changed(struct subscription *subscription, int64_t version);

/* Answers all watches with the present state of their names. */
void watch_drain(struct locks *locks);

#endif
