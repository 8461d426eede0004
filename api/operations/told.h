/* told.h: the holds that a reply tells of, to be taken back should it not reach its client. */
#ifndef BATON_API_TOLD_H
#define BATON_API_TOLD_H

#include "api/http/exchange.h"

/* Outlives the exchange, but not the API. Used on the worker's thread alone. */
struct told;

/* What the reply of this exchange tells of; NULL where that is no new hold. */
struct told *told_new(const struct exchange *exchange);

/* The client does not know of the holds: they are taken back. Frees it. */
void told_take_back(struct told *told);

/* The client knows, or may know. NULL is fine. */
void told_free(struct told *told);

#endif
