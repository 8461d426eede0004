#include "locks/watching/prefix_name.h"

#include "base/memory.h"
#include "base/tree.h"

void prefix_names_init(struct prefix_names *table)
{
    *table = (struct prefix_names){0};
    STAILQ_INIT(&table->dirty);
}

static struct prefix_name *prefix_name_at(const struct order_place *place)
{
    return place ? place->item : NULL;
}

struct prefix_name *prefix_name_after(const struct prefix_names *table, int64_t version)
{
    return prefix_name_at(
        order_first(order_after(&table->held, version), order_after(&table->free, version)));
}

struct prefix_name *prefix_name_next(const struct prefix_names *table,
                                     const struct prefix_name *known)
{
    return prefix_name_at(order_first(order_next(&table->held, &known->version),
                                      order_next(&table->free, &known->version)));
}

static struct order *order_of(struct prefix_names *table, const struct prefix_name *known)
{
    return known->held ? &table->held : &table->free;
}

struct prefix_name *prefix_name_get(struct prefix_names *table, struct slice name)
{
    struct prefix_name *known = tree_find(&table->by_name, name);
    if (known)
        return known;
    known = memory_checked(calloc(1, sizeof *known + name.length));
    memcpy(known->bytes, name.bytes, name.length);
    known->name = (struct slice){known->bytes, name.length};
    tree_add(&table->by_name, known);
    order_add(&table->free, &known->version, 0, known);
    return known;
}

void prefix_name_seen(struct prefix_names *table, struct prefix_name *known, int64_t version,
                      bool held, uint64_t end)
{
    order_remove(order_of(table, known), &known->version);
    order_remove(&table->ends, &known->end);
    known->held = held;
    order_add(order_of(table, known), &known->version, version, known);
    if (held)
        order_add(&table->ends, &known->end, (int64_t)end, known);
}

void prefix_name_invalidate(struct prefix_names *table, struct prefix_name *known)
{
    if (known->state == NAME_DIRTY || known->state == NAME_INSPECTING_DIRTY)
        return;
    known->state = known->state == NAME_SETTLED ? NAME_DIRTY : NAME_INSPECTING_DIRTY;
    STAILQ_INSERT_TAIL(&table->dirty, known, others_dirty);
    table->dirty_count++;
}

struct prefix_name *prefix_name_take_dirty(struct prefix_names *table)
{
    struct prefix_name *known = STAILQ_FIRST(&table->dirty);
    if (!known)
        return NULL;
    STAILQ_REMOVE_HEAD(&table->dirty, others_dirty);
    table->dirty_count--;
    known->state = NAME_INSPECTING;
    return known;
}

void prefix_name_settle(struct prefix_name *known)
{
    known->state = known->state == NAME_INSPECTING ? NAME_SETTLED : NAME_DIRTY;
}

uint64_t prefix_name_next_end(const struct prefix_names *table)
{
    const struct order_place *first = order_after(&table->ends, -1);
    return first ? (uint64_t)first->at : UINT64_MAX;
}

bool prefix_name_invalidate_ended(struct prefix_names *table, uint64_t now, size_t most)
{
    struct order_place *first;
    for (; (first = order_after(&table->ends, -1)) && (uint64_t)first->at <= now; most--) {
        if (most == 0)
            return false;
        prefix_name_invalidate(table, first->item);
        order_remove(&table->ends, first);
    }
    return true;
}

static void prefix_name_free(struct prefix_names *table, struct prefix_name *known)
{
    tree_remove(&table->by_name, known);
    order_remove(order_of(table, known), &known->version);
    order_remove(&table->ends, &known->end);
    free(known);
}

void prefix_name_forget(struct prefix_names *table, struct prefix_name *known)
{
    if (known->state == NAME_SETTLED)
        prefix_name_free(table, known);
}

int64_t prefix_name_forget_oldest(struct prefix_names *table, size_t most)
{
    int64_t forgotten = 0;
    struct prefix_name *oldest;
    while (table->free.count > most && (oldest = prefix_name_at(order_after(&table->free, 0))) &&
           oldest->state == NAME_SETTLED) {
        forgotten = oldest->version.at;
        prefix_name_free(table, oldest);
    }
    return forgotten;
}

bool prefix_name_forget_some(struct prefix_names *table, size_t most)
{
    for (; most > 0; most--) {
        if (prefix_name_take_dirty(table))
            continue;
        struct prefix_name *known = prefix_name_at(
            order_first(order_after(&table->held, -1), order_after(&table->free, -1)));
        if (!known)
            return true;
        prefix_name_free(table, known);
    }
    return false;
}
