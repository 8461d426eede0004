#include "locks/confirm.h"

#include "locks/operation.h"

#include <stdlib.h>

struct confirm {
    struct locks *locks;
    locks_done *done;
    void *context;
    uint64_t told; /* by the loop's clock, when Redis has told of the hold */
    struct locks_reply reply;
    char owner[OWNER_LENGTH];
};

static void confirmed(void *context, const char *error)
{
    struct confirm *confirm = context;
    struct locks_reply *reply = &confirm->reply;
    reply->confirmed_ms = (int64_t)(uv_now(confirm->locks->loop) - confirm->told);
    reply->hold.ttl_ms -= reply->confirmed_ms;
    if (!error && reply->hold.ttl_ms <= 0)
        error = "the hold ended before replicas had it";
    if (error) {
        reply->result = LOCKS_UNCONFIRMED;
        reply->error = error;
    }
    confirm->done(confirm->context, reply);
    free(confirm);
}

void confirm_reply(struct locks *locks, const struct locks_reply *reply, struct store_mark mark,
                   int64_t replicas, locks_done *done, void *context)
{
    struct confirm *confirm = calloc(1, sizeof *confirm);
    if (!confirm)
        abort();
    confirm->locks = locks;
    confirm->done = done;
    confirm->context = context;
    confirm->told = uv_now(locks->loop);
    confirm->reply.result = reply->result;
    confirm->reply.attempt = reply->attempt;
    confirm->reply.heard = reply->heard;
    confirm->reply.hold = reply->hold;
    if (reply->hold.owner.length > 0)
        memcpy(confirm->owner, reply->hold.owner.bytes, reply->hold.owner.length);
    confirm->reply.hold.owner.bytes = confirm->owner;
    store_confirm(locks->store, mark, (int)replicas, locks->confirm_timeout_ms, confirmed, confirm);
}
