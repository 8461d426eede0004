/* store_events.h: what the locks do at each event of their store. Internal to locks/. */
#ifndef BATON_LOCKS_STORE_EVENTS_H
#define BATON_LOCKS_STORE_EVENTS_H

#include "locks/locks.h"

/* The events to open the store with: see `store` of struct locks_events. */
struct store_events store_events_of(struct locks *locks);

#endif
