#include "locks/waiting/expiries.h"

#include "base/memory.h"
#include "base/random.h"
#include "locks/calls/operation.h"
#include "locks/scripts/scripts.h"
#include "locks/waiting/batch.h"

#include <assert.h>
#include <stdlib.h>

enum {
    TABLE_AT_FIRST = 64,
    PAUSE_MS = 10,   /* between two batches, at least */
    AGAIN_MS = 1000, /* after a batch that Redis did not answer */
};

/* A name that is held, as far as this worker knows. */
struct ending {
    struct ending *next_in_table;
    LIST_ENTRY(ending) others; /* in its slot */
    uint64_t hash;
    uint64_t due;    /* loop time, ms */
    uint64_t until;  /* end of its slot, loop time, ms; `due` may be later: then it moves on */
    bool is_in_slot; /* false while a script asks for it */
    bool several;    /* another hold may end earlier than the last one noted */
    bool renewed;    /* renewed while a script asked for it */
    uint16_t key_length;
    char key[];
};

static_assert(sizeof(struct ending) + KEY_LENGTH <= SLABS_LARGEST, "the longest key has room");

static size_t ending_size(size_t key_length)
{
    return offsetof(struct ending, key) + key_length;
}

static struct ending **expiries_find(const struct expiries *expiries, uint64_t hash,
                                     struct slice key)
{
    struct ending **place = &expiries->table[hash & (expiries->table_size - 1)];
    while (*place && ((*place)->hash != hash || (*place)->key_length != key.length ||
                      memcmp((*place)->key, key.bytes, key.length) != 0))
        place = &(*place)->next_in_table;
    return place;
}

static void expiries_grow(struct expiries *expiries)
{
    size_t size = expiries->table_size * 2;
    assert(size > 0);
    struct ending **table = calloc(size, sizeof(struct ending *));
    if (!table)
        return; /* the chains get longer, no more */
    for (size_t i = 0; i < expiries->table_size; i++)
        for (struct ending *ending = expiries->table[i], *next; ending; ending = next) {
            next = ending->next_in_table;
            ending->next_in_table = table[ending->hash & (size - 1)];
            table[ending->hash & (size - 1)] = ending;
        }
    free(expiries->table);
    expiries->table = table;
    expiries->table_size = size;
}

/* The wheel. */

static void unlink_ending(struct ending *ending)
{
    if (!ending->is_in_slot)
        return;
    LIST_REMOVE(ending, others);
    ending->is_in_slot = false;
}

static void expiries_on_timer(uv_timer_t *timer);

/* Puts it into the slot in which it is due, or into the last one. The slot after the last is left
 * out: take_due may be emptying it. */
static void expiries_put(struct locks *locks, struct ending *ending)
{
    struct expiries *expiries = locks->expiries;
    uint64_t slot = ending->due / EXPIRIES_SLOT_MS + 1, last = expiries->slot + EXPIRIES_SLOTS - 2;
    if (slot < expiries->slot)
        slot = expiries->slot;
    if (slot > last)
        slot = last;
    ending->until = slot * EXPIRIES_SLOT_MS;
    LIST_INSERT_HEAD(&expiries->slots[slot % EXPIRIES_SLOTS], ending, others);
    ending->is_in_slot = true;
}

static void expiries_drop(struct expiries *expiries, struct ending **place)
{
    struct ending *ending = *place;
    *place = ending->next_in_table;
    unlink_ending(ending);
    expiries->count--;
    slabs_give_back(&expiries->slabs, ending, ending_size(ending->key_length));
}

static void expiries_plan(struct locks *locks, uint64_t in_ms)
{
    if (locks->expiries->count > 0 && !locks->expiries->asking)
        uv_timer_start(&locks->expiries->timer, expiries_on_timer, in_ms, 0);
}

/* `next_ms` -1: the name is free. A grant or renewal while the script was under way still
 * counts. */
static void expiries_settle(struct locks *locks, struct slice key, int64_t next_ms, uint64_t sent)
{
    struct expiries *expiries = locks->expiries;
    struct ending **place = expiries_find(expiries, siphash(&expiries->hash_key, key), key);
    struct ending *ending = *place;
    if (!ending || ending->is_in_slot)
        return;
    if (next_ms >= 0) {
        uint64_t due = sent + (uint64_t)next_ms + EXPIRIES_GRACE_MS;
        if (!ending->renewed || due < ending->due)
            ending->due = due;
    } else if (!ending->renewed) {
        expiries_drop(expiries, place);
        return;
    }
    ending->renewed = false;
    expiries_put(locks, ending);
}

static void expiries_asked(void *context, const struct store_result *result)
{
    struct batch *batch = context;
    struct locks *locks = batch->locks;
    locks->expiries->asking--;
    for (size_t i = 0; i < batch->count; i++) {
        int64_t next_ms = AGAIN_MS;
        if (result->outcome == STORE_REPLIED)
            value_integer(value_at(result->reply, i), &next_ms);
        expiries_settle(locks, batch->keys[i], next_ms, batch->sent);
    }
    free(batch);
    expiries_plan(locks, PAUSE_MS);
}

