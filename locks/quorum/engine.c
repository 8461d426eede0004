/* The engine of redis+quorum://: a lock counts if more than half of several independent Redis have
 * it.
 *
 * Each member keeps the name by the same scripts as a single Redis. No request queues there, since
 * the order of arrival differs from member to member. The members together are a lock because:
 *
 * - An exclusive hold excludes other owners at each member that has it, until it ends there or its
 *   requester takes it back. Any two majorities share a member, so two holds that exclude each
 *   other never have a majority at the same time. A reply has the TTL that a majority has left,
 *   less the time since the question and the possible drift of the clocks.
 * - A fence is reported only after a majority has issued it, as a new number at the grant or by
 *   raise.lua. Each of these members gave that number to no other hold, and gives only greater ones
 *   from then on. Every later grant needs one of them, so it gets a greater fence.
 * - A release is done only after a majority has run it. Each of these members remembers the token
 *   for at least half a minute, even if it had no hold, so a late repetition finds no majority.
 * - A version is reported only after a majority knows it; if none does, it is written back first.
 *   So it never falls, and two equal versions have no grant between them.
 *
 * Waiters queue at each worker (local_queue.h). The order between workers is left to chance. */
#include "locks/calls/engine.h"
#include "base/memory.h"
#include "locks/quorum/awaited_name.h"
#include "locks/quorum/read.h"
#include "locks/quorum/state.h"
#include "locks/quorum/waiters.h"
#include "locks/quorum/watches.h"
#include "locks/quorum/write.h"
#include "locks/waiting/renewer.h"

#include <stdlib.h>

/* Another worker may have granted such a TTL before this one began. */
enum { TTL_LEAST_MS = 10 * 60 * 1000 };

static void quorum_engine_open(struct locks *locks)
{
    locks->quorum = memory_checked(calloc(1, sizeof *locks->quorum));
    locks->quorum->longest_ttl_ms = TTL_LEAST_MS;
    locks->quorum->ask = quorum_waiters_ask;
    locks->quorum->watched = &quorum_watched;
    broadcasts_open(locks, &locks->quorum->broadcasts);
}

static void quorum_broadcasts_closed(uv_handle_t *timer)
{
    const struct broadcasts *broadcasts = timer->data;
    struct locks *locks = broadcasts->locks;
    redeliveries_free(locks);
    free(locks->quorum);
    locks->engine_closed(locks);
}

static void quorum_engine_close(struct locks *locks)
{
    broadcasts_close(&locks->quorum->broadcasts, quorum_broadcasts_closed);
}

static void quorum_check_awaited_names(struct locks *locks)
{
    for (struct awaited_name *awaited = LIST_FIRST(&locks->quorum->awaited), *next; awaited;
         awaited = next) {
        next = LIST_NEXT(awaited, others);
        awaited_name_check(awaited);
    }
}

static void quorum_engine_serve(struct locks *locks, unsigned member)
{
    (void)member;
    redeliveries_send(locks);
    quorum_check_awaited_names(locks);
}

/* Takes the number in front of the key: -1 if there is none. */
static int64_t take_number(struct slice *rest)
{
    char text[DECIMAL_TEXT];
    struct slice word = slice_take_word(rest);
    if (word.length == 0 || word.length >= sizeof text)
        return -1;
    memcpy(text, word.bytes, word.length);
    text[word.length] = '\0';
    return strtoll(text, NULL, 10);
}

/* As central/messages.c. To a worker without a place in a queue, members send only these three of
 * its messages. */
static void quorum_engine_message(struct locks *locks, unsigned member, struct slice text)
{
    struct slice kind = slice_take_word(&text);
    if (slice_equals(kind, "e")) { /* e TOKEN KEY: the hold of a connection has ended there */
        struct slice token = slice_take_word(&text);
        renewers_check_hold(locks, text, token);
        return;
    }
    int64_t number = take_number(&text);
    struct awaited_name *awaited = awaited_name_find(locks, text);
    if (!awaited || number < 0)
        return;
    if (slice_equals(kind, "c")) { /* c VERSION KEY: the name has changed there */
        awaited_name_changed(awaited, member, number);
        watched_check(&awaited->watched);
    } else if (slice_equals(kind, "n") && number < INT32_MAX) { /* n MS KEY: a hold ends there */
        if (awaited->queue.first)
            awaited_name_plan_round(awaited, number + 1);
        awaited_name_plan_read(awaited, number + 1);
    }
}

static void quorum_engine_drain(struct locks *locks)
{
    for (struct awaited_name *awaited = LIST_FIRST(&locks->quorum->awaited), *next; awaited;
         awaited = next) {
        awaited->users++;
        quorum_waiters_drain(awaited);
        watched_drain(&awaited->watched);
        next = LIST_NEXT(awaited, others);
        awaited_name_leave(awaited);
    }
}

static bool quorum_engine_is_settled(const struct locks *locks)
{
    return redeliveries_are_settled(locks) && LIST_EMPTY(&locks->quorum->awaited);
}

static void quorum_engine_replaced(struct locks *locks, unsigned member)
{
    (void)locks; /* each name is on all members, and no member has a queue */
    (void)member;
}

static void quorum_engine_moved(struct locks *locks)
{
    (void)locks; /* names do not move between members */
}

const struct engine engine_quorum = {
    .acquire = quorum_acquire,
    .wait = quorum_wait,
    .take_back = quorum_take_back,
    .renew = quorum_renew,
    .release = quorum_release,
    .break_holds = quorum_break,
    .inspect = quorum_inspect,
    .watch = quorum_watch,
    .ready = quorum_ready,
    .try_again = redeliveries_send,
    .are_settled = quorum_engine_is_settled,
    .drain = quorum_engine_drain,
    .serve = quorum_engine_serve,
    .replaced = quorum_engine_replaced,
    .moved = quorum_engine_moved,
    .listening = quorum_check_awaited_names,
    .message = quorum_engine_message,
    .open = quorum_engine_open,
    .close = quorum_engine_close,
};
