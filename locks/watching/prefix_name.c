#include "locks/watching/prefix_name.h"

#include "base/memory.h"
#include "base/tree.h"

#include <search.h>

void prefix_names_init(struct prefix_names *table)
{
    *table = (struct prefix_names){0};
    TAILQ_INIT(&table->held.names);
    TAILQ_INIT(&table->free.names);
    STAILQ_INIT(&table->touched);
}

/* Names of one version are ordered by address: no two entries are equal. */
static int compare_versions(const void *one, const void *other)
{
    const struct prefix_name *a = one, *b = other;
    if (a->version != b->version)
        return a->version < b->version ? -1 : 1;
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* A place in the order of versions, and the entry after it: the place of one entry, or the end of a
 * version. */
struct place {
    int64_t version;
    const struct prefix_name *known; /* NULL: after all entries of the version */
    struct prefix_name *next;
};

/* Compares for tfind(3). On the way down the tree to the place, the last entry that the search
 * passes on the left is the next one. */
static int pass(const void *key, const void *other)
{
    struct place *place = (struct place *)(uintptr_t)key;
    struct prefix_name *known = (struct prefix_name *)(uintptr_t)other;
    bool is_behind = known->version != place->version
                         ? known->version > place->version
                         : place->known && (uintptr_t)known > (uintptr_t)place->known;
    if (is_behind)
        place->next = known;
    return is_behind ? -1 : 1;
}

static struct prefix_name *next_of(const struct prefix_names *table, struct place place)
{
    tfind(&place, (void *const *)&table->by_version, pass);
    return place.next;
}

struct prefix_name *prefix_name_after(const struct prefix_names *table, int64_t version)
{
    return next_of(table, (struct place){version, NULL, NULL});
}

static void enter_order(struct prefix_names *table, struct prefix_name *known)
{
    struct prefix_name *newer = next_of(table, (struct place){known->version, known, NULL});
    struct prefix_name *older = newer ? newer->older : table->newest;
    known->newer = newer;
    known->older = older;
    if (newer)
        newer->older = known;
    else
        table->newest = known;
    if (older)
        older->newer = known;
    if (!tsearch(known, &table->by_version, compare_versions))
        abort();
}

static void leave_order(struct prefix_names *table, struct prefix_name *known)
{
    if (known->version == 0)
        return;
    tdelete(known, &table->by_version, compare_versions);
    if (known->newer)
        known->newer->older = known->older;
    else
        table->newest = known->older;
    if (known->older)
        known->older->newer = known->newer;
}

static struct prefix_name_list *list_of(struct prefix_names *table, const struct prefix_name *known)
{
    return known->held ? &table->held : &table->free;
}

static void prefix_name_append(struct prefix_name_list *list, struct prefix_name *known)
{
    TAILQ_INSERT_TAIL(&list->names, known, others);
    list->count++;
}

static void prefix_name_detach(struct prefix_name_list *list, struct prefix_name *known)
{
    TAILQ_REMOVE(&list->names, known, others);
    list->count--;
}

/* The heap: a parent at i ends no later than its children at 2i and 2i+1. */

static void prefix_name_put(struct prefix_names *table, size_t place, struct prefix_name *known)
{
    table->heap[place] = known;
    known->place = place;
}

static void rise(struct prefix_names *table, size_t place)
{
    struct prefix_name *known = table->heap[place];
    for (; place > 1 && table->heap[place / 2]->end > known->end; place /= 2)
        prefix_name_put(table, place, table->heap[place / 2]);
    prefix_name_put(table, place, known);
}

static void sink(struct prefix_names *table, size_t place)
{
    struct prefix_name *known = table->heap[place];
    for (size_t child; (child = 2 * place) <= table->heap_count; place = child) {
        if (child < table->heap_count && table->heap[child + 1]->end < table->heap[child]->end)
            child++;
        if (table->heap[child]->end >= known->end)
            break;
        prefix_name_put(table, place, table->heap[child]);
    }
    prefix_name_put(table, place, known);
}

static void unplan(struct prefix_names *table, struct prefix_name *known)
{
    size_t place = known->place;
    if (place == 0)
        return;
    known->place = 0;
    struct prefix_name *last = table->heap[table->heap_count--];
    if (last == known)
        return;
    prefix_name_put(table, place, last);
    rise(table, place);
    sink(table, last->place);
}

static void prefix_name_plan(struct prefix_names *table, struct prefix_name *known)
{
    if (table->heap_count + 1 >= table->heap_room) {
        table->heap_room = table->heap_room ? 2 * table->heap_room : 64;
        table->heap =
            memory_checked(realloc(table->heap, table->heap_room * sizeof(struct prefix_name *)));
    }
    prefix_name_put(table, ++table->heap_count, known);
    rise(table, table->heap_count);
}

uint64_t prefix_name_next_end(const struct prefix_names *table)
{
    return table->heap_count > 0 ? table->heap[1]->end : UINT64_MAX;
}

bool prefix_name_touch_ended(struct prefix_names *table, uint64_t now, size_t most)
{
    for (; prefix_name_next_end(table) <= now; most--) {
        struct prefix_name *known = table->heap[1];
        if (most == 0)
            return false;
        unplan(table, known);
        prefix_name_touch(table, known);
    }
    return true;
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
    prefix_name_append(list_of(table, known), known);
    return known;
}

void prefix_name_seen(struct prefix_names *table, struct prefix_name *known, int64_t version,
                      bool held, uint64_t end)
{
    prefix_name_detach(list_of(table, known), known);
    unplan(table, known);
    leave_order(table, known);
    known->version = version;
    if (version != 0)
        enter_order(table, known);
    known->held = held;
    known->end = end;
    prefix_name_append(list_of(table, known), known);
    if (held)
        prefix_name_plan(table, known);
}

void prefix_name_touch(struct prefix_names *table, struct prefix_name *known)
{
    if (known->touched)
        return;
    known->touched = true;
    STAILQ_INSERT_TAIL(&table->touched, known, others_touched);
    table->touched_count++;
}

struct prefix_name *prefix_name_take_touched(struct prefix_names *table)
{
    struct prefix_name *known = STAILQ_FIRST(&table->touched);
    if (!known)
        return NULL;
    STAILQ_REMOVE_HEAD(&table->touched, others_touched);
    table->touched_count--;
    known->touched = false;
    return known;
}

void prefix_name_forget(struct prefix_names *table, struct prefix_name *known)
{
    tree_remove(&table->by_name, known);
    leave_order(table, known);
    prefix_name_detach(list_of(table, known), known);
    unplan(table, known);
    known->forgotten = true;
    if (!known->looking)
        free(known);
}

void prefix_name_forget_all(struct prefix_names *table)
{
    while (prefix_name_take_touched(table))
        ;
    for (struct prefix_name *known; (known = TAILQ_FIRST(&table->held.names));)
        prefix_name_forget(table, known);
    for (struct prefix_name *known; (known = TAILQ_FIRST(&table->free.names));)
        prefix_name_forget(table, known);
    free(table->heap);
    table->heap = NULL;
    table->heap_room = 0;
}
