#include "api/access/completion.h"
#include "api/access/permission.h"
#include "api/http/context.h"
#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/operations/events.h"
#include "api/operations/operations.h"
#include "base/decimal.h"
#include "base/memory.h"

struct watching {
    struct events events;
    struct watch *watch;   /* NULL while nothing is under way */
    struct watch_for what; /* and what the client knows */
};

static void watch_lock_refresh(struct watching *watching);

/* Frees the watch: the exchange has ended, or the client has gone. */
static void watch_lock_end(struct exchange *exchange)
{
    struct watching *watching = exchange->below;
    exchange->hung_up = NULL;
    exchange->drained = NULL;
    events_close(&watching->events);
    if (watching->watch)
        locks_unwatch(watching->watch);
    free(watching);
}

static json_t *represent_change(const struct exchange *exchange, const struct locks_reply *reply)
{
    json_t *document = represent_view_for(exchange, &reply->view);
    json_object_set_new(document, "changed", json_boolean(reply->changed));
    return document;
}

static void watch_lock_answer(struct exchange *exchange, const struct locks_reply *reply)
{
    etag_reply_view(exchange, &reply->view);
    if (exchange->wants_text)
        reply_view_line(exchange, &reply->view);
    else
        reply_json(exchange, 200, "application/json", represent_change(exchange, reply));
}

/* A stream about a hold begins with the lock as it is, whatever the client knows. */
static void watch_lock_send_round(struct watching *watching, const struct locks_reply *reply)
{
    struct events *events = &watching->events;
    if (reply->changed || (watching->what.token.length > 0 && !events->begun)) {
        char id[DECIMAL_LONGEST + 1], *line = dump_line(represent_change(events->exchange, reply));
        *decimal_put(id, reply->view.version) = '\0';
        watching->what.after = reply->view.version;
        watching->what.mine = reply->view.mine;
        watching->what.wanted = reply->view.queue_length > 0;
        events_event(events, "lock", id, (struct slice){line, strlen(line) - 1});
        free(line);
    } else {
        events_nothing(events, NULL);
    }
    events_end_round(events);
}

static void watch_lock_on_refreshed(void *context, const struct locks_reply *seen)
{
    struct watching *watching = context;
    struct exchange *exchange = watching->events.exchange;
    struct locks_reply shown = *seen, *reply = &shown;
    permission_hide_others(exchange, &shown.view);
    watching->watch = NULL;
    if (reply->result == LOCKS_DAMAGED && !watching->events.begun) {
        problem_unanswered(exchange, reply->result, reply->error);
        exchange_resume(exchange);
    } else if (reply->result != LOCKS_DONE || !events_may_be_seen(&watching->events)) {
        events_fail(&watching->events, reply->error ? reply->error : "This batond is stopping");
    } else if (exchange->wants_events) {
        watch_lock_send_round(watching, reply);
    } else {
        watch_lock_answer(exchange, reply);
        exchange_resume(exchange);
    }
}

static void watch_lock_refresh(struct watching *watching)
{
    const struct exchange *exchange = watching->events.exchange;
    watching->watch =
        locks_watch(exchange->api->locks, exchange->name, &watching->what,
                    events_wait(&watching->events), watch_lock_on_refreshed, watching);
}

/* The client has read the last round, so the next one begins. */
static void watch_lock_on_drained(struct exchange *exchange)
{
    struct watching *watching = exchange->below;
    if (!watching->watch)
        watch_lock_refresh(watching);
}

enum handling watch_lock(struct exchange *exchange)
{
    bool until_ended = field_given(&exchange->parameters, FIELD_UNTIL);
    if (until_ended && !field_given(&exchange->parameters, FIELD_LOCK_TOKEN)) {
        field_refuse(exchange, FIELD_UNTIL,
                     "only with the token of the hold. Send it as Lock-Token.");
        return ANSWERED;
    }
    struct watching *watching = memory_checked(calloc(1, sizeof *watching));
    events_read(&watching->events, exchange);
    watching->what = (struct watch_for){.after = watching->events.after,
                                        .token = exchange->holder.token,
                                        .mine = true,
                                        .until_ended = until_ended};
    exchange->below = watching;
    exchange->hung_up = watch_lock_end;
    exchange->drained = watch_lock_on_drained;
    watch_lock_refresh(watching);
    return WAITING;
}
