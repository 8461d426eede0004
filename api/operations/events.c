#include "api/operations/events.h"

#include "api/access/completion.h"
#include "api/access/credentials.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "base/monotonic.h"

enum {
    BEHIND = 1024, /* unread bytes from which a client gets no `store` event */
    WAIT_DEFAULT_MS = 30000,
};

void events_read(struct events *events, struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    *events = (struct events){
        .exchange = exchange, .after = parameters->numbers[FIELD_AFTER], .until_ms = INT64_MAX};
    if (field_given(parameters, FIELD_WAIT))
        events->until_ms = monotonic_ms() + parameters->numbers[FIELD_WAIT];
}

void events_close(struct events *events)
{
    if (events->resumed)
        LIST_REMOVE(events, others);
    events->resumed = false;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The first round of a stream does not wait, so that the client soon gets the reply's head. */
int64_t events_wait(const struct events *events)
{
    const struct exchange *exchange = events->exchange;
    if (exchange->wants_events) {
        int64_t left = events->until_ms - monotonic_ms();
        return events->begun ? least(EVENTS_SILENCE_MS, left > 0 ? left : 0) : 0;
    }
    return field_given(&exchange->parameters, FIELD_WAIT)
               ? exchange->parameters.numbers[FIELD_WAIT]
               : least(WAIT_DEFAULT_MS, exchange->api->max_wait_ms);
}

static void events_write_text(const struct events *events, struct slice text)
{
    exchange_write(events->exchange, text.bytes, text.length);
}

static void events_write_id(const struct events *events, const char *id)
{
    events_write_text(events, slice_of("id: "));
    events_write_text(events, slice_of(id));
    events_write_text(events, slice_of("\n"));
}

/* The first bytes written go out with the reply's head. */
static void events_begin_round(struct events *events)
{
    if (!events->begun)
        exchange_stream(events->exchange, 200, "text/event-stream");
    events->begun = true;
}

void events_event(struct events *events, const char *event, const char *id, struct slice data)
{
    events_begin_round(events);
    if (id)
        events_write_id(events, id);
    events_write_text(events, slice_of("event: "));
    events_write_text(events, slice_of(event));
    events_write_text(events, slice_of("\ndata: "));
    events_write_text(events, data);
    events_write_text(events, slice_of("\n\n"));
}

void events_nothing(struct events *events, const char *id)
{
    events_begin_round(events);
    events_write_text(events, slice_of(": keep-alive\n"));
    if (id)
        events_write_id(events, id);
    events_write_text(events, slice_of("\n"));
}

static bool events_are_over(const struct events *events)
{
    const struct exchange *exchange = events->exchange;
    return exchange->api->draining || strcmp(exchange->head.method, "HEAD") == 0 ||
           monotonic_ms() >= events->until_ms;
}

bool events_may_be_seen(const struct events *events)
{
    return !events->begun || credentials_last(events->exchange);
}

void events_end_round(struct events *events)
{
    struct exchange *exchange = events->exchange;
    bool over = events_are_over(events);
    if (!events->resumed) {
        LIST_INSERT_HEAD(&exchange->api->event_streams, events, others);
        exchange_resume(exchange);
    }
    events->resumed = true;
    if (over)
        exchange_finish(exchange);
}

void events_fail(struct events *events, const char *error)
{
    struct exchange *exchange = events->exchange;
    if (events->begun) {
        if (!locks_has_store(exchange->api->locks)) /* shows all streams why this one ends */
            events_set_store(exchange->api, false);
        exchange_finish(exchange); /* event-stream clients reconnect by themselves */
        return;
    }
    problem_unavailable(exchange, error);
    exchange_resume(exchange);
}

void events_set_store(struct api *api, bool is_available)
{
    if (api->store_is_away != is_available)
        return;
    api->store_is_away = !is_available;
    const char *data = is_available ? "{\"available\":true}" : "{\"available\":false}";
    for (struct events *each = LIST_FIRST(&api->event_streams); each;
         each = LIST_NEXT(each, others)) {
        const struct stream *stream = &each->exchange->stream;
        if (!stream->finished && stream->length < BEHIND)
            events_event(each, "store", NULL, slice_of(data));
    }
}
