#include "locks/quorum/tickets.h"

#include "base/memory.h"
#include "base/tree.h"

#include <string.h>

struct tickets {
    pthread_mutex_t mutex;
    void *rooms;          /* of base/tree.h, by key */
    atomic_size_t waited; /* how many there are: read without the mutex */
};

/* Where those are who wait for one name. */
struct room {
    struct slice key; /* the first member: as base/tree.h wants */
    struct tickets *tickets;
    struct ticket *first;
    struct ticket *last;
    struct ticket *turn; /* the first of them that is present; it knows, or has been called */
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

/* Locks, and finds the room; where nobody waits for anything, it does neither. */
static struct room *enter(struct tickets *tickets, struct slice key)
{
    if (atomic_load(&tickets->waited) == 0)
        return NULL;
    lock(tickets);
    struct room *room = tree_find(&tickets->rooms, key);
    if (!room)
        unlock(tickets);
    return room;
}

/* Rooms */

static struct room *room_new(struct tickets *tickets, struct slice key)
{
    struct room *room = memory_checked(calloc(1, sizeof *room + key.length));
    memcpy(room->key_bytes, key.bytes, key.length);
    room->key = (struct slice){room->key_bytes, key.length};
    room->tickets = tickets;
    tree_add(&tickets->rooms, room);
    atomic_fetch_add(&tickets->waited, 1);
    return room;
}

static void room_free(struct room *room)
{
    tree_remove(&room->tickets->rooms, room);
    atomic_fetch_sub(&room->tickets->waited, 1);
    free(room);
}

static void put_behind(struct room *room, struct ticket *ticket, struct ticket *previous)
{
    ticket->room = room;
    ticket->previous = previous;
    ticket->next = previous ? previous->next : room->first;
    *(previous ? &previous->next : &room->first) = ticket;
    *(ticket->next ? &ticket->next->previous : &room->last) = ticket;
}

static void unlink_from(struct room *room, struct ticket *ticket)
{
    *(ticket->previous ? &ticket->previous->next : &room->first) = ticket->next;
    *(ticket->next ? &ticket->next->previous : &room->last) = ticket->previous;
}

static struct ticket *first_present(const struct room *room)
{
    struct ticket *ticket = room->first;
    while (ticket && !ticket->is_present)
        ticket = ticket->next;
    return ticket;
}

/* Calls */

static void call(struct ticket *ticket, struct call call)
{
    struct desk *desk = ticket->desk;
    ticket->call = call;
    if (!ticket->call_place) {
        ticket->next_call = desk->first_call;
        ticket->call_place = &desk->first_call;
        if (ticket->next_call)
            ticket->next_call->call_place = &ticket->next_call;
        desk->first_call = ticket;
    }
    uv_async_send(&desk->woken);
}

static void drop_call(struct ticket *ticket)
{
    if (!ticket->call_place)
        return;
    *ticket->call_place = ticket->next_call;
    if (ticket->next_call)
        ticket->next_call->call_place = ticket->call_place;
    ticket->call_place = NULL;
}

static struct ticket *take_call(struct desk *desk, struct call *ret)
{
    lock(desk->tickets);
    struct ticket *ticket = desk->first_call;
    if (ticket) {
        *ret = ticket->call;
        drop_call(ticket);
    }
    unlock(desk->tickets);
    return ticket;
}

static void desk_on_woken(uv_async_t *woken)
{
    struct desk *desk = woken->data;
    struct ticket *ticket;
    struct call call;
    while ((ticket = take_call(desk, &call)))
        desk->called(ticket, &call);
}

static bool excludes(const struct ticket *ticket, const struct hold *hold)
{
    bool is_own = ticket->owner.length == hold->owner.length &&
                  memcmp(ticket->owner.bytes, hold->owner.bytes, hold->owner.length) == 0;
    return !is_own && (hold->mode == LOCK_EXCLUSIVE || ticket->mode == LOCK_EXCLUSIVE);
}

/* Somebody else may be the first now, behind a hold or NULL: it is called. */
static void pass_on(struct room *room, const struct hold *got, uint64_t now)
{
    struct ticket *first = first_present(room);
    struct call turn = {.ended = LOCKS_DONE};
    if (first == room->turn)
        return;
    room->turn = first;
    if (first && got && excludes(first, got)) {
        turn.version = got->version;
        turn.until = now + (uint64_t)got->ttl_ms;
    }
    if (first)
        call(first, turn);
}

static void tickets_detach(struct ticket *ticket)
{
    struct room *room = ticket->room;
    unlink_from(room, ticket);
    tree_remove(&room->tokens, ticket);
    ticket->room = NULL;
    room->count--;
}

/* The room may be gone with it. */
static void tickets_take_out(struct ticket *ticket, const struct hold *got)
{
    struct room *room = ticket->room;
    tickets_detach(ticket);
    if (room->count == 0)
        room_free(room);
    else
        pass_on(room, got, got ? uv_now(ticket->desk->woken.loop) : 0);
}

static void tickets_end(struct ticket *ticket, enum locks_result result)
{
    call(ticket, (struct call){.ended = result});
}

/* Desks */

void desk_open(struct desk *desk, struct tickets *tickets, uv_loop_t *loop,
               void (*called)(struct ticket *ticket, const struct call *call), void *context)
{
    desk->tickets = tickets;
    desk->called = called;
    desk->context = context;
    uv_async_init(loop, &desk->woken, desk_on_woken);
    desk->woken.data = desk;
}

void desk_close(struct desk *desk, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&desk->woken, closed);
}

