#include "locks/quorum/tickets.h"

#include "base/memory.h"
#include "base/tree.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct tickets {
    pthread_mutex_t mutex;
    void *queues;         /* of base/tree.h, by key */
    atomic_size_t waited; /* the number of queues: read without the mutex */
};

/* The waiters for one name. */
struct ticket_queue {
    struct slice key; /* the first member: as base/tree.h wants */
    struct tickets *tickets;
    TAILQ_HEAD(ticket_list, ticket) list;
    struct ticket *turn; /* the first present one; it knows, or a notice is on its way */
    void *tokens;        /* of base/tree.h: the tickets by token */
    int64_t count;
    char key_bytes[];
};

/* All of them */

struct tickets *tickets_new(void)
{
    struct tickets *tickets = memory_checked(calloc(1, sizeof *tickets));
    pthread_mutex_init(&tickets->mutex, NULL);
    return tickets;
}

void tickets_free(struct tickets *tickets)
{
    if (!tickets)
        return;
    pthread_mutex_destroy(&tickets->mutex);
    free(tickets);
}

static void lock(struct tickets *tickets)
{
    pthread_mutex_lock(&tickets->mutex);
}

static void unlock(struct tickets *tickets)
{
    pthread_mutex_unlock(&tickets->mutex);
}

/* Locks and returns the queue of the name. Returns NULL, unlocked, if it has no waiters. */
static struct ticket_queue *enter(struct tickets *tickets, struct slice key)
{
    if (atomic_load(&tickets->waited) == 0)
        return NULL;
    lock(tickets);
    struct ticket_queue *queue = tree_find(&tickets->queues, key);
    if (!queue)
        unlock(tickets);
    return queue;
}

/* Queues */

static struct ticket_queue *ticket_queue_new(struct tickets *tickets, struct slice key)
{
    struct ticket_queue *queue = memory_checked(calloc(1, sizeof *queue + key.length));
    memcpy(queue->key_bytes, key.bytes, key.length);
    queue->key = (struct slice){queue->key_bytes, key.length};
    queue->tickets = tickets;
    TAILQ_INIT(&queue->list);
    tree_add(&tickets->queues, queue);
    atomic_fetch_add(&tickets->waited, 1);
    return queue;
}

static void ticket_queue_free(struct ticket_queue *queue)
{
    tree_remove(&queue->tickets->queues, queue);
    atomic_fetch_sub(&queue->tickets->waited, 1);
    free(queue);
}

/* To the front if `previous` is NULL. */
static void put_behind(struct ticket_queue *queue, struct ticket *ticket, struct ticket *previous)
{
    ticket->queue = queue;
    if (previous)
        TAILQ_INSERT_AFTER(&queue->list, previous, ticket, others);
    else
        TAILQ_INSERT_HEAD(&queue->list, ticket, others);
}

static struct ticket *first_present(const struct ticket_queue *queue)
{
    struct ticket *ticket = TAILQ_FIRST(&queue->list);
    while (ticket && !ticket->is_present)
        ticket = TAILQ_NEXT(ticket, others);
    return ticket;
}

/* Notices */

static void leave_notice(struct ticket *ticket, struct ticket_notice notice)
{
    struct ticket_worker *worker = ticket->worker;
    ticket->notice = notice;
    if (!ticket->has_notice)
        LIST_INSERT_HEAD(&worker->notices, ticket, notified);
    ticket->has_notice = true;
    uv_async_send(&worker->woken);
}

static void drop_notice(struct ticket *ticket)
{
    if (ticket->has_notice)
        LIST_REMOVE(ticket, notified);
    ticket->has_notice = false;
}

static struct ticket *take_notice(struct ticket_worker *worker, struct ticket_notice *ret)
{
    lock(worker->tickets);
    struct ticket *ticket = LIST_FIRST(&worker->notices);
    if (ticket) {
        *ret = ticket->notice;
        drop_notice(ticket);
    }
    unlock(worker->tickets);
    return ticket;
}

static void ticket_worker_on_woken(uv_async_t *woken)
{
    struct ticket_worker *worker = woken->data;
    struct ticket *ticket;
    struct ticket_notice notice;
    while ((ticket = take_notice(worker, &notice)))
        worker->notify(ticket, &notice);
}

static bool enters(const struct ticket *ticket, const struct hold *hold)
{
    return ticket->is_reentrant && slice_same(ticket->owner, hold->owner);
}

static bool excludes(const struct ticket *ticket, const struct hold *hold)
{
    return !enters(ticket, hold) &&
           (hold->mode == LOCK_EXCLUSIVE || ticket->mode == LOCK_EXCLUSIVE);
}

