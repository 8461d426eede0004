#include "locks/watching/known.h"

#include "base/memory.h"
#include "base/tree.h"

#include <search.h>

/* Names of one version are ordered by address: no two entries are equal. */
static int compare_versions(const void *one, const void *other)
{
    const struct known *a = one, *b = other;
    if (a->version != b->version)
        return a->version < b->version ? -1 : 1;
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* A place in the order of versions, and the entry after it: the place of one entry, or the end of a
 * version. */
struct place {
    int64_t version;
    const struct known *known; /* NULL: after all entries of the version */
    struct known *next;
};

/* Compares for tfind(3). On the way down the tree to the place, the last entry that the search
 * passes on the left is the next one. */
static int pass(const void *key, const void *other)
{
    struct place *place = (struct place *)(uintptr_t)key;
    struct known *known = (struct known *)(uintptr_t)other;
    bool is_behind = known->version != place->version
                         ? known->version > place->version
                         : place->known && (uintptr_t)known > (uintptr_t)place->known;
    if (is_behind)
        place->next = known;
    return is_behind ? -1 : 1;
}

static struct known *next_of(const struct known_table *table, struct place place)
{
    tfind(&place, (void *const *)&table->by_version, pass);
    return place.next;
}

struct known *known_after(const struct known_table *table, int64_t version)
{
    return next_of(table, (struct place){version, NULL, NULL});
}

static void enter_order(struct known_table *table, struct known *known)
{
    struct known *newer = next_of(table, (struct place){known->version, known, NULL});
    struct known *older = newer ? newer->older : table->newest;
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

static void leave_order(struct known_table *table, struct known *known)
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

static struct known_list *list_of(struct known_table *table, const struct known *known)
{
    return known->held ? &table->held : &table->free;
}

static void append(struct known_list *list, struct known *known)
{
    known->next = NULL;
    known->previous = list->last;
    if (list->last)
        list->last->next = known;
    else
        list->first = known;
    list->last = known;
    list->count++;
}

static void detach(struct known_list *list, struct known *known)
{
    if (known->previous)
        known->previous->next = known->next;
    else
        list->first = known->next;
    if (known->next)
        known->next->previous = known->previous;
    else
        list->last = known->previous;
    list->count--;
}

/* The heap: a parent at i ends no later than its children at 2i and 2i+1. */

static void put(struct known_table *table, size_t place, struct known *known)
{
    table->heap[place] = known;
    known->place = place;
}

static void rise(struct known_table *table, size_t place)
{
    struct known *known = table->heap[place];
    for (; place > 1 && table->heap[place / 2]->end > known->end; place /= 2)
        put(table, place, table->heap[place / 2]);
    put(table, place, known);
}

static void sink(struct known_table *table, size_t place)
{
    struct known *known = table->heap[place];
    for (size_t child; (child = 2 * place) <= table->heap_count; place = child) {
        if (child < table->heap_count && table->heap[child + 1]->end < table->heap[child]->end)
            child++;
        if (table->heap[child]->end >= known->end)
            break;
        put(table, place, table->heap[child]);
    }
    put(table, place, known);
}

static void unplan(struct known_table *table, struct known *known)
{
    size_t place = known->place;
    if (place == 0)
        return;
    known->place = 0;
    struct known *last = table->heap[table->heap_count--];
    if (last == known)
        return;
    put(table, place, last);
    rise(table, place);
    sink(table, last->place);
}

static void plan(struct known_table *table, struct known *known)
{
    if (table->heap_count + 1 >= table->heap_room) {
        table->heap_room = table->heap_room ? 2 * table->heap_room : 64;
        table->heap =
            memory_checked(realloc(table->heap, table->heap_room * sizeof(struct known *)));
    }
    put(table, ++table->heap_count, known);
    rise(table, table->heap_count);
}

uint64_t known_next_end(const struct known_table *table)
{
    return table->heap_count > 0 ? table->heap[1]->end : UINT64_MAX;
}

bool known_touch_ended(struct known_table *table, uint64_t now, size_t most)
{
    for (; known_next_end(table) <= now; most--) {
        struct known *known = table->heap[1];
        if (most == 0)
            return false;
        unplan(table, known);
        known_touch(table, known);
    }
    return true;
}

struct known *known_get(struct known_table *table, struct slice name)
{
    struct known *known = tree_find(&table->by_name, name);
    if (known)
        return known;
    known = memory_checked(calloc(1, sizeof *known + name.length));
    memcpy(known->bytes, name.bytes, name.length);
    known->name = (struct slice){known->bytes, name.length};
    tree_add(&table->by_name, known);
    append(&table->free, known);
    return known;
}

void known_seen(struct known_table *table, struct known *known, int64_t version, bool held,
                uint64_t end)
{
    detach(list_of(table, known), known);
    unplan(table, known);
    leave_order(table, known);
    known->version = version;
    if (version != 0)
        enter_order(table, known);
    known->held = held;
    known->end = end;
    append(list_of(table, known), known);
    if (held)
        plan(table, known);
}

void known_touch(struct known_table *table, struct known *known)
{
    if (known->touched)
        return;
    known->touched = true;
    known->next_touched = NULL;
    if (table->touched_count > 0)
        table->last_touched->next_touched = known;
    else
        table->first_touched = known;
    table->last_touched = known;
    table->touched_count++;
}

struct known *known_take_touched(struct known_table *table)
{
    if (table->touched_count == 0)
        return NULL;
    struct known *known = table->first_touched;
    table->first_touched = known->next_touched;
    table->touched_count--;
    known->touched = false;
    return known;
}

void known_forget(struct known_table *table, struct known *known)
{
    tree_remove(&table->by_name, known);
    leave_order(table, known);
    detach(list_of(table, known), known);
    unplan(table, known);
    known->forgotten = true;
    if (!known->looking)
        free(known);
}

void known_forget_all(struct known_table *table)
{
    while (known_take_touched(table))
        ;
    while (table->held.first)
        known_forget(table, table->held.first);
    while (table->free.first)
        known_forget(table, table->free.first);
    free(table->heap);
    table->heap = NULL;
    table->heap_room = 0;
}
