#include "locks/quarantine/slot_migration.h"

#include "locks/quarantine/identity_record.h"
#include "locks/quarantine/shard.h"

enum { CONFIRM_MS = 500 };

/* Slots on their way */

static void slot_migration_confirm(struct shard *shard);

/* A shard has answered: all that wait look again, and wait on if others have not answered. */
static void slot_migration_go_on(const struct guard *guard)
{
    for (struct shard *shard = shard_first(guard); shard; shard = shard_after(shard))
        if (shard->migration.look && !shard->connection.is_asking)
            shard->migration.look(shard);
}

static void slot_migration_on_answer(void *context, const struct store_result *result)
{
    struct shard *shard = context;
    struct slice moves;
    shard->migration.is_asked = false;
    shard->migration.asked_at = clock_now();
    if (result->outcome == STORE_REPLIED && value_text(value_at(result->reply, 1), &moves)) {
        shard->migration.is_under_way = moves.length > 0;
        slot_migration_confirm(shard);
    }
    slot_migration_go_on(shard->guard);
}

static void slot_migration_ask(struct shard *shard)
{
    if (shard->migration.is_asked || store_is_closing(shard->guard->store))
        return;
    shard->migration.is_asked = true;
    if (!shard->migration.is_confirming)
        shard->migration.asked_arrivals = shard->migration.arrivals;
    identity_record_ask_without(shard, slot_migration_on_answer);
}

bool slot_migration_waits(struct shard *shard, void (*look)(struct shard *shard))
{
    const struct guard *guard = shard->guard;
    shard->migration.look = NULL;
    for (struct shard *other = shard_first(guard); other; other = shard_after(other)) {
        if (other == shard || other->migration.asked_at >= shard->connection.opened_at ||
            !store_shard_serves(guard->store, other->number))
            continue;
        shard->migration.look = look;
        slot_migration_ask(other);
    }
    return shard->migration.look;
}

static bool slot_migration_is_anywhere(const struct guard *guard)
{
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard))
        if (shard->migration.is_under_way && store_shard_serves(guard->store, shard->number))
            return true;
    return false;
}

/* Slots that have come */

void slot_migration_taken(struct shard *shard)
{
    shard->migration.arrivals++;
}

static void slot_migration_on_confirmed(void *context, const char *error)
{
    struct shard *shard = context;
    shard->migration.is_confirming = false;
    if (!error)
        shard->migration.confirmed_arrivals = shard->migration.asked_arrivals;
}

/* What had come when the shard was asked stands before its answer. */
static void slot_migration_confirm(struct shard *shard)
{
    struct store *store = shard->guard->store;
    int replicas = store_peer(store, shard->number)->replicas;
    if (shard->migration.confirmed_arrivals == shard->migration.asked_arrivals ||
        shard->migration.is_confirming || shard->migration.is_under_way || replicas == 0 ||
        replicas > STORE_REPLICAS_MOST)
        return;
    shard->migration.is_confirming = true;
    store_confirm(store, store_mark_at(store, shard->number), replicas, CONFIRM_MS,
                  slot_migration_on_confirmed, shard);
}

void slot_migration_settle(struct shard *shard)
{
    if (shard->migration.confirmed_arrivals != shard->migration.arrivals)
        slot_migration_ask(shard);
}

bool slot_migration_may_lose(const struct shard *shard)
{
    return shard->migration.confirmed_arrivals != shard->migration.arrivals ||
           slot_migration_is_anywhere(shard->guard);
}

void slot_migration_keep(struct shard *shard, const struct shard *mine)
{
    shard->migration.is_under_way = mine->migration.is_under_way;
    shard->migration.is_asked = mine->migration.is_asked;
    shard->migration.is_confirming = mine->migration.is_confirming;
    shard->migration.look = NULL;
    shard->connection.opened_at = mine->connection.opened_at;
    shard->migration.asked_at = mine->migration.asked_at;
}
