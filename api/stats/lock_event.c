#include "api/stats/lock_event.h"

#include "api/http/context.h"
#include "base/monotonic.h"
#include "base/table.h"

static const char *const WORDS[] = {
#define LOCK_EVENT_WORD(name, word) [name] = word,
    ACQUIRE_ENDS(LOCK_EVENT_WORD) HOLD_ENDS(LOCK_EVENT_WORD) OTHER_LOCK_EVENTS(LOCK_EVENT_WORD)
#undef LOCK_EVENT_WORD
};

const char *lock_event_word(enum lock_event_kind kind)
{
    return WORDS[kind];
}

struct lock_event lock_event_of(enum lock_event_kind kind, struct slice name)
{
    return (struct lock_event){.kind = kind,
                               .name = name,
                               .fence = -1,
                               .ttl_ms = -1,
                               .held_ms = -1,
                               .waited_us = -1,
                               .count = 1};
}

/* Sets owner and principal from the stored form of an owner. */
static void lock_event_set_owner(struct lock_event *event, struct slice stored_owner)
{
    owner_split(stored_owner, &event->principal, &event->owner);
    if (event->principal.length == 0)
        event->principal = slice_of(NULL);
}

static struct slice principal_name(const struct principal *principal)
{
    return principal && principal->name.length > 0 ? principal->name : slice_of(NULL);
}

struct asker asker_of(const struct exchange *exchange)
{
    struct asker asker = {.api = exchange->api};
    if (exchange->principal)
        asker.principal = principal_keep(exchange->principal);
    memcpy(asker.request_id, exchange->head.request_id, sizeof asker.request_id);
    memcpy(asker.trace_id, exchange->head.trace_id, sizeof asker.trace_id);
    return asker;
}

void asker_clear(struct asker *asker)
{
    principal_drop(asker->principal);
    asker->principal = NULL;
}

static void lock_event_report(const struct api *api, const struct lock_event *event,
                              const struct exchange *exchange)
{
    if (api->on_lock_event)
        api->on_lock_event(api->lock_event_context, event, exchange);
}

/* The same, and notes the request's own result. */
static void lock_event_report_and_note(struct exchange *exchange, const struct lock_event *event)
{
    if (event->fence > 0)
        exchange->wait.noted.fence = event->fence;
    if (event->waited_us >= 0) {
        exchange->wait.noted.waited = true;
        exchange->wait.noted.waited_us += event->waited_us;
    }
    lock_event_report(exchange->api, event, exchange);
}

void asker_report(const struct asker *asker, struct lock_event event)
{
    event.principal = principal_name(asker->principal);
    event.request_id = slice_of(asker->request_id);
    event.trace_id = slice_of(asker->trace_id);
    lock_event_report(asker->api, &event, NULL);
}

/* Sets what all events of an exchange have in common. */
static struct lock_event lock_event_begin(const struct exchange *exchange,
                                          enum lock_event_kind kind, struct slice name)
{
    struct lock_event event = lock_event_of(kind, name);
    event.principal = principal_name(exchange->principal);
    event.request_id = slice_of(exchange->head.request_id);
    event.trace_id = slice_of(exchange->head.trace_id);
    return event;
}

/* The same for events of an acquire. */
static struct lock_event lock_event_begin_acquire(const struct exchange *exchange,
                                                  enum lock_event_kind kind, struct slice name)
{
    struct lock_event event = lock_event_begin(exchange, kind, name);
    event.owner = exchange->parameters.texts[FIELD_OWNER];
    event.mode = (enum lock_mode)exchange->parameters.numbers[FIELD_LOCK_MODE];
    return event;
}

void lock_event_set_release(struct lock_event *event, const struct release *release)
{
    struct slice realm;
    owner_split(release->owner, &realm, &event->owner);
    event->fence = release->fence;
    event->held_ms = release->held_ms;
}

static void lock_event_set_hold(struct lock_event *event, const struct hold *hold)
{
    struct slice realm;
    owner_split(hold->owner, &realm, &event->owner);
    event->mode = hold->mode;
    event->fence = hold->fence;
    event->ttl_ms = hold->ttl_ms;
}

/* Returns how long it has waited, -1 if not, and ends the wait. */
static int64_t lock_event_take_wait(struct exchange *exchange)
{
    int64_t waited = exchange->wait.queued_us ? monotonic_us() - exchange->wait.queued_us : -1;
    exchange->wait.queued_us = 0;
    return waited;
}

void lock_event_queued(struct exchange *exchange, struct slice name)
{
    exchange->wait.queued_us = monotonic_us();
    exchange->wait.queued_name = name;
    struct lock_event event = lock_event_begin_acquire(exchange, LOCK_EVENT_QUEUED, name);
    lock_event_report(exchange->api, &event, exchange);
}

