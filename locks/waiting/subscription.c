#include "locks/waiting/subscription.h"

#include "base/memory.h"
#include "base/tree.h"
#include "locks/calls/operation.h"
#include "locks/scripts/scripts.h"
#include "locks/waiting/batch.h"

enum {
    HEARTBEATS_IN_LEASE = 2, /* few, as each writes to Redis; a known loss is checked at once */
    HEARTBEAT_PAUSE_MS = 10, /* between two batches, at least */
    TICK_AGAIN_MS = 1000,    /* after one that failed */
};

struct subscription *subscription_find(const struct locks *locks, struct slice key)
{
    return tree_find(&locks->subscriptions->by_key, key);
}

/* Heartbeats: script_heartbeat reports to Redis that this worker's waiters are still there. */

static uint64_t heartbeat_period(const struct locks *locks)
{
    return (uint64_t)locks->options.waiter_lease_ms / HEARTBEATS_IN_LEASE;
}

static void subscriptions_on_heartbeat(uv_timer_t *timer);

static bool subscription_is_due(const struct subscription *subscription, uint64_t now)
{
    return subscription->unsure ||
           subscription->heartbeat_at + heartbeat_period(subscription->locks) <= now;
}

static void subscriptions_plan_heartbeat(struct locks *locks)
{
    struct subscriptions *subscriptions = locks->subscriptions;
    const struct subscription *first = TAILQ_FIRST(&subscriptions->list);
    if (!first) {
        uv_timer_stop(&subscriptions->heartbeat);
        return;
    }
    uint64_t now = uv_now(locks->loop), due = first->heartbeat_at + heartbeat_period(locks);
    bool soon = subscription_is_due(first, now + HEARTBEAT_PAUSE_MS);
    uv_timer_start(&subscriptions->heartbeat, subscriptions_on_heartbeat,
                   soon ? HEARTBEAT_PAUSE_MS : due - now, 0);
}

size_t subscription_check(struct subscription *subscription)
{
    subscription->unsure = false;
    subscription->registered = uv_now(subscription->locks->loop);
    watched_check(&subscription->watched);
    return 1 + subscription->locks->subscriptions->users->check_waiters(subscription);
}

bool subscription_can_ask(const struct subscription *subscription)
{
    const struct store *store = subscription->locks->store;
    return store_shard_is_up(store, store_shard(store, subscription->key));
}

/* Makes the subscription the next in the list: a heartbeat handles the first ones that are due, and
 * stops at one that is not. */
static void subscription_check_soon(struct subscription *subscription)
{
    struct subscriptions *subscriptions = subscription->locks->subscriptions;
    subscription->unsure = true;
    TAILQ_REMOVE(&subscriptions->list, subscription, others);
    TAILQ_INSERT_HEAD(&subscriptions->list, subscription, others);
}

typedef bool subscription_filter(const struct subscription *subscription, unsigned shard);

static void subscriptions_check_if(struct locks *locks, subscription_filter *filter, unsigned shard)
{
    struct subscription *subscription = TAILQ_FIRST(&locks->subscriptions->list), *next;
    for (; subscription; subscription = next) {
        next = TAILQ_NEXT(subscription, others);
        if (filter(subscription, shard))
            subscription_check_soon(subscription);
    }
    subscription = TAILQ_FIRST(&locks->subscriptions->list);
    if (subscription && subscription->unsure)
        uv_timer_start(&locks->subscriptions->heartbeat, subscriptions_on_heartbeat, 0, 0);
}

static bool subscription_is_askable(const struct subscription *subscription, unsigned shard)
{
    (void)shard;
    return subscription_can_ask(subscription);
}

/* A name whose shard is down is checked when the shard is up. */
void subscriptions_check(struct locks *locks)
{
    subscriptions_check_if(locks, subscription_is_askable, 0);
}

static bool subscription_is_of_shard(const struct subscription *subscription, unsigned shard)
{
    return store_shard(subscription->locks->store, subscription->key) == shard;
}

void subscriptions_check_shard(struct locks *locks, unsigned shard)
{
    subscriptions_check_if(locks, subscription_is_of_shard, shard);
}

static bool subscription_is_waited_for(const struct subscription *subscription)
{
    return !TAILQ_EMPTY(&subscription->waiters) || !LIST_EMPTY(&subscription->watched.watches);
}

static void subscription_stop_supervising(struct subscription *subscription)
{
    if (subscription->supervised_until == 0)
        return;
    subscription->supervised_until = 0;
    subscription_leave(subscription);
}

static void subscription_tick(struct subscription *subscription);

/* Supervises a name without a waiter or watch here for one period, in which each worker with
 * waiters sends its heartbeat. `next_ms`, from this worker's heartbeat, says when a tick is due. */
static void subscription_keep_supervising(struct subscription *subscription, int64_t next_ms)
{
    if (next_ms == 0)
        subscription_tick(subscription);
    else if (next_ms > 0 && uv_now(subscription->locks->loop) + (uint64_t)next_ms <=
                                subscription->supervised_until)
        subscription_plan(subscription, next_ms);
    else
        subscription_stop_supervising(subscription);
}

