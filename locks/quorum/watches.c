#include "locks/quorum/watches.h"

#include "locks/quorum/awaited_name.h"
#include "locks/quorum/read.h"
#include "locks/quorum/state.h"
#include "locks/waiting/parked.h"

#include <stdlib.h>

/* One look serves all that have no token; whoever has one is given a look of its own when it is
 * due. */
struct quorum_watch {
    struct parked parked; /* the first member */
    LIST_ENTRY(quorum_watch) others;
    struct awaited_name *awaited;
    locks_done *done; /* NULL: nobody wants to know any more */
    void *context;
    uv_timer_t timer; /* the end of the wait */
    int64_t after;
    bool is_new;  /* the look that is under way was sent before it came */
    bool is_over; /* the wait has ended: the next look is told, whatever it shows */
    bool is_due;  /* it is out of the list, and reads for itself */
    bool is_changed;
    size_t token_length;
    char token[];
};

static void watch_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

static void let_go(struct quorum_watch *watch)
{
    uv_close((uv_handle_t *)&watch->timer, watch_on_closed);
    awaited_name_leave(watch->awaited);
}

static void finish(struct quorum_watch *watch, const struct locks_reply *reply)
{
    locks_done *done = watch->done;
    struct locks_reply told = *reply;
    watch->done = NULL;
    told.changed = watch->is_changed;
    if (done)
        done(watch->context, &told);
    let_go(watch);
}

static void inspected(void *context, const struct locks_reply *reply)
{
    finish(context, reply);
}

static void inspect(struct awaited_name *awaited, struct slice token, locks_done *done,
                    void *context)
{
    char name[NAME_LENGTH];
    struct slice prefix = {awaited->locks->key_prefix, awaited->locks->key_prefix_length};
    size_t length = name_from_key(prefix, awaited->key, name);
    quorum_inspect(awaited->locks, (struct slice){name, length}, token, LOCK_WAITERS_SHOWN, done,
                   context);
}

/* Its answer is there, but for whether its token holds. */
static void answer(struct quorum_watch *watch, const struct locks_reply *reply)
{
    watch->is_changed = reply->result == LOCKS_DONE && reply->view.version > watch->after;
    watch->is_due = true;
    uv_timer_stop(&watch->timer);
    LIST_REMOVE(watch, others);
    if (watch->token_length == 0 || reply->result != LOCKS_DONE)
        finish(watch, reply);
    else
        inspect(watch->awaited, (struct slice){watch->token, watch->token_length}, inspected,
                watch);
}

static bool is_due(const struct quorum_watch *watch, const struct locks_reply *reply)
{
    if (watch->is_new)
        return false;
    return watch->is_over || reply->result != LOCKS_DONE || reply->view.version > watch->after;
}

static void name_read(void *context, const struct locks_reply *reply)
{
    struct awaited_name *awaited = context;
    awaited->is_reading = false;
    for (struct quorum_watch *watch = LIST_FIRST(&awaited->watches), *next; watch; watch = next) {
        next = LIST_NEXT(watch, others); /* whoever comes meanwhile stands in front */
        bool due = is_due(watch, reply);
        awaited->read_again |= watch->is_new;
        watch->is_new = false;
        if (due)
            answer(watch, reply);
    }
    if (reply->result == LOCKS_DONE && reply->view.holder_count > 0)
        awaited_name_plan_read(awaited, reply->view.holders[0].ttl_ms + 1);
    if (awaited->read_again)
        quorum_watches_read(awaited);
    awaited_name_leave(awaited);
}

/* A message that was lost is made up for by the next look, as for those who wait. */
void quorum_watches_read(struct awaited_name *awaited)
{
    if (LIST_EMPTY(&awaited->watches))
        return;
    awaited->read_again = awaited->is_reading;
    if (awaited->is_reading)
        return;
    awaited->is_reading = true;
    awaited->users++;
    inspect(awaited, slice_of(NULL), name_read, awaited);
    awaited->read_at = 0;
    awaited_name_plan_read(awaited, 10L * AWAITED_FALLBACK_MS);
}

static void watch_on_over(uv_timer_t *timer)
{
    struct quorum_watch *watch = timer->data;
    watch->is_over = true;
    watch->is_new = watch->awaited->is_reading;
    quorum_watches_read(watch->awaited);
}

static void watch_give_up(struct parked *parked)
{
    struct quorum_watch *watch = (struct quorum_watch *)parked;
    watch->done = NULL;
    if (watch->is_due)
        return; /* it goes when the members have answered */
    LIST_REMOVE(watch, others);
    let_go(watch);
}

struct watch *quorum_watch(struct locks *locks, struct slice name, struct slice token,
                           int64_t after, int64_t wait_ms, locks_done *done, void *context)
{
    char key[KEY_LENGTH];
    struct quorum_watch *watch = calloc(1, sizeof *watch + token.length);
    if (!watch)
        abort();
    struct awaited_name *awaited = awaited_name_join(locks, operation_key(locks, name, key));
    watch->parked.give_up = watch_give_up;
    watch->awaited = awaited;
    watch->done = done;
    watch->context = context;
    watch->after = after;
    watch->is_new = awaited->is_reading;
    watch->is_over = locks->draining || wait_ms == 0;
    watch->token_length = token.length;
    if (token.length > 0)
        memcpy(watch->token, token.bytes, token.length);
    LIST_INSERT_HEAD(&awaited->watches, watch, others);
    uv_timer_init(locks->loop, &watch->timer);
    watch->timer.data = watch;
    if (!watch->is_over) {
        uv_timer_start(&watch->timer, watch_on_over, (uint64_t)wait_ms, 0);
        awaited_name_enlist(awaited);
    }
    quorum_watches_read(awaited);
    return (struct watch *)watch;
}

void quorum_watches_drain(struct awaited_name *awaited)
{
    for (struct quorum_watch *watch = LIST_FIRST(&awaited->watches); watch;
         watch = LIST_NEXT(watch, others)) {
        watch->is_over = true;
        watch->is_new = awaited->is_reading;
    }
    quorum_watches_read(awaited);
}
