/* several.h: what the operations on several names have in common. */
#ifndef BATON_API_OPERATIONS_SEVERAL_H
#define BATON_API_OPERATIONS_SEVERAL_H

#include "api/http/exchange.h"

/* Whether the exchange has what the operation needs: names, and a token where `needs_token`. False
 * where it has been answered because something is missing. */
bool several_is_complete(struct exchange *exchange, bool needs_token);

/* How many names there are: exchange->parameters.names. */
size_t several_count(const struct exchange *exchange);

/* The holds as a list, each as for its name alone. */
json_t *several_holds(const struct exchange *exchange, const struct several_reply *reply);

/* Answers not_held with the names that the token does not hold. */
void several_not_held(struct exchange *exchange, const struct several_reply *reply,
                      const char *detail);

#endif
