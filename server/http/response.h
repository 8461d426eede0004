/* response.h: sends the reply of a request, whole or as a stream, and records whether it was
 * sent. */
#ifndef BATON_SERVER_HTTP_RESPONSE_H
#define BATON_SERVER_HTTP_RESPONSE_H

#include "server/http/request.h"

/* Queues the reply of the exchange. MHD_NO if that fails. */
enum MHD_Result response_queue(struct http_request *request);

/* Writes the reply of the exchange to the socket at once, if libmicrohttpd has no memory left for
 * its head. Returns MHD_NO, which ends the connection. */
enum MHD_Result response_write(struct http_request *request);

/* The request has ended: writes the log and the metrics, and keeps or takes back new holds. */
void response_completed(struct http_request *request, enum MHD_RequestTerminationCode code);

#endif
