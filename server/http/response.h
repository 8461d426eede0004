/* response.h: sends the reply of a request, whole or as a stream, and takes note of what came of
 * it.
 */
#ifndef BATON_SERVER_HTTP_RESPONSE_H
#define BATON_SERVER_HTTP_RESPONSE_H

#include "server/http/request.h"

/* Queues the reply that the exchange has got. MHD_NO where that cannot be done. */
enum MHD_Result response_queue(struct http_request *request);

/* Writes the reply that the exchange has got to the socket at once, for when libmicrohttpd has no
 * memory left for its head. MHD_NO, by which the connection ends. */
enum MHD_Result response_write(struct http_request *request);

/* libmicrohttpd has done with the request, so: for the log, the figures, and whoever has to know
 * whether the client was told. */
void response_completed(struct http_request *request, enum MHD_RequestTerminationCode code);

#endif
