/* The requests that wait for a name of a quorum to change. */
#include "locks/quorum/line.h"
#include "locks/quorum/majority.h"
#include "locks/waiting/parked.h"

#include <stdlib.h>

/* One look serves all that have no token; whoever has one is given a look of its own when it is
 * due. */
struct looker {
    struct parked parked; /* the first member */
    struct looker *next;
    struct looker *previous;
    struct line *line;
    locks_done *done; /* NULL: nobody wants to know any more */
    void *context;
    uv_timer_t timer; /* the end of the wait */
    int64_t after;
    bool is_new;  /* the look that is under way was sent before it came */
    bool is_over; /* the wait has ended: the next look is told, whatever it shows */
    bool is_due;  /* it is out of the list, and looks for itself */
    bool is_changed;
    size_t token_length;
    char token[];
};

static void on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

static void take_out(struct looker *looker)
{
    *(looker->previous ? &looker->previous->next : &looker->line->first_looker) = looker->next;
    if (looker->next)
        looker->next->previous = looker->previous;
}

static void let_go(struct looker *looker)
{
    uv_close((uv_handle_t *)&looker->timer, on_closed);
    line_leave(looker->line);
}

static void finish(struct looker *looker, const struct locks_reply *reply)
{
    locks_done *done = looker->done;
    struct locks_reply told = *reply;
    looker->done = NULL;
    told.changed = looker->is_changed;
    if (done)
        done(looker->context, &told);
    let_go(looker);
}

static void inspected(void *context, const struct locks_reply *reply)
{
    finish(context, reply);
}

static void inspect(struct line *line, struct slice token, locks_done *done, void *context)
{
    char name[NAME_LENGTH];
    struct slice prefix = {line->locks->key_prefix, line->locks->key_prefix_length};
    size_t length = name_from_key(prefix, line->key, name);
    majority_inspect(line->locks, (struct slice){name, length}, token, LOCK_WAITERS_SHOWN, done,
                     context);
}

/* Its answer is there, but for whether its token holds. */
static void answer(struct looker *looker, const struct locks_reply *reply)
{
    looker->is_changed = reply->result == LOCKS_DONE && reply->view.version > looker->after;
    looker->is_due = true;
    uv_timer_stop(&looker->timer);
    take_out(looker);
    if (looker->token_length == 0 || reply->result != LOCKS_DONE)
        finish(looker, reply);
    else
        inspect(looker->line, (struct slice){looker->token, looker->token_length}, inspected,
                looker);
}

static bool is_due(const struct looker *looker, const struct locks_reply *reply)
{
    if (looker->is_new)
        return false;
    return looker->is_over || reply->result != LOCKS_DONE || reply->view.version > looker->after;
}

static void looked(void *context, const struct locks_reply *reply)
{
    struct line *line = context;
    line->is_looking = false;
    for (struct looker *looker = line->first_looker, *next; looker; looker = next) {
        next = looker->next; /* whoever comes meanwhile stands in front */
        bool due = is_due(looker, reply);
        line->look_again |= looker->is_new;
        looker->is_new = false;
        if (due)
            answer(looker, reply);
    }
    if (reply->result == LOCKS_DONE && reply->view.holder_count > 0)
        line_plan_look(line, reply->view.holders[0].ttl_ms + 1);
    if (line->look_again)
        lookers_go(line);
    line_leave(line);
}

/* A message that was lost is made up for by the next look, as for those who wait. */
void lookers_go(struct line *line)
{
    if (!line->first_looker)
        return;
    line->look_again = line->is_looking;
    if (line->is_looking)
        return;
    line->is_looking = true;
    line->users++;
    inspect(line, slice_of(NULL), looked, line);
    line->look_at = 0;
    line_plan_look(line, 10L * LINE_FALLBACK_MS);
}

static void on_over(uv_timer_t *timer)
{
    struct looker *looker = timer->data;
    looker->is_over = true;
    looker->is_new = looker->line->is_looking;
    lookers_go(looker->line);
}

static void give_up(struct parked *parked)
{
    struct looker *looker = (struct looker *)parked;
    looker->done = NULL;
    if (looker->is_due)
        return; /* it goes when the members have answered */
    take_out(looker);
    let_go(looker);
}

struct watch *majority_watch(struct locks *locks, struct slice name, struct slice token,
                             int64_t after, int64_t wait_ms, locks_done *done, void *context)
{
    char key[KEY_LENGTH];
    struct looker *looker = calloc(1, sizeof *looker + token.length);
    if (!looker)
        abort();
    struct line *line = line_join(locks, operation_key(locks, name, key));
    looker->parked.give_up = give_up;
    looker->line = line;
    looker->done = done;
    looker->context = context;
    looker->after = after;
    looker->is_new = line->is_looking;
    looker->is_over = locks->draining || wait_ms == 0;
    looker->token_length = token.length;
    if (token.length > 0)
        memcpy(looker->token, token.bytes, token.length);
    looker->next = line->first_looker;
    if (looker->next)
        looker->next->previous = looker;
    line->first_looker = looker;
    uv_timer_init(locks->loop, &looker->timer);
    looker->timer.data = looker;
    if (!looker->is_over) {
        uv_timer_start(&looker->timer, on_over, (uint64_t)wait_ms, 0);
        line_enlist(line);
    }
    lookers_go(line);
    return (struct watch *)looker;
}

void lookers_drain(struct line *line)
{
    for (struct looker *looker = line->first_looker; looker; looker = looker->next) {
        looker->is_over = true;
        looker->is_new = line->is_looking;
    }
    lookers_go(line);
}
