#include "base/heavy_hitters.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>

static bool ranked_has_name(const struct ranked *ranked, struct slice name)
{
    return ranked->length == name.length && memcmp(ranked->name, name.bytes, name.length) == 0;
}

/* The index of the name; `used`: it is not there. */
static size_t ranked_find(const uint64_t *hashes, const struct ranked *all, size_t used,
                          uint64_t hash, struct slice name)
{
    size_t i = 0;
    while (i < used && (hashes[i] != hash || !ranked_has_name(&all[i], name)))
        i++;
    return i;
}

static size_t ranked_least(const struct ranked *all, size_t used)
{
    size_t least = 0;
    for (size_t i = 1; i < used; i++)
        if (all[i].value < all[least].value)
            least = i;
    return least;
}

static void ranked_set_name(struct ranked *ranked, struct slice name)
{
    size_t length = name.length < RANKED_NAME ? name.length : RANKED_NAME;
    ranked->length = (unsigned char)length;
    memcpy(ranked->name, name.bytes, length);
}

void heavy_hitters_add(struct heavy_hitters *hitters, uint64_t hash, struct slice name,
                       uint64_t count)
{
    size_t index = ranked_find(hitters->hashes, hitters->all, hitters->used, hash, name);
    if (index == hitters->used) {
        if (hitters->used < HEAVY_HITTERS_MOST)
            hitters->used++;
        else
            index = ranked_least(hitters->all, HEAVY_HITTERS_MOST);
        hitters->hashes[index] = hash;
        hitters->all[index].error = hitters->all[index].value; /* 0 if it was free */
        ranked_set_name(&hitters->all[index], name);
    }
    hitters->all[index].value += count;
}

/* Returns early for most values: they are below all that are kept. */
void peaks_note(struct peaks *peaks, uint64_t hash, struct slice name, uint64_t value)
{
    bool is_full = peaks->used == PEAKS_MOST;
    if (is_full && value <= peaks->all[peaks->least].value)
        return;
    size_t index = ranked_find(peaks->hashes, peaks->all, peaks->used, hash, name);
    if (index == peaks->used) {
        if (is_full)
            index = peaks->least;
        else
            peaks->used++;
        peaks->hashes[index] = hash;
        ranked_set_name(&peaks->all[index], name);
    }
    if (peaks->all[index].value < value)
        peaks->all[index].value = value;
    peaks->least = ranked_least(peaks->all, peaks->used);
}

/* One name in one summary, and the greatest possible value of a name that this summary lacks. */
struct item {
    const struct ranked *ranked;
    uint64_t floor;
};

static int ranked_by_name(const void *left, const void *right)
{
    const struct ranked *one = ((const struct item *)left)->ranked;
    const struct ranked *other = ((const struct item *)right)->ranked;
    if (one->length != other->length)
        return one->length < other->length ? -1 : 1;
    return memcmp(one->name, other->name, one->length);
}

/* By the certain part of the count: otherwise a name that inherited a large count would come before
 * names that were really so frequent. */
static int ranked_by_least_value(const void *left, const void *right)
{
    const struct ranked *one = left, *other = right;
    uint64_t least = one->value - one->error, other_least = other->value - other->error;
    if (least != other_least)
        return least > other_least ? -1 : 1;
    return one->value == other->value ? 0 : one->value > other->value ? -1 : 1;
}

static void item_add(struct ranked *ranked, const struct item *item)
{
    ranked->value += item->ranked->value - item->floor;
    ranked->error += item->ranked->error - item->floor;
}

static void item_raise(struct ranked *ranked, const struct item *item)
{
    if (ranked->value < item->ranked->value)
        ranked->value = item->ranked->value;
}

/* Joins all items with the same name into one, which begins with `floor`, the sum of all floors. */
static struct ranked *items_fold(struct item *items, size_t count, uint64_t floor,
                                 void (*join)(struct ranked *ranked, const struct item *item),
                                 size_t *ret_count)
{
    struct ranked *folded = memory_checked(malloc((count + 1) * sizeof *folded));
    size_t used = 0;
    qsort(items, count, sizeof *items, ranked_by_name);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || ranked_by_name(&items[i - 1], &items[i]) != 0) {
            folded[used] = *items[i].ranked;
            folded[used].value = folded[used].error = floor;
            used++;
        }
        join(&folded[used - 1], &items[i]);
    }
    qsort(folded, used, sizeof *folded, ranked_by_least_value);
    *ret_count = used;
    return folded;
}

struct ranked *heavy_hitters_merge(const struct heavy_hitters *const *all, size_t count,
                                   size_t *ret_count)
{
    struct item *items = memory_checked(malloc((count * HEAVY_HITTERS_MOST + 1) * sizeof *items));
    size_t used = 0;
    uint64_t floors = 0;
    for (size_t i = 0; i < count; i++) {
        const struct heavy_hitters *hitters = all[i];
        bool is_full = hitters->used == HEAVY_HITTERS_MOST;
        uint64_t floor =
            is_full ? hitters->all[ranked_least(hitters->all, HEAVY_HITTERS_MOST)].value : 0;
        floors += floor;
        for (size_t j = 0; j < hitters->used; j++)
            items[used++] = (struct item){&hitters->all[j], floor};
    }
    struct ranked *folded = items_fold(items, used, floors, item_add, ret_count);
    free(items);
    return folded;
}

struct ranked *peaks_merge(const struct peaks *const *all, size_t count, size_t *ret_count)
{
    struct item *items = memory_checked(malloc((count * PEAKS_MOST + 1) * sizeof *items));
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < all[i]->used; j++)
            items[used++] = (struct item){&all[i]->all[j], 0};
    struct ranked *folded = items_fold(items, used, 0, item_raise, ret_count);
    free(items);
    return folded;
}
