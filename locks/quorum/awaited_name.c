#include "locks/quorum/awaited_name.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/tree.h"
#include "locks/quorum/state.h"
#include "locks/scripts/scripts.h"

#include <stdlib.h>

struct awaited_name *awaited_name_find(const struct locks *locks, struct slice key)
{
    return tree_find(&locks->quorum->awaited_names, key);
}

/* When the next thing is due. */

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

static void awaited_name_on_timer(uv_timer_t *timer);

static void awaited_name_plan(struct awaited_name *awaited)
{
    uint64_t due = earlier(earlier(awaited->round_at, awaited->read_at), awaited->enlist_at);
    uint64_t now = uv_now(awaited->locks->loop);
    if (due == 0)
        uv_timer_stop(&awaited->timer);
    else
        uv_timer_start(&awaited->timer, awaited_name_on_timer, due > now ? due - now : 0, 0);
}

static void set_earlier(struct awaited_name *awaited, uint64_t *at, int64_t in_ms)
{
    if (in_ms < 0)
        return;
    *at = earlier(*at, uv_now(awaited->locks->loop) + (uint64_t)in_ms);
    awaited_name_plan(awaited);
}

void awaited_name_plan_round(struct awaited_name *awaited, int64_t in_ms)
{
    set_earlier(awaited, &awaited->round_at, in_ms);
}

void awaited_name_plan_read(struct awaited_name *awaited, int64_t in_ms)
{
    set_earlier(awaited, &awaited->read_at, in_ms);
}

/* Random, so that several workers do not collide again and again. */
static int64_t jittered(int64_t ms)
{
    uint32_t random;
    random_bytes(&random, sizeof random);
    return ms / 2 + (int64_t)(random % (uint32_t)(ms / 2 + 1));
}

/* Enlisting */

struct enlisting {
    struct broadcast broadcast;
    struct awaited_name *awaited;
};

static void notice(struct awaited_name *awaited);

static void awaited_name_observe(struct broadcast *broadcast, unsigned member,
                                 const struct store_result *result)
{
    struct awaited_name *awaited = ((struct enlisting *)broadcast)->awaited;
    int64_t next_ms, version;
    if (result->outcome != STORE_REPLIED || !value_integer(value_at(result->reply, 0), &next_ms) ||
        !reply_read_view_version(value_at(result->reply, 1), &version))
        return; /* enlisted when it is up again, or next time with all members */
    if (awaited->observed[member] > 0 && version > awaited->observed[member])
        awaited_name_plan_read(awaited, 0); /* the message about that was lost */
    if (version > awaited->observed[member])
        awaited->observed[member] = version;
    awaited_name_plan_read(awaited, next_ms < 0 ? -1 : next_ms + 1);
}

static bool awaited_name_decide(struct broadcast *broadcast, bool is_last)
{
    struct awaited_name *awaited = ((struct enlisting *)broadcast)->awaited;
    if (!is_last)
        return false;
    awaited->is_enlisting = false;
    notice(awaited);
    return true;
}

static void awaited_name_end(struct broadcast *broadcast)
{
    struct awaited_name *awaited = ((struct enlisting *)broadcast)->awaited;
    free(broadcast);
    awaited_name_leave(awaited);
}

static void enlist(struct awaited_name *awaited)
{
    static const struct broadcast_kind KIND = {awaited_name_observe, awaited_name_decide,
                                               awaited_name_end};
    struct locks *locks = awaited->locks;
    const struct slice arguments[] = {stamp_placeholder(), slice_of(locks->texts.worker),
                                      slice_of(locks->texts.waiter_lease), slice_of("")};
    awaited->enlist_at = uv_now(locks->loop) + (uint64_t)locks->options.waiter_lease_ms / 2;
    awaited_name_plan(awaited);
    if (awaited->is_enlisting)
        return;
    struct enlisting *enlisting = memory_checked(calloc(1, sizeof *enlisting));
    enlisting->awaited = awaited;
    awaited->users++;
    awaited->is_enlisting = true;
    broadcast_begin(&enlisting->broadcast, &locks->quorum->broadcasts, awaited->key, &KIND);
    broadcast_send_all(&enlisting->broadcast, &script_watch, arguments,
                       sizeof arguments / sizeof arguments[0]);
}

void awaited_name_enlist(struct awaited_name *awaited)
{
    if (awaited->enlist_at != 0)
        return;
    enlist(awaited);
    watched_check(&awaited->watched); /* no changes were reported until now */
}

void awaited_name_check(struct awaited_name *awaited)
{
    if (awaited->enlist_at == 0)
        return;
    enlist(awaited);
    awaited_name_plan_round(awaited, 0);
    awaited_name_plan_read(awaited, 0);
}

