/* renewer.h: makes renewers ask at once, because their hold may have ended. Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_RENEWER_H
#define BATON_LOCKS_WAITING_RENEWER_H

#include "locks/locks.h"

/* Another request has ended the hold of this token: its renewers renew at once, and so notice it.
 * For the token "*", all renewers of the name do. */
void renewers_check_hold(struct locks *locks, struct slice key, struct slice token);

/* Call this if messages or holds may have been lost: all renewers renew soon. */
void renewers_check(struct locks *locks);

#endif
