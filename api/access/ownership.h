/* ownership.h: keeps what different principals have apart, though their holds lie side by side. */
#ifndef BATON_API_ACCESS_OWNERSHIP_H
#define BATON_API_ACCESS_OWNERSHIP_H

#include "api/http/exchange.h"

/* An owner belongs to its principal: the same name of another one is another owner. So does a
 * token, and that by a digest of both: what another principal calls by the same token is something
 * else. So whoever proposes a token that is in use, has seen one or has guessed it gets nothing by
 * it, and cannot disturb whom it belongs to; it works for no other principal, nor for a reader of
 * Redis. Where nobody has a name, both are as the client says them. */

/* What is allocated for it, for each request of a principal that has a name. */
struct ownership;

/* Sets exchange->stored_token, by which the locks are to know the token of the exchange's
 * parameters; absent where none was given. */
void ownership_set_token(struct exchange *exchange);

/* Sets exchange->stored_owner for the owner of the exchange's parameters. */
void ownership_set_owner(struct exchange *exchange);

/* Wipes and frees. Takes NULL. */
void ownership_free(struct ownership *ownership);

#endif
