#include "locks/quorum/majority.h"

#include "locks/calls/engine.h"
#include "locks/quorum/awaited_name.h"
#include "locks/scripts/scripts.h"

#include <stdlib.h>

/* Another server may have granted for so long before this one began. */
enum { TTL_LEAST_MS = 10 * 60 * 1000 };

struct broadcasts *majority_broadcasts(const struct locks *locks)
{
    return &locks->majority->broadcasts;
}

static void majority_open(struct locks *locks, const struct locks_options *options)
{
    locks->majority = calloc(1, sizeof *locks->majority);
    if (!locks->majority)
        abort();
    locks->majority->longest_ttl_ms = TTL_LEAST_MS;
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

void majority_note_ttl(struct locks *locks, int64_t ttl_ms)
{
    if (ttl_ms > locks->majority->longest_ttl_ms)
        locks->majority->longest_ttl_ms = ttl_ms;
}

void majority_take_back(struct locks *locks, struct slice name, struct slice token,
                        const struct attempt *attempt, int64_t keep_ms)
{
    (void)keep_ms; /* a place is kept by this process, not by the members */
    char bytes[KEY_LENGTH];
    struct slice key = operation_key(locks, name, bytes);
    const struct slice arguments[] = {stamp_room(), token, slice_of(attempt->text), slice_of("0"),
                                      slice_of("gone")};
    for (unsigned i = 0; i < store_part_count(locks->store); i++)
        errand_add(locks, &locks->majority->errands, i, &script_leave, key, arguments,
                   sizeof arguments / sizeof arguments[0], locks->majority->longest_ttl_ms);
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