/* How an acquire ends, by the result of the locks. */
#define ENDS(X)                                                                                    \
    X(LOCKS_DONE, LOCK_EVENT_GRANTED)                                                              \
    X(LOCKS_REPEATED, LOCK_EVENT_REPEATED)                                                         \
    X(LOCKS_LOCKED, LOCK_EVENT_LOCKED)                                                             \
    X(LOCKS_TOKEN_RELEASED, LOCK_EVENT_SPENT)                                                      \
    X(LOCKS_TOKEN_IN_USE, LOCK_EVENT_IN_USE)                                                       \
    X(LOCKS_NOT_HELD, LOCK_EVENT_NOT_HELD)                                                         \
    X(LOCKS_MAX_HELD, LOCK_EVENT_NOT_HELD)                                                         \
    X(LOCKS_TIMEOUT, LOCK_EVENT_TIMEOUT)                                                           \
    X(LOCKS_CANCELLED, LOCK_EVENT_CANCELLED)                                                       \
    X(LOCKS_SUPERSEDED, LOCK_EVENT_SUPERSEDED)                                                     \
    X(LOCKS_DRAINING, LOCK_EVENT_DRAINED)                                                          \
    X(LOCKS_TOO_MANY_WAITERS, LOCK_EVENT_TOO_MANY_WAITERS)                                         \
    X(LOCKS_UPGRADE_CONFLICT, LOCK_EVENT_UPGRADE_CONFLICT)                                         \
    X(LOCKS_UNCONFIRMED, LOCK_EVENT_UNCONFIRMED)                                                   \
    X(LOCKS_QUARANTINED, LOCK_EVENT_QUARANTINED)                                                   \
    X(LOCKS_DAMAGED, LOCK_EVENT_UNAVAILABLE)                                                       \
    X(LOCKS_UNAVAILABLE, LOCK_EVENT_UNAVAILABLE)

static const enum lock_event_kind END_OF[] = {ENDS(TABLE_ROW)};
TABLE_IS_COMPLETE(ENDS, LOCKS_RESULTS);

void lock_event_acquired(struct exchange *exchange, struct slice name, enum locks_result result,
                         const struct hold *hold)
{
    struct lock_event event = lock_event_begin_acquire(exchange, END_OF[result], name);
    if (hold)
        lock_event_set_hold(&event, hold);
    event.waited_us = lock_event_take_wait(exchange);
    lock_event_report_and_note(exchange, &event);
}

void lock_event_abandoned(struct exchange *exchange)
{
    struct slice name = exchange->name;
    if (exchange->wait.queued_us)
        name = exchange->wait.queued_name;
    else if (exchange->parameters.names)
        name = exchange->parameters.names[0];
    struct lock_event event = lock_event_begin_acquire(exchange, LOCK_EVENT_ABANDONED, name);
    event.waited_us = lock_event_take_wait(exchange);
    lock_event_report_and_note(exchange, &event);
}

void lock_event_all_taken_back(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->grant_count; i++) {
        const struct grant *grant = &exchange->grants[i];
        if (!grant->is_new)
            continue;
        struct lock_event event =
            lock_event_begin_acquire(exchange, LOCK_EVENT_TAKEN_BACK, grant->name);
        event.fence = grant->fence;
        lock_event_report(exchange->api, &event, exchange);
    }
    exchange->grant_count = 0;
}

void lock_event_renewed(struct exchange *exchange, struct slice name, enum locks_result result,
                        const struct hold *hold)
{
    bool is_held = result == LOCKS_DONE;
    if (!is_held && result != LOCKS_NOT_HELD)
        return;
    struct lock_event event =
        lock_event_begin(exchange, is_held ? LOCK_EVENT_RENEWED : LOCK_EVENT_NOT_HELD, name);
    if (is_held)
        lock_event_set_hold(&event, hold);
    lock_event_report_and_note(exchange, &event);
}

void lock_event_released(struct exchange *exchange, struct slice name, enum locks_result result,
                         const struct release *release)
{
    bool is_done = result == LOCKS_DONE;
    if ((!is_done && result != LOCKS_NOT_HELD) ||
        (is_done && (release->cancelled || release->repeated)))
        return;
    struct lock_event event =
        lock_event_begin(exchange, is_done ? LOCK_EVENT_RELEASED : LOCK_EVENT_NOT_HELD, name);
    if (is_done)
        lock_event_set_release(&event, release);
    lock_event_report_and_note(exchange, &event);
}

void lock_event_expired(const struct api *api, const struct expiry *expiry)
{
    struct lock_event event = lock_event_of(LOCK_EVENT_EXPIRED, expiry->name);
    if (expiry->owner.bytes)
        lock_event_set_owner(&event, expiry->owner);
    event.mode = expiry->mode;
    event.fence = expiry->fence;
    event.held_ms = expiry->held_ms;
    event.count = expiry->count;
    lock_event_report(api, &event, NULL);
}

static void lock_event_set_holder(struct lock_event *event, const struct holder *holder)
{
    lock_event_set_owner(event, holder->owner);
    event->mode = holder->mode;
    event->fence = holder->fence;
    event->held_ms = holder->held_ms;
}

void lock_event_forced(struct exchange *exchange, const struct locks_reply *reply)
{
    const struct lock_view *ended = &reply->view;
    int64_t others = reply->broken.count - (int64_t)ended->holder_count;
    struct lock_event event = lock_event_begin(exchange, LOCK_EVENT_FORCED, exchange->name);
    event.reason = exchange->parameters.texts[FIELD_REASON];
    for (size_t i = 0; i < ended->holder_count; i++) {
        struct lock_event one = event;
        lock_event_set_holder(&one, &ended->holders[i]);
        lock_event_report(exchange->api, &one, exchange);
    }
    event.principal = slice_of(NULL);
    event.count = others;
    if (others > 0 || reply->broken.cleared)
        lock_event_report(exchange->api, &event, exchange);
}

void lock_event_reopened(struct exchange *exchange, int64_t count)
{
    struct lock_event event = lock_event_begin(exchange, LOCK_EVENT_REOPENED, slice_of(NULL));
    event.reason = exchange->parameters.texts[FIELD_REASON];
    event.count = count;
    lock_event_report(exchange->api, &event, exchange);
}