/* Compares with Redis' state of the name: three numbers, see heartbeat.lua. A waiter or watch that
 * has missed a message asks again. Scripts are answered in order, so a request that is queued here
 * but not in Redis was lost there. */
static void subscription_compare(struct subscription *subscription, const struct value *numbers,
                                 size_t at)
{
    int64_t waits, version, next_ms;
    if (!value_integer(value_at(numbers, at), &waits) ||
        !value_integer(value_at(numbers, at + 1), &version) ||
        !value_integer(value_at(numbers, at + 2), &next_ms))
        return;
    if (waits < 0 || version > subscription->watched.version)
        watched_doubt(&subscription->watched);
    if (!subscription_is_waited_for(subscription)) {
        subscription_keep_supervising(subscription, next_ms);
        return;
    }
    const struct subscription_users *users = subscription->locks->subscriptions->users;
    if (waits < 0 || (uint64_t)waits < users->count_waiters(subscription))
        subscription_check(subscription);
    else if (version > subscription->watched.version || subscription->watched.of_holds > 0)
        watched_check(&subscription->watched);
    subscription_plan(subscription, next_ms);
}

/* Unclaimed grants: each is the position of a name, an attempt and a token. */
static void heartbeat_report_grants(struct batch *heartbeat, const struct value *grants)
{
    for (size_t i = 0; i + 2 < value_count(grants); i += 3) {
        int64_t position;
        struct slice attempt, token;
        if (value_integer(value_at(grants, i), &position) && position >= 1 &&
            (size_t)position <= heartbeat->count && value_text(value_at(grants, i + 1), &attempt) &&
            value_text(value_at(grants, i + 2), &token))
            heartbeat->locks->subscriptions->users->granted(
                heartbeat->locks, heartbeat->keys[position - 1], attempt, token);
    }
}

static void heartbeat_answered(void *context, const struct store_result *result)
{
    struct batch *heartbeat = context;
    bool replied = result->outcome == STORE_REPLIED;
    for (size_t i = 0; i < heartbeat->count; i++) {
        struct subscription *subscription = subscription_find(heartbeat->locks, heartbeat->keys[i]);
        if (subscription && replied)
            subscription_compare(subscription, value_at(result->reply, 0), 3 * i);
        else if (subscription && !subscription_is_waited_for(subscription))
            subscription_plan(subscription, TICK_AGAIN_MS);
    }
    if (replied)
        heartbeat_report_grants(heartbeat, value_at(result->reply, 1));
    free(heartbeat);
}

/* After a waiter lease without a heartbeat (this worker was suspended), Redis may have dropped its
 * waiters, and no longer reports that once one of them has asked again. */
static bool subscription_needs_check(const struct subscription *subscription, uint64_t now)
{
    const struct locks *locks = subscription->locks;
    return subscription->unsure ||
           subscription->heartbeat_at + (uint64_t)locks->options.waiter_lease_ms <= now ||
           subscription->registered + (uint64_t)locks->options.retention_ms / 2 <= now;
}

/* Sends the heartbeats that are due now or soon, so that names that came together stay in one
 * batch. */
static void subscriptions_on_heartbeat(uv_timer_t *timer)
{
    struct locks *locks = timer->data;
    uint64_t now = uv_now(locks->loop), soon = now + heartbeat_period(locks) / 8;
    struct subscription *subscription;
    struct slice keys[BATCH_NAMES];
    size_t count = 0, checked = 0;
    if (store_is_closing(locks->store)) /* a closing store takes no calls */
        return;
    while ((subscription = TAILQ_FIRST(&locks->subscriptions->list)) &&
           subscription_is_due(subscription, soon) && count + checked < BATCH_NAMES) {
        bool misses = subscription_needs_check(subscription, now);
        TAILQ_REMOVE(&locks->subscriptions->list, subscription, others);
        TAILQ_INSERT_TAIL(&locks->subscriptions->list, subscription, others);
        subscription->heartbeat_at = now;
        subscription->unsure = false;
        if (misses)
            watched_doubt(&subscription->watched);
        if (misses && subscription_is_waited_for(subscription))
            checked += subscription_check(subscription);
        else
            keys[count++] = subscription->key;
    }
    const struct slice first[] = {slice_of(locks->texts.worker),
                                  slice_of(locks->texts.waiter_lease)};
    batches_send(locks, &script_heartbeat, keys, count, first, 2, heartbeat_answered);
    subscriptions_plan_heartbeat(locks);
}

/* Ticks. */

static void subscription_on_tick(uv_timer_t *timer);

void subscription_plan(struct subscription *subscription, int64_t next_ms)
{
    if (next_ms < 0)
        return;
    uint64_t in = (uint64_t)next_ms + 1; /* the loop's clock may be a millisecond behind */
    if (!uv_is_active((uv_handle_t *)&subscription->tick) ||
        in < uv_timer_get_due_in(&subscription->tick))
        uv_timer_start(&subscription->tick, subscription_on_tick, in, 0);
}