/* Takes at most `room` due names out of a slot, and moves the others on. Returns how many it
 * took. */
static size_t take_due(struct locks *locks, uint64_t slot, struct slice *ret, size_t room)
{
    const struct ending_list *list = &locks->expiries->slots[slot % EXPIRIES_SLOTS];
    struct ending *ending;
    uint64_t now = uv_now(locks->loop);
    size_t count = 0;
    while (count < room && (ending = LIST_FIRST(list))) {
        unlink_ending(ending);
        if (ending->due > now)
            expiries_put(locks, ending);
        else
            ret[count++] = (struct slice){ending->key, ending->key_length};
    }
    return count;
}

/* Goes through the slots that are over by now. */
static void expiries_on_timer(uv_timer_t *timer)
{
    struct locks *locks = timer->data;
    struct expiries *expiries = locks->expiries;
    struct slice due[BATCH_NAMES];
    uint64_t over = uv_now(locks->loop) / EXPIRIES_SLOT_MS;
    size_t count = 0;
    if (store_is_closing(locks->store)) /* a closing store takes no calls */
        return;
    while (expiries->slot <= over && count < BATCH_NAMES) {
        uint64_t slot = expiries->slot;
        expiries->slot = slot + 1; /* so that names that move on go to another slot */
        count += take_due(locks, slot, due + count, BATCH_NAMES - count);
        if (count == BATCH_NAMES)
            expiries->slot = slot;
    }
    expiries->asking += batches_send(locks, &script_ended, due, count, NULL, 0, expiries_asked);
    expiries_plan(locks, (over + 1) * EXPIRIES_SLOT_MS - uv_now(locks->loop));
}

/* Grants, renewals and releases. */

static struct ending *expiries_add(struct locks *locks, struct ending **place, uint64_t hash,
                                   struct slice key)
{
    struct expiries *expiries = locks->expiries;
    struct ending *ending = slabs_take(&expiries->slabs, ending_size(key.length));
    if (!ending) {
        expiries->left_out++;
        return NULL;
    }
    ending->hash = hash;
    ending->key_length = (uint16_t)key.length;
    memcpy(ending->key, key.bytes, key.length);
    *place = ending;
    if (expiries->count++ == 0) {
        expiries->slot = uv_now(locks->loop) / EXPIRIES_SLOT_MS;
        expiries_plan(locks, EXPIRIES_SLOT_MS);
    }
    if (expiries->count > expiries->table_size)
        expiries_grow(expiries);
    return ending;
}

void expiries_note(struct locks *locks, struct slice key, const struct hold *hold)
{
    struct expiries *expiries = locks->expiries;
    uint64_t hash = siphash(&expiries->hash_key, key);
    uint64_t due = uv_now(locks->loop) + (uint64_t)hold->ttl_ms + EXPIRIES_GRACE_MS;
    struct ending **place = expiries_find(expiries, hash, key), *ending = *place;
    bool is_new = !ending;
    if (is_new && !(ending = expiries_add(locks, place, hash, key)))
        return;
    ending->several = (!is_new && ending->several) || hold->mode == LOCK_SHARED || hold->holds > 1;
    if (is_new || !ending->several || due < ending->due ||
        (!ending->is_in_slot && !ending->renewed))
        ending->due = due;
    if (is_new) {
        expiries_put(locks, ending);
    } else if (!ending->is_in_slot) {
        ending->renewed = true;
    } else if (ending->due < ending->until - EXPIRIES_SLOT_MS) { /* a later one moves on later */
        unlink_ending(ending);
        expiries_put(locks, ending);
    }
}

void expiries_released(struct locks *locks, struct slice key)
{
    struct expiries *expiries = locks->expiries;
    struct ending **place = expiries_find(expiries, siphash(&expiries->hash_key, key), key);
    if (*place && !(*place)->several)
        expiries_drop(expiries, place);
}

void expiries_open(struct locks *locks)
{
    struct expiries *expiries = locks->expiries = memory_checked(calloc(1, sizeof *expiries));
    random_bytes(&expiries->hash_key, sizeof expiries->hash_key);
    expiries->slabs.limit = EXPIRIES_BYTES;
    expiries->table_size = TABLE_AT_FIRST;
    expiries->table = memory_checked(calloc(expiries->table_size, sizeof(struct ending *)));
    uv_timer_init(locks->loop, &expiries->timer);
    expiries->timer.data = locks;
}

static void expiries_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

void expiries_close(struct locks *locks)
{
    struct expiries *expiries = locks->expiries;
    for (size_t i = 0; i < expiries->table_size; i++)
        while (expiries->table[i])
            expiries_drop(expiries, &expiries->table[i]);
    slabs_close(&expiries->slabs);
    free(expiries->table);
    expiries->timer.data = expiries;
    uv_close((uv_handle_t *)&expiries->timer, expiries_on_closed);
    locks->expiries = NULL;
}

uint64_t locks_left_out(const struct locks *locks)
{
    return locks->expiries ? locks->expiries->left_out : 0;
}
