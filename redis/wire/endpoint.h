/* endpoint.h: the address of the server that sessions use, and notice to them when it changes. */
#ifndef BATON_REDIS_WIRE_ENDPOINT_H
#define BATON_REDIS_WIRE_ENDPOINT_H

#include "base/failure.h"
#include "redis/address/url.h"

#include <stdbool.h>
#include <stdint.h>

/* A session follows an endpoint if its URL names no server: for instance, Sentinel says where the
 * endpoint points to (redis/sentinel/sentinel.h). Used on the loop's thread alone. */

/* Embedded in the session, or whatever else follows the endpoint. */
struct follower {
    struct follower *next;
    void *context;
    /* The endpoint points elsewhere, or nowhere. The follower may give up its connection here, but
     * not close. */
    void (*changed)(void *context);
};

struct endpoint {
    struct follower *first; /* in the order in which they came */
    bool knows;             /* where the server is; else, with a reason, that nobody can tell; */
    bool asks;              /* else it is still being asked for */
    bool forbids; /* while nobody can tell: who uses the last one that was known has to leave it */
    uint64_t until;                    /* on the loop's clock, in ms: see endpoint_limit */
    bool takes_replicas;               /* a replica will do, too */
    char host[REDIS_HOST_LONGEST + 1]; /* the last one that was known; "" for none */
    int port;
    int code; /* -EPROTO where somebody has to act, else -EAGAIN */
    struct failure reason;
    void *context;
    /* A follower could not use the server, or has lost it. Is this still the right server? */
    void (*doubted)(void *context);
};

void endpoint_init(struct endpoint *endpoint, void (*doubted)(void *context), void *context);

void endpoint_follow(struct endpoint *endpoint, struct follower *follower);
void endpoint_leave(struct endpoint *endpoint, struct follower *follower);

/* Points to the server at this address, and notifies all followers if that is new. `host` has at
 * most REDIS_HOST_LONGEST bytes. */
void endpoint_set(struct endpoint *endpoint, const char *host, int port);

/* Followers use the server until then (on the loop's clock, in ms) and no longer, even before they
 * hear that the endpoint points elsewhere: this process may have stood still, and the order of what
 * it does first is by chance. */
void endpoint_limit(struct endpoint *endpoint, uint64_t until);

/* Nobody knows where the server is. Followers that use the last known one go on doing so. */
void endpoint_set_unknown(struct endpoint *endpoint, int code, const char *reason);

/* Nobody knows, and followers have to leave the last known server. */
void endpoint_forbid(struct endpoint *endpoint, const char *reason);

/* As endpoint_forbid, but the owner is asking: followers wait without an error until it points
 * somewhere. */
void endpoint_withdraw(struct endpoint *endpoint, const char *reason);

bool endpoint_is(const struct endpoint *endpoint, const char *host, int port);

#endif
