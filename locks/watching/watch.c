#include "locks/watching/watch.h"

#include "base/memory.h"
#include "locks/calls/engine.h"
#include "locks/calls/operation.h"

/* How long a name is kept after the answer to its last watch: the next watch of the same stream, or
 * the next poll, finds it. */
enum { LINGER_MS = 200 };

/* A watch with a token must say whether the token holds the lock: it inspects the name for itself
 * when a look shows that this may have changed. */
struct watch {
    LIST_ENTRY(watch) others; /* of the same name */
    struct watched *watched;
    locks_done *done; /* NULL: the client has gone or has its answer */
    void *context;
    uv_timer_t timer;      /* the end of the wait, then of lingering */
    struct watch_for what; /* its text is `token` */
    int64_t inspected;     /* the version that the token was last looked for at, */
    bool waited;           /* and whether it waited then: its place may go without a new version */
    uint64_t needs;        /* number of the first look after the request came */
    bool is_over;          /* the wait has ended: the next look answers it in any case */
    bool is_inspecting;
    bool inspect_again;
    bool is_changed;
    char token[];
};

static bool watch_has_token(const struct watch *watch)
{
    return watch->what.token.length > 0;
}

static void watch_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

static void watch_end(struct watch *watch)
{
    uv_close((uv_handle_t *)&watch->timer, watch_on_closed);
    watch->watched->kind->leave(watch->watched);
}

static void watch_on_lingered(uv_timer_t *timer)
{
    struct watch *watch = timer->data;
    watch->watched->lingering = NULL;
    watch_end(watch);
}

/* One answered watch stays for a while, so that the engine goes on hearing of changes. */
static void watch_linger(struct watch *watch)
{
    struct watch *first = watch->watched->lingering;
    if (!first)
        watch->watched->lingering = first = watch;
    uv_timer_start(&first->timer, watch_on_lingered, LINGER_MS, 0);
    if (first != watch)
        watch_end(watch);
}

static void watch_answer(struct watch *watch, struct locks_reply *reply)
{
    const struct watched *watched = watch->watched;
    locks_done *done = watch->done;
    watch->done = NULL;
    reply->changed = watch->is_changed;
    if (!done || watched->locks->draining || !watched->is_current)
        watch_end(watch);
    else
        watch_linger(watch);
    if (done)
        done(watch->context, reply);
}

/* Takes it off the list: no look and no timer finds it any more. */
static void watch_take_off(struct watch *watch)
{
    uv_timer_stop(&watch->timer);
    LIST_REMOVE(watch, others);
    watch->watched->of_holds -= watch_has_token(watch);
}

static bool watch_is_wanted(const struct watch *watch, const struct lock_view *view)
{
    return !watch->what.until_ended && (view->queue_length > 0) != watch->what.wanted;
}

/* A token that waits has not lost its hold, and who else waits is no news to it. */
static bool watch_has_news(const struct watch *watch, const struct lock_view *view)
{
    if (view->mine != watch->what.mine)
        return view->mine || view->position == 0;
    return view->mine && watch_is_wanted(watch, view);
}

static void watch_inspect(struct watch *watch);

static void watch_on_inspected(void *context, const struct locks_reply *reply)
{
    struct watch *watch = context;
    struct locks_reply told = *reply;
    const struct lock_view *view = &reply->view;
    watch->is_inspecting = false;
    watch->is_changed = reply->result == LOCKS_DONE && watch_has_news(watch, view);
    if (!watch->done) {
        watch_end(watch);
    } else if (watch->is_changed || watch->is_over || reply->result != LOCKS_DONE) {
        watch_take_off(watch);
        watch_answer(watch, &told);
    } else {
        watch->inspected = view->version;
        watch->waited = view->position > 0;
        if (watch->inspect_again)
            watch_inspect(watch);
    }
}

static void watch_inspect(struct watch *watch)
{
    struct locks *locks = watch->watched->locks;
    char name[NAME_LENGTH];
    watch->inspect_again = watch->is_inspecting;
    if (watch->is_inspecting)
        return;
    watch->is_inspecting = true;
    locks->engine->inspect(locks, operation_name(locks, watch->watched->key, name),
                           watch->what.token, LOCK_WAITERS_SHOWN, watch_on_inspected, watch);
}

