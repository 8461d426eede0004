/* networks.h: a list of networks, such as "10.0.0.0/8,::1", and whether an address is in one. */
#ifndef BATON_SERVER_NET_NETWORKS_H
#define BATON_SERVER_NET_NETWORKS_H

#include "base/failure.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { IP_BYTES = 16, IP_BITS = 8 * IP_BYTES };

/* IPv4 addresses are mapped into IPv6 (::ffff:10.0.0.1), so that both compare alike. */
struct ip {
    uint8_t bytes[IP_BYTES];
};

struct network {
    struct ip ip;
    unsigned bits; /* length of the prefix */
};

struct networks {
    struct network *items;
    size_t count;
};

/* Reads a list of addresses and networks, separated by commas; an empty text is an empty list.
 * Returns 0, or -EINVAL with a failure that quotes what is wrong. Free it with networks_free. */
int networks_read(struct networks *ret, const char *text, struct failure *failure);

/* Takes a zeroed one, too. */
void networks_free(struct networks *networks);

/* False if it is not an IP address. */
bool ip_of(const struct sockaddr_storage *address, struct ip *ret);

/* False if the text is not an IP address. */
bool ip_read(const char *text, struct ip *ret);

/* As people write it, such as 10.0.0.1 or fd00::1. */
void ip_write(const struct ip *ip, char ret_text[INET6_ADDRSTRLEN]);

/* True for IPv4. */
bool ip_is_mapped(const struct ip *ip);

bool networks_have(const struct networks *networks, const struct ip *ip);

#endif
