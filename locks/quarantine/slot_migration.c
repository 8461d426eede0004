#include "locks/quarantine/slot_migration.h"

#include "locks/quarantine/identity.h"
#include "locks/quarantine/identity_record.h"

enum { CONFIRM_MS = 500, NS_PER_US = 1000 };

/* Whether slots are on their way */

static void confirm(struct guard_part *part);

/* Those that wait for what this one has said: where they wait for others, too, they go on to. */
static void go_on(struct locks *locks)
{
    for (unsigned i = 0; i < locks->guard.count; i++) {
        struct guard_part *part = locks->guard.parts[i];
        if (part && part->is_waiting && !part->asking)
            identity_look(part);
    }
}

static void answered(void *context, const struct store_result *result)
{
    struct guard_part *part = context;
    struct slice moves;
    part->is_asked = false;
    part->looked = (int64_t)(uv_hrtime() / NS_PER_US);
    if (result->outcome == STORE_REPLIED && value_text(value_at(result->reply, 1), &moves)) {
        part->is_migrating = moves.length > 0;
        confirm(part);
    }
    go_on(part->locks);
}

static void ask(struct guard_part *part)
{
    if (part->is_asked || store_is_closing(part->locks->store))
        return;
    part->is_asked = true;
    if (!part->is_confirming)
        part->asked_comings = part->comings;
    identity_record_ask_without(part, answered);
}

bool slot_migration_waits(struct guard_part *part)
{
    const struct locks *locks = part->locks;
    part->is_waiting = false;
    for (unsigned i = 0; i < locks->guard.count; i++) {
        struct guard_part *other = locks->guard.parts[i];
        if (!other || other == part || other->looked >= part->connected ||
            !store_part_serves(locks->store, i))
            continue;
        part->is_waiting = true;
        ask(other);
    }
    return part->is_waiting;
}

static bool slot_migration_is_anywhere(const struct locks *locks)
{
    for (unsigned i = 0; i < locks->guard.count; i++) {
        const struct guard_part *part = locks->guard.parts[i];
        if (part && part->is_migrating && store_part_serves(locks->store, i))
            return true;
    }
    return false;
}

/* What has come */

void slot_migration_taken(struct guard_part *part)
{
    part->comings++;
}

static void confirmed(void *context, const char *error)
{
    struct guard_part *part = context;
    part->is_confirming = false;
    if (!error)
        part->kept_comings = part->asked_comings;
}

/* All that had come when it was asked stands before its answer. */
static void confirm(struct guard_part *part)
{
    struct store *store = part->locks->store;
    int replicas = store_peer(store, part->number)->replicas;
    if (part->kept_comings == part->asked_comings || part->is_confirming || part->is_migrating ||
        replicas == 0 || replicas > STORE_REPLICAS_MOST)
        return;
    part->is_confirming = true;
    store_confirm(store, store_mark_at(store, part->number), replicas, CONFIRM_MS, confirmed, part);
}

void slot_migration_settle(struct guard_part *part)
{
    if (part->kept_comings != part->comings)
        ask(part);
}

bool slot_migration_may_lose(const struct guard_part *part)
{
    return part->kept_comings != part->comings || slot_migration_is_anywhere(part->locks);
}

void slot_migration_continue(struct guard_part *part, const struct guard_part *mine)
{
    part->is_migrating = mine->is_migrating;
    part->is_asked = mine->is_asked;
    part->is_confirming = mine->is_confirming;
    part->is_waiting = false;
    part->connected = mine->connected;
    part->looked = mine->looked;
}
