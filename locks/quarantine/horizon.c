#include "locks/quarantine/horizon.h"

#include "base/memory.h"
#include "locks/quarantine/identity.h"
#include "locks/quarantine/identity_record.h"
#include "locks/quarantine/shard.h"

#include <sys/queue.h>

enum {
    LEAD_US = 2000000, /* the horizon is later than all holds by half of this at least, */
    AHEAD = 8,         /* moves ahead of them by this part of the TTL and LEAD_US, */
    MOST_US = 30000000 /* but by no more than this and LEAD_US */
};

/* An answer that waits until the horizon is written. */
struct awaiting {
    STAILQ_ENTRY(awaiting) entry;
    horizon_done *done;
    void *context;
};

/* A horizon that is being written, with the answers that wait for it. */
struct raising {
    struct shard *shard;
    STAILQ_HEAD(awaiting_queue, awaiting) answers;
};

static void horizon_tell(struct raising *raising, const char *error)
{
    struct awaiting *next;
    for (struct awaiting *awaiting = STAILQ_FIRST(&raising->answers); awaiting; awaiting = next) {
        next = STAILQ_NEXT(awaiting, entry);
        awaiting->done(awaiting->context, error);
        free(awaiting);
    }
    free(raising);
}

/* If the record is another by now, it is looked at, and the horizon is written to it then. */
static void horizon_on_raised(void *context, const struct store_result *result)
{
    struct raising *raising = context;
    struct shard *shard = raising->shard;
    bool is_known = result->outcome == STORE_REPLIED || result->outcome == STORE_REFUSED;
    if (shard->horizon.raising == raising)
        shard->horizon.raising = NULL;
    if (!identity_record_is_still(shard, result))
        identity_check(shard->guard);
    horizon_tell(raising, is_known ? NULL
                                   : "the connection to Redis was lost before it was certain that "
                                     "Redis would remember the hold");
}

void horizon_write(struct shard *shard)
{
    if (!shard->identity.is_known || shard->connection.gate_is_closed ||
        store_is_closing(shard->guard->store))
        return;
    struct raising *raising = memory_checked(calloc(1, sizeof *raising));
    raising->shard = shard;
    STAILQ_INIT(&raising->answers);
    shard->horizon.raising = raising;
    identity_record_raise(shard, horizon_on_raised, raising);
}

void horizon_await(struct guard *guard, unsigned number, horizon_done *done, void *context)
{
    struct raising *raising = shard_at(guard, number)->horizon.raising;
    struct awaiting *awaiting = memory_checked(malloc(sizeof *awaiting));
    *awaiting = (struct awaiting){.done = done, .context = context};
    STAILQ_INSERT_TAIL(&raising->answers, awaiting, entry);
}

/* Whether a hold may be missing on a replica of this Redis. */
static bool horizon_may_be_unreplicated(const struct shard *shard, int64_t replicas)
{
    return shard->identity.followers == 0 || replicas < shard->identity.followers;
}

bool horizon_covers(struct guard *guard, unsigned number, int64_t ttl_ms, int64_t replicas)
{
    if (number >= store_shard_count(guard->store)) /* no shard serves the name now */
        return true;
    struct shard *shard = shard_at(guard, number);
    int64_t now = (int64_t)uv_now(guard->options.loop) * US_PER_MS, ttl = ttl_ms * US_PER_MS;
    int64_t more = ttl / AHEAD < MOST_US ? ttl / AHEAD : MOST_US;
    int64_t least = now + ttl + LEAD_US / 2, ahead = now + ttl + more + LEAD_US;
    if (least <= shard->horizon.written[HORIZON_ALL] &&
        least <= shard->horizon.written[HORIZON_UNREPLICATED])
        return true;
    const int64_t needed[HORIZONS] = {least,
                                      horizon_may_be_unreplicated(shard, replicas) ? least : 0};
    bool is_short = needed[HORIZON_ALL] > shard->horizon.ends[HORIZON_ALL];
    if (is_short)
        shard->horizon.span = ahead - now;
    for (size_t i = 0; i < HORIZONS; i++) {
        if (needed[i] <= shard->horizon.ends[i])
            continue;
        shard->horizon.ends[i] = ahead;
        is_short = true;
    }
    if (is_short)
        horizon_write(shard);
    bool is_written = needed[HORIZON_ALL] <= shard->horizon.written[HORIZON_ALL] &&
                      needed[HORIZON_UNREPLICATED] <= shard->horizon.written[HORIZON_UNREPLICATED];
    return is_written || !shard->horizon.raising || guard->options.keeps_all ||
           guard->options.quarantine_ms == QUARANTINE_OFF;
}

void horizon_move(struct guard *guard, unsigned number, int64_t ttl_ms)
{
    if (store_shard_is_up(guard->store, number)) /* else it is not asked for the hold */
        horizon_covers(guard, number, ttl_ms, 0);
}

void horizon_move_all(struct guard *guard, int64_t ttl_ms)
{
    for (unsigned i = 0; i < store_shard_count(guard->store); i++)
        horizon_move(guard, i, ttl_ms);
}

/* A horizon may lag behind the latest a little, since it is ahead of all holds. Otherwise two
 * shards whose clocks are known with different errors would raise each other for ever. */
static void horizon_level_kind(struct guard *guard, enum horizon_kind kind)
{
    int64_t last = 0, span = 0;
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard)) {
        shard_raise(&last, shard->horizon.ends[kind]);
        shard_raise(&span, shard->horizon.span);
    }
    for (struct shard *shard = shard_first(guard); shard; shard = shard_after(shard)) {
        if (last - shard->horizon.ends[kind] < LEAD_US / 2 ||
            !store_shard_serves(guard->store, shard->number) ||
            !store_shard_is_up(guard->store, shard->number))
            continue;
        shard->horizon.ends[kind] = last;
        shard->horizon.span = span;
        horizon_write(shard);
    }
}

void horizon_level(struct guard *guard)
{
    horizon_level_kind(guard, HORIZON_ALL);
    horizon_level_kind(guard, HORIZON_UNREPLICATED);
}
