/* permission.h: whether whoever asks may do what it asks for. */
#ifndef BATON_API_PERMISSION_H
#define BATON_API_PERMISSION_H

#include "api/exchange.h"

/* To be called when the request has been read: what it asks for depends on its fields. False where
 * the exchange has been answered with 403, which says what is missing. */
bool permission_check(struct exchange *exchange);

#endif
