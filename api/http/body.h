/* body.h: the JSON of a request's body. */
#ifndef BATON_API_HTTP_BODY_H
#define BATON_API_HTTP_BODY_H

#include "api/http/exchange.h"

/* Parses the body into exchange->kept.json, an object. Returns false if it has answered with a
 * problem: another media type or coding, bad JSON, a duplicate key, too many levels, a number too
 * large, a value that is not an object. */
bool body_parse(struct exchange *exchange);

/* The client's text of a member of that object without white space between its parts, for free(3).
 * Numbers and escapes stay as the client wrote them. */
char *body_member(const struct exchange *exchange, const char *key);

#endif
