/* undelivered.h: the grants in a reply, which are taken back if the reply does not reach the
 * client. */
#ifndef BATON_API_OPERATIONS_UNDELIVERED_H
#define BATON_API_OPERATIONS_UNDELIVERED_H

#include "api/http/exchange.h"

/* Outlives the exchange; the API outlives it. Use it on the worker's thread alone. */
struct undelivered;

/* The grants in the reply of this exchange; NULL if it has none. */
struct undelivered *undelivered_new(const struct exchange *exchange);

/* The client did not get the reply: takes the grants back. Frees `undelivered`. */
void undelivered_take_back(struct undelivered *undelivered);

/* The client has the reply, or may have it. Takes NULL. */
void undelivered_free(struct undelivered *undelivered);

#endif
