/* hold_connection.h: a hold that lasts as long as its connection: batond renews it while a stream
 * of JSON lines is open. */
#ifndef BATON_API_OPERATIONS_HOLD_CONNECTION_H
#define BATON_API_OPERATIONS_HOLD_CONNECTION_H

#include "api/http/exchange.h"

/* Call this when the token has the hold, a new one or a repeated one. Answers with the stream, and
 * releases the hold when the client goes. */
void hold_connection(struct exchange *exchange, const struct locks_reply *reply);

/* Ends every stream with a last line. The holds stay until their TTL ends. */
void hold_connection_drain(struct api *api);

#endif
