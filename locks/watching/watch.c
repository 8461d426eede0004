#include "locks/watching/watch.h"

#include "base/memory.h"
#include "locks/calls/engine.h"
#include "locks/calls/operation.h"

/* How long a name is kept after the answer to its last watch: the next watch of the same stream, or
 * the next poll, finds it. */
enum { LINGER_MS = 200 };

enum inspection {
    INSPECTION_NONE,
    INSPECTION_UNDER_WAY,
    INSPECTION_AGAIN, /* the same, and another follows: its reply may be old by then */
};

/* A watch with a token must say whether the token holds the lock: it inspects the name for itself
 * when a refresh shows that this may have changed. */
struct watch {
    LIST_ENTRY(watch) others; /* of the same name */
    struct watched *watched;
    locks_done *done; /* NULL: the client has gone or has its answer */
    void *context;
    uv_timer_t timer;      /* the end of the wait, then of lingering */
    struct watch_for what; /* its text is `token` */
    int64_t inspected;     /* the version that the token was last looked for at, */
    bool waited;           /* and whether it waited then: its place may go without a new version */
    uint64_t refresh;      /* number of the first one after the request came */
    bool is_over;          /* the wait has ended: the next refresh answers it in any case */
    enum inspection inspection;
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

/* One answered watch stays for a while, so that the engine goes on watching the name. */
static void watch_linger(struct watch *watch)
{
    struct watch *first = watch->watched->lingering;
    if (!first)
        watch->watched->lingering = first = watch;
    uv_timer_start(&first->timer, watch_on_lingered, LINGER_MS, 0);
    if (first != watch)
        watch_end(watch);
}

static void watch_answer(struct watch *watch, struct locks_reply *reply, bool is_changed)
{
    const struct watched *watched = watch->watched;
    locks_done *done = watch->done;
    watch->done = NULL;
    reply->changed = is_changed;
    if (!done || watched->locks->draining || watched->state != WATCHED_CURRENT)
        watch_end(watch);
    else
        watch_linger(watch);
    if (done)
        done(watch->context, reply);
}

/* Takes it off the list: no refresh and no timer finds it any more. */
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
    struct locks_reply answer = *reply;
    const struct lock_view *view = &reply->view;
    bool is_changed = reply->result == LOCKS_DONE && watch_has_news(watch, view);
    bool is_old = watch->inspection == INSPECTION_AGAIN;
    watch->inspection = INSPECTION_NONE;
    if (!watch->done) {
        watch_end(watch);
    } else if (is_changed || watch->is_over || reply->result != LOCKS_DONE) {
        watch_take_off(watch);
        watch_answer(watch, &answer, is_changed);
    } else {
        watch->inspected = view->version;
        watch->waited = view->position > 0;
        if (is_old)
            watch_inspect(watch);
    }
}

static void watch_inspect(struct watch *watch)
{
    struct locks *locks = watch->watched->locks;
    char name[NAME_LENGTH];
    if (watch->inspection != INSPECTION_NONE) {
        watch->inspection = INSPECTION_AGAIN;
        return;
    }
    watch->inspection = INSPECTION_UNDER_WAY;
    locks->engine->inspect(locks, operation_name(locks, watch->watched->key, name),
                           watch->what.token, LOCK_WAITERS_SHOWN, watch_on_inspected, watch);
}

/* The refresh answers all questions except whether the token holds the lock. */
static void watch_settle(struct watch *watch, struct locks_reply *reply)
{
    if (watch_has_token(watch) && reply->result == LOCKS_DONE) {
        watch_inspect(watch);
        return;
    }
    bool is_changed = reply->result == LOCKS_DONE && reply->view.version > watch->what.after;
    watch_take_off(watch);
    watch_answer(watch, reply, is_changed);
}

static bool watch_is_due(const struct watch *watch, uint64_t refresh,
                         const struct locks_reply *reply)
{
    if (refresh < watch->refresh)
        return false;
    if (reply->result != LOCKS_DONE)
        return watch->is_over || refresh == watch->refresh ||
               watch->watched->kind->reports_failures;
    if (watch->is_over)
        return true;
    if (!watch_has_token(watch))
        return reply->view.version > watch->what.after;
    return watch->waited || reply->view.version > watch->inspected ||
           watch_is_wanted(watch, &reply->view);
}

static bool watched_is_refreshing(const struct watched *watched)
{
    return watched->state == WATCHED_REFRESHING || watched->state == WATCHED_REFRESHING_AGAIN;
}

static void watched_refresh(struct watched *watched)
{
    watched->state = WATCHED_REFRESHING;
    watched->refreshes++;
    watched->kind->refresh(watched);
}

/* A watch that begins in a callback comes to the head of the list, which the loop has passed. */
void watched_seen(struct watched *watched, struct locks_reply *reply)
{
    bool is_old = watched->state == WATCHED_REFRESHING_AGAIN;
    watched->state = reply->result == LOCKS_DONE && !is_old ? WATCHED_CURRENT : WATCHED_STALE;
    if (reply->result == LOCKS_DONE)
        watched->version = reply->view.version;
    uint64_t refresh = watched->refreshes;
    for (struct watch *watch = LIST_FIRST(&watched->watches), *next; watch; watch = next) {
        next = LIST_NEXT(watch, others);
        if (watch_is_due(watch, refresh, reply))
            watch_settle(watch, reply);
    }
    if (is_old && !watched_is_refreshing(watched) && !LIST_EMPTY(&watched->watches))
        watched_refresh(watched);
}

/* The reply of a refresh under way may be older than what is in doubt. */
void watched_doubt(struct watched *watched)
{
    watched->state = watched_is_refreshing(watched) ? WATCHED_REFRESHING_AGAIN : WATCHED_STALE;
}

void watched_check(struct watched *watched)
{
    watched_doubt(watched);
    if (!watched_is_refreshing(watched) && !LIST_EMPTY(&watched->watches))
        watched_refresh(watched);
}

void watched_changed(struct watched *watched, int64_t version)
{
    if (watched->state != WATCHED_CURRENT || version > watched->version)
        watched_check(watched);
}

static void watch_give_over(struct watch *watch)
{
    watch->is_over = true;
    watch->refresh = watch->watched->refreshes + 1;
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
    if (watch->inspection == INSPECTION_NONE) /* else the reply of Redis ends it */
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
    watch->refresh = watched->refreshes + 1;
    watch->is_over = watched->locks->draining || wait_ms == 0;
    if (watch_has_token(watch))
        watch->what.token.bytes = memcpy(watch->token, what->token.bytes, what->token.length);
    LIST_INSERT_HEAD(&watched->watches, watch, others);
    watched->of_holds += watch_has_token(watch);
    uv_timer_init(watched->locks->loop, &watch->timer);
    watch->timer.data = watch;
    if (!watch->is_over)
        uv_timer_start(&watch->timer, watch_on_over, (uint64_t)wait_ms, 0);
    if (watch->is_over || watch_has_token(watch) || watched->state != WATCHED_CURRENT ||
        what->after < watched->version || !watched->kind->can_ask(watched))
        watched_check(watched);
    else
        watch->refresh = watched->refreshes; /* the last refresh serves as its first */
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
