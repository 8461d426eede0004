#include "server/net/connection_limits.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/siphash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { BUCKETS = 4096, IPV6_COUNTED_BYTES = 8 };

struct source_address {
    struct ip ip;
    unsigned connections;
    LIST_ENTRY(source_address) others; /* of its bucket */
};

struct connection_limits {
    unsigned most, most_each;
    const struct networks *trusted;
    atomic_uint places_taken;
    struct siphash_key key;
    pthread_mutex_t mutex; /* of what is below */
    LIST_HEAD(bucket, source_address) buckets[BUCKETS];
};

struct connection_limits *connection_limits_new(unsigned most, unsigned most_each,
                                                const struct networks *trusted)
{
    struct connection_limits *limits = memory_checked(calloc(1, sizeof *limits));
    limits->most = most;
    limits->most_each = most_each;
    limits->trusted = trusted;
    random_bytes(&limits->key, sizeof limits->key);
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

static struct bucket *bucket_of(struct connection_limits *limits, const struct ip *ip)
{
    struct slice address = {(const char *)ip->bytes, IP_BYTES};
    return &limits->buckets[siphash(&limits->key, address) % BUCKETS];
}

static struct source_address *connection_limits_find(const struct bucket *bucket,
                                                     const struct ip *ip)
{
    struct source_address *address;
    LIST_FOREACH (address, bucket, others)
        if (memcmp(&address->ip, ip, sizeof *ip) == 0)
            return address;
    return NULL;
}

static struct source_address *address_new(struct bucket *bucket, const struct ip *ip)
{
    struct source_address *address = memory_checked(calloc(1, sizeof *address));
    address->ip = *ip;
    LIST_INSERT_HEAD(bucket, address, others);
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
    struct bucket *bucket = bucket_of(limits, &ip);
    struct source_address *address = connection_limits_find(bucket, &ip);
    if (!address)
        address = address_new(bucket, &ip);
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
        LIST_REMOVE(address, others);
        free(address);
    }
    pthread_mutex_unlock(&limits->mutex);
}
