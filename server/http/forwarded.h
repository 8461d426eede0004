/* forwarded.h: what header fields say of where a request comes from: the trace that it is a part
 * of, and the client that a proxy sends it for. */
#ifndef BATON_SERVER_HTTP_FORWARDED_H
#define BATON_SERVER_HTTP_FORWARDED_H

#include "api/http/exchange.h"

#include <netinet/in.h>

/* Copies the trace id out of a `traceparent` field as W3C Trace Context has it, of version 00 or a
 * later one. One that is not exactly so is nobody's: then the id is "". */
void forwarded_trace_id(const char *traceparent, char ret_id[EXCHANGE_TRACE_ID_LENGTH + 1]);

/* Copies the last address of an `X-Forwarded-For` field, which is the one that the proxy itself has
 * seen: those before may be made up by the client. "" where that is no address. */
void forwarded_client(const char *forwarded_for, char ret_address[INET6_ADDRSTRLEN]);

#endif
