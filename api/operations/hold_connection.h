/* hold_connection.h: a lock that is held by a connection: a stream of JSON lines, for as long as
 * which the hold is renewed. */
#ifndef BATON_API_OPERATIONS_HOLD_CONNECTION_H
#define BATON_API_OPERATIONS_HOLD_CONNECTION_H

#include "api/http/exchange.h"

/* The exchange's token has the hold, newly or as before (`repeated`): answers with the stream, and
 * releases the hold when the client goes. */
void hold_connection(struct exchange *exchange, const struct locks_reply *reply);

/* Ends every stream with a last line; the holds stay for what remains of their TTL. */
void hold_connection_drain(struct api *api);

#endif
