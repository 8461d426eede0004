/* several.h: shared by the operations on several names. */
#ifndef BATON_API_OPERATIONS_SEVERAL_H
#define BATON_API_OPERATIONS_SEVERAL_H

#include "api/http/exchange.h"
#include "api/http/problem.h"

/* Whether the request has names, and a token if `needs_token`. Returns false if it has answered
 * that one of them is missing. */
bool several_is_complete(struct exchange *exchange, bool needs_token);

/* How many names there are: exchange->parameters.names. */
size_t several_count(const struct exchange *exchange);

/* The document of the holds, each as in the reply to one name. */
json_t *several_holds(const struct exchange *exchange, const struct several_reply *reply);

/* Answers the problem with the names that caused it: those with the result of the whole. If the
 * view of `reply` says how the hold of one ended, so does the problem. */
void several_refuse(struct exchange *exchange, enum problem problem,
                    const struct several_reply *reply, const char *detail);

#endif
