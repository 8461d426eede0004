#include "api/access/completion.h"
#include "api/access/permission.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/input.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/state_text.h"
#include "api/http/text_line.h"
#include "api/operations/operations.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE_DEFAULT = 100 };

static json_t *list_line(struct slice name, const struct lock_view *view)
{
    char text[STATE_TEXT];
    state_text(view, text);
    char *line = text_line("%.*s: %s", (int)name.length, name.bytes, text);
    json_t *string = json_string(line);
    free(line);
    return string;
}

static void list_add_lock(void *context, struct slice name, const struct lock_view *view)
{
    struct exchange *exchange = context;
    json_array_append_new(exchange->kept.json, exchange->wants_text ? list_line(name, view)
                                                                    : represent_view(name, view));
}

/* The reply has the number of skipped locks. */
static void count_skipped(void *context, struct slice name)
{
    struct exchange *exchange = context;
    (void)name;
    exchange->skipped++;
}

static bool list_locks_list_wants(void *context, struct slice name)
{
    return permission_to_read(context, name);
}

/* A line for each lock, and one for what is not on the page. */
static void list_answer_lines(struct exchange *exchange, struct slice next)
{
    char *text = NULL;
    size_t size, i;
    json_t *line;
    FILE *lines = open_memstream(&text, &size);
    if (!lines)
        abort();
    json_array_foreach (exchange->kept.json, i, line)
        fputs(json_string_value(line), lines);
    if (exchange->skipped > 0)
        fprintf(lines, "(not shown, since they cannot be read: %zu)\n", exchange->skipped);
    if (next.bytes)
        fprintf(lines, "(more with cursor=%.*s)\n", (int)next.length, next.bytes);
    if (fclose(lines) != 0)
        abort();
    reply_text(exchange, 200, text);
}

static void listed(void *context, enum locks_result result, struct slice next, const char *error)
{
    struct exchange *exchange = context;
    if (result == LOCKS_DONE && exchange->wants_text) {
        list_answer_lines(exchange, next);
    } else if (result == LOCKS_DONE) {
        json_t *document = json_object();
        json_object_set(document, "locks", exchange->kept.json);
        if (exchange->skipped > 0)
            json_object_set_new(document, "skipped", json_integer((json_int_t)exchange->skipped));
        json_object_set_new(document, "cursor", next.bytes ? represent_text(next) : json_null());
        reply_json(exchange, 200, "application/json", document);
    } else {
        problem_unavailable(exchange, error ? error : "Redis did not answer");
    }
    exchange_resume(exchange);
}

enum handling list_locks(struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    const struct locks_listener listener = {exchange, list_locks_list_wants, list_add_lock,
                                            count_skipped, listed};
    const struct list_filter filter = {parameters->texts[FIELD_OWNER],
                                       parameters->numbers[FIELD_HELD_FOR]};
    int64_t limit = parameters->numbers[FIELD_PAGE];
    exchange->kept.json = json_array();
    if (locks_list(exchange->api->locks, parameters->texts[FIELD_PREFIX], &filter,
                   parameters->texts[FIELD_CURSOR], (size_t)(limit ? limit : PAGE_DEFAULT),
                   &listener) < 0) {
        input_refuse(&(struct input){exchange, FIELD_CURSOR, "cursor", false});
        return ANSWERED;
    }
    return PARKED;
}
