/* call.h: one command on its way: its bytes, who waits for it, and a queue of such. */
#ifndef BATON_REDIS_WIRE_CALL_H
#define BATON_REDIS_WIRE_CALL_H

#include "redis/types/result.h"
#include "redis/types/script.h"

enum call_kind {
    CALL_BARE,  /* only bytes: of the greeting, or of the inbox */
    CALL_KILL,  /* CLIENT KILL */
    CALL_TRACK, /* CLIENT TRACKING ON */
    CALL_UNTRACK,
    CALL_ASKING, /* what follows may be of a slot that is on its way to there */
    CALL_LOAD,   /* SCRIPT LOAD */
    CALL_SCRIPT, /* EVALSHA on behalf of somebody */
    CALL_KINDS   /* how many there are */
};

/* What redis/cluster/router.h knows of a call that another node may turn out to serve. */
struct routing {
    unsigned *open; /* how many calls of its slot are under way; NULL: this one is not */
    uint64_t serial;
    uint64_t give_up; /* on the loop's clock, in ms: from then on it is not sent anywhere again */
    unsigned slot;
    unsigned node;    /* to which it was sent last, or is to be */
    unsigned detours; /* how often it has come back */
    bool is_on;
};

struct call {
    struct call *next;
    enum call_kind kind;
    unsigned tries;
    unsigned turns;              /* how often its script has done a part of its work */
    const struct script *script; /* of CALL_LOAD and CALL_SCRIPT */
    store_done *done;            /* of CALL_SCRIPT */
    size_t key_count;            /* the same */
    void *context;
    bool asking; /* ASKING is to be sent before it */
    struct routing routing;
    uint64_t begun;    /* of CALL_SCRIPT: when it was sent; uv_hrtime */
    uint64_t deadline; /* on the loop's clock, in ms */
    uint64_t end;      /* position behind it in the connection's output */
    size_t stamp;      /* where among `bytes` a script's first argument has its text */
    size_t length;
    char bytes[]; /* as Redis reads it; kept so that it can be sent again */
};

/* A first-in, first-out list; zeroed is empty. */
struct call_queue {
    struct call *head;
    struct call *tail;
};

/* A command of a few words. The caller frees it with free(3), as all calls. */
struct call *call_new(enum call_kind kind, const struct slice *words, size_t count);

struct call *call_new_load(const struct script *script);

/* With the key given so many times, 2 at most. A script that gets it twice knows that it runs in a
 * Cluster, where the name may be on its way to another node; one that gets none looks at all that
 * is there: see locks/scripts/shared/1-state.lua. */
struct call *call_new_script(const struct script *script, struct slice key, size_t key_count,
                             const struct slice *arguments, size_t argument_count, store_done *done,
                             void *context);

/* Tells whoever waits for it, and frees it. */
void call_finish(struct call *call, enum store_outcome outcome, const struct value *reply,
                 const char *error);

/* The same for a script that cannot read what is stored under its key. */
void call_finish_damaged(struct call *call, const char *error);

/* Frees it without a word: whoever waits for it knows already. */
void call_forget(struct call *call);

void call_queue_push(struct call_queue *queue, struct call *call);

/* NULL when empty. */
struct call *call_queue_pop(struct call_queue *queue);

/* The whole queue, which is empty afterwards. */
struct call_queue call_queue_take(struct call_queue *queue);

#endif
