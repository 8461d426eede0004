/* order.h: items in the order of a number, in a search tree of tsearch(3). */
#ifndef BATON_BASE_ORDER_H
#define BATON_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: it is empty. The items belong to the caller. */
struct order {
    void *tree;
    size_t count;
};

/* A member of the item, for one order. Zeroed: the item is not in the order. */
struct order_place {
    int64_t at;
    void *item; /* NULL while it is not in the order */
};

void order_add(struct order *order, struct order_place *place, int64_t at, void *item);

/* Does nothing if the item is not in the order. */
void order_remove(struct order *order, struct order_place *place);

/* The first place beyond this number; NULL: none. Takes logarithmic time, as everything here. */
struct order_place *order_after(const struct order *order, int64_t at);

/* The place that comes next; it may have the same number. */
struct order_place *order_next(const struct order *order, const struct order_place *place);

/* The first of two places, even if they are in different orders. Takes NULL. */
struct order_place *order_first(struct order_place *one, struct order_place *other);

#endif
