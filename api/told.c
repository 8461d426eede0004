#include "api/told.h"

#include "api/api.h"

#include <stdlib.h>

/* Its texts stand behind the grants. */
struct told {
    struct locks *locks;
    int64_t keep_ms;
    struct slice token;
    size_t count;
    struct grant grants[];
};

static size_t copy(struct slice *slice, char *bytes)
{
    if (slice->length > 0)
        memcpy(bytes, slice->bytes, slice->length);
    slice->bytes = bytes;
    return slice->length;
}

struct told *told_new(const struct exchange *exchange)
{
    struct grant single = {exchange->name, exchange->granted};
    bool is_single = exchange->granted.text[0] != '\0';
    const struct grant *grants = is_single ? &single : exchange->grants;
    size_t count = is_single ? 1 : exchange->grant_count;
    struct slice token = exchange->stored_token;
    size_t length = token.length;
    if (count == 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        length += grants[i].name.length;
    struct told *told = malloc(sizeof *told + count * sizeof *grants + length);
    if (!told)
        abort();
    *told = (struct told){exchange->api->locks, exchange->keep_ms, token, count};
    memcpy(told->grants, grants, count * sizeof *grants);
    char *text = (char *)(told->grants + count);
    text += copy(&told->token, text);
    for (size_t i = 0; i < count; i++)
        text += copy(&told->grants[i].name, text);
    return told;
}

void told_take_back(struct told *told)
{
    for (size_t i = 0; i < told->count; i++)
        locks_take_back(told->locks, told->grants[i].name, told->token, &told->grants[i].attempt,
                        told->keep_ms);
    told_free(told);
}

void told_free(struct told *told)
{
    free(told);
}
