/* endpoint.h: where the server is that sessions are to use, and word to them when it is another
 * one.
 */
#ifndef BATON_REDIS_WIRE_ENDPOINT_H
#define BATON_REDIS_WIRE_ENDPOINT_H

#include "base/failure.h"
#include "redis/address/url.h"

#include <stdbool.h>
#include <stdint.h>

/* What a session follows whose URL names no server: redis/sentinel/sentinel.h knows where the
 * endpoint points to. All are used on the loop's thread alone. */

/* Embedded in whoever follows. */
struct follower {
    struct follower *next;
    void *context;
    /* The endpoint has something new to tell. May lose its connection, but not close. */
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
    /* A follower could not use the server, or has lost it: is it still the right one? */
    void (*doubted)(void *context);
};

void endpoint_init(struct endpoint *endpoint, void (*doubted)(void *context), void *context);

void endpoint_follow(struct endpoint *endpoint, struct follower *follower);
void endpoint_leave(struct endpoint *endpoint, struct follower *follower);

/* The server is there: tells all followers, if that is new. `host` may not be longer than
 * REDIS_HOST_LONGEST. */
void endpoint_set(struct endpoint *endpoint, const char *host, int port);

/* What it points to is to be used until then and no longer, even by those who have not been told
 * that it points elsewhere: this process may have stood still, and what it does first is by chance.
 */
void endpoint_limit(struct endpoint *endpoint, uint64_t until);

/* Nobody can tell where it is. Who uses the last one that was known goes on doing so. */
void endpoint_set_unknown(struct endpoint *endpoint, int code, const char *reason);

/* Nobody can tell, and nobody may go on. */
void endpoint_forbid(struct endpoint *endpoint, const char *reason);

/* The same, but somebody is being asked: who follows waits quietly until it is told of one. */
void endpoint_withdraw(struct endpoint *endpoint, const char *reason);

bool endpoint_is(const struct endpoint *endpoint, const char *host, int port);

#endif
