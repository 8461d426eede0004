#include "locks/quorum/broadcast.h"

#include "locks/calls/operation.h"

#include <stdlib.h>

enum { NS_PER_MS = 1000000 };

static void broadcast_on_due(uv_timer_t *timer);

static void broadcast_plan(struct broadcasts *broadcasts)
{
    const struct broadcast *first = TAILQ_FIRST(&broadcasts->undecided);
    if (!first) {
        uv_timer_stop(&broadcasts->timer);
        return;
    }
    uint64_t now = uv_now(broadcasts->timer.loop);
    uv_timer_start(&broadcasts->timer, broadcast_on_due, first->due > now ? first->due - now : 0,
                   0);
}

static void broadcast_decide(struct broadcast *broadcast, bool is_last)
{
    if (broadcast->is_decided || !broadcast->kind->decide(broadcast, is_last))
        return;
    broadcast->is_decided = true;
    TAILQ_REMOVE(&broadcast->broadcasts->undecided, broadcast, others);
    if (TAILQ_EMPTY(&broadcast->broadcasts->undecided))
        broadcast_plan(broadcast->broadcasts);
}

/* If this process itself was slow, answers may lie in the sockets that came in time: lets the loop
 * go on once to read them. */
static void broadcast_on_due(uv_timer_t *timer)
{
    struct broadcasts *broadcasts = timer->data;
    struct broadcast *broadcast = TAILQ_FIRST(&broadcasts->undecided);
    while (broadcast && broadcast->due <= uv_now(timer->loop)) {
        struct broadcast *next = TAILQ_NEXT(broadcast, others);
        if (!broadcast->is_late) {
            broadcast->is_late = true;
            broadcast->due = uv_now(timer->loop) + 1;
        } else {
            broadcast_decide(broadcast, true);
        }
        broadcast = next;
    }
    broadcast_plan(broadcasts);
}

void broadcast_begin(struct broadcast *broadcast, struct broadcasts *broadcasts, struct slice key,
                     const struct broadcast_kind *kind)
{
    struct locks *locks = broadcasts->locks;
    *broadcast = (struct broadcast){
        .kind = kind, .broadcasts = broadcasts, .locks = locks, .sent = uv_hrtime()};
    broadcast->key_length = key.length;
    memcpy(broadcast->key, key.bytes, key.length);
    broadcast->due = broadcast->sent / NS_PER_MS + store_timeout_ms(locks->store) / 2;
    for (unsigned i = 0; i < TALLY_MEMBERS; i++)
        broadcast->members[i].broadcast = broadcast;
    TAILQ_INSERT_TAIL(&broadcasts->undecided, broadcast, others);
    if (TAILQ_FIRST(&broadcasts->undecided) == broadcast)
        broadcast_plan(broadcasts);
}

struct slice broadcast_key(const struct broadcast *broadcast)
{
    return (struct slice){broadcast->key, broadcast->key_length};
}

void broadcast_answered(void *context, const struct store_result *result)
{
    struct broadcast_member *member = context;
    struct broadcast *broadcast = member->broadcast;
    broadcast->kind->observe(broadcast, (unsigned)(member - broadcast->members), result);
    broadcast->open--;
    broadcast_decide(broadcast, broadcast->open == 0);
    if (broadcast->open > 0)
        return;
    if (broadcast->kind->end)
        broadcast->kind->end(broadcast);
    else
        free(broadcast);
}

/* After the decision a slow member is not asked again: the client has its answer, and a late
 * renewal or break might meet another hold, or the same hold with a longer TTL. */
static bool is_open(const void *context)
{
    const struct broadcast_member *member = context;
    return !member->broadcast->is_decided;
}

void broadcast_send(struct broadcast *broadcast, unsigned member, const struct script *script,
                    const struct slice *arguments, size_t argument_count)
{
    broadcast->open++;
    const struct script_call call = {
        .script = script,
        .key = broadcast_key(broadcast),
        .arguments = arguments,
        .argument_count = argument_count,
        .is_wanted = is_open,
        .done = broadcast_answered,
        .context = &broadcast->members[member],
    };
    store_eval_at(broadcast->locks->store, member, &call);
}

void broadcast_send_all(struct broadcast *broadcast, const struct script *script,
                        const struct slice *arguments, size_t argument_count)
{
    unsigned members = store_shard_count(broadcast->locks->store);
    for (unsigned i = 0; i < members; i++)
        broadcast_send(broadcast, i, script, arguments, argument_count);
}

int64_t broadcast_elapsed(const struct broadcast *broadcast)
{
    return (int64_t)((uv_hrtime() - broadcast->sent + NS_PER_MS - 1) / NS_PER_MS);
}

enum vote_kind broadcast_silence(const struct store_result *result)
{
    bool is_sure = result->outcome == STORE_UNSENT || result->outcome == STORE_REFUSED ||
                   result->outcome == STORE_LATE;
    return is_sure ? VOTE_AWAY : VOTE_DOUBT;
}

void broadcasts_open(struct locks *locks, struct broadcasts *broadcasts)
{
    broadcasts->locks = locks;
    TAILQ_INIT(&broadcasts->undecided);
    uv_timer_init(locks->loop, &broadcasts->timer);
    broadcasts->timer.data = broadcasts;
}

void broadcasts_close(struct broadcasts *broadcasts, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&broadcasts->timer, closed);
}
