/* ownership.h: keeps the owners and tokens of different principals apart. */
#ifndef BATON_API_ACCESS_OWNERSHIP_H
#define BATON_API_ACCESS_OWNERSHIP_H

#include "api/http/exchange.h"

/* An owner and a token belong to their principal. The locks know an owner as principal and name,
 * and a token as a digest of principal and token. So another principal that has seen or guessed a
 * token cannot use it, nor can a reader of Redis. If principals have no names, the locks get both
 * as the client sends them. */

/* The stored forms; allocated for each request of a principal that has a name. */
struct ownership;

/* Sets exchange->holder.token, the stored form of the token in the parameters; absent without one.
 */
void ownership_set_token(struct exchange *exchange);

/* Sets exchange->holder.owner, the stored form of the owner in the parameters. */
void ownership_set_owner(struct exchange *exchange);

/* Wipes and frees. Takes NULL. */
void ownership_free(struct ownership *ownership);

#endif
