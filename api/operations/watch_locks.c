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
    ID_LONGEST = 2 * DECIMAL_LONGEST + 1,
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
    char name[NAME_LENGTH]; /* of the position */
    struct page page;       /* what this round has brought so far */
    size_t ahead;           /* how many locks to ask for, so that most fit into the page */
};

static void watch_locks_look(struct watching *watching);

/* Frees the watch: the exchange has ended, or the client has gone. */
static void watch_locks_let_go(struct exchange *exchange)
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
    page_add(&watching->page, view->version, name, text);
}

static bool watch_locks_wants(void *context, struct slice name)
{
    const struct watching *watching = context;
    return permission_to_read(watching->events.exchange, name);
}

/* A reply has one version only. If the client asked for everything held and not all of it fits, it
 * must use GET /locks for that; the reply has the version to go on from. */
static void watch_locks_answer(struct watching *watching, bool complete)
{
    struct exchange *exchange = watching->events.exchange;
    const struct page *page = &watching->page;
    const struct prefix_position *position = &watching->position;
    bool began = !complete && position->since > position->after;
    char *text = memory_checked(malloc(page->bytes + page->count + REPLY_REST));
    char *at =
        decimal_put(stpcpy(text, "{\"version\":"), began ? position->since : position->after);
    at = stpcpy(stpcpy(at, ",\"changed\":"), page->count > 0 ? "true" : "false");
    at = stpcpy(stpcpy(at, ",\"complete\":"), complete ? "true" : "false");
    at = stpcpy(at, ",\"locks\":[");
    for (size_t i = 0; i < page->count; i++) {
        if (i > 0)
            *at++ = ',';
        at = mempcpy(at, page->locks[i]->text.bytes, page->locks[i]->text.length);
    }
    stpcpy(at, "]}\n");
    reply_owned(exchange, 200, "application/json", text);
    exchange_resume(exchange);
}

/* Writes AFTER, or AFTER-SINCE while the list of held locks is not complete. */
static void watch_locks_write_id(int64_t after, int64_t since, char id[ID_LONGEST + 1])
{
    char *end = decimal_put(id, after);
    if (since > after) {
        *end++ = '-';
        end = decimal_put(end, since);
    }
    *end = '\0';
}

/* Whether a client that has this lock has every earlier change, so that it can resume at its
 * version. Beyond the position of the round, an unseen lock may have changed earlier. */
static bool is_a_stop(const struct page *page, size_t i, const struct prefix_position *position)
{
    int64_t version = page->locks[i]->version;
    return version < position->after && i + 1 < page->count &&
           page->locks[i + 1]->version != version;
}

static void send_locks(struct watching *watching)
{
    const struct page *page = &watching->page;
    const struct prefix_position *position = &watching->position;
    char id[ID_LONGEST + 1];
    for (size_t i = 0; i < page->count; i++) {
        bool is_last = i + 1 == page->count && position->name.length == 0;
        bool has_id = is_last || is_a_stop(page, i, position);
        watch_locks_write_id(is_last ? position->after : page->locks[i]->version, position->since,
                             id);
        events_event(&watching->events, "lock", has_id ? id : NULL, page->locks[i]->text);
    }
    watch_locks_write_id(position->after, position->since, id);
    if (page->count == 0)
        events_nothing(&watching->events, id);
}

/* Adapts `ahead`, so that Redis is not asked again for locks that do not fit. */
static void look_ahead(struct watching *watching)
{
    const struct page *page = &watching->page;
    size_t next = page->left_out ? page->count + 1 : 2 * watching->ahead;
    watching->ahead = next < page->most ? next : page->most;
}

static void watch_locks_send_round(struct watching *watching, bool complete)
{
    const struct prefix_position *position = &watching->position;
    char text[REPLY_REST];
    if (!complete) {
        char *end =
            decimal_put(stpcpy(text, "{\"version\":"),
                        position->since > position->after ? position->since : position->after);
        stpcpy(end, "}");
        events_event(&watching->events, "incomplete", NULL, slice_of(text));
    }
    send_locks(watching);
    look_ahead(watching);
    page_clear(&watching->page);
    events_end_round(&watching->events);
}

/* Copies the position's name, which page_limit points into the page. */
static void go_to(struct watching *watching, const struct prefix_position *reached)
{
    struct prefix_position position = *reached;
    page_limit(&watching->page, &position);
    if (position.name.length > 0)
        memcpy(watching->name, position.name.bytes, position.name.length);
    position.name.bytes = watching->name;
    watching->position = position;
}

static void watch_locks_on_looked(void *context, enum locks_result result,
                                  const struct prefix_position *reached, bool complete,
                                  const char *error)
{
    struct watching *watching = context;
    watching->watch = NULL;
    if (result != LOCKS_DONE || !events_may_be_seen(&watching->events)) {
        page_clear(&watching->page);
        events_fail(&watching->events, error ? error : "This batond is stopping");
        return;
    }
    go_to(watching, reached);
    if (watching->events.exchange->wants_events)
        watch_locks_send_round(watching, complete);
    else
        watch_locks_answer(watching, complete);
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
    page->tears = exchange->wants_events;
}

enum handling watch_locks(struct exchange *exchange)
{
    struct watching *watching = memory_checked(calloc(1, sizeof *watching));
    events_read(&watching->events, exchange);
    watching->position = (struct prefix_position){
        .after = exchange->parameters.numbers[FIELD_AFTER], .since = exchange->parameters.since};
    set_limits(&watching->page, exchange);
    watching->ahead = exchange->wants_events && watching->page.most > PORTION_FIRST
                          ? PORTION_FIRST
                          : watching->page.most;
    exchange->below = watching;
    exchange->hung_up = watch_locks_let_go;
    exchange->drained = watch_locks_on_drained;
    watch_locks_look(watching);
    return WAITING;
}
