/* sentinel_client.h: asks one sentinel, again and again, for the address of the primary. */
#ifndef BATON_REDIS_SENTINEL_SENTINEL_CLIENT_H
#define BATON_REDIS_SENTINEL_SENTINEL_CLIENT_H

#include "base/failure.h"
#include "redis/sentinel/votes.h"
#include "redis/wire/session.h"

enum {
    SENTINEL_CLIENT_ASK_MS = 1000,   /* the longest time between two rounds of questions */
    SENTINEL_CLIENT_ANSWER_MS = 500, /* batond waits this long for an answer, then reconnects */
    SENTINEL_CLIENT_SPACE_MS = 100,  /* the shortest time between two rounds */
    SENTINEL_CLIENT_ID_SIZE = 48,
};

struct sentinel_client {
    /* The owner's fields. */
    struct sentinel_client *next;
    uint64_t mentioned; /* when another sentinel last named it, or when the client was opened */
    bool is_learnt;     /* another sentinel named it; it is not in the URL */
    bool is_left_out;   /* it was replaced: redis/sentinel/sentinel_set.h */

    /* What the client knows of the sentinel; the owner reads it. Times are on the loop's clock, in
     * ms. */
    bool is_dropped; /* the client is closing */
    bool is_settled; /* since the client was opened, it has answered or was lost */
    bool has_vote;
    bool knows_no_such_name;
    int port;
    int code;               /* the errno of `trouble` */
    struct vote vote;       /* the last vote, even if it is no longer valid */
    uint64_t voted;         /* when the client asked for `vote`; 0: the answer named no primary */
    struct failure trouble; /* why it has no vote */
    char host[REDIS_HOST_LONGEST + 1];
    char id[SENTINEL_CLIENT_ID_SIZE]; /* a sentinel may have several addresses; "": unknown */

    /* The client's own fields. */
    const struct sentinel_client_events *events;
    const char *master; /* what the sentinels call the primary */
    struct session *session;
    size_t answered; /* how many questions of this round */
    struct vote draft;
};

/* The loop calls these. They may call sentinel_client_close, for this client and for others. A
 * dropped client calls only `closed`. */
struct sentinel_client_events {
    void *context;
    /* The sentinel has answered all questions of a round. */
    void (*answered)(void *context, struct sentinel_client *client);
    /* The sentinel names another sentinel; `id` is "" if the answer has no id. */
    void (*named)(void *context, const struct vote *address, const char *id);
    /* The sentinel cannot be reached, or its answer makes no sense. The client tries again. */
    void (*lost)(void *context, struct sentinel_client *client, const struct session_loss *loss);
    /* The owner takes the client off its list. The client is freed when this returns. */
    void (*closed)(void *context, struct sentinel_client *client);
};

/* Starts asking the sentinel at this address for the primary of `url`, of the kind
 * REDIS_WATCHED. `url` and `events` outlive the client. */
struct sentinel_client *sentinel_client_open(uv_loop_t *loop, const struct redis_url *url,
                                             const char *host, int port,
                                             const struct sentinel_client_events *events);

/* Asks again, SENTINEL_CLIENT_SPACE_MS after the last question at the earliest. */
void sentinel_client_ask_soon(struct sentinel_client *client);

/* A second call does nothing. */
void sentinel_client_close(struct sentinel_client *client);

/* Whether the sentinel answers, as far as the client knows. A new client counts as answering. */
static inline bool sentinel_client_answers(const struct sentinel_client *client)
{
    return !client->trouble.text[0];
}

#endif
