/* renewer.h: the renewers that must ask at once, because their hold may have ended. Internal to
 * locks/. */
#ifndef BATON_LOCKS_WAITING_RENEWER_H
#define BATON_LOCKS_WAITING_RENEWER_H

#include "locks/locks.h"

/* A hold of the name has ended: each renewer of the name renews at once, and so hears of it if it
 * was its own. */
void renewers_check_name(struct locks *locks, struct slice key);

/* Messages or holds may have been lost: all renewers renew soon. */
void renewers_check(struct locks *locks);

#endif