static void subscription_ticked(void *context, const struct store_result *result)
{
    struct subscription *subscription = context;
    int64_t next_ms = TICK_AGAIN_MS;
    if (result->outcome == STORE_REPLIED)
        value_integer(value_at(result->reply, 0), &next_ms);
    subscription_plan(subscription, next_ms);
    subscription_leave(subscription);
}

static void subscription_tick(struct subscription *subscription)
{
    struct locks *locks = subscription->locks;
    const struct slice arguments[] = {stamp_placeholder(), slice_of(locks->texts.worker)};
    /* The script counts as a user; if `supervised_until` is set, that count becomes the
     * script's. */
    subscription->users += subscription->supervised_until == 0;
    subscription->supervised_until = 0;
    const struct script_call call = {
        .script = &script_tick,
        .key = subscription->key,
        .arguments = arguments,
        .argument_count = 2,
        .done = subscription_ticked,
        .context = subscription,
    };
    store_eval(locks->store, &call);
}

/* If a name has no waiter or watch here, a heartbeat for many names asks first: mostly no tick is
 * needed. */
static void subscription_on_tick(uv_timer_t *timer)
{
    struct subscription *subscription = timer->data;
    struct subscriptions *subscriptions = subscription->locks->subscriptions;
    if (subscription_is_waited_for(subscription) || !subscription->supervised_until) {
        subscription_tick(subscription);
        return;
    }
    bool is_planned = subscription_is_due(TAILQ_FIRST(&subscriptions->list),
                                          uv_now(timer->loop) + HEARTBEAT_PAUSE_MS);
    subscription_check_soon(subscription);
    if (!is_planned)
        subscriptions_plan_heartbeat(subscription->locks);
}

void subscription_supervise(struct locks *locks, struct slice key, int64_t in_ms)
{
    struct subscription *subscription = subscription_find(locks, key);
    bool supervises = (uint64_t)in_ms <= heartbeat_period(locks) && !locks->draining;
    if (supervises && !(subscription && subscription->supervised_until))
        subscription = subscription_join(locks, key);
    if (supervises)
        subscription->supervised_until = uv_now(locks->loop) + heartbeat_period(locks);
    if (subscription)
        subscription_plan(subscription, in_ms);
}

void subscriptions_drain(struct locks *locks)
{
    struct subscription *subscription = TAILQ_FIRST(&locks->subscriptions->list), *next;
    for (; subscription; subscription = next) {
        next = TAILQ_NEXT(subscription, others);
        subscription_stop_supervising(subscription);
    }
}

void subscriptions_drain_watches(struct locks *locks)
{
    struct subscription *subscription = TAILQ_FIRST(&locks->subscriptions->list), *next;
    for (; subscription; subscription = next) {
        next = TAILQ_NEXT(subscription, others);
        watched_drain(&subscription->watched);
    }
}

/* Joining and leaving. */

static struct subscription *subscription_new(struct locks *locks, struct slice key)
{
    struct subscription *subscription =
        memory_checked(calloc(1, sizeof *subscription + key.length));
    memcpy(subscription->key_bytes, key.bytes, key.length);
    subscription->key = (struct slice){subscription->key_bytes, key.length};
    subscription->locks = locks;
    TAILQ_INIT(&subscription->waiters);
    subscription->watched = (struct watched){.kind = locks->subscriptions->users->watched,
                                             .owner = subscription,
                                             .locks = locks,
                                             .key = subscription->key};
    subscription->heartbeat_at = subscription->registered = uv_now(locks->loop);
    uv_timer_init(locks->loop, &subscription->tick);
    subscription->tick.data = subscription;
    return subscription;
}

struct subscription *subscription_join(struct locks *locks, struct slice key)
{
    struct subscription *subscription = subscription_find(locks, key);
    if (!subscription) {
        subscription = subscription_new(locks, key);
        tree_add(&locks->subscriptions->by_key, subscription);
        TAILQ_INSERT_TAIL(&locks->subscriptions->list, subscription, others);
        if (TAILQ_FIRST(&locks->subscriptions->list) == subscription)
            subscriptions_plan_heartbeat(locks);
    }
    subscription->users++;
    return subscription;
}

static void subscription_on_closed(uv_handle_t *tick)
{
    free(tick->data);
}

void subscription_leave(struct subscription *subscription)
{
    struct locks *locks = subscription->locks;
    if (--subscription->users > 0)
        return;
    tree_remove(&locks->subscriptions->by_key, subscription);
    TAILQ_REMOVE(&locks->subscriptions->list, subscription, others);
    uv_close((uv_handle_t *)&subscription->tick, subscription_on_closed);
    if (TAILQ_EMPTY(&locks->subscriptions->list))
        subscriptions_plan_heartbeat(locks);
}

void subscriptions_open(struct locks *locks, const struct subscription_users *users)
{
    locks->subscriptions = memory_checked(calloc(1, sizeof *locks->subscriptions));
    locks->subscriptions->users = users;
    TAILQ_INIT(&locks->subscriptions->list);
    uv_timer_init(locks->loop, &locks->subscriptions->heartbeat);
    locks->subscriptions->heartbeat.data = locks;
}

void subscriptions_close(struct locks *locks, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&locks->subscriptions->heartbeat, closed);
}