/* The look answers all questions except whether the token holds the lock. */
static void watch_settle(struct watch *watch, struct locks_reply *reply)
{
    if (watch_has_token(watch) && reply->result == LOCKS_DONE) {
        watch_inspect(watch);
        return;
    }
    watch->is_changed = reply->result == LOCKS_DONE && reply->view.version > watch->what.after;
    watch_take_off(watch);
    watch_answer(watch, reply);
}

static bool watch_is_due(const struct watch *watch, uint64_t look, const struct locks_reply *reply)
{
    if (look < watch->needs)
        return false;
    if (reply->result != LOCKS_DONE)
        return watch->is_over || look == watch->needs || watch->watched->kind->tells_failures;
    if (watch->is_over)
        return true;
    if (!watch_has_token(watch))
        return reply->view.version > watch->what.after;
    return watch->waited || reply->view.version > watch->inspected ||
           watch_is_wanted(watch, &reply->view);
}

static void watched_look(struct watched *watched)
{
    watched->is_looking = true;
    watched->look_again = false;
    watched->looks++;
    watched->kind->look(watched);
}

/* A watch that begins in a callback comes to the head of the list, which the loop has passed. */
void watched_seen(struct watched *watched, struct locks_reply *reply)
{
    watched->is_looking = false;
    watched->is_current = reply->result == LOCKS_DONE && !watched->look_again;
    if (reply->result == LOCKS_DONE)
        watched->version = reply->view.version;
    uint64_t look = watched->looks;
    for (struct watch *watch = LIST_FIRST(&watched->watches), *next; watch; watch = next) {
        next = LIST_NEXT(watch, others);
        if (watch_is_due(watch, look, reply))
            watch_settle(watch, reply);
    }
    if (watched->look_again && !watched->is_looking && !LIST_EMPTY(&watched->watches))
        watched_look(watched);
}

/* A look under way may be older than what is in doubt. */
void watched_doubt(struct watched *watched)
{
    watched->is_current = false;
    watched->look_again |= watched->is_looking;
}

void watched_check(struct watched *watched)
{
    watched_doubt(watched);
    if (!watched->is_looking && !LIST_EMPTY(&watched->watches))
        watched_look(watched);
}

void watched_changed(struct watched *watched, int64_t version)
{
    if (!watched->is_current || version > watched->version)
        watched_check(watched);
}

static void watch_give_over(struct watch *watch)
{
    watch->is_over = true;
    watch->needs = watch->watched->looks + 1;
}

static void watch_on_over(uv_timer_t *timer)
{
    struct watch *watch = timer->data;
    watch_give_over(watch);
    watched_check(watch->watched);
}

void locks_unwatch(struct watch *watch)
{
    watch->done = NULL;
    watch_take_off(watch);
    if (!watch->is_inspecting) /* else the reply of Redis ends it */
        watch_end(watch);
}

struct watch *watch_begin(struct watched *watched, const struct watch_for *what, int64_t wait_ms,
                          locks_done *done, void *context)
{
    struct watch *watch = memory_checked(calloc(1, sizeof *watch + what->token.length));
    watch->watched = watched;
    watch->done = done;
    watch->context = context;
    watch->what = *what;
    watch->needs = watched->looks + 1;
    watch->is_over = watched->locks->draining || wait_ms == 0;
    if (watch_has_token(watch))
        watch->what.token.bytes = memcpy(watch->token, what->token.bytes, what->token.length);
    LIST_INSERT_HEAD(&watched->watches, watch, others);
    watched->of_holds += watch_has_token(watch);
    uv_timer_init(watched->locks->loop, &watch->timer);
    watch->timer.data = watch;
    if (!watch->is_over)
        uv_timer_start(&watch->timer, watch_on_over, (uint64_t)wait_ms, 0);
    if (watch->is_over || watch_has_token(watch) || !watched->is_current ||
        what->after < watched->version || !watched->kind->can_ask(watched))
        watched_check(watched);
    else
        watch->needs = watched->looks; /* the last look serves as its first */
    return watch;
}

void watched_drain(struct watched *watched)
{
    for (struct watch *watch = LIST_FIRST(&watched->watches); watch;
         watch = LIST_NEXT(watch, others))
        watch_give_over(watch);
    watched_check(watched);
    if (watched->lingering)
        watch_on_lingered(&watched->lingering->timer);
}
