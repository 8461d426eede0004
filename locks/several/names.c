#include "locks/several/names.h"

#include "base/memory.h"

#include <stdlib.h>

static int names_compare(const void *one, const void *other)
{
    const struct slice *a = one, *b = other;
    size_t common = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, common);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* Copies the text to `*end`, and moves `*end` behind it. An absent text stays absent. */
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

int64_t names_number(const struct names *names)
{
    static const uint64_t EXACT = (UINT64_C(1) << 52) - 1; /* a double has it exactly */
    uint64_t hash = 14695981039346656037U;
    if (names->count == 1)
        return 0;
    for (size_t i = 0; i < names->count; i++) {
        const struct slice *name = &names->each[i];
        for (size_t j = 0; j < name->length; j++)
            hash = (hash ^ (unsigned char)name->bytes[j]) * 1099511628211U;
        hash *= 1099511628211U; /* as for a NUL, which no name has */
    }
    return (int64_t)((hash ^ hash >> 52) & EXACT) | 1;
}
