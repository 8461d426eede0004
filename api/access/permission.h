/* permission.h: whether the principal may do what the request asks for. */
#ifndef BATON_API_ACCESS_PERMISSION_H
#define BATON_API_ACCESS_PERMISSION_H

#include "api/http/exchange.h"

/* Call this when the fields have been read, since the needed right depends on them. Returns false
 * if it has answered 403, which names the missing right. If the principal may read only some names
 * with the requested prefix, lengthens the prefix to what these have in common, so that Redis
 * searches less. */
bool permission_check(struct exchange *exchange);

/* Whether the principal may read this lock. Lists leave the other locks out. */
bool permission_to_read(const struct exchange *exchange, struct slice name);

/* If the principal may not read the lock of the request, leaves only these in the view: what
 * concerns the request's own token, and how many holders and waiters there are. */
void permission_hide_others(const struct exchange *exchange, struct lock_view *view);

#endif
