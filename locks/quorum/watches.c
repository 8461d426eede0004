#include "locks/quorum/watches.h"

#include "locks/quorum/awaited_name.h"
#include "locks/quorum/read.h"
#include "locks/quorum/state.h"

static void quorum_watch_read(void *context, const struct locks_reply *reply)
{
    struct awaited_name *awaited = context;
    struct locks_reply seen = *reply;
    if (seen.result == LOCKS_DONE && seen.view.holder_count > 0)
        awaited_name_plan_read(awaited, seen.view.holders[0].ttl_ms + 1);
    watched_seen(&awaited->watched, &seen);
    awaited_name_leave(awaited);
}

/* Looks again after a while, for a lost message. No message says that a request waits here. */
static void quorum_watch_refresh(struct watched *watched)
{
    struct awaited_name *awaited = watched->owner;
    struct locks *locks = watched->locks;
    char name[NAME_LENGTH];
    awaited->users++;
    quorum_inspect(locks, operation_name(locks, watched->key, name), slice_of(NULL),
                   LOCK_WAITERS_SHOWN, quorum_watch_read, awaited);
    awaited->read_at = 0;
    awaited_name_plan_read(awaited, (watched->of_holds > 0 ? 1L : 10L) * AWAITED_FALLBACK_MS);
}

static void quorum_watch_leave(struct watched *watched)
{
    awaited_name_leave(watched->owner);
}

static bool quorum_watch_can_ask(const struct watched *watched)
{
    return store_is_up(watched->locks->store);
}

const struct watched_kind quorum_watched = {
    .refresh = quorum_watch_refresh,
    .leave = quorum_watch_leave,
    .can_ask = quorum_watch_can_ask,
    .reports_failures = true,
};

struct watch *quorum_watch(struct locks *locks, struct slice name, const struct watch_for *what,
                           int64_t wait_ms, locks_done *done, void *context)
{
    char key[KEY_LENGTH];
    struct awaited_name *awaited = awaited_name_join(locks, operation_key(locks, name, key));
    if (!locks->draining && wait_ms > 0)
        awaited_name_enlist(awaited);
    return watch_begin(&awaited->watched, what, wait_ms, done, context);
}
