/* The requests that wait for a lock of a quorum, in order of arrival, and those that do not wait.
 */
#include "base/random.h"
#include "locks/calls/request.h"
#include "locks/quorum/line.h"
#include "locks/quorum/majority.h"
#include "locks/quorum/try.h"
#include "locks/waiting/parked.h"

#include <stdlib.h>

enum { INSISTENCE_MS = 60 }; /* who does not wait tries again for so long where votes are split */

/* A request from its first try to its answer, and its place for as long as that is kept. */
struct place {
    struct parked parked; /* the first member */
    struct ticket ticket; /* drawn by who waits */
    struct place *next;   /* of those of this line that have drawn one */
    struct place *previous;
    struct line *line;
    locks_done *done; /* NULL: answered or given up */
    struct acquirer acquirer;
    uv_timer_t timer; /* the end of the wait, or of the place that is kept; or the next try of who
                       * does not wait */
    struct trying *try;
    bool is_in_line;
    bool is_kept;
    bool waits;
    bool is_looking; /* it has asked who holds the lock */
    bool is_own;     /* its owner has a hold already, which may have to end before others get it */
    bool is_queued;  /* has been told so */
    bool is_refused; /* too many wait already */
    bool is_over;    /* its wait is, or it has insisted for long enough */
    uint64_t begun;  /* loop time, ms */
    struct acquire acquire;
    char bytes[];
};

static struct locks *locks_of(const struct place *place)
{
    return place->line->locks;
}

static struct tickets *tickets_of(const struct place *place)
{
    return locks_of(place)->majority->desk.tickets;
}

static struct slice token_of(const struct place *place)
{
    return place->acquire.token;
}

/* The line */

static enum drawn get_in_line(struct place *place)
{
    struct line *line = place->line;
    place->ticket = (struct ticket){.token = token_of(place),
                                    .owner = place->acquire.owner,
                                    .mode = place->acquire.mode,
                                    .since = place->begun,
                                    .context = place};
    enum drawn drawn = ticket_draw(&place->ticket, &line->locks->majority->desk, line->key,
                                   line->locks->most_waiters);
    if (drawn == DRAWN_FULL)
        return drawn;
    place->is_in_line = true;
    place->next = line->first;
    if (place->next)
        place->next->previous = place;
    line->first = place;
    return drawn;
}

/* `got`: the hold that it has now, or NULL. */
static void take_out(struct place *place, const struct hold *got)
{
    ticket_leave(&place->ticket, got);
    if (!place->is_in_line)
        return;
    *(place->previous ? &place->previous->next : &place->line->first) = place->next;
    if (place->next)
        place->next->previous = place->previous;
    place->is_in_line = false;
}

/* The end of a place */

static void on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

static void stop_asking(struct place *place)
{
    place->done = NULL;
    if (place->try)
        try_abandon(place->try);
    place->try = NULL;
    uv_timer_stop(&place->timer);
}

/* A look that is under way still knows it, and lets it go when it comes back. */
static void let_go(struct place *place)
{
    stop_asking(place);
    take_out(place, NULL);
    place->is_kept = false;
    if (place->is_looking)
        return;
    uv_close((uv_handle_t *)&place->timer, on_closed);
    line_leave(place->line);
}

static void on_kept_long_enough(uv_timer_t *timer)
{
    let_go(timer->data);
}

/* Its request is over; whoever comes with the same token in time goes on there. */
static void leave(struct place *place, bool is_kept)
{
    if (!is_kept || place->acquire.keep_ms == 0 || !ticket_step_aside(&place->ticket)) {
        let_go(place);
        return;
    }
    stop_asking(place);
    place->is_kept = true;
    uv_timer_start(&place->timer, on_kept_long_enough, (uint64_t)place->acquire.keep_ms, 0);
}

static void finish(struct place *place, const struct locks_reply *reply)
{
    locks_done *done = place->done;
    struct locks_reply told = *reply;
    struct ticket_owners owners;
    if (reply->result == LOCKS_LOCKED || reply->result == LOCKS_TIMEOUT ||
        reply->result == LOCKS_TOO_MANY_WAITERS)
        tickets_show(tickets_of(place), place->line->key, uv_now(locks_of(place)->loop), &told.view,
                     &owners);
    place->done = NULL;
    done(place->acquirer.context, &told);
    leave(place, reply->result == LOCKS_TIMEOUT || reply->result == LOCKS_UNAVAILABLE);
}