static void awaited_name_on_timer(uv_timer_t *timer)
{
    struct awaited_name *awaited = timer->data;
    uint64_t now = uv_now(awaited->locks->loop);
    bool rounds = awaited->round_at != 0 && awaited->round_at <= now;
    bool reads = awaited->read_at != 0 && awaited->read_at <= now;
    awaited->users++;
    if (rounds)
        awaited->round_at = 0;
    if (reads)
        awaited->read_at = 0;
    if (awaited->enlist_at != 0 && awaited->enlist_at <= now)
        enlist(awaited);
    if (rounds)
        awaited->locks->quorum->ask(awaited);
    if (reads)
        watched_check(&awaited->watched);
    awaited_name_plan(awaited);
    awaited_name_leave(awaited);
}

/* What the members report */

/* After a split vote each loser waits for a random time, whatever members report meanwhile. */
static void notice(struct awaited_name *awaited)
{
    unsigned changed = 0;
    for (unsigned i = 0; i < TALLY_MEMBERS; i++)
        changed += awaited->refuses[i] && awaited->observed[i] > awaited->known[i];
    if (awaited->queue.first && !awaited->is_split && awaited->missing > 0 &&
        changed >= awaited->missing)
        awaited_name_plan_round(awaited, 0);
}

void awaited_name_refused(struct awaited_name *awaited, const struct tally *tally)
{
    int64_t free_in = tally_free_in(tally);
    for (unsigned i = 0; i < tally->members; i++) {
        awaited->refuses[i] = tally->votes[i].kind >= VOTE_LOCKED;
        awaited->known[i] = tally->votes[i].version;
    }
    awaited->missing = tally_missing(tally);
    awaited->is_split = tally_is_split(tally);
    awaited->pause_ms = !awaited->is_split       ? 0
                        : awaited->pause_ms == 0 ? AWAITED_PAUSE_LEAST_MS
                                                 : awaited->pause_ms * 2;
    if (awaited->pause_ms > AWAITED_PAUSE_MOST_MS)
        awaited->pause_ms = AWAITED_PAUSE_MOST_MS;
    awaited->round_at = 0;
    awaited_name_plan_round(awaited, awaited->is_split ? jittered(awaited->pause_ms)
                                                       : jittered(AWAITED_FALLBACK_MS));
    awaited_name_plan_round(awaited, free_in < 0 || awaited->is_split ? -1 : free_in + 1);
    notice(awaited);
}

void awaited_name_unanswered(struct awaited_name *awaited)
{
    memset(awaited->refuses, 0, sizeof awaited->refuses);
    awaited->round_at = 0;
    awaited_name_plan_round(awaited, jittered(AWAITED_AWAY_MS));
}

void awaited_name_taken(struct awaited_name *awaited, int64_t version, int64_t ttl_ms)
{
    for (unsigned i = 0; i < TALLY_MEMBERS; i++) {
        awaited->refuses[i] = true;
        awaited->known[i] = version;
    }
    awaited->missing = store_shard_count(awaited->locks->store) / 2 + 1;
    awaited->is_split = false;
    awaited->pause_ms = 0;
    awaited->round_at = 0;
    awaited_name_plan_round(awaited, jittered(AWAITED_FALLBACK_MS));
    awaited_name_plan_round(awaited, ttl_ms + 1);
    notice(awaited);
}

void awaited_name_rest(struct awaited_name *awaited)
{
    awaited->missing = 0;
    awaited->round_at = 0;
    awaited_name_plan(awaited);
}

void awaited_name_changed(struct awaited_name *awaited, unsigned member, int64_t version)
{
    if (version > awaited->observed[member])
        awaited->observed[member] = version;
    notice(awaited);
}

/* Coming and going. */

static struct awaited_name *awaited_name_new(struct locks *locks, struct slice key)
{
    struct awaited_name *awaited = memory_checked(calloc(1, sizeof *awaited + key.length));
    memcpy(awaited->key_bytes, key.bytes, key.length);
    awaited->key = (struct slice){awaited->key_bytes, key.length};
    awaited->locks = locks;
    awaited->watched = (struct watched){
        .kind = locks->quorum->watched, .owner = awaited, .locks = locks, .key = awaited->key};
    local_queue_open(&awaited->queue);
    uv_timer_init(locks->loop, &awaited->timer);
    awaited->timer.data = awaited;
    LIST_INSERT_HEAD(&locks->quorum->awaited, awaited, others);
    tree_add(&locks->quorum->awaited_names, awaited);
    return awaited;
}

struct awaited_name *awaited_name_join(struct locks *locks, struct slice key)
{
    struct awaited_name *awaited = awaited_name_find(locks, key);
    if (!awaited)
        awaited = awaited_name_new(locks, key);
    awaited->users++;
    return awaited;
}

static void awaited_name_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

void awaited_name_leave(struct awaited_name *awaited)
{
    struct quorum_state *state = awaited->locks->quorum;
    if (--awaited->users > 0)
        return;
    tree_remove(&state->awaited_names, awaited);
    LIST_REMOVE(awaited, others);
    uv_close((uv_handle_t *)&awaited->timer, awaited_name_on_closed);
}
