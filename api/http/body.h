/* body.h: the JSON of a request's body. */
#ifndef BATON_API_HTTP_BODY_H
#define BATON_API_HTTP_BODY_H

#include "api/http/exchange.h"

/* Parses the body into exchange->kept.json, an object, or null, which counts as no body. Returns
 * false if it has answered with a problem: another media type or coding, bad JSON, a duplicate key,
 * too many levels, another value. */
bool body_parse(struct exchange *exchange);

/* Whether the body is null between white space, whatever its media type. */
bool body_is_null(const struct exchange *exchange);

#endif
