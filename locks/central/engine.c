#include "locks/calls/engine.h"

#include "locks/calls/operation.h"
#include "locks/central/central.h"
#include "locks/waiting/expiries.h"
#include "locks/waiting/leave.h"
#include "locks/waiting/subscription.h"
#include "locks/waiting/waiting.h"
#include "locks/watching/prefix.h"

#include <stdlib.h>

void central_take_back(struct locks *locks, struct slice name, struct slice token,
                       const struct attempt *attempt, int64_t keep_ms)
{
    char key[KEY_LENGTH];
    leave_queue(locks, operation_key(locks, name, key), token, attempt, LEAVE_GONE, keep_ms);
}

static void central_serve(struct locks *locks, unsigned shard)
{
    redeliveries_send(locks);
    subscriptions_check_shard(locks, shard);
}

static void central_try_again(struct locks *locks)
{
    redeliveries_send(locks);
    if (locks->check_again)
        subscriptions_check(locks);
    locks->check_again = false;
}

static bool central_is_settled(const struct locks *locks)
{
    return redeliveries_are_settled(locks) && TAILQ_EMPTY(&locks->subscriptions->list);
}

static void central_drain(struct locks *locks)
{
    waiting_drain(locks);
    subscriptions_drain_watches(locks);
    prefixes_drain(locks);
    subscriptions_drain(locks);
}

static void central_open(struct locks *locks)
{
    static const struct subscription_users USERS = {waiting_check, waiting_count, waiting_granted,
                                                    &central_watched};
    subscriptions_open(locks, &USERS);
    expiries_open(locks);
}

static void central_subscriptions_closed(uv_handle_t *heartbeat)
{
    struct locks *locks = heartbeat->data;
    free(locks->subscriptions);
    redeliveries_free(locks);
    locks->engine_closed(locks);
}

static void central_close(struct locks *locks)
{
    prefixes_close(locks->prefixes);
    expiries_close(locks);
    subscriptions_close(locks, central_subscriptions_closed);
}

const struct engine engine_central = {
    .acquire = central_acquire,
    .wait = waiting_begin,
    .take_back = central_take_back,
    .renew = central_renew,
    .release = central_release,
    .break_holds = central_break,
    .inspect = central_inspect,
    .watch = central_watch,
    .ready = central_ready,
    .try_again = central_try_again,
    .are_settled = central_is_settled,
    .drain = central_drain,
    .serve = central_serve,
    .replaced = subscriptions_check_shard, /* so waiters learn that their names are gone */
    .moved = redeliveries_send,
    .listening = subscriptions_check,
    .message = central_message,
    .open = central_open,
    .close = central_close,
    .supervise = subscription_supervise,
};
