#include "locks/calls/operation.h"
#include "locks/central/central.h"
#include "locks/scripts/scripts.h"
#include "locks/waiting/subscription.h"

static bool central_watch_read(const struct value *value, struct locks_reply *ret,
                               int64_t *ret_next_ms)
{
    return value_integer(value_at(value, 0), ret_next_ms) &&
           reply_read_view(value_at(value, 1), &ret->view);
}

static void central_watch_refreshed(void *context, const struct store_result *result)
{
    struct subscription *subscription = context;
    struct locks_reply reply = {.result = LOCKS_DONE};
    int64_t next_ms = -1;
    if (result->outcome != STORE_REPLIED || !central_watch_read(result->reply, &reply, &next_ms)) {
        reply = operation_unanswered(result);
        subscription->locks->check_again |= reply.result != LOCKS_DAMAGED;
    }
    operation_note(subscription->locks, &reply);
    subscription_plan(subscription, next_ms);
    watched_seen(&subscription->watched, &reply);
    subscription_leave(subscription);
}

static void central_watch_refresh(struct watched *watched)
{
    struct subscription *subscription = watched->owner;
    struct locks *locks = watched->locks;
    const struct slice arguments[] = {stamp_placeholder(), slice_of(locks->texts.worker),
                                      slice_of(locks->texts.waiter_lease), slice_of("")};
    const struct script_call call = {
        .script = &script_watch,
        .key = watched->key,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = central_watch_refreshed,
        .context = subscription,
    };
    subscription->users++;
    store_eval(locks->store, &call);
}

static void central_watch_leave(struct watched *watched)
{
    subscription_leave(watched->owner);
}

static bool central_watch_can_ask(const struct watched *watched)
{
    const struct subscription *subscription = watched->owner;
    return !subscription->unsure && subscription_can_ask(subscription);
}

const struct watched_kind central_watched = {
    .refresh = central_watch_refresh,
    .leave = central_watch_leave,
    .can_ask = central_watch_can_ask,
};

struct watch *central_watch(struct locks *locks, struct slice name, const struct watch_for *what,
                            int64_t wait_ms, locks_done *done, void *context)
{
    char key[KEY_LENGTH];
    struct subscription *subscription = subscription_join(locks, operation_key(locks, name, key));
    return watch_begin(&subscription->watched, what, wait_ms, done, context);
}
