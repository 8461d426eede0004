#include "base/order.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

/* Places of one number are ordered by address: no two places are equal. */
static int order_compare(const void *left, const void *right)
{
    const struct order_place *one = left, *other = right;
    if (one->at != other->at)
        return one->at < other->at ? -1 : 1;
    return ((uintptr_t)one > (uintptr_t)other) - ((uintptr_t)one < (uintptr_t)other);
}

void order_add(struct order *order, struct order_place *place, int64_t at, void *item)
{
    *place = (struct order_place){at, item};
    if (!tsearch(place, &order->tree, order_compare))
        abort();
    order->count++;
}

void order_remove(struct order *order, struct order_place *place)
{
    if (!place->item)
        return;
    tdelete(place, &order->tree, order_compare);
    place->item = NULL;
    order->count--;
}

struct search {
    int64_t at;
    const struct order_place *from; /* NULL: from after all places of the number */
    struct order_place *next;
};

/* Compares for tfind(3). On the way down the tree, the last place that the search passes on the
 * left is the next one. */
static int order_pass(const void *key, const void *other)
{
    struct search *search = (struct search *)(uintptr_t)key;
    struct order_place *place = (struct order_place *)(uintptr_t)other;
    bool is_beyond = place->at != search->at
                         ? place->at > search->at
                         : search->from && (uintptr_t)place > (uintptr_t)search->from;
    if (is_beyond)
        search->next = place;
    return is_beyond ? -1 : 1;
}

static struct order_place *order_search(const struct order *order, struct search search)
{
    tfind(&search, (void *const *)&order->tree, order_pass);
    return search.next;
}

struct order_place *order_after(const struct order *order, int64_t at)
{
    return order_search(order, (struct search){.at = at});
}

struct order_place *order_next(const struct order *order, const struct order_place *place)
{
    return order_search(order, (struct search){.at = place->at, .from = place});
}

struct order_place *order_first(struct order_place *one, struct order_place *other)
{
    if (!one || !other)
        return one ? one : other;
    return order_compare(one, other) < 0 ? one : other;
}
