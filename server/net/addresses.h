/* addresses.h: how many connections are open in the whole process, and how many from each address,
 * so that neither goes beyond its bound. */
#ifndef BATON_SERVER_NET_ADDRESSES_H
#define BATON_SERVER_NET_ADDRESSES_H

#include "server/net/networks.h"

/* One for all workers, who may use it at the same time. It is asked when a connection begins and
 * told when one ends, never in between. */
struct addresses;

/* One that has connections. In IPv6, where a single client has 2^64 of them, it is the network of
 * 64 bits. */
struct address;

/* `trusted` are not counted by address, since many clients come from there; it must outlive the
 * record. `most_each` is at least 1. */
struct addresses *addresses_new(unsigned most, unsigned most_each, const struct networks *trusted);

/* Nothing may be open any more. */
void addresses_free(struct addresses *addresses);

/* Takes a place for a connection that is about to be accepted; false where all are taken. */
bool addresses_take_place(struct addresses *addresses);
void addresses_give_place(struct addresses *addresses);

/* Counts a connection from there, and returns what to hand to addresses_leave when it ends (NULL
 * where it is not counted). False where there are as many as may be. */
bool addresses_enter(struct addresses *addresses, const struct sockaddr_storage *from,
                     struct address **ret);
void addresses_leave(struct addresses *addresses, struct address *address);

/* Connections that are open, or about to be. */
unsigned addresses_places_taken(const struct addresses *addresses);

#endif
