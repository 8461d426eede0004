/* permission.h: whether the principal may do what its request asks for. */
#ifndef BATON_API_ACCESS_PERMISSION_H
#define BATON_API_ACCESS_PERMISSION_H

#include "api/http/exchange.h"

/* Call this when the fields have been read: they decide which right the request needs. Returns
 * false if it has answered 403, which names the missing right. If a request for a prefix may read
 * some of the names only, this lengthens the prefix to what those have in common, so that Redis has
 * less to search. */
bool permission_check(struct exchange *exchange);

/* Whether the principal may read this lock. Lists leave the other locks out. */
bool permission_to_read(const struct exchange *exchange, struct slice name);

/* If the principal may not read the lock of the request, leaves in the view what concerns the
 * request's own token, and how many hold the lock and wait for it. */
void permission_hide_others(const struct exchange *exchange, struct lock_view *view);

#endif
