/* baton show, list, watch and whoami: locks as they are, and as they change. */
#include "base/memory.h"
#include "cli/commands/commands.h"
#include "cli/commands/print.h"
#include "cli/problem.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WATCH_MS = 30000, /* how long batond lets a watch wait unless it is asked */
    WATCH_PAUSE_US = 500000,
};

enum status command_show(struct context *context)
{
    const struct options *options = context->options;
    enum status status = STATUS_DONE;
    for (size_t i = 0; status == STATUS_DONE && i < options->name_count; i++)
        status = command_ask(
            context, (struct request){.method = "GET", .path = client_path(options->names[i], "")},
            options->names[i], print_lock);
    return status;
}

enum status command_whoami(struct context *context)
{
    return command_ask(context,
                       (struct request){.method = "GET", .path = memory_checked(strdup("/whoami"))},
                       "", print_caller);
}

enum status command_list(struct context *context)
{
    const struct options *options = context->options;
    const char *const fields[] = {"prefix",   options->name_count ? options->names[0] : NULL,
                                  "owner",    options->owner,
                                  "held_for", options->held_for,
                                  NULL};
    char *path = client_query(memory_checked(strdup("/locks")), fields);
    return command_ask(context, (struct request){.method = "GET", .path = path}, "", print_page);
}

/* Asks once for what is newer than *version, and prints it. Returns STATUS_DONE for as long as the
 * watch goes on: a batond that has answered may come back. */
static enum status watch_once(struct context *context, json_int_t *version, bool *is_away)
{
    char rest[64] = "";
    const char *name = context->options->names[0];
    if (*version)
        snprintf(rest, sizeof rest, "/events?after=%" JSON_INTEGER_FORMAT, *version);
    char *path = client_path(name, rest);
    struct reply reply = client_send(
        context->client, &(struct request){.method = "GET", .path = path, .wait_ms = WATCH_MS});
    enum status status = problem_status(&reply);
    bool waits = *version && (status == STATUS_UNANSWERED || reply.status == 429);
    if (status != STATUS_DONE && !(waits && *is_away))
        problem_report(&reply, name);
    if (status == STATUS_DONE &&
        (!*version || json_is_true(json_object_get(reply.json, "changed"))))
        print_reply(context, &reply, name, print_lock);
    if (status == STATUS_DONE)
        *version = json_integer_value(json_object_get(reply.json, "version"));
    if (waits)
        usleep(WATCH_PAUSE_US);
    *is_away = waits;
    reply_free(&reply);
    free(path);
    return waits ? STATUS_DONE : status;
}

enum status command_watch(struct context *context)
{
    json_int_t version = 0;
    bool is_away = false;
    enum status status;
    do
        status = watch_once(context, &version, &is_away);
    while (status == STATUS_DONE);
    return status;
}
