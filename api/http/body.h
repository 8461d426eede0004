/* body.h: the JSON of a request's body. */
#ifndef BATON_API_HTTP_BODY_H
#define BATON_API_HTTP_BODY_H

#include "api/http/exchange.h"

/* Parses the body into exchange->json, an object. False where the exchange has been answered with a
 * problem: another media type or coding, bad JSON, a duplicate key, too many levels, a number too
 * large, a value that is no object. */
bool body_parse(struct exchange *exchange);

/* The value of a member of that object, as it was sent but for the space between its parts, for
 * free(3). Numbers and escapes stay as their author wrote them. */
char *body_member(const struct exchange *exchange, const char *key);

#endif
