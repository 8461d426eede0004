#include "server/net/connection_limits.h"

#include "base/memory.h"
#include "base/tree.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { IPV6_COUNTED_BYTES = 8 };

struct source_address {
    struct slice key; /* the bytes of `ip`; the first member */
    struct ip ip;
    unsigned connections;
};

struct connection_limits {
    unsigned most, most_each;
    const struct networks *trusted;
    atomic_uint places_taken;
    pthread_mutex_t mutex; /* of what is below */
    void *addresses;       /* a tree of struct source_address */
};

struct connection_limits *connection_limits_new(unsigned most, unsigned most_each,
                                                const struct networks *trusted)
{
    struct connection_limits *limits = memory_checked(calloc(1, sizeof *limits));
    limits->most = most;
    limits->most_each = most_each;
    limits->trusted = trusted;
    pthread_mutex_init(&limits->mutex, NULL);
    return limits;
}

void connection_limits_free(struct connection_limits *limits)
{
    if (!limits)
        return;
    pthread_mutex_destroy(&limits->mutex);
    free(limits);
}

bool connection_limits_reserve(struct connection_limits *limits)
{
    if (atomic_fetch_add(&limits->places_taken, 1) < limits->most)
        return true;
    connection_limits_release(limits);
    return false;
}

void connection_limits_release(struct connection_limits *limits)
{
    atomic_fetch_sub(&limits->places_taken, 1);
}

unsigned connection_limits_open(const struct connection_limits *limits)
{
    return atomic_load(&limits->places_taken);
}

bool connection_limits_nearly_full(const struct connection_limits *limits)
{
    return connection_limits_open(limits) >= limits->most - limits->most / 10;
}

static struct slice bytes_of(const struct ip *ip)
{
    return (struct slice){(const char *)ip->bytes, sizeof ip->bytes};
}

/* Adds the address if it is not there. */
static struct source_address *connection_limits_address(struct connection_limits *limits,
                                                        const struct ip *ip)
{
    struct source_address *address = tree_find(&limits->addresses, bytes_of(ip));
    if (address)
        return address;
    address = memory_checked(calloc(1, sizeof *address));
    address->ip = *ip;
    address->key = bytes_of(&address->ip);
    tree_add(&limits->addresses, address);
    return address;
}

bool connection_limits_enter(struct connection_limits *limits, const struct sockaddr_storage *from,
                             struct source_address **ret)
{
    struct ip ip;
    if (!ip_of(from, &ip) || networks_have(limits->trusted, &ip)) {
        *ret = NULL;
        return true;
    }
    if (!ip_is_mapped(&ip))
        memset(ip.bytes + IPV6_COUNTED_BYTES, 0, IP_BYTES - IPV6_COUNTED_BYTES);
    pthread_mutex_lock(&limits->mutex);
    struct source_address *address = connection_limits_address(limits, &ip);
    bool admitted = address->connections < limits->most_each;
    if (admitted) {
        address->connections++;
        *ret = address;
    }
    pthread_mutex_unlock(&limits->mutex);
    return admitted;
}

void connection_limits_leave(struct connection_limits *limits, struct source_address *address)
{
    if (!address)
        return;
    pthread_mutex_lock(&limits->mutex);
    if (--address->connections == 0) {
        tree_remove(&limits->addresses, address);
        free(address);
    }
    pthread_mutex_unlock(&limits->mutex);
}