/* Trying */

static void tried(void *context, const struct locks_reply *reply, const struct tally *tally);

static void try_now(struct place *place)
{
    if (place->try || !place->done)
        return;
    place->try = try_begin(locks_of(place), &place->acquire, tried, place);
}

static void on_try_again(uv_timer_t *timer)
{
    try_now(timer->data);
}

/* It is held. Where its client has gone, that is about to be told; the next need not wait for it.
 */
static void take(struct place *place, const struct locks_reply *reply)
{
    char name[NAME_LENGTH];
    struct slice prefix = {locks_of(place)->key_prefix, locks_of(place)->key_prefix_length};
    if (!place->acquirer.is_connected(place->acquirer.context)) {
        size_t length = name_from_key(prefix, place->line->key, name);
        majority_take_back(locks_of(place), (struct slice){name, length}, token_of(place),
                           &reply->attempt, 0);
        ticket_step_aside(&place->ticket);
        return;
    }
    locks_done *done = place->done;
    place->done = NULL;
    take_out(place, &reply->hold);
    done(place->acquirer.context, reply);
    leave(place, false);
}

/* Whoever is told keeps the name for as long as it waits. */
static void note_queued(struct place *place)
{
    if (!place->is_queued && place->acquirer.queued)
        place->acquirer.queued(place->acquirer.context, place->acquire.name);
    place->is_queued = true;
}

/* Who waits stays in line. Whoever has a hold already stands in front, since nobody gets the lock
 * before that has ended. */
static void stay(struct place *place, const struct tally *tally)
{
    if (place->is_own)
        ticket_come_first(&place->ticket);
    if (ticket_is_first(&place->ticket))
        line_refused(place->line, tally);
    line_enlist(place->line);
    note_queued(place);
}

static void refused(struct place *place, const struct locks_reply *reply, const struct tally *tally)
{
    bool is_split = tally_is_split(tally);
    struct locks_reply timeout = *reply;
    timeout.result = LOCKS_TIMEOUT;
    if (place->waits && place->is_over) {
        finish(place, &timeout);
    } else if (place->waits) {
        stay(place, tally);
    } else if (is_split && uv_now(locks_of(place)->loop) < place->begun + INSISTENCE_MS) {
        uv_timer_start(&place->timer, on_try_again, 2 + random_below(10), 0);
    } else {
        finish(place, reply);
    }
}

/* Until so many members grant again. */
static void sit_out(struct place *place)
{
    if (place->is_own)
        ticket_come_first(&place->ticket);
    line_enlist(place->line);
    note_queued(place);
    line_unanswered(place->line);
}

static void tried(void *context, const struct locks_reply *reply, const struct tally *tally)
{
    struct place *place = context;
    place->try = NULL;
    bool can_stay = place->waits && !place->is_over && place->is_queued;
    if (reply_holds(reply))
        take(place, reply);
    else if (reply->result == LOCKS_LOCKED)
        refused(place, reply, tally);
    else if (reply->result == LOCKS_UNAVAILABLE && can_stay)
        line_unanswered(place->line);
    else if (reply->result == LOCKS_QUARANTINED && place->waits && !place->is_over)
        sit_out(place);
    else
        finish(place, reply);
}

void places_go(struct line *line)
{
    const struct ticket *first = desk_first(&line->locks->majority->desk, line->key);
    struct place *place = first ? first->context : NULL;
    if (!place)
        line_rest(line);
    else if (!place->is_looking)
        try_now(place);
}

/* Looking: whoever comes behind others does not ask for the lock, but may have it already. */

static bool is_own(const struct place *place, const struct lock_view *view)
{
    for (size_t i = 0; i < view->holder_count; i++)
        if (view->holders[i].owner.length == place->acquire.owner.length &&
            memcmp(view->holders[i].owner.bytes, place->acquire.owner.bytes,
                   place->acquire.owner.length) == 0)
            return true;
    return view->mine;
}

