#include "api/access/completion.h"
#include "api/access/permission.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/page.h"
#include "api/http/represent.h"
#include "api/operations/events.h"
#include "api/operations/operations.h"
#include "base/decimal.h"
#include "base/memory.h"

enum {
    REPLY_REST = 128,          /* bytes of a reply beside the locks */
    REPLY_BYTES = 1024 * 1024, /* of locks in a reply */
    PORTION = 128,             /* locks that one round of a stream sends, at most... */
    PORTION_BYTES = 16 * 1024, /* ...and bytes of them */
    PORTION_FIRST = 16,        /* locks to ask for while their length is unknown */
};

struct watching {
    struct events events;
    struct prefix_watch *watch; /* NULL while nothing is under way */
    struct prefix_position position;
    bool in_snapshot; /* the stream has begun one that has not ended */
    struct page page; /* what this round has brought so far */
    size_t ahead;     /* how many locks to ask for, so that most fit into the page */
};

static void watch_locks_look(struct watching *watching);

/* Frees the watch: the exchange has ended, or the client has gone. */
static void watch_locks_end(struct exchange *exchange)
{
    struct watching *watching = exchange->below;
    exchange->hung_up = NULL;
    exchange->drained = NULL;
    events_close(&watching->events);
    if (watching->watch)
        locks_unwatch_prefix(watching->watch);
    page_clear(&watching->page);
    free(watching);
}

/* All watchers share one text of a lock. */
static void watch_locks_add_lock(void *context, struct slice name, const struct lock_view *view,
                                 char **shared)
{
    struct watching *watching = context;
    if (!*shared)
        *shared = dump_line(represent_view(name, view));
    struct slice text = {*shared, strlen(*shared) - 1};
    page_add(&watching->page, view->version, text);
}

static bool watch_locks_wants(void *context, struct slice name)
{
    const struct watching *watching = context;
    return permission_to_read(watching->events.exchange, name);
}

static bool has_snapshot(const struct watching *watching)
{
    return watching->position.snapshot > watching->position.after;
}

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

/* A snapshot in a plain reply is cut: GET /locks has the rest. */
static void watch_locks_answer(struct watching *watching, bool begins)
{
    struct exchange *exchange = watching->events.exchange;
    const struct page *page = &watching->page;
    const struct prefix_position *position = &watching->position;
    bool is_cut = has_snapshot(watching);
    bool complete = !is_cut && (!begins || exchange->parameters.numbers[FIELD_AFTER] == 0);
    char *text = memory_checked(malloc(page->bytes + page->count + REPLY_REST));
    char *at =
        decimal_put(stpcpy(text, "{\"version\":"), is_cut ? position->snapshot : position->after);
    at = stpcpy(stpcpy(at, ",\"changed\":"), truth(page->count > 0 || !complete));
    at = stpcpy(stpcpy(at, ",\"complete\":"), truth(complete));
    at = stpcpy(at, is_cut ? ",\"more\":true,\"locks\":[" : ",\"locks\":[");
    for (size_t i = 0; i < page->count; i++) {
        if (i > 0)
            *at++ = ',';
        at = mempcpy(at, page->locks[i]->text.bytes, page->locks[i]->text.length);
    }
    stpcpy(at, "]}\n");
    reply_owned(exchange, 200, "application/json", text);
    exchange_resume(exchange);
}

/* Sends an event of a snapshot, with its version as data. */
static void send_mark(struct watching *watching, const char *event, const char *id, int64_t version)
{
    char data[REPLY_REST];
    stpcpy(decimal_put(stpcpy(data, "{\"version\":"), version), "}");
    events_event(&watching->events, event, id, slice_of(data));
}

/* During a snapshot a client has no place to resume at: its id is empty. */
static void watch_locks_send_round(struct watching *watching, bool begins)
{
    const struct page *page = &watching->page;
    const struct prefix_position *position = &watching->position;
    bool goes_on = has_snapshot(watching), ends = watching->in_snapshot || begins;
    char id[DECIMAL_TEXT] = "";
    if (begins)
        send_mark(watching, "snapshot", "", position->snapshot);
    ends = ends && !goes_on;
    watching->in_snapshot = goes_on;
    if (!goes_on)
        *decimal_put(id, position->after) = '\0';
    for (size_t i = 0; i < page->count; i++) {
        bool has_id = i + 1 == page->count && !goes_on && !ends;
        events_event(&watching->events, "lock", has_id ? id : NULL, page->locks[i]->text);
    }
    if (ends)
        send_mark(watching, "complete", id, position->after);
    else if (page->count == 0)
        events_nothing(&watching->events, id);
}

/* Adapts `ahead`, so that Redis is not asked again for locks that do not fit. */
static void look_ahead(struct watching *watching)
{
    const struct page *page = &watching->page;
    size_t next = page->left_out > 0 ? page->count + 1 : 2 * watching->ahead;
    watching->ahead = next < page->most ? next : page->most;
}

static void watch_locks_on_looked(void *context, enum locks_result result,
                                  const struct prefix_position *reached, bool begins,
                                  const char *error)
{
    struct watching *watching = context;
    watching->watch = NULL;
    if (result != LOCKS_DONE || !events_may_be_seen(&watching->events)) {
        page_clear(&watching->page);
        events_fail(&watching->events, error ? error : "This batond is stopping");
        return;
    }
    watching->position = *reached;
    watching->position.after = page_reaches(&watching->page, reached->after);
    if (!watching->events.exchange->wants_events) {
        watch_locks_answer(watching, begins);
        return;
    }
    watch_locks_send_round(watching, begins);
    look_ahead(watching);
    page_clear(&watching->page);
    events_end_round(&watching->events);
}

static void watch_locks_look(struct watching *watching)
{
    const struct exchange *exchange = watching->events.exchange;
    const struct prefix_listener listener = {watching, watch_locks_wants, watch_locks_add_lock,
                                             watch_locks_on_looked};
    /* A client without a version gets the held locks at once, even if there are none. */
    int64_t wait_ms = watching->position.after > 0 ? events_wait(&watching->events) : 0;
    watching->watch =
        locks_watch_prefix(exchange->api->locks, exchange->parameters.texts[FIELD_PREFIX],
                           &watching->position, wait_ms, watching->ahead, &listener);
}

/* The client has read the last round, so the next one begins. */
static void watch_locks_on_drained(struct exchange *exchange)
{
    struct watching *watching = exchange->below;
    if (!watching->watch)
        watch_locks_look(watching);
}

static void set_limits(struct page *page, const struct exchange *exchange)
{
    size_t limit = (size_t)exchange->parameters.numbers[FIELD_PAGE];
    size_t most = exchange->wants_events ? PORTION : LOCKS_LIST_LONGEST;
    page->most = limit > 0 && limit < most ? limit : most;
    page->most_bytes = exchange->wants_events ? PORTION_BYTES : REPLY_BYTES;
}

enum handling watch_locks(struct exchange *exchange)
{
    struct watching *watching = memory_checked(calloc(1, sizeof *watching));
    events_read(&watching->events, exchange);
    watching->position.after = exchange->parameters.numbers[FIELD_AFTER];
    set_limits(&watching->page, exchange);
    watching->ahead = exchange->wants_events && watching->page.most > PORTION_FIRST
                          ? PORTION_FIRST
                          : watching->page.most;
    exchange->below = watching;
    exchange->hung_up = watch_locks_end;
    exchange->drained = watch_locks_on_drained;
    watch_locks_look(watching);
    return WAITING;
}
