/* baton show, list and watch: locks as they are, and as they change. */
#include "base/memory.h"
#include "cli/commands/commands.h"
#include "cli/commands/print.h"
#include "cli/problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WATCH_MS = 30000, /* how long batond lets a watch wait unless it is asked */
    WATCH_PAUSE_US = 500000,
};

/* Takes the path. */
static struct reply looks_get(const struct context *context, char *path, int64_t wait_ms)
{
    return client_send(context->client,
                       &(struct request){.method = "GET", .path = path, .wait_ms = wait_ms});
}

static void looks_print(const struct context *context, const json_t *lock)
{
    if (context->options->json)
        print_json(lock);
    else
        print_lock(lock);
}

enum status command_show(const struct context *context)
{
    const struct options *options = context->options;
    enum status status = STATUS_DONE;
    for (size_t i = 0; status == STATUS_DONE && i < options->name_count; i++) {
        struct reply reply = looks_get(context, client_path(options->names[i], ""), 0);
        status = problem_report(&reply, options->names[i]);
        if (status == STATUS_DONE && i == 0 && !options->json)
            print_heading();
        if (status == STATUS_DONE)
            looks_print(context, reply.json);
        reply_free(&reply);
    }
    return status;
}

enum status command_whoami(const struct context *context)
{
    struct reply reply = looks_get(context, memory_checked(strdup("/whoami")), 0);
    enum status status = problem_report(&reply, "");
    if (status == STATUS_DONE && context->options->json)
        print_json(reply.json);
    else if (status == STATUS_DONE)
        print_caller(reply.json);
    reply_free(&reply);
    return status;
}

static void list_print_page(const struct context *context, const json_t *page)
{
    const json_t *lock;
    size_t i;
    json_int_t skipped = json_integer_value(json_object_get(page, "skipped"));
    json_array_foreach (json_object_get(page, "locks"), i, lock)
        looks_print(context, lock);
    if (skipped > 0)
        fprintf(stderr,
                "baton: %" JSON_INTEGER_FORMAT " locks cannot be read; the log of batond names "
                "them\n",
                skipped);
}

enum status command_list(const struct context *context)
{
    const struct options *options = context->options;
    char *cursor = NULL;
    enum status status;
    bool is_first = true;
    do {
        const char *const fields[] = {"prefix",   options->name_count ? options->names[0] : NULL,
                                      "owner",    options->owner,
                                      "held_for", options->held_for,
                                      "cursor",   cursor,
                                      NULL};
        struct reply reply =
            looks_get(context, client_query(memory_checked(strdup("/locks")), fields), 0);
        free(cursor);
        status = problem_report(&reply, "");
        const char *next = json_string_value(json_object_get(reply.json, "cursor"));
        cursor = status == STATUS_DONE && next ? memory_checked(strdup(next)) : NULL;
        if (status == STATUS_DONE && is_first && !options->json)
            print_heading();
        if (status == STATUS_DONE)
            list_print_page(context, reply.json);
        reply_free(&reply);
        is_first = false;
    } while (cursor);
    return status;
}

/* Whether a watch goes on after this reply: batond may come back. */
static bool watch_goes_on(const struct reply *reply)
{
    return reply->status == 0 || reply->status == 429 || reply_is_away(reply);
}

/* Asks once for what is newer than *version, and prints it. Returns STATUS_DONE for as long as
 * nothing is wrong. */
static enum status watch_once(const struct context *context, json_int_t *version, bool *is_away)
{
    char rest[64];
    const char *name = context->options->names[0];
    snprintf(rest, sizeof rest, "/events?after=%" JSON_INTEGER_FORMAT, *version);
    struct reply reply = looks_get(context, client_path(name, *version ? rest : ""), WATCH_MS);
    enum status status = problem_status(&reply);
    if (status != STATUS_DONE && (*version == 0 || !watch_goes_on(&reply))) {
        problem_report(&reply, name);
    } else if (status != STATUS_DONE) {
        if (!*is_away)
            problem_report(&reply, name);
        *is_away = true;
        status = STATUS_DONE;
        usleep(WATCH_PAUSE_US);
    } else {
        if (*version == 0 || json_is_true(json_object_get(reply.json, "changed")))
            looks_print(context, reply.json);
        *version = json_integer_value(json_object_get(reply.json, "version"));
        *is_away = false;
    }
    reply_free(&reply);
    return status;
}

enum status command_watch(const struct context *context)
{
    json_int_t version = 0;
    bool is_away = false;
    enum status status;
    if (!context->options->json)
        print_heading();
    do
        status = watch_once(context, &version, &is_away);
    while (status == STATUS_DONE);
    return status;
}
