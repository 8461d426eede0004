/* The engine of redis+quorum://: a lock counts if more than half of several independent Redis have
 * it.
 *
 * Each member keeps the name by the same scripts as a single Redis. No request queues there, since
 * the order of arrival differs from member to member. The members together are a lock because:
 *
 * - An exclusive hold excludes other owners at each member that has it, until it ends there or its
 *   requester takes it back. Any two majorities share a member, so two holds that exclude each
 * other never have a majority at the same time. A reply tells the TTL that a majority has left,
 * less the time since it was asked and less what clocks may run apart.
 * - A fence is told only after a majority has issued it, as a new number at the grant or by
 *   raise.lua. Each of these members gave that number to no other hold, and gives only greater ones
 *   from then on. Every later grant needs one of them, so it gets a greater fence.
 * - A release is done only after a majority has heard it. Each of these remembers the token for at
 *   least half a minute, whether it had the hold or not, so a late repetition finds no majority.
 * - A version is told only after a majority knows it; if none does, it is written back first. So it
 *   never falls, and two equal versions have no grant between them.
 *
 * Waiters queue in this process, for all its workers together (tickets.h). The order between
 * several processes is left to chance. */
#include "locks/calls/engine.h"
#include "locks/quorum/awaited_name.h"
#include "locks/quorum/read.h"
#include "locks/quorum/state.h"
#include "locks/quorum/waiters.h"
#include "locks/quorum/watches.h"
#include "locks/quorum/write.h"

#include <stdlib.h>

/* Another server may have granted for so long before this one began. */
enum { TTL_LEAST_MS = 10 * 60 * 1000 };

static void majority_open(struct locks *locks, const struct locks_options *options)
{
    locks->majority = calloc(1, sizeof *locks->majority);
    if (!locks->majority)
        abort();
    locks->majority->longest_ttl_ms = TTL_LEAST_MS;
    locks->majority->ask = quorum_waiters_ask;
    locks->majority->read = quorum_watches_read;
    broadcasts_open(locks, &locks->majority->broadcasts);
    desk_open(&locks->majority->desk, options->tickets, locks->loop, quorum_waiters_called, locks);
}

static void majority_fans_closed(uv_handle_t *timer)
{
    const struct broadcasts *broadcasts = timer->data;
    struct locks *locks = broadcasts->locks;
    errands_free(&locks->majority->errands);
    free(locks->majority);
    locks->closed(locks);
}

static void majority_desk_closed(uv_handle_t *woken)
{
    const struct desk *desk = woken->data;
    const struct locks *locks = desk->context;
    broadcasts_close(&locks->majority->broadcasts, majority_fans_closed);
}

static void majority_close(struct locks *locks)
{
    desk_close(&locks->majority->desk, majority_desk_closed);
}

static void check_awaited_names(struct locks *locks)
{
    for (struct awaited_name *awaited = locks->majority->first_awaited, *next; awaited;
         awaited = next) {
        next = awaited->next;
        awaited_name_check(awaited);
    }
}

static void majority_is_up(struct locks *locks, unsigned member)
{
    errands_go(locks, &locks->majority->errands, member);
    check_awaited_names(locks);
}

static void majority_is_listening(struct locks *locks)
{
    check_awaited_names(locks);
}

/* Takes the number in front of the key: -1 if there is none. */
static int64_t take_number(struct slice *rest)
{
    char text[NUMBER_TEXT];
    struct slice word = slice_take_word(rest);
    if (word.length == 0 || word.length >= sizeof text)
        return -1;
    memcpy(text, word.bytes, word.length);
    text[word.length] = '\0';
    return strtoll(text, NULL, 10);
}

/* As central/messages.c: of its messages, members send only these two to a server without a place
 * in a queue. */
static void majority_message(struct locks *locks, struct slice text)
{
    unsigned member = store_telling(locks->store);
    struct slice kind = slice_take_word(&text);
    int64_t number = take_number(&text);
    struct awaited_name *awaited = awaited_name_find(locks, text);
    if (!awaited || number < 0)
        return;
    if (slice_equals(kind, "c")) { /* c VERSION KEY: the name has changed there */
        awaited_name_changed(awaited, member, number);
        quorum_watches_read(awaited);
    } else if (slice_equals(kind, "n") && number < INT32_MAX) { /* n MS KEY: a hold ends there */
        if (awaited->first_waiter)
            awaited_name_plan_round(awaited, number + 1);
        if (awaited->first_watch)
            awaited_name_plan_read(awaited, number + 1);
    }
}

static void majority_try_again(struct locks *locks)
{
    errands_try_again(locks, &locks->majority->errands);
}

static void majority_drain(struct locks *locks)
{
    for (struct awaited_name *awaited = locks->majority->first_awaited, *next; awaited;
         awaited = next) {
        awaited->users++;
        quorum_waiters_drain(awaited);
        quorum_watches_drain(awaited);
        next = awaited->next;
        awaited_name_leave(awaited);
    }
}

static bool majority_is_settled(const struct locks *locks)
{
    return errands_are_settled(locks, &locks->majority->errands) && !locks->majority->first_awaited;
}

static void majority_replaced(struct locks *locks, unsigned member)
{
    (void)locks; /* each name is asked for at all members, and no member has a queue */
    (void)member;
}

static void majority_moved(struct locks *locks)
{
    (void)locks; /* names do not move between members */
}

const struct engine engine_quorum = {
    .acquire = majority_acquire,
    .wait = majority_wait,
    .take_back = majority_take_back,
    .renew = majority_renew,
    .release = majority_release,
    .break_all = majority_break,
    .inspect = majority_inspect,
    .watch = majority_watch,
    .ready = majority_ready,
    .try_again = majority_try_again,
    .are_settled = majority_is_settled,
    .drain = majority_drain,
    .serve = majority_is_up,
    .replaced = majority_replaced,
    .moved = majority_moved,
    .listening = majority_is_listening,
    .message = majority_message,
    .open = majority_open,
    .close = majority_close,
};
