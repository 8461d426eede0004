/* credentials.h: finds the principal of a request by its API key or its client certificate. */
#ifndef BATON_API_ACCESS_CREDENTIALS_H
#define BATON_API_ACCESS_CREDENTIALS_H

#include "api/http/exchange.h"

enum {
    /* Characters of a token. batond makes tokens of 49; a shorter one could be guessed. */
    CREDENTIALS_TOKEN_SHORTEST = 32,
    CREDENTIALS_TOKEN_LONGEST = 256,
};

/* Sets exchange->principal, unless the route is open to all. Returns false if it has answered 401.
 * The Authorization header overrides the certificate, which may be a proxy's. */
bool credentials_check(struct exchange *exchange);

/* For a route that is open to all: whether the request has credentials, and they have this verb. */
bool credentials_allow(const struct exchange *exchange, enum verb verb);

/* Whether the credentials of the exchange are still good and have the same rights: SIGHUP may have
 * changed both. Streams ask this, since they last longer than a request may wait. */
bool credentials_last(const struct exchange *exchange);

#endif
