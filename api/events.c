#include "api/events.h"

#include "api/api.h"
#include "api/credentials.h"
#include "api/problem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    WAIT_DEFAULT_MS = 30000,
    SIGN_OF_LIFE_MS = 15000, /* proxies take a silent connection for dead after a minute or so */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void events_read(struct events *events, struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    *events = (struct events){
        .exchange = exchange, .after = parameters->numbers[FIELD_AFTER], .until_ms = INT64_MAX};
    if (field_given(parameters, FIELD_WAIT))
        events->until_ms = now_ms() + parameters->numbers[FIELD_WAIT];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The first round of a stream does not wait, so that its client soon knows that it is served. */
int64_t events_wait(const struct events *events)
{
    const struct exchange *exchange = events->exchange;
    if (exchange->wants_events) {
        int64_t left = events->until_ms - now_ms();
        return events->begun ? least(SIGN_OF_LIFE_MS, left > 0 ? left : 0) : 0;
    }
    return field_given(&exchange->parameters, FIELD_WAIT)
               ? exchange->parameters.numbers[FIELD_WAIT]
               : least(WAIT_DEFAULT_MS, exchange->api->max_wait_ms);
}

static char *append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static char *append(char *text, const char *format, ...)
{
    char *more;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&more, format, arguments);
    va_end(arguments);
    size_t before = text ? strlen(text) : 0;
    char *all = length < 0 ? NULL : realloc(text, before + (size_t)length + 1);
    if (!all)
        abort();
    memcpy(all + before, more, (size_t)length + 1);
    free(more);
    return all;
}

static char *append_id(char *text, int64_t id)
{
    return id > 0 ? append(text, "id: %" PRId64 "\n", id) : text;
}

char *events_add(char *text, const char *event, int64_t id, json_t *document)
{
    char *data = dump_line(document);
    text = append(append_id(text, id), "event: %s\ndata: %s\n", event, data);
    free(data);
    return text;
}

char *events_add_nothing(char *text, int64_t id)
{
    return append(append_id(append(text, ": keep-alive\n"), id), "\n");
}

static bool is_over(const struct events *events)
{
    const struct exchange *exchange = events->exchange;
    return exchange->api->draining || strcmp(exchange->method, "HEAD") == 0 ||
           now_ms() >= events->until_ms;
}

bool events_may_be_seen(const struct events *events)
{
    return !events->begun || credentials_last(events->exchange);
}

bool events_send(struct events *events, char *text)
{
    struct exchange *exchange = events->exchange;
    bool begins = !events->begun, over = is_over(events);
    if (begins)
        exchange_stream(exchange, 200, "text/event-stream");
    events->begun = true;
    exchange_write(exchange, text, strlen(text));
    free(text);
    if (begins)
        exchange_resume(exchange);
    if (over)
        exchange_finish(exchange);
    return !over;
}

void events_fail(struct events *events, const char *error)
{
    struct exchange *exchange = events->exchange;
    if (events->begun) {
        exchange_finish(exchange); /* clients of event streams come again by themselves */
        return;
    }
    problem_unavailable(exchange, error);
    exchange_resume(exchange);
}
