/* sending.h: sends the reply of a request, whole or as a stream, and takes note of what came of it.
 */
#ifndef BATON_SERVER_HTTP_SENDING_H
#define BATON_SERVER_HTTP_SENDING_H

#include "server/http/record.h"

/* Queues the reply that the exchange has got. MHD_NO where that cannot be done. */
enum MHD_Result sending_begin(struct record *record);

/* Writes the reply that the exchange has got to the socket at once, for when libmicrohttpd has no
 * memory left for its head. MHD_NO, by which the connection ends. */
enum MHD_Result sending_write(struct record *record);

/* libmicrohttpd has done with the request, so: for the log, the figures, and whoever has to know
 * whether the client was told. */
void sending_ended(struct record *record, enum MHD_RequestTerminationCode code);

#endif
