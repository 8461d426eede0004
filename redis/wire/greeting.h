/* greeting.h: what is said first on each connection: who we are, and who answers. */
#ifndef BATON_REDIS_WIRE_GREETING_H
#define BATON_REDIS_WIRE_GREETING_H

#include "redis/address/url.h"
#include "redis/wire/server_info.h"

#include <stdint.h>

struct redisReply;

enum greeting_step { GREETING_AUTH, GREETING_SELECT, GREETING_ID, GREETING_INFO, GREETING_STEPS };

struct greeting {
    const char *place;                        /* for messages */
    enum redis_kind kind;                     /* what is to answer */
    bool primary_only;                        /* even a writable replica won't do, */
    bool replica_will_do;                     /* or any replica will */
    enum greeting_step steps[GREETING_STEPS]; /* in the order in which replies will come */
    size_t answered;
    int64_t client_id;       /* of this connection, as Redis calls it; 0 where it does not say */
    struct server_info info; /* zeroed where it does not say */
    struct failure warning;  /* how it can lose locks; "" where it cannot */
};

/* Makes `send` send AUTH, SELECT (where the URL asks for them), CLIENT ID and INFO. `place` must
 * outlive the greeting. */
void greeting_begin(struct greeting *greeting, const struct redis_url *url, const char *place,
                    void (*send)(void *context, const struct slice *words, size_t count),
                    void *context);

/* Takes the next reply. Returns 0 where all is said and Redis can be used, -EINPROGRESS where more
 * replies are to come; -EAGAIN, or -EPROTO where trying again won't help, with a failure. */
int greeting_answered(struct greeting *greeting, const struct redisReply *reply,
                      struct failure *failure);

#endif
