#include "api/api.h"
#include "api/events.h"
#include "api/operations.h"
#include "api/permission.h"
#include "api/represent.h"

#include <stdlib.h>

struct watching {
    struct events events;
    struct prefix_watch *watch; /* NULL while nothing is under way */
    json_t *locks;              /* what this round has brought so far */
};

static void look(struct watching *watching);

/* The exchange has ended, or the client has gone. */
static void let_go(struct exchange *exchange)
{
    struct watching *watching = exchange->below;
    exchange->hung_up = NULL;
    if (watching->watch)
        locks_unwatch_prefix(watching->watch);
    json_decref(watching->locks);
    free(watching);
}

static void add_lock(void *context, struct slice name, const struct lock_view *view)
{
    struct watching *watching = context;
    json_array_append_new(watching->locks, represent_view(name, view));
}

static bool wants(void *context, struct slice name)
{
    const struct watching *watching = context;
    return permission_to_read(watching->events.exchange, name);
}

static void answer(struct watching *watching, int64_t version, bool complete)
{
    struct exchange *exchange = watching->events.exchange;
    json_t *document = json_object();
    json_object_set_new(document, "version", json_integer(version));
    json_object_set_new(document, "changed", json_boolean(json_array_size(watching->locks) > 0));
    json_object_set_new(document, "complete", json_boolean(complete));
    json_object_set(document, "locks", watching->locks);
    reply_json(exchange, 200, "application/json", document);
    exchange_resume(exchange);
}

/* An event for each lock. Only the last has the id, so that who gets a part of them asks for all of
 * them again. */
static void send_round(struct watching *watching, int64_t version, bool complete)
{
    size_t i, count = json_array_size(watching->locks);
    json_t *lock;
    char *text = NULL;
    watching->events.after = version;
    if (!complete)
        text = events_add(text, "incomplete", 0, json_pack("{s:I}", "version", version));
    json_array_foreach (watching->locks, i, lock)
        text = events_add(text, "lock", i + 1 == count ? version : 0, json_incref(lock));
    if (count == 0)
        text = events_add_nothing(text, version);
    json_array_clear(watching->locks);
    if (events_send(&watching->events, text))
        look(watching);
}

static void looked(void *context, enum locks_result result, int64_t version, bool complete,
                   const char *error)
{
    struct watching *watching = context;
    watching->watch = NULL;
    if (result != LOCKS_DONE || !events_may_be_seen(&watching->events))
        events_fail(&watching->events, error ? error : "this batond is stopping");
    else if (watching->events.exchange->wants_events)
        send_round(watching, version, complete);
    else
        answer(watching, version, complete);
}

static void look(struct watching *watching)
{
    const struct exchange *exchange = watching->events.exchange;
    const struct prefix_listener listener = {watching, wants, add_lock, looked};
    int64_t after = watching->events.after;
    int64_t limit = exchange->parameters.numbers[FIELD_PAGE];
    /* Who knows nothing yet is told at once what is held, be it nothing. */
    int64_t wait_ms = after > 0 ? events_wait(&watching->events) : 0;
    watching->watch =
        locks_watch_prefix(exchange->api->locks, exchange->parameters.texts[FIELD_PREFIX], after,
                           wait_ms, (size_t)(limit ? limit : LOCKS_LIST_LONGEST), &listener);
}

enum handling watch_locks(struct exchange *exchange)
{
    struct watching *watching = calloc(1, sizeof *watching);
    if (!watching)
        abort();
    watching->locks = json_array();
    events_read(&watching->events, exchange);
    exchange->below = watching;
    exchange->hung_up = let_go;
    look(watching);
    return WAITING;
}
