/* call.h: one command on its way: its bytes, who waits for it, and a queue of such. */
#ifndef BATON_REDIS_CALL_H
#define BATON_REDIS_CALL_H

#include "redis/store.h"

enum call_kind {
    CALL_BARE,  /* only bytes: of the greeting, or of the inbox */
    CALL_KILL,  /* CLIENT KILL */
    CALL_TRACK, /* CLIENT TRACKING ON */
    CALL_UNTRACK,
    CALL_LOAD,   /* SCRIPT LOAD */
    CALL_SCRIPT, /* EVALSHA on behalf of somebody */
};

struct call {
    struct call *next;
    enum call_kind kind;
    unsigned tries;
    const struct script *script; /* of CALL_LOAD and CALL_SCRIPT */
    store_done *done;            /* of CALL_SCRIPT */
    void *context;
    uint64_t begun;    /* of CALL_SCRIPT: uv_hrtime */
    uint64_t deadline; /* on the loop's clock, in ms */
    uint64_t end;      /* position behind it in the connection's output */
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

struct call *call_new_script(const struct script *script, struct slice key,
                             const struct slice *arguments, size_t argument_count, store_done *done,
                             void *context);

/* Tells whoever waits for it, and frees it. */
void call_finish(struct call *call, enum store_outcome outcome, const struct value *reply,
                 const char *error);

void call_queue_push(struct call_queue *queue, struct call *call);

/* NULL when empty. */
struct call *call_queue_pop(struct call_queue *queue);

/* The whole queue, which is empty afterwards. */
struct call_queue call_queue_take(struct call_queue *queue);

#endif