/* Its owner has the hold `got` now: the first present ticket that it lets in comes first. */
static void let_enter(struct ticket_queue *queue, const struct hold *got)
{
    struct ticket *ticket;
    TAILQ_FOREACH (ticket, &queue->list, others) {
        if (!ticket->is_present || !enters(ticket, got))
            continue;
        TAILQ_REMOVE(&queue->list, ticket, others);
        put_behind(queue, ticket, NULL);
        return;
    }
}

/* If another ticket is the first now, behind the hold `got` or NULL, its worker is told. */
static void pass_on(struct ticket_queue *queue, const struct hold *got, uint64_t now)
{
    struct ticket *first = first_present(queue);
    struct ticket_notice turn = {.ended = LOCKS_DONE};
    if (first == queue->turn)
        return;
    queue->turn = first;
    if (first && got && excludes(first, got)) {
        turn.version = got->version;
        turn.until = now + (uint64_t)got->ttl_ms;
    }
    if (first)
        leave_notice(first, turn);
}

static void tickets_detach(struct ticket *ticket)
{
    struct ticket_queue *queue = ticket->queue;
    TAILQ_REMOVE(&queue->list, ticket, others);
    tree_remove(&queue->tokens, ticket);
    ticket->queue = NULL;
    queue->count--;
}

/* The queue may be gone with it. */
static void tickets_take_out(struct ticket *ticket, const struct hold *got)
{
    struct ticket_queue *queue = ticket->queue;
    tickets_detach(ticket);
    if (got && !ticket->owner_is_made)
        let_enter(queue, got);
    if (queue->count == 0)
        ticket_queue_free(queue);
    else
        pass_on(queue, got, got ? uv_now(ticket->worker->woken.loop) : 0);
}

static void tickets_end(struct ticket *ticket, enum locks_result result)
{
    leave_notice(ticket, (struct ticket_notice){.ended = result});
}

/* Workers */

void ticket_worker_open(struct ticket_worker *worker, struct tickets *tickets, uv_loop_t *loop,
                        void (*notify)(struct ticket *ticket, const struct ticket_notice *notice),
                        void *context)
{
    worker->tickets = tickets;
    LIST_INIT(&worker->notices);
    worker->notify = notify;
    worker->context = context;
    uv_async_init(loop, &worker->woken, ticket_worker_on_woken);
    worker->woken.data = worker;
}

void ticket_worker_close(struct ticket_worker *worker, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&worker->woken, closed);
}

struct ticket *ticket_worker_first(const struct ticket_worker *worker, struct slice key)
{
    struct ticket_queue *queue = enter(worker->tickets, key);
    if (!queue)
        return NULL;
    struct ticket *first = queue->turn && queue->turn->worker == worker ? queue->turn : NULL;
    unlock(worker->tickets);
    return first;
}

/* One waiter */

static struct slice tickets_copy(struct slice text, char *to)
{
    if (text.length > 0)
        memcpy(to, text.bytes, text.length);
    return (struct slice){to, text.length};
}

/* Whether both can come from the same request. */
static bool ticket_repeats(const struct ticket *ticket, const struct ticket *earlier)
{
    return ticket->mode == earlier->mode && ticket->set == earlier->set &&
           ticket->is_reentrant == earlier->is_reentrant &&
           (ticket->owner_is_made || slice_same(ticket->owner, earlier->owner));
}

static void ticket_note_use(struct ticket *ticket, const struct ticket *earlier)
{
    struct ticket_refused *refused = &ticket->refused;
    tickets_copy(earlier->owner, refused->owner);
    refused->owner_length = earlier->owner.length;
    refused->mode = earlier->mode;
    refused->is_other_set = earlier->set != ticket->set;
    refused->reentry = (int)earlier->is_reentrant - (int)ticket->is_reentrant;
}

static enum ticket_joined join(struct ticket *ticket, struct slice key, int64_t most)
{
    struct tickets *tickets = ticket->worker->tickets;
    struct ticket_queue *queue = tree_find(&tickets->queues, key);
    struct ticket *earlier = queue ? tree_find(&queue->tokens, ticket->token) : NULL;
    if (queue && !earlier && queue->count >= most) {
        ticket->refused.queue_length = queue->count;
        return TICKET_REFUSED;
    }
    if (earlier && !ticket_repeats(ticket, earlier)) {
        ticket_note_use(ticket, earlier);
        return TICKET_IN_USE;
    }
    if (!queue)
        queue = ticket_queue_new(tickets, key);
    put_behind(queue, ticket, earlier ? earlier : TAILQ_LAST(&queue->list, ticket_list));
    queue->count++;
    ticket->is_present = true;
    if (earlier) {
        tickets_detach(earlier);
        tickets_end(earlier, LOCKS_SUPERSEDED);
    }
    tree_add(&queue->tokens, ticket);
    queue->turn = first_present(queue);
    return queue->turn == ticket ? TICKET_FIRST : TICKET_BEHIND;
}