struct ticket *desk_first(const struct desk *desk, struct slice key)
{
    struct room *room = enter(desk->tickets, key);
    if (!room)
        return NULL;
    struct ticket *first = room->turn && room->turn->desk == desk ? room->turn : NULL;
    unlock(desk->tickets);
    return first;
}

/* One of those who wait */

static enum drawn draw(struct ticket *ticket, struct slice key, int64_t most)
{
    struct tickets *tickets = ticket->desk->tickets;
    struct room *room = tree_find(&tickets->rooms, key);
    struct ticket *earlier = room ? tree_find(&room->tokens, ticket->token) : NULL;
    if (room && !earlier && room->count >= most)
        return DRAWN_FULL;
    if (!room)
        room = room_new(tickets, key);
    put_behind(room, ticket, earlier ? earlier : room->last);
    room->count++;
    ticket->is_present = true;
    if (earlier) {
        tickets_detach(earlier);
        tickets_end(earlier, LOCKS_SUPERSEDED);
    }
    tree_add(&room->tokens, ticket);
    room->turn = first_present(room);
    return room->turn == ticket ? DRAWN_FIRST : DRAWN_BEHIND;
}

enum drawn ticket_draw(struct ticket *ticket, struct desk *desk, struct slice key, int64_t most)
{
    ticket->desk = desk;
    lock(desk->tickets);
    enum drawn drawn = draw(ticket, key, most);
    unlock(desk->tickets);
    return drawn;
}

void ticket_leave(struct ticket *ticket, const struct hold *got)
{
    if (!ticket->desk)
        return;
    struct tickets *tickets = ticket->desk->tickets;
    lock(tickets);
    drop_call(ticket);
    if (ticket->room)
        tickets_take_out(ticket, got);
    unlock(tickets);
}

bool ticket_step_aside(struct ticket *ticket)
{
    if (!ticket->desk)
        return false;
    lock(ticket->desk->tickets);
    bool is_there = ticket->room != NULL;
    if (is_there) {
        ticket->is_present = false;
        drop_call(ticket);
        pass_on(ticket->room, NULL, 0);
    }
    unlock(ticket->desk->tickets);
    return is_there;
}

void ticket_come_first(struct ticket *ticket)
{
    if (!ticket->desk)
        return;
    lock(ticket->desk->tickets);
    if (ticket->room && ticket->room->turn != ticket) {
        unlink_from(ticket->room, ticket);
        put_behind(ticket->room, ticket, NULL);
        ticket->room->turn = first_present(ticket->room);
    }
    unlock(ticket->desk->tickets);
}

bool ticket_is_first(const struct ticket *ticket)
{
    if (!ticket->desk)
        return false;
    lock(ticket->desk->tickets);
    bool is_first = ticket->room && ticket->room->turn == ticket;
    unlock(ticket->desk->tickets);
    return is_first;
}

/* What others ask of all */

bool tickets_wait(struct tickets *tickets, struct slice key)
{
    struct room *room = enter(tickets, key);
    if (!room)
        return false;
    bool is_awaited = room->turn != NULL;
    unlock(tickets);
    return is_awaited;
}

bool tickets_cancel(struct tickets *tickets, struct slice key, struct slice token)
{
    struct room *room = enter(tickets, key);
    if (!room)
        return false;
    struct ticket *ticket = tree_find(&room->tokens, token);
    if (ticket) {
        tickets_take_out(ticket, NULL);
        tickets_end(ticket, LOCKS_CANCELLED);
    }
    unlock(tickets);
    return ticket != NULL;
}

/* As many as there is room for of those who are there, or of the others. */
static void show(const struct room *room, bool is_present, uint64_t now, struct lock_view *view,
                 struct ticket_owners *owners)
{
    const struct ticket *ticket = room->first;
    for (; ticket && view->waiter_count < LOCK_WAITERS_SHOWN; ticket = ticket->next) {
        char *owner = owners->of[view->waiter_count];
        if (ticket->is_present != is_present)
            continue;
        memcpy(owner, ticket->owner.bytes, ticket->owner.length);
        view->waiters[view->waiter_count++] =
            (struct waiter_view){{owner, ticket->owner.length},
                                 ticket->mode,
                                 now > ticket->since ? (int64_t)(now - ticket->since) : 0};
    }
}

void tickets_show(struct tickets *tickets, struct slice key, uint64_t now, struct lock_view *view,
                  struct ticket_owners *ret_owners)
{
    struct room *room = enter(tickets, key);
    view->queue_length = 0;
    view->waiter_count = 0;
    if (!room)
        return;
    view->queue_length = room->count;
    show(room, true, now, view, ret_owners);
    show(room, false, now, view, ret_owners);
    unlock(tickets);
}
