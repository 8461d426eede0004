#include "server/net/addresses.h"

#include "base/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { BUCKETS = 4096, IPV6_COUNTED_BYTES = 8 };

struct address {
    struct ip ip;
    unsigned connections;
    LIST_ENTRY(address) others; /* of its bucket */
};

struct addresses {
    unsigned most, most_each;
    const struct networks *trusted;
    atomic_uint places_taken;
    uint64_t seed;         /* so that nobody can choose addresses that share a bucket */
    pthread_mutex_t mutex; /* over what is below */
    LIST_HEAD(bucket, address) buckets[BUCKETS];
};

struct addresses *addresses_new(unsigned most, unsigned most_each, const struct networks *trusted)
{
    struct addresses *addresses = calloc(1, sizeof *addresses);
    if (!addresses)
        abort();
    addresses->most = most;
    addresses->most_each = most_each;
    addresses->trusted = trusted;
    random_bytes(&addresses->seed, sizeof addresses->seed);
    pthread_mutex_init(&addresses->mutex, NULL);
    return addresses;
}

void addresses_free(struct addresses *addresses)
{
    if (!addresses)
        return;
    pthread_mutex_destroy(&addresses->mutex);
    free(addresses);
}

bool addresses_take_place(struct addresses *addresses)
{
    if (atomic_fetch_add(&addresses->places_taken, 1) < addresses->most)
        return true;
    addresses_give_place(addresses);
    return false;
}

void addresses_give_place(struct addresses *addresses)
{
    atomic_fetch_sub(&addresses->places_taken, 1);
}

unsigned addresses_places_taken(const struct addresses *addresses)
{
    return atomic_load(&addresses->places_taken);
}

/* Multiplied, so that each bit of the address and of the seed has a say in the upper ones. */
static struct bucket *bucket_of(struct addresses *addresses, const struct ip *ip)
{
    uint64_t halves[2];
    memcpy(halves, ip->bytes, sizeof halves);
    uint64_t hash = (halves[0] ^ addresses->seed) * 0x9E3779B97F4A7C15;
    hash = (hash ^ hash >> 29 ^ halves[1]) * 0xBF58476D1CE4E5B9;
    return &addresses->buckets[(hash >> 32) % BUCKETS];
}

static struct address *find(const struct bucket *bucket, const struct ip *ip)
{
    struct address *address;
    LIST_FOREACH(address, bucket, others)
    if (memcmp(&address->ip, ip, sizeof *ip) == 0)
        return address;
    return NULL;
}

static struct address *address_new(struct bucket *bucket, const struct ip *ip)
{
    struct address *address = calloc(1, sizeof *address);
    if (!address)
        abort();
    address->ip = *ip;
    LIST_INSERT_HEAD(bucket, address, others);
    return address;
}

bool addresses_enter(struct addresses *addresses, const struct sockaddr_storage *from,
                     struct address **ret)
{
    struct ip ip;
    if (!ip_of(from, &ip) || networks_have(addresses->trusted, &ip)) {
        *ret = NULL;
        return true;
    }
    if (!ip_is_mapped(&ip))
        memset(ip.bytes + IPV6_COUNTED_BYTES, 0, IP_BYTES - IPV6_COUNTED_BYTES);
    pthread_mutex_lock(&addresses->mutex);
    struct bucket *bucket = bucket_of(addresses, &ip);
    struct address *address = find(bucket, &ip);
    if (!address)
        address = address_new(bucket, &ip);
    bool admitted = address->connections < addresses->most_each;
    if (admitted) {
        address->connections++;
        *ret = address;
    }
    pthread_mutex_unlock(&addresses->mutex);
    return admitted;
}

void addresses_leave(struct addresses *addresses, struct address *address)
{
    if (!address)
        return;
    pthread_mutex_lock(&addresses->mutex);
    if (--address->connections == 0) {
        LIST_REMOVE(address, others);
        free(address);
    }
    pthread_mutex_unlock(&addresses->mutex);
}
