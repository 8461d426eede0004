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

#endif
