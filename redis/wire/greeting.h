/* greeting.h: the first commands on each connection: they log in, and learn which server
 * answers. */
#ifndef BATON_REDIS_WIRE_GREETING_H
#define BATON_REDIS_WIRE_GREETING_H

#include "redis/address/url.h"
#include "redis/wire/server_info.h"

#include <stdint.h>

struct redisReply;

enum greeting_step {
    GREETING_AUTH,
    GREETING_SELECT,
    GREETING_ID,
    GREETING_CONFIG,
    GREETING_INFO,
    GREETING_STEPS
};

struct greeting {
    const char *place;                        /* for messages */
    enum redis_kind kind;                     /* the kind of server that should answer */
    bool primary_only;                        /* refuse every replica, even a writable one */
    bool replica_will_do;                     /* accept every replica */
    enum greeting_step steps[GREETING_STEPS]; /* in the order of their replies */
    size_t answered;
    int64_t client_id;       /* the id that Redis gives this connection; 0 if Redis does not say */
    bool keeps_all;          /* see struct redis_url */
    char appendfsync[16];    /* "" if Redis does not say */
    struct server_info info; /* zeroed if Redis does not say */
    struct failure warning; /* how it can lose locks, or what could not be checked; "" if nothing */
};

/* Sends AUTH and SELECT (if the URL asks for them), CLIENT ID, CONFIG (with `keeps_all`) and INFO
 * through `send`. `place` outlives the greeting. */
void greeting_begin(struct greeting *greeting, const struct redis_url *url, const char *place,
                    void (*send)(void *context, const struct slice *words, size_t count),
                    void *context);

/* Takes the next reply. Returns 0 if the greeting is over and Redis is usable, or -EINPROGRESS if
 * more replies will come; else, with a failure, -EAGAIN, or -EPROTO if another try won't help. */
int greeting_answered(struct greeting *greeting, const struct redisReply *reply,
                      struct failure *failure);

#endif