enum ticket_joined ticket_join(struct ticket *ticket, struct ticket_worker *worker,
                               struct slice key, int64_t most)
{
    ticket->worker = worker;
    lock(worker->tickets);
    enum ticket_joined joined = join(ticket, key, most);
    unlock(worker->tickets);
    return joined;
}

void ticket_leave(struct ticket *ticket, const struct hold *got)
{
    if (!ticket->worker)
        return;
    struct tickets *tickets = ticket->worker->tickets;
    lock(tickets);
    drop_notice(ticket);
    if (ticket->queue)
        tickets_take_out(ticket, got);
    unlock(tickets);
}

bool ticket_step_aside(struct ticket *ticket)
{
    if (!ticket->worker)
        return false;
    lock(ticket->worker->tickets);
    bool is_there = ticket->queue != NULL;
    if (is_there) {
        ticket->is_present = false;
        drop_notice(ticket);
        pass_on(ticket->queue, NULL, 0);
    }
    unlock(ticket->worker->tickets);
    return is_there;
}

void ticket_come_first(struct ticket *ticket)
{
    if (!ticket->worker)
        return;
    lock(ticket->worker->tickets);
    if (ticket->queue && ticket->queue->turn != ticket) {
        TAILQ_REMOVE(&ticket->queue->list, ticket, others);
        put_behind(ticket->queue, ticket, NULL);
        ticket->queue->turn = first_present(ticket->queue);
    }
    unlock(ticket->worker->tickets);
}

bool ticket_is_first(const struct ticket *ticket)
{
    if (!ticket->worker)
        return false;
    lock(ticket->worker->tickets);
    bool is_first = ticket->queue && ticket->queue->turn == ticket;
    unlock(ticket->worker->tickets);
    return is_first;
}

/* Questions of others */

bool tickets_wait(struct tickets *tickets, struct slice key)
{
    struct ticket_queue *queue = enter(tickets, key);
    if (!queue)
        return false;
    bool is_awaited = queue->turn != NULL;
    unlock(tickets);
    return is_awaited;
}

bool tickets_cancel(struct tickets *tickets, struct slice key, struct slice token)
{
    struct ticket_queue *queue = enter(tickets, key);
    if (!queue)
        return false;
    struct ticket *ticket = tree_find(&queue->tokens, token);
    if (ticket) {
        tickets_take_out(ticket, NULL);
        tickets_end(ticket, LOCKS_CANCELLED);
    }
    unlock(tickets);
    return ticket != NULL;
}

/* Adds the present waiters, or the absent ones, as far as the view has space. */
static void tickets_show_some(const struct ticket_queue *queue, bool is_present, uint64_t now,
                              struct lock_view *view, struct ticket_texts *texts)
{
    const struct ticket *ticket = TAILQ_FIRST(&queue->list);
    for (; ticket && view->waiter_count < LOCK_WAITERS_SHOWN; ticket = TAILQ_NEXT(ticket, others)) {
        char *owner = texts->owners[view->waiter_count],
             *client = texts->clients[view->waiter_count];
        if (ticket->is_present != is_present)
            continue;
        int64_t waited_ms = now > ticket->since ? (int64_t)(now - ticket->since) : 0;
        view->waiters[view->waiter_count++] = (struct waiter_view){
            .owner = tickets_copy(ticket->owner, owner),
            .mode = ticket->mode,
            .waited_ms = waited_ms,
            .since_us = ticket->since_us,
            .client = tickets_copy(ticket->client, client),
        };
    }
}

/* Behind those before it, and if it is absent, behind all that are present. 0: it does not wait. */
static int64_t tickets_position(const struct ticket_queue *queue, struct slice token)
{
    const struct ticket *sought = token.length > 0 ? tree_find(&queue->tokens, token) : NULL;
    int64_t before = 0;
    bool is_passed = false;
    for (const struct ticket *each = sought ? TAILQ_FIRST(&queue->list) : NULL; each;
         each = TAILQ_NEXT(each, others)) {
        is_passed |= each == sought;
        before += is_passed ? each->is_present && !sought->is_present
                            : each->is_present || !sought->is_present;
    }
    return sought ? before + 1 : 0;
}

void tickets_show(struct tickets *tickets, struct slice key, struct slice token, uint64_t now,
                  struct lock_view *view, struct ticket_texts *ret_texts)
{
    struct ticket_queue *queue = enter(tickets, key);
    view->queue_length = 0;
    view->waiter_count = 0;
    view->position = 0;
    if (!queue)
        return;
    view->queue_length = queue->count;
    view->position = tickets_position(queue, token);
    tickets_show_some(queue, true, now, view, ret_texts);
    tickets_show_some(queue, false, now, view, ret_texts);
    unlock(tickets);
}
