/* credentials.h: finds out who asks: by the token in the Authorization header, or the certificate.
 */
#ifndef BATON_API_ACCESS_CREDENTIALS_H
#define BATON_API_ACCESS_CREDENTIALS_H

#include "api/http/exchange.h"

enum {
    /* Characters of a token. Those that batond makes have 49; a shorter one could be guessed. */
    CREDENTIALS_TOKEN_SHORTEST = 32,
    CREDENTIALS_TOKEN_LONGEST = 256,
};

/* Sets exchange->principal, unless the route is for everybody. False where the exchange has been
 * answered with 401. What the header says counts more than the certificate, which may be that of a
 * proxy that asks for many. */
bool credentials_check(struct exchange *exchange);

/* On a route for everybody: whether whoever asks has also said who it is, and has this verb. */
bool credentials_allow(const struct exchange *exchange, enum verb verb);

/* Whether who asked then would be let in now, too, and may do what it could: SIGHUP may have
 * changed either. For what goes on for longer than a request may wait. */
bool credentials_last(const struct exchange *exchange);

#endif