static void looked(void *context, const struct locks_reply *reply)
{
    struct place *place = context;
    struct locks_reply told = *reply;
    place->is_looking = false;
    if (!place->done) {
        if (!place->is_kept)
            let_go(place);
        return;
    }
    place->is_own = reply->result == LOCKS_DONE && is_own(place, &reply->view);
    bool is_told = place->is_over || !place->waits;
    if (place->is_own ? !place->is_over : !is_told && ticket_is_first(&place->ticket)) {
        try_now(place);
    } else if (is_told || reply->result != LOCKS_DONE) {
        if (reply->result == LOCKS_DONE)
            told.result = place->waits ? LOCKS_TIMEOUT : LOCKS_LOCKED;
        finish(place, &told);
    } else {
        note_queued(place);
    }
}

static void look(struct place *place)
{
    struct locks *locks = locks_of(place);
    char name[NAME_LENGTH];
    struct slice prefix = {locks->key_prefix, locks->key_prefix_length};
    size_t length = name_from_key(prefix, place->line->key, name);
    place->is_looking = true;
    majority_inspect(locks, (struct slice){name, length}, token_of(place), LOCK_WAITERS_SHOWN,
                     looked, place);
}

/* Coming */

static void on_over(uv_timer_t *timer)
{
    struct place *place = timer->data;
    place->is_over = true;
    if (place->is_refused)
        finish(place, &(struct locks_reply){.result = LOCKS_TOO_MANY_WAITERS});
    else if (locks_of(place)->draining)
        finish(place, &(struct locks_reply){.result = LOCKS_DRAINING});
    else if (place->try || place->is_looking)
        return; /* that tells */
    else if (ticket_is_first(&place->ticket))
        try_now(place);
    else
        look(place);
}

static void give_up(struct parked *parked)
{
    leave((struct place *)parked, true);
}

static struct place *place_new(struct locks *locks, const struct acquire *acquire,
                               const struct acquirer *acquirer, locks_done *done)
{
    char key[KEY_LENGTH];
    struct place *place = calloc(1, sizeof *place + request_length(acquire));
    if (!place)
        abort();
    place->parked.give_up = give_up;
    place->line = line_join(locks, operation_key(locks, acquire->name, key));
    place->done = done;
    place->acquirer = *acquirer;
    place->begun = uv_now(locks->loop);
    place->acquire = request_copy(acquire, place->bytes);
    uv_timer_init(locks->loop, &place->timer);
    place->timer.data = place;
    return place;
}

struct waiter *majority_wait(struct locks *locks, const struct acquire *acquire,
                             const struct acquirer *acquirer, locks_done *done)
{
    struct place *place = place_new(locks, acquire, acquirer, done);
    enum drawn drawn = DRAWN_FULL;
    place->waits = true;
    if (!locks->draining && acquirer->is_connected(acquirer->context)) {
        drawn = get_in_line(place);
        place->is_refused = drawn == DRAWN_FULL;
    }
    bool is_told_at_once = locks->draining || place->is_refused;
    uv_timer_start(&place->timer, on_over, is_told_at_once ? 0 : (uint64_t)acquire->wait_ms, 0);
    if (drawn == DRAWN_FIRST) {
        try_now(place);
    } else if (drawn == DRAWN_BEHIND) {
        line_enlist(place->line);
        look(place);
    }
    return (struct waiter *)place;
}

static bool always(void *context)
{
    (void)context;
    return true;
}

void majority_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                      void *context)
{
    const struct acquirer acquirer = {.context = context, .is_connected = always};
    struct place *place = place_new(locks, acquire, &acquirer, done);
    if (tickets_wait(tickets_of(place), place->line->key))
        look(place);
    else
        try_now(place);
}

/* What others do to them */

void places_called(struct ticket *ticket, const struct call *call)
{
    struct place *place = ticket->context;
    uint64_t now = uv_now(locks_of(place)->loop);
    if (call->ended != LOCKS_DONE && place->done)
        finish(place, &(struct locks_reply){.result = call->ended});
    else if (call->ended != LOCKS_DONE)
        let_go(place);
    else if (call->version && call->until > now)
        line_taken(place->line, call->version, (int64_t)(call->until - now));
    else
        places_go(place->line);
}

void places_drain(struct line *line)
{
    struct place *place;
    line->users++;
    while ((place = line->first)) {
        if (place->done)
            finish(place, &(struct locks_reply){.result = LOCKS_DRAINING});
        else
            let_go(place);
    }
    line_leave(line);
}
