#include "locks/calls/confirm.h"

#include "base/memory.h"
#include "locks/calls/operation.h"
#include "locks/quarantine/guard.h"

struct confirm {
    struct locks *locks;
    locks_done *done;
    void *context;
    struct store_mark mark; /* of the reply of Redis that has the hold, */
    int64_t replicas;
    uint64_t replied_at; /* and when it came; loop time, ms */
    struct locks_reply reply;
    char owner[OWNER_LENGTH];
};

static void confirm_conclude(struct confirm *confirm)
{
    confirm->done(confirm->context, &confirm->reply);
    free(confirm);
}

static void confirm_on_replicas(void *context, const char *error)
{
    struct confirm *confirm = context;
    struct locks *locks = confirm->locks;
    struct locks_reply *reply = &confirm->reply;
    if (locks->options.events.confirmed)
        locks->options.events.confirmed(locks->options.events.context,
                                        uv_hrtime() - confirm->mark.sent, !error);
    reply->confirmed_ms = (int64_t)(uv_now(locks->loop) - confirm->replied_at);
    hold_pass(&reply->hold, reply->confirmed_ms);
    if (!error && reply->hold.ttl_ms <= 0)
        error = "the hold ended before replicas had it";
    if (error) {
        reply->result = LOCKS_UNCONFIRMED;
        reply->error = error;
    }
    confirm_conclude(confirm);
}

static void confirm_ask_replicas(struct confirm *confirm)
{
    store_confirm(confirm->locks->store, confirm->mark, (int)confirm->replicas,
                  confirm->locks->options.confirm_timeout_ms, confirm_on_replicas, confirm);
}

static void confirm_on_covered(void *context, const char *error)
{
    struct confirm *confirm = context;
    if (!error && confirm->replicas > 0) {
        confirm_ask_replicas(confirm);
        return;
    }
    if (error) {
        confirm->reply.result = LOCKS_UNAVAILABLE;
        confirm->reply.error = error;
    }
    confirm_conclude(confirm);
}

bool confirm_reply(struct locks *locks, const struct locks_reply *reply, struct store_mark mark,
                   int64_t replicas, locks_done *done, void *context)
{
    bool holds = reply_holds(reply);
    bool is_covered = !holds || guard_covers(locks->guard, mark.shard, reply->hold.ttl_ms);
    if (!holds || (is_covered && replicas == 0))
        return false;
    struct confirm *confirm = memory_checked(calloc(1, sizeof *confirm));
    confirm->locks = locks;
    confirm->done = done;
    confirm->context = context;
    confirm->mark = mark;
    confirm->replicas = replicas;
    confirm->replied_at = uv_now(locks->loop);
    confirm->reply.result = reply->result;
    confirm->reply.attempt = reply->attempt;
    confirm->reply.notified_at = reply->notified_at;
    confirm->reply.hold = reply->hold;
    owner_keep(&confirm->reply.hold.owner, confirm->owner);
    if (is_covered)
        confirm_ask_replicas(confirm);
    else
        guard_await(locks->guard, mark.shard, confirm_on_covered, confirm);
    return true;
}
