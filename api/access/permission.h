/* permission.h: whether whoever asks may do what it asks for. */
#ifndef BATON_API_ACCESS_PERMISSION_H
#define BATON_API_ACCESS_PERMISSION_H

#include "api/http/exchange.h"

/* To be called when the request has been read: what it asks for depends on its fields. False where
 * the exchange has been answered with 403, which says what is missing. Where it asks for all names
 * with a prefix and may read some of them only, the prefix is made as long as those have in common,
 * so that Redis has less to look through. */
bool permission_check(struct exchange *exchange);

/* Whether whoever asks may read this lock: where it asks for many, the others are left out. */
bool permission_to_read(const struct exchange *exchange, struct slice name);

#endif
