#include "locks/watching/watch.h"
#include "locks/waiting/subscription.h"

#include "locks/calls/engine.h"
#include "locks/calls/operation.h"
#include "locks/scripts/scripts.h"
#include "locks/waiting/parked.h"

#include <stdlib.h>

/* How long a subscription outlives its last watch, so that the next request of the same stream or
 * poll finds it. */
enum { LINGER_MS = 200 };

/* One look serves all watches of a name. A watch that also asks whether its token holds the lock is
 * given a look of its own when it is due. */
struct watch {
    struct parked parked;     /* the first member */
    LIST_ENTRY(watch) others; /* of the same name */
    struct subscription *subscription;
    locks_done *done; /* NULL: nobody wants to know any more */
    void *context;
    uv_timer_t timer; /* the end of the wait */
    int64_t after;
    uint64_t needs; /* the first look that was sent after the request came */
    bool over;      /* the wait has ended: the next look is told, whatever it shows */
    bool inspecting;
    bool changed;
    size_t token_length;
    char token[];
};

static struct locks *locks_of(const struct watch *watch)
{
    return watch->subscription->locks;
}

static void watch_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

static void let_go(struct watch *watch)
{
    uv_close((uv_handle_t *)&watch->timer, watch_on_closed);
    subscription_leave(watch->subscription);
}

static void watch_on_lingered(uv_timer_t *timer)
{
    struct watch *watch = timer->data;
    watch->subscription->lingering = NULL;
    let_go(watch);
}

/* Instead of letting go: the messages about the name go on being heard. */
static void linger(struct watch *watch)
{
    struct watch *first = watch->subscription->lingering;
    if (!first)
        watch->subscription->lingering = first = watch;
    uv_timer_start(&first->timer, watch_on_lingered, LINGER_MS, 0);
    if (first != watch)
        let_go(watch);
}

static void finish(struct watch *watch, struct locks_reply *reply)
{
    locks_done *done = watch->done;
    watch->done = NULL;
    reply->changed = watch->changed;
    if (!done || locks_of(watch)->draining || !watch->subscription->current)
        let_go(watch);
    else
        linger(watch);
    if (done)
        done(watch->context, reply);
}

static void inspected(void *context, const struct locks_reply *reply)
{
    struct watch *watch = context;
    struct locks_reply told = *reply;
    finish(watch, &told);
}

/* Its answer is there, but for whether its token holds. */
static void settle(struct watch *watch, struct locks_reply *reply)
{
    struct slice token = {watch->token, watch->token_length};
    watch->changed = reply->result == LOCKS_DONE && reply->view.version > watch->after;
    uv_timer_stop(&watch->timer);
    LIST_REMOVE(watch, others);
    if (token.length == 0 || reply->result != LOCKS_DONE) {
        finish(watch, reply);
        return;
    }
    struct locks *locks = locks_of(watch);
    char name[NAME_LENGTH];
    struct slice prefix = {locks->key_prefix, locks->key_prefix_length};
    size_t length = name_from_key(prefix, watch->subscription->key, name);
    watch->inspecting = true;
    locks->engine->inspect(locks, (struct slice){name, length}, token, LOCK_WAITERS_SHOWN,
                           inspected, watch);
}

static bool is_due(const struct watch *watch, uint64_t look, const struct locks_reply *reply)
{
    if (look < watch->needs)
        return false;
    if (reply->result != LOCKS_DONE) /* later: the name is looked at again when Redis is back */
        return watch->over || look == watch->needs;
    return watch->over || reply->view.version > watch->after;
}

static bool read_watched(const struct value *value, struct locks_reply *ret, int64_t *ret_next_ms)
{
    return value_integer(value_at(value, 0), ret_next_ms) &&
           read_view(value_at(value, 1), &ret->view);
}

static void look(struct subscription *subscription);

