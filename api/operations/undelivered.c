#include "api/operations/undelivered.h"

#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/stats/lock_event.h"
#include "base/memory.h"

/* The texts are stored after the grants. */
struct undelivered {
    struct asker asker;
    int64_t keep_ms;
    struct slice token;
    struct slice owner;
    enum lock_mode mode;
    size_t count;
    struct grant grants[];
};

static size_t undelivered_copy(struct slice *slice, char *bytes)
{
    if (slice->length > 0)
        memcpy(bytes, slice->bytes, slice->length);
    slice->bytes = bytes;
    return slice->length;
}

struct undelivered *undelivered_new(const struct exchange *exchange)
{
    bool is_single = exchange->grant.attempt.text[0] != '\0';
    const struct grant *grants = is_single ? &exchange->grant : exchange->grants;
    size_t count = is_single ? 1 : exchange->grant_count;
    struct slice token = exchange->holder.token;
    struct slice owner = exchange->parameters.texts[FIELD_OWNER];
    size_t length = token.length + owner.length;
    if (count == 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        length += grants[i].name.length;
    struct undelivered *undelivered =
        memory_checked(malloc(sizeof *undelivered + count * sizeof *grants + length));
    *undelivered = (struct undelivered){
        .asker = asker_of(exchange),
        .keep_ms = exchange->wait.keep_ms,
        .token = token,
        .owner = owner,
        .mode = (enum lock_mode)exchange->parameters.numbers[FIELD_LOCK_MODE],
        .count = count,
    };
    memcpy(undelivered->grants, grants, count * sizeof *grants);
    char *text = (char *)(undelivered->grants + count);
    text += undelivered_copy(&undelivered->token, text);
    text += undelivered_copy(&undelivered->owner, text);
    for (size_t i = 0; i < count; i++)
        text += undelivered_copy(&undelivered->grants[i].name, text);
    return undelivered;
}

static void undelivered_take_back_grant(const struct undelivered *undelivered,
                                        const struct grant *grant)
{
    struct lock_event event = lock_event_of(LOCK_EVENT_TAKEN_BACK, grant->name);
    event.owner = undelivered->owner;
    event.mode = undelivered->mode;
    event.fence = grant->fence;
    if (grant->is_new)
        asker_report(&undelivered->asker, event);
    locks_take_back(undelivered->asker.api->locks, grant->name, undelivered->token, &grant->attempt,
                    undelivered->keep_ms);
}

void undelivered_take_back(struct undelivered *undelivered)
{
    for (size_t i = 0; i < undelivered->count; i++)
        undelivered_take_back_grant(undelivered, &undelivered->grants[i]);
    undelivered_free(undelivered);
}

void undelivered_free(struct undelivered *undelivered)
{
    if (undelivered)
        asker_clear(&undelivered->asker);
    free(undelivered);
}
