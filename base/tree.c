#include "base/tree.h"

#include <search.h>
#include <stdlib.h>

static int tree_compare(const void *left, const void *right)
{
    const struct slice *one = left, *other = right;
    if (one->length != other->length)
        return one->length < other->length ? -1 : 1;
    return memcmp(one->bytes, other->bytes, one->length);
}

void *tree_find(void *const *tree, struct slice key)
{
    void *const *found = tfind(&key, tree, tree_compare);
    return found ? *found : NULL;
}

void tree_add(void **tree, const void *item)
{
    if (!tsearch(item, tree, tree_compare))
        abort();
}

void tree_remove(void **tree, const void *item)
{
    tdelete(item, tree, tree_compare);
}