static void looked(void *context, const struct store_result *result)
{
    struct subscription *subscription = context;
    struct locks_reply reply = {.result = LOCKS_DONE};
    int64_t next_ms = -1;
    if (result->outcome != STORE_REPLIED || !read_watched(result->reply, &reply, &next_ms)) {
        reply = operation_unanswered(result);
        subscription->locks->check_again |= reply.result != LOCKS_DAMAGED;
    }
    operation_note_numbers(subscription->locks, &reply);
    subscription_plan(subscription, next_ms);
    subscription->looking = false;
    subscription->current = reply.result == LOCKS_DONE && !subscription->look_again;
    if (reply.result == LOCKS_DONE)
        subscription->version = reply.view.version;
    uint64_t number = subscription->looks;
    for (struct watch *watch = LIST_FIRST(&subscription->watches), *next; watch; watch = next) {
        next = LIST_NEXT(watch, others); /* whoever comes meanwhile stands in front */
        if (is_due(watch, number, &reply))
            settle(watch, &reply);
    }
    if (subscription->look_again && !subscription->looking && !LIST_EMPTY(&subscription->watches))
        look(subscription);
    subscription_leave(subscription);
}

static void look(struct subscription *subscription)
{
    struct locks *locks = subscription->locks;
    const struct slice arguments[] = {stamp_room(), slice_of(locks->server),
                                      slice_of(locks->waiter_lease), slice_of("")};
    subscription->looking = true;
    subscription->look_again = false;
    subscription->looks++;
    subscription->users++;
    const struct script_call call = {
        .script = &script_watch,
        .key = subscription->key,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = looked,
        .context = subscription,
    };
    script_call_send(locks, &call);
}

void watch_check(struct subscription *subscription)
{
    subscription->current = false;
    if (LIST_EMPTY(&subscription->watches))
        return;
    if (subscription->looking)
        subscription->look_again = true;
    else
        look(subscription);
}

void watch_changed(struct subscription *subscription, int64_t version)
{
    if (!subscription->current || version > subscription->version)
        watch_check(subscription);
}

static void watch_on_over(uv_timer_t *timer)
{
    struct watch *watch = timer->data;
    watch->over = true;
    watch->needs = watch->subscription->looks + 1;
    watch_check(watch->subscription);
}

static void unwatch(struct parked *parked)
{
    struct watch *watch = (struct watch *)parked;
    watch->done = NULL;
    if (watch->inspecting)
        return; /* it goes when Redis has answered */
    LIST_REMOVE(watch, others);
    let_go(watch);
}

struct watch *watch_begin(struct locks *locks, struct slice name, struct slice token, int64_t after,
                          int64_t wait_ms, locks_done *done, void *context)
{
    struct watch *watch = calloc(1, sizeof *watch + token.length);
    if (!watch)
        abort();
    char key[KEY_LENGTH];
    watch->subscription = subscription_join(locks, operation_key(locks, name, key));
    watch->parked.give_up = unwatch;
    watch->done = done;
    watch->context = context;
    watch->after = after;
    watch->needs = watch->subscription->looks + 1;
    watch->over = locks->draining || wait_ms == 0;
    watch->token_length = token.length;
    if (token.length > 0)
        memcpy(watch->token, token.bytes, token.length);
    LIST_INSERT_HEAD(&watch->subscription->watches, watch, others);
    uv_timer_init(locks->loop, &watch->timer);
    watch->timer.data = watch;
    if (!watch->over)
        uv_timer_start(&watch->timer, watch_on_over, (uint64_t)wait_ms, 0);
    if (watch->over || after < watch->subscription->version ||
        !subscription_is_current(watch->subscription))
        watch_check(watch->subscription);
    return watch;
}

void watch_drain(struct locks *locks)
{
    struct subscription *subscription = TAILQ_FIRST(&locks->subscriptions->list), *next;
    for (; subscription; subscription = next) {
        next = TAILQ_NEXT(subscription, others);
        for (struct watch *watch = LIST_FIRST(&subscription->watches); watch;
             watch = LIST_NEXT(watch, others)) {
            watch->over = true;
            watch->needs = subscription->looks + 1;
        }
        watch_check(subscription);
        if (subscription->lingering)
            watch_on_lingered(&subscription->lingering->timer);
    }
}
