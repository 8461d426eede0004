/* body.h: the JSON of a request's body. */
#ifndef BATON_API_BODY_H
#define BATON_API_BODY_H

#include "api/exchange.h"

/* Parses the body into exchange->json, an object. False where the exchange has been answered with a
 * problem: another media type, bad JSON, a duplicate key, too many levels, a number too large. */
bool body_parse(struct exchange *exchange);

#endif
