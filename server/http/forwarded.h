/* forwarded.h: reads where a request comes from: its trace, and the client that a proxy forwards it
 * for. */
#ifndef BATON_SERVER_HTTP_FORWARDED_H
#define BATON_SERVER_HTTP_FORWARDED_H

#include "api/http/exchange.h"

#include <netinet/in.h>

/* Copies the trace id of a `traceparent` field (W3C Trace Context, version 00 or later). If the
 * field is malformed, the id is "". */
void forwarded_trace_id(const char *traceparent, char ret_id[EXCHANGE_TRACE_ID_LENGTH + 1]);

/* Writes the last address of an `X-Forwarded-For` field, the one that the proxy itself saw: a
 * client can make up the others. It may have a port, and an IPv4 address may be mapped into IPv6.
 * "" if it is not an IP address. */
void forwarded_client(const char *forwarded_for, char ret_address[INET6_ADDRSTRLEN]);

#endif
