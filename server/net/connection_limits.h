/* connection_limits.h: how many connections are open in the whole process, and how many from each
 * address, so that neither goes beyond its bound. */
#ifndef BATON_SERVER_NET_CONNECTION_LIMITS_H
#define BATON_SERVER_NET_CONNECTION_LIMITS_H

#include "server/net/networks.h"

/* One for all workers, who may use it at the same time. It is asked when a connection begins and
 * told when one ends, never in between. */
struct connection_limits;

/* One that has connections. In IPv6, where a single client has 2^64 of them, it is the network of
 * 64 bits. */
struct source_address;

/* `trusted` are not counted by address, since many clients come from there; it must outlive the
 * record. `most_each` is at least 1. */
struct connection_limits *connection_limits_new(unsigned most, unsigned most_each,
                                                const struct networks *trusted);

/* Nothing may be open any more. */
void connection_limits_free(struct connection_limits *limits);

/* Takes a place for a connection that is about to be accepted; false where all are taken. */
bool connection_limits_reserve(struct connection_limits *limits);
void connection_limits_release(struct connection_limits *limits);

/* Counts a connection from there, and returns what to hand to connection_limits_leave when it ends
 * (NULL where it is not counted). False where there are as many as may be. */
bool connection_limits_enter(struct connection_limits *limits, const struct sockaddr_storage *from,
                             struct source_address **ret);
void connection_limits_leave(struct connection_limits *limits, struct source_address *address);

/* Connections that are open, or about to be. */
unsigned connection_limits_open(const struct connection_limits *limits);

#endif
