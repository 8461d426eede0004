#include "base/memory.h"
#include "locks/calls/operation.h"
#include "locks/calls/rights.h"
#include "locks/central/central.h"
#include "locks/scripts/scripts.h"

#include <stdio.h>

static bool ready_read(const struct value *value, struct locks_reply *ret)
{
    int64_t one;
    (void)ret;
    return value_integer(value, &one) && one == 1;
}

/* The longest wait for replicas: a health check has less time than a grant. */
enum { CONFIRM_LONGEST_MS = 500 };

/* batond asks each shard that serves names. The store is ready when all these shards are. */
struct readiness {
    struct locks *locks;
    int64_t replicas;
    locks_done *done;
    void *context;
    unsigned asking; /* shards that have not answered */
    struct locks_reply reply;
    char error[STORE_ERROR_TEXT];
};

static void ready_settle(struct readiness *readiness, enum locks_result result, const char *error)
{
    if (result != LOCKS_DONE && readiness->reply.result == LOCKS_DONE) {
        snprintf(readiness->error, sizeof readiness->error, "%s", error ? error : "");
        readiness->reply.result = result;
        readiness->reply.error = error ? readiness->error : NULL;
    }
    if (--readiness->asking > 0)
        return;
    readiness->done(readiness->context, &readiness->reply);
    free(readiness);
}

static void ready_confirmed(void *context, const char *error)
{
    ready_settle(context, error ? LOCKS_UNCONFIRMED : LOCKS_DONE, error);
}

static void ready_answered(void *context, const struct locks_reply *reply)
{
    struct readiness *readiness = context;
    struct locks *locks = readiness->locks;
    bool is_done = reply->result == LOCKS_DONE;
    rights_note(locks, is_done ? NULL : reply->error);
    int64_t timeout_ms = locks->options.confirm_timeout_ms < CONFIRM_LONGEST_MS
                             ? locks->options.confirm_timeout_ms
                             : CONFIRM_LONGEST_MS;
    if (is_done && readiness->replicas > 0)
        store_confirm(locks->store, store_mark(locks->store), (int)readiness->replicas, timeout_ms,
                      ready_confirmed, readiness);
    else
        ready_settle(readiness, reply->result,
                     is_done || locks_trouble(locks)[0] ? reply->error
                                                        : rights_missing(locks, reply->error));
}

static void ready_without_shards(uv_timer_t *timer)
{
    struct readiness *readiness = timer->data;
    uv_close((uv_handle_t *)timer, (uv_close_cb)free);
    ready_settle(readiness, LOCKS_UNAVAILABLE,
                 "this batond knows no node of Redis that serves locks");
}

/* `done` must not run before central_ready has returned. */
static void ready_answer_later(struct readiness *readiness)
{
    uv_timer_t *timer = memory_checked(malloc(sizeof *timer));
    uv_timer_init(readiness->locks->loop, timer);
    timer->data = readiness;
    uv_timer_start(timer, ready_without_shards, 0, 0);
    readiness->asking++;
}

void central_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context)
{
    struct readiness *readiness = memory_checked(malloc(sizeof *readiness));
    *readiness =
        (struct readiness){.locks = locks, .replicas = replicas, .done = done, .context = context};
    for (unsigned shard = 0; shard < store_shard_count(locks->store); shard++) {
        char tag[STORE_TAG_SIZE];
        if (!store_shard_serves(locks->store, shard))
            continue;
        /* No lock has the empty name or one of these keys, so the script may write to the key. */
        store_tag(locks->store, shard, tag);
        readiness->asking++;
        operation_run(locks, &script_ready, slice_of(tag), NULL, 0, ready_read, ready_answered,
                      readiness);
    }
    if (readiness->asking == 0)
        ready_answer_later(readiness);
}
