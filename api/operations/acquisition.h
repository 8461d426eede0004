/* acquisition.h: what acquiring one lock and acquiring several share: the request with its
 * defaults, and the answers without a grant. */
#ifndef BATON_API_OPERATIONS_ACQUISITION_H
#define BATON_API_OPERATIONS_ACQUISITION_H

#include "api/http/exchange.h"

/* Makes the request of what the exchange carries; the name is left to the caller. A token and an
 * owner that were not given are made. False where the exchange has been answered, because two of
 * the fields do not go together. */
bool acquisition_read(struct exchange *exchange, struct acquire *ret);

/* How many replicas of Redis are to confirm what the exchange asks for: as many as the server has
 * it, or more if the client asks for more. */
int64_t acquisition_replicas(const struct exchange *exchange);

/* The token that the client gave, or that was made for it. */
struct slice acquisition_token(const struct exchange *exchange);

/* Adds the headers of a reply that tells of a hold of the exchange's name. */
void acquisition_headers(struct exchange *exchange, int64_t version);

/* Answers with the problem for a result that is not a hold. `refused` is which of several names was
 * refused; absent where there is only one. */
void acquisition_refuse(struct exchange *exchange, enum locks_result result,
                        const struct lock_view *view, const char *error, struct slice refused);

#endif
