#include "base/sketch.h"

#include <stdbool.h>
#include <stdlib.h>

static bool is_name_of(const struct ranked *ranked, struct slice name)
{
    return ranked->length == name.length && memcmp(ranked->name, name.bytes, name.length) == 0;
}

/* Where the name is; `used` where it is not. */
static size_t find(const uint64_t *hashes, const struct ranked *all, size_t used, uint64_t hash,
                   struct slice name)
{
    size_t i = 0;
    while (i < used && (hashes[i] != hash || !is_name_of(&all[i], name)))
        i++;
    return i;
}

static size_t least_of(const struct ranked *all, size_t used)
{
    size_t least = 0;
    for (size_t i = 1; i < used; i++)
        if (all[i].value < all[least].value)
            least = i;
    return least;
}

static void set_name(struct ranked *ranked, struct slice name)
{
    size_t length = name.length < RANKED_NAME ? name.length : RANKED_NAME;
    ranked->length = (unsigned char)length;
    memcpy(ranked->name, name.bytes, length);
}

void sketch_add(struct sketch *sketch, uint64_t hash, struct slice name, uint64_t count)
{
    size_t place = find(sketch->hashes, sketch->all, sketch->used, hash, name);
    if (place == sketch->used) {
        if (sketch->used < SKETCH_PLACES)
            sketch->used++;
        else
            place = least_of(sketch->all, SKETCH_PLACES);
        sketch->hashes[place] = hash;
        sketch->all[place].error = sketch->all[place].value; /* 0 in a new place */
        set_name(&sketch->all[place], name);
    }
    sketch->all[place].value += count;
}

/* Most values are below all that there are. */
void peaks_note(struct peaks *peaks, uint64_t hash, struct slice name, uint64_t value)
{
    bool is_full = peaks->used == PEAKS_PLACES;
    if (is_full && value <= peaks->all[peaks->least].value)
        return;
    size_t place = find(peaks->hashes, peaks->all, peaks->used, hash, name);
    if (place == peaks->used) {
        if (is_full)
            place = peaks->least;
        else
            peaks->used++;
        peaks->hashes[place] = hash;
        set_name(&peaks->all[place], name);
    }
    if (peaks->all[place].value < value)
        peaks->all[place].value = value;
    peaks->least = least_of(peaks->all, peaks->used);
}

/* Merging. */

/* One name in one summary, and what that summary says of all names it does not have. */
struct item {
    const struct ranked *ranked;
    uint64_t floor;
};

static int by_name(const void *left, const void *right)
{
    const struct ranked *one = ((const struct item *)left)->ranked;
    const struct ranked *other = ((const struct item *)right)->ranked;
    if (one->length != other->length)
        return one->length < other->length ? -1 : 1;
    return memcmp(one->name, other->name, one->length);
}

/* By what is certain, so that a name which took the place of another that came often does not stand
 * before those that really did. */
static int by_least_value(const void *left, const void *right)
{
    const struct ranked *one = left, *other = right;
    uint64_t least = one->value - one->error, other_least = other->value - other->error;
    if (least != other_least)
        return least > other_least ? -1 : 1;
    return one->value == other->value ? 0 : one->value > other->value ? -1 : 1;
}

static void add(struct ranked *ranked, const struct item *item)
{
    ranked->value += item->ranked->value - item->floor;
    ranked->error += item->ranked->error - item->floor;
}

static void raise(struct ranked *ranked, const struct item *item)
{
    if (ranked->value < item->ranked->value)
        ranked->value = item->ranked->value;
}

/* Makes one of all items with the same name; each begins with `floor`, those of all summaries. */
static struct ranked *fold(struct item *items, size_t count, uint64_t floor,
                           void (*join)(struct ranked *ranked, const struct item *item),
                           size_t *ret_count)
{
    struct ranked *folded = malloc((count + 1) * sizeof *folded);
    size_t used = 0;
    if (!folded)
        abort();
    qsort(items, count, sizeof *items, by_name);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || by_name(&items[i - 1], &items[i]) != 0) {
            folded[used] = *items[i].ranked;
            folded[used].value = folded[used].error = floor;
            used++;
        }
        join(&folded[used - 1], &items[i]);
    }
    qsort(folded, used, sizeof *folded, by_least_value);
    *ret_count = used;
    return folded;
}

static struct item *new_items(size_t most)
{
    struct item *items = malloc((most + 1) * sizeof *items);
    if (!items)
        abort();
    return items;
}

struct ranked *sketches_merge(const struct sketch *const *all, size_t count, size_t *ret_count)
{
    struct item *items = new_items(count * SKETCH_PLACES);
    size_t used = 0;
    uint64_t floors = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sketch *sketch = all[i];
        bool is_full = sketch->used == SKETCH_PLACES;
        uint64_t floor = is_full ? sketch->all[least_of(sketch->all, SKETCH_PLACES)].value : 0;
        floors += floor;
        for (size_t j = 0; j < sketch->used; j++)
            items[used++] = (struct item){&sketch->all[j], floor};
    }
    struct ranked *folded = fold(items, used, floors, add, ret_count);
    free(items);
    return folded;
}

struct ranked *peaks_merge(const struct peaks *const *all, size_t count, size_t *ret_count)
{
    struct item *items = new_items(count * PEAKS_PLACES);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < all[i]->used; j++)
            items[used++] = (struct item){&all[i]->all[j], 0};
    struct ranked *folded = fold(items, used, 0, raise, ret_count);
    free(items);
    return folded;
}
