/* endpoint.h: the address of the server that sessions use; notifies them when it changes. */
#ifndef BATON_REDIS_WIRE_ENDPOINT_H
#define BATON_REDIS_WIRE_ENDPOINT_H

#include "base/failure.h"
#include "redis/address/url.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* A session follows an endpoint if its URL names no server: for instance, Sentinel says where the
 * endpoint points to (redis/sentinel/sentinel.h). Used on the loop's thread alone. */

/* Embedded in the session, or in another object that follows the endpoint. */
struct follower {
    TAILQ_ENTRY(follower) others;
    void *context;
    /* The endpoint points elsewhere, or nowhere. The follower may give up its connection here, but
     * not close. */
    void (*changed)(void *context);
};

struct endpoint {
    TAILQ_HEAD(follower_list, follower) followers; /* in the order in which they came */
    bool knows;     /* `host` and `port` are those of the server now */
    bool asks;      /* it is unknown, and the owner asks for it: followers wait without an error */
    bool forbids;   /* it is unknown, and followers must leave the last known server */
    uint64_t until; /* on the loop's clock, in ms: see endpoint_limit */
    bool takes_replicas;               /* followers may also use a replica */
    char host[REDIS_HOST_LONGEST + 1]; /* of the last known server; "" if there was none */
    int port;
    int code; /* of an unknown server: -EPROTO if a person has to act, else -EAGAIN */
    struct failure reason;
    void *context;
    /* A follower could not use the server, or has lost it. The owner checks whether the address is
     * still right. */
    void (*doubted)(void *context);
};

void endpoint_init(struct endpoint *endpoint, void (*doubted)(void *context), void *context);

void endpoint_follow(struct endpoint *endpoint, struct follower *follower);
void endpoint_leave(struct endpoint *endpoint, struct follower *follower);

/* Points to the server at this address, and notifies all followers if that is new. `host` has at
 * most REDIS_HOST_LONGEST bytes. */
void endpoint_set(struct endpoint *endpoint, const char *host, int port);

/* As endpoint_set, but notifies nobody: a follower that has lost the server goes there after its
 * pause. */
void endpoint_set_next(struct endpoint *endpoint, const char *host, int port);

/* Followers stop using the server at `until` (on the loop's clock, in ms), even before they learn
 * that the endpoint points elsewhere. This process may have been stopped, and chance decides what
 * it does first after that. */
void endpoint_limit(struct endpoint *endpoint, uint64_t until);

/* The server is unknown. Followers that use the last known server keep using it. */
void endpoint_set_unknown(struct endpoint *endpoint, int code, const char *reason);

/* The server is unknown, and followers must leave the last known server. */
void endpoint_forbid(struct endpoint *endpoint, const char *reason);

/* As endpoint_forbid, but the owner is asking: followers wait without an error until the endpoint
 * points to a server. */
void endpoint_withdraw(struct endpoint *endpoint, const char *reason);

bool endpoint_is(const struct endpoint *endpoint, const char *host, int port);

#endif
