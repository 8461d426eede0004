/* watch.h: the requests of one name that wait for it to change. Internal to locks/. */
#ifndef BATON_LOCKS_WATCH_H
#define BATON_LOCKS_WATCH_H

struct interest;
struct locks;

/* The name may have changed: looks at it, once for all its watches. */
void watch_check(struct interest *interest);

/* All get what there is. */
void watch_drain(struct locks *locks);

#endif
