/* connection_limits.h: counts open connections, of the process and of each address, and limits
 * both. */
#ifndef BATON_SERVER_NET_CONNECTION_LIMITS_H
#define BATON_SERVER_NET_CONNECTION_LIMITS_H

#include "server/net/networks.h"

/* All workers share one; any thread may use it. Used at the begin and the end of a connection. */
struct connection_limits;

/* An address with open connections. For IPv6 it is the /64 network, since one client can use all of
 * it. */
struct source_address;

/* Addresses in `trusted` are not counted, since many clients may come from there; it must outlive
 * the record. `most_each` is at least 1. */
struct connection_limits *connection_limits_new(unsigned most, unsigned most_each,
                                                const struct networks *trusted);

/* Close every connection first. */
void connection_limits_free(struct connection_limits *limits);

/* Takes a slot for a connection that is about to be accepted; false if all are taken. */
bool connection_limits_reserve(struct connection_limits *limits);
void connection_limits_release(struct connection_limits *limits);

/* Counts a connection from this address. `ret` gets what connection_limits_leave needs at its end
 * (NULL: the address is not counted). False if the address has too many. */
bool connection_limits_enter(struct connection_limits *limits, const struct sockaddr_storage *from,
                             struct source_address **ret);
void connection_limits_leave(struct connection_limits *limits, struct source_address *address);

/* The number of slots that are taken: by open connections, or by one about to be accepted. */
unsigned connection_limits_open(const struct connection_limits *limits);

/* Whether at least nine tenths of the slots are taken. */
bool connection_limits_nearly_full(const struct connection_limits *limits);

#endif
