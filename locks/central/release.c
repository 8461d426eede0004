#include "base/memory.h"
#include "locks/calls/operation.h"
#include "locks/central/central.h"
#include "locks/scripts/scripts.h"
#include "locks/waiting/expiries.h"
#include "locks/waiting/waiting.h"

static bool release_read(const struct value *value, struct locks_reply *ret)
{
    if (reply_read_release(value, &ret->release))
        return true;
    if (reply_says(value, "cancelled")) {
        ret->release.cancelled = true;
        return value_integer(value_at(value, 1), &ret->release.version);
    }
    ret->result = LOCKS_NOT_HELD;
    return reply_read_not_held(value, &ret->view);
}

struct releasing {
    struct locks *locks;
    locks_done *done;
    void *context;
    size_t key_length;
    char key[];
};

/* A release may answer two requests: if the next waiter is parked at this worker, the script has
 * given it the hold. This waiter gets its answer first, since it has waited longest. */
static void release_answered(void *context, const struct store_result *result)
{
    struct releasing *releasing = context;
    struct slice key = {releasing->key, releasing->key_length}, attempt;
    struct hold hold;
    struct locks_reply reply = {.result = LOCKS_DONE};
    operation_read(result, release_read, &reply);
    operation_note(releasing->locks, &reply);
    /* After a repeated release another client may hold the lock. */
    const struct release *release = &reply.release;
    if (reply.result == LOCKS_DONE && !release->cancelled && !release->repeated &&
        release->holds == 0 && release->free_in_ms == 0)
        expiries_released(releasing->locks, key);
    if (reply.result == LOCKS_DONE && reply_read_next(result->reply, &attempt, &hold))
        waiting_claimed(releasing->locks, key, attempt, &hold);
    releasing->done(releasing->context, &reply);
    free(releasing);
}

void central_release(struct locks *locks, struct slice name, struct slice token,
                     const struct attempt *attempt, locks_done *done, void *context)
{
    char bytes[KEY_LENGTH];
    struct slice key = operation_key(locks, name, bytes);
    struct releasing *releasing = memory_checked(malloc(sizeof *releasing + key.length));
    *releasing = (struct releasing){locks, done, context, key.length};
    memcpy(releasing->key, key.bytes, key.length);
    const struct slice arguments[] = {stamp_placeholder(), token, slice_of(locks->texts.worker),
                                      slice_of(""), slice_of(attempt ? attempt->text : "")};
    const struct script_call call = {
        .script = &script_release,
        .key = key,
        .arguments = arguments,
        .argument_count = attempt ? 5 : 3,
        .done = release_answered,
        .context = releasing,
    };
    store_eval(locks->store, &call);
}
