#include "api/stats/happening.h"

#include "api/http/context.h"
#include "base/table.h"

#include <time.h>

static const char *const WORDS[] = {
#define HAPPENING_WORD(name, word) [name] = word,
    ACQUIRE_ENDS(HAPPENING_WORD) HOLD_ENDS(HAPPENING_WORD) OTHER_HAPPENINGS(HAPPENING_WORD)
#undef HAPPENING_WORD
};

const char *happening_word(enum happening_kind kind)
{
    return WORDS[kind];
}

struct happening happening_of(enum happening_kind kind, struct slice name)
{
    return (struct happening){.kind = kind,
                              .name = name,
                              .fence = -1,
                              .ttl_ms = -1,
                              .held_ms = -1,
                              .waited_us = -1,
                              .count = 1};
}

void happening_set_owner(struct happening *happening, struct slice stored_owner)
{
    owner_split(stored_owner, &happening->principal, &happening->owner);
    if (happening->principal.length == 0)
        happening->principal = slice_of(NULL);
}

static struct slice name_of(const struct principal *principal)
{
    return principal && principal->name.length > 0 ? principal->name : slice_of(NULL);
}

struct asker asker_of(const struct exchange *exchange)
{
    struct asker asker = {.api = exchange->api};
    if (exchange->principal)
        asker.principal = principal_keep(exchange->principal);
    memcpy(asker.request_id, exchange->request_id, sizeof asker.request_id);
    memcpy(asker.trace_id, exchange->trace_id, sizeof asker.trace_id);
    return asker;
}

void asker_clear(struct asker *asker)
{
    principal_drop(asker->principal);
    asker->principal = NULL;
}

static void tell(const struct api *api, const struct happening *happening,
                 const struct exchange *exchange)
{
    if (api->happened)
        api->happened(api->happened_context, happening, exchange);
}

/* The same, and keeps what the request itself has come to. */
static void tell_and_note(struct exchange *exchange, const struct happening *happening)
{
    if (happening->fence > 0)
        exchange->noted.fence = happening->fence;
    if (happening->waited_us >= 0) {
        exchange->noted.waited = true;
        exchange->noted.waited_us += happening->waited_us;
    }
    tell(exchange->api, happening, exchange);
}

void asker_tell(const struct asker *asker, struct happening happening)
{
    happening.principal = name_of(asker->principal);
    happening.request_id = slice_of(asker->request_id);
    happening.trace_id = slice_of(asker->trace_id);
    tell(asker->api, &happening, NULL);
}

/* What all of an exchange have in common. */
static struct happening begin(const struct exchange *exchange, enum happening_kind kind,
                              struct slice name)
{
    struct happening happening = happening_of(kind, name);
    happening.principal = name_of(exchange->principal);
    happening.request_id = slice_of(exchange->request_id);
    happening.trace_id = slice_of(exchange->trace_id);
    return happening;
}

/* What an acquire asks for. */
static struct happening begin_acquire(const struct exchange *exchange, enum happening_kind kind,
                                      struct slice name)
{
    struct happening happening = begin(exchange, kind, name);
    happening.owner = exchange->parameters.texts[FIELD_OWNER];
    happening.mode = (enum lock_mode)exchange->parameters.numbers[FIELD_LOCK_MODE];
    return happening;
}

void happening_set_release(struct happening *happening, const struct release *release)
{
    struct slice realm;
    owner_split(release->owner, &realm, &happening->owner);
    happening->fence = release->fence;
    happening->held_ms = release->held_ms;
}

