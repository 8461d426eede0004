#include "base/memory.h"
#include "locks/calls/confirm.h"
#include "locks/calls/operation.h"
#include "locks/central/central.h"
#include "locks/scripts/scripts.h"
#include "locks/waiting/expiries.h"

static bool renew_read(const struct value *value, struct locks_reply *ret)
{
    if (reply_says(value, "renewed"))
        return reply_read_hold(value, &ret->hold);
    if (reply_says(value, "final")) {
        ret->result = LOCKS_MAX_HELD;
        return reply_read_hold(value, &ret->hold);
    }
    ret->result = LOCKS_NOT_HELD;
    return reply_read_not_held(value, &ret->view);
}

struct renewing {
    struct locks *locks;
    locks_done *done;
    void *context;
    int64_t replicas;
    size_t key_length;
    char key[];
};

static void renew_conclude(void *context, const struct locks_reply *reply)
{
    struct renewing *renewing = context;
    renewing->done(renewing->context, reply);
    free(renewing);
}

static void renew_answered(void *context, const struct store_result *result)
{
    struct renewing *renewing = context;
    struct locks_reply reply = {.result = LOCKS_DONE};
    operation_read(result, renew_read, &reply);
    operation_note(renewing->locks, &reply);
    struct slice key = {renewing->key, renewing->key_length};
    if (reply.result == LOCKS_DONE)
        expiries_note(renewing->locks, key, &reply.hold);
    if (!confirm_reply(renewing->locks, &reply, store_mark(renewing->locks->store),
                       renewing->replicas, renew_conclude, renewing))
        renew_conclude(renewing, &reply);
}

void central_renew(struct locks *locks, const struct renewal *renewal, locks_done *done,
                   void *context)
{
    char bytes[KEY_LENGTH];
    struct slice key = operation_key(locks, renewal->name, bytes);
    struct renewal_arguments arguments;
    struct renewing *renewing = memory_checked(malloc(sizeof *renewing + key.length));
    *renewing = (struct renewing){locks, done, context, renewal->replicas, key.length};
    memcpy(renewing->key, key.bytes, key.length);
    renewal_pack(renewal, &arguments);
    const struct script_call call = {
        .script = &script_renew,
        .key = key,
        .arguments = arguments.all,
        .argument_count = arguments.count,
        .done = renew_answered,
        .context = renewing,
    };
    store_eval(locks->store, &call);
}
