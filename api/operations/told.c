#include "api/operations/told.h"

#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/stats/happening.h"

#include <stdlib.h>

/* Its texts stand behind the grants. */
struct told {
    struct asker asker;
    int64_t keep_ms;
    struct slice token;
    struct slice owner;
    enum lock_mode mode;
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
    bool is_single = exchange->grant.attempt.text[0] != '\0';
    const struct grant *grants = is_single ? &exchange->grant : exchange->grants;
    size_t count = is_single ? 1 : exchange->grant_count;
    struct slice token = exchange->stored_token;
    struct slice owner = exchange->parameters.texts[FIELD_OWNER];
    size_t length = token.length + owner.length;
    if (count == 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        length += grants[i].name.length;
    struct told *told = malloc(sizeof *told + count * sizeof *grants + length);
    if (!told)
        abort();
    *told = (struct told){
        .asker = asker_of(exchange),
        .keep_ms = exchange->keep_ms,
        .token = token,
        .owner = owner,
        .mode = (enum lock_mode)exchange->parameters.numbers[FIELD_LOCK_MODE],
        .count = count,
    };
    memcpy(told->grants, grants, count * sizeof *grants);
    char *text = (char *)(told->grants + count);
    text += copy(&told->token, text);
    text += copy(&told->owner, text);
    for (size_t i = 0; i < count; i++)
        text += copy(&told->grants[i].name, text);
    return told;
}

static void take_back(const struct told *told, const struct grant *grant)
{
    struct happening happening = happening_of(HAPPENING_TAKEN_BACK, grant->name);
    happening.owner = told->owner;
    happening.mode = told->mode;
    happening.fence = grant->fence;
    if (grant->is_new)
        asker_tell(&told->asker, happening);
    locks_take_back(told->asker.api->locks, grant->name, told->token, &grant->attempt,
                    told->keep_ms);
}

void told_take_back(struct told *told)
{
    for (size_t i = 0; i < told->count; i++)
        take_back(told, &told->grants[i]);
    told_free(told);
}

void told_free(struct told *told)
{
    if (told)
        asker_clear(&told->asker);
    free(told);
}
