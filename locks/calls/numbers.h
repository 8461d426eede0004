/* numbers.h: the numbers (fences and versions) that clients are told. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_NUMBERS_H
#define BATON_LOCKS_CALLS_NUMBERS_H

#include "locks/locks.h"

/* Tells the guard of the greatest number in a reply. Call this with each reply that tells a client
 * of a number, while the answer of Redis is the last. */
void numbers_heard(const struct locks *locks, const struct locks_reply *reply);

#endif