static void set_hold(struct happening *happening, const struct hold *hold)
{
    struct slice realm;
    owner_split(hold->owner, &realm, &happening->owner);
    happening->mode = hold->mode;
    happening->fence = hold->fence;
    happening->ttl_ms = hold->ttl_ms;
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

/* How long it has waited; from now on it does not. */
static int64_t take_wait(struct exchange *exchange)
{
    int64_t waited = exchange->queued_us ? now_us() - exchange->queued_us : -1;
    exchange->queued_us = 0;
    return waited;
}

void happening_queued(struct exchange *exchange, struct slice name)
{
    exchange->queued_us = now_us();
    exchange->queued_name = name;
    struct happening happening = begin_acquire(exchange, HAPPENING_QUEUED, name);
    tell(exchange->api, &happening, exchange);
}

/* How an acquire ends, by what the locks have answered. */
#define ENDS(X)                                                                                    \
    X(LOCKS_DONE, HAPPENING_GRANTED)                                                               \
    X(LOCKS_REPEATED, HAPPENING_REPEATED)                                                          \
    X(LOCKS_LOCKED, HAPPENING_LOCKED)                                                              \
    X(LOCKS_LIMIT_MISMATCH, HAPPENING_LIMIT_MISMATCH)                                              \
    X(LOCKS_TOKEN_RELEASED, HAPPENING_SPENT)                                                       \
    X(LOCKS_NOT_HELD, HAPPENING_NOT_HELD)                                                          \
    X(LOCKS_TIMEOUT, HAPPENING_TIMEOUT)                                                            \
    X(LOCKS_CANCELLED, HAPPENING_CANCELLED)                                                        \
    X(LOCKS_SUPERSEDED, HAPPENING_SUPERSEDED)                                                      \
    X(LOCKS_DRAINING, HAPPENING_DRAINED)                                                           \
    X(LOCKS_TOO_MANY_WAITERS, HAPPENING_TOO_MANY_WAITERS)                                          \
    X(LOCKS_UPGRADE_CONFLICT, HAPPENING_UPGRADE_CONFLICT)                                          \
    X(LOCKS_UNCONFIRMED, HAPPENING_UNCONFIRMED)                                                    \
    X(LOCKS_QUARANTINED, HAPPENING_QUARANTINED)                                                    \
    X(LOCKS_DAMAGED, HAPPENING_UNAVAILABLE)                                                        \
    X(LOCKS_UNAVAILABLE, HAPPENING_UNAVAILABLE)

static const enum happening_kind END_OF[] = {ENDS(TABLE_ROW)};
TABLE_IS_COMPLETE(ENDS, LOCKS_RESULTS);

void happening_acquired(struct exchange *exchange, struct slice name, enum locks_result result,
                        const struct hold *hold)
{
    struct happening happening = begin_acquire(exchange, END_OF[result], name);
    if (hold)
        set_hold(&happening, hold);
    happening.waited_us = take_wait(exchange);
    tell_and_note(exchange, &happening);
}

void happening_abandoned(struct exchange *exchange)
{
    struct slice name = exchange->name;
    if (exchange->queued_us)
        name = exchange->queued_name;
    else if (exchange->parameters.names)
        name = exchange->parameters.names[0];
    struct happening happening = begin_acquire(exchange, HAPPENING_ABANDONED, name);
    happening.waited_us = take_wait(exchange);
    tell_and_note(exchange, &happening);
}

void happening_all_taken_back(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->grant_count; i++) {
        const struct grant *grant = &exchange->grants[i];
        if (!grant->is_new)
            continue;
        struct happening happening = begin_acquire(exchange, HAPPENING_TAKEN_BACK, grant->name);
        happening.fence = grant->fence;
        tell(exchange->api, &happening, exchange);
    }
    exchange->grant_count = 0;
}

void happening_renewed(struct exchange *exchange, struct slice name, enum locks_result result,
                       const struct hold *hold)
{
    bool is_held = result == LOCKS_DONE;
    if (!is_held && result != LOCKS_NOT_HELD)
        return;
    struct happening happening =
        begin(exchange, is_held ? HAPPENING_RENEWED : HAPPENING_NOT_HELD, name);
    if (is_held)
        set_hold(&happening, hold);
    tell_and_note(exchange, &happening);
}

void happening_released(struct exchange *exchange, struct slice name, enum locks_result result,
                        const struct release *release)
{
    bool is_done = result == LOCKS_DONE;
    if ((!is_done && result != LOCKS_NOT_HELD) ||
        (is_done && (release->cancelled || release->repeated)))
        return;
    struct happening happening =
        begin(exchange, is_done ? HAPPENING_RELEASED : HAPPENING_NOT_HELD, name);
    if (is_done)
        happening_set_release(&happening, release);
    tell_and_note(exchange, &happening);
}

void happening_expired(const struct api *api, const struct expiry *expiry)
{
    struct happening happening = happening_of(HAPPENING_EXPIRED, expiry->name);
    if (expiry->owner.bytes)
        happening_set_owner(&happening, expiry->owner);
    happening.mode = expiry->mode;
    happening.fence = expiry->fence;
    happening.held_ms = expiry->held_ms;
    happening.count = expiry->count;
    tell(api, &happening, NULL);
}

void happening_forced(struct exchange *exchange, int64_t count, bool is_cleared)
{
    if (count == 0 && !is_cleared)
        return;
    struct happening happening = happening_of(HAPPENING_FORCED, exchange->name);
    happening.request_id = slice_of(exchange->request_id);
    happening.trace_id = slice_of(exchange->trace_id);
    happening.count = count;
    tell(exchange->api, &happening, exchange);
}

void happening_reopened(struct exchange *exchange, int64_t count)
{
    struct happening happening = begin(exchange, HAPPENING_REOPENED, slice_of(NULL));
    happening.reason = exchange->parameters.texts[FIELD_REASON];
    happening.count = count;
    tell(exchange->api, &happening, exchange);
}
