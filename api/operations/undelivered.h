/* undelivered.h: the holds that a reply tells of, to be taken back should it not reach its client.
 */
#ifndef BATON_API_OPERATIONS_UNDELIVERED_H
#define BATON_API_OPERATIONS_UNDELIVERED_H

#include "api/http/exchange.h"

/* Outlives the exchange, but not the API. Used on the worker's thread alone. */
struct undelivered;

/* What the reply of this exchange tells of; NULL where that is no new hold. */
struct undelivered *undelivered_new(const struct exchange *exchange);

/* The client does not know of the holds: they are taken back. Frees it. */
void undelivered_take_back(struct undelivered *undelivered);

/* The client knows, or may know. NULL is fine. */
void undelivered_free(struct undelivered *undelivered);

#endif
