/* tree.h: items found by their key, in a search tree of tsearch(3). */
#ifndef BATON_BASE_TREE_H
#define BATON_BASE_TREE_H

#include "base/slice.h"

/* The first member of an item is its key, a struct slice. A tree is a pointer, NULL while it is
 * empty; its items belong to the caller. */

/* NULL if no item has this key. */
void *tree_find(void *const *tree, struct slice key);

/* No other item of the tree has the same key. */
void tree_add(void **tree, const void *item);

void tree_remove(void **tree, const void *item);

#endif
