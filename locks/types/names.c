#include "locks/types/names.h"

#include "base/memory.h"

#include <stdlib.h>

static int names_compare(const void *one, const void *other)
{
    const struct slice *a = one, *b = other;
    size_t common = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, common);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* Moves the text to `*end`, and `*end` behind it. An absent text stays absent. */
static void names_move(struct slice *text, char **end)
{
    if (text->length == 0)
        return;
    memcpy(*end, text->bytes, text->length);
    text->bytes = *end;
    *end += text->length;
}

struct names *names_sorted(const struct slice *names, size_t count, struct slice *const *texts,
                           size_t text_count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += names[i].length;
    for (size_t i = 0; i < text_count; i++)
        bytes += texts[i]->length;

    struct names *copy = memory_checked(malloc(sizeof *copy + count * sizeof *names + bytes));
    copy->count = count;
    memcpy(copy->each, names, count * sizeof *names);
    qsort(copy->each, count, sizeof *names, names_compare);
    char *end = (char *)(copy->each + count);
    for (size_t i = 0; i < count; i++)
        names_move(&copy->each[i], &end);
    for (size_t i = 0; i < text_count; i++)
        names_move(texts[i], &end);
    return copy;
}
