/* baton show, list, watch, whoami, renew, release and break: one request, or one for each name,
 * page or change, whose replies are printed. */
#include "base/duration.h"
#include "base/memory.h"
#include "cli/commands/commands.h"
#include "cli/commands/print.h"
#include "cli/problem.h"
#include "cli/token.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WATCH_MS = 30000, /* batond's limit for a watch unless the request says more */
    WATCH_PAUSE_US = 500000,
};

void command_name(struct context *context)
{
    const struct options *options = context->options;
    bool has_one = options->name_count == 1;
    json_t *names = memory_checked(json_array());
    /* A body with a name that is not UTF-8 is sent empty, and refused. */
    for (size_t i = 0; i < options->name_count; i++)
        json_array_append_new(names, json_string_nocheck(options->names[i]));
    context->subject = has_one ? options->names[0] : "";
    context->path = has_one ? client_path(options->names[0], "") : memory_checked(strdup("/locks"));
    context->body = memory_checked(has_one ? json_object() : json_pack("{s:O}", "names", names));
    json_decref(names);
}

json_t *command_number(int64_t number)
{
    return number ? json_integer(number) : NULL;
}

json_t *command_duration(int64_t ms)
{
    char text[DURATION_TEXT];
    duration_format(ms, text);
    return ms ? json_string(text) : NULL;
}

/* Sends a request, and another for each further page. Prints the replies; nothing if `print` is
 * NULL and the options do not ask for JSON. */
static enum status requests_ask(struct context *context, struct request request,
                                const char *subject, print_function *print)
{
    const char *first = request.path, *cursor = NULL;
    struct reply reply = {0};
    enum status status;
    context->subject = subject;
    do {
        const char *const fields[] = {"cursor", cursor, NULL};
        char *path = client_query(first, fields);
        request.path = path;
        reply_free(&reply); /* it has the cursor */
        reply = client_send(context->client, &request);
        free(path);
        status = problem_report(&reply, context->options, subject);
        if (status == STATUS_DONE)
            print_reply(context, &reply, print);
        cursor = json_string_value(json_object_get(reply.json, "cursor"));
    } while (status == STATUS_DONE && cursor);
    reply_free(&reply);
    return status;
}

static enum status requests_ask_of_lock(struct context *context, struct request request,
                                        const char *name, print_function *print)
{
    char *path = client_path(name, "");
    request.path = path;
    enum status status = requests_ask(context, request, name, print);
    free(path);
    return status;
}

enum status command_show(struct context *context)
{
    const struct options *options = context->options;
    enum status status = STATUS_DONE;
    context->is_silent = options->quiet;
    for (size_t i = 0; status == STATUS_DONE && i < options->name_count; i++)
        status = requests_ask_of_lock(context, (struct request){0}, options->names[i], print_lock);
    if (context->table.rows)
        table_print(&context->table);
    return status == STATUS_DONE && options->quiet && !context->is_held ? STATUS_FREE : status;
}

enum status command_whoami(struct context *context)
{
    return requests_ask(context, (struct request){.path = "/whoami"}, "", print_caller);
}

enum status command_list(struct context *context)
{
    const struct options *options = context->options;
    char held_for[DURATION_TEXT];
    duration_format(options->held_for_ms, held_for);
    const char *const fields[] = {
        "prefix",   options->name_count ? options->names[0] : NULL, "owner", options->owner,
        "held_for", options->held_for_ms ? held_for : NULL,         NULL};
    char *path = client_query("/locks", fields);
    enum status status = requests_ask(context, (struct request){.path = path}, "", print_keep);
    free(path);
    if (context->locks) {
        print_list(context);
        table_print(&context->table);
    }
    return status;
}

/* Asks once for what is newer than *version, and prints it. Returns STATUS_DONE while the watch
 * goes on: a batond that has answered may come back. */
static enum status watch_once(struct context *context, json_int_t *version, bool *is_away)
{
    char rest[64] = "";
    const char *name = context->options->names[0];
    if (*version)
        snprintf(rest, sizeof rest, "/events?after=%" JSON_INTEGER_FORMAT, *version);
    char *path = client_path(name, rest);
    struct reply reply =
        client_send(context->client, &(struct request){.path = path, .wait_ms = WATCH_MS});
    enum status status = reply_status(&reply);
    bool waits = *version && status == STATUS_UNANSWERED;
    if (status != STATUS_DONE && !(waits && *is_away))
        problem_report(&reply, context->options, name);
    if (waits && !*is_away)
        fputs("  baton asks again until a batond answers.\n", stderr);
    if (status == STATUS_DONE &&
        (!*version || json_is_true(json_object_get(reply.json, "changed"))))
        print_reply(context, &reply, print_lock);
    if (context->table.rows)
        table_print(&context->table);
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
    while (status == STATUS_DONE && !ferror(stdout));
    return status;
}

/* Sends a request with the token of --token-file for the names of the command line. */
static enum status requests_ask_of_hold(struct context *context, const char *method)
{
    const struct options *options = context->options;
    char token[TOKEN_SIZE];
    struct failure failure;
    if (!options->token_file)
        return problem_print(STATUS_USAGE, "Name the file with the token: --token-file=FILE, or "
                                           "--token-file=- for standard input.");
    if (token_read(options->token_file, token, &failure) < 0)
        return problem_print(STATUS_CONFIG, "%s", failure.text);
    return requests_ask(
        context,
        (struct request){
            .method = method, .path = context->path, .token = token, .body = context->body},
        context->subject, NULL);
}

enum status command_renew(struct context *context)
{
    json_object_set_new(context->body, "ttl", command_duration(context->options->ttl_ms));
    return requests_ask_of_hold(context, "PUT");
}

enum status command_release(struct context *context)
{
    const char *file = context->options->token_file;
    enum status status = requests_ask_of_hold(context, "DELETE");
    if (status == STATUS_DONE && strcmp(file, "-") != 0 && token_file_is_replaceable(file))
        unlink(file);
    return status;
}

static const char *break_refusal(const struct options *options)
{
    if (!options->prefix == !options->name_count)
        return "Give the names to break, or --prefix.";
    if (options->prefix && !options->reason)
        return "--prefix needs a reason: --prefix=job: --reason='site closed'";
    if (options->fence && options->name_count != 1)
        return "--fence is of a hold of one lock. Give one name.";
    return NULL;
}

enum status command_break(struct context *context)
{
    const struct options *options = context->options;
    const char *refusal = break_refusal(options), *prefix = options->prefix;
    enum status status = STATUS_DONE;
    if (refusal)
        return problem_print(STATUS_USAGE, "%s", refusal);
    json_t *body = memory_checked(json_pack("{s:b, s:s*, s:s*, s:o*}", "force", true, "prefix",
                                            prefix, "reason", options->reason, "fence",
                                            command_number(options->fence)));
    const struct request request = {
        .method = "DELETE", .path = "/locks", .body = body, .cannot_repeat = true};
    if (prefix)
        status = requests_ask(context, request, prefix[0] ? prefix : "all", print_broken);
    for (size_t i = 0; status == STATUS_DONE && i < options->name_count; i++)
        status = requests_ask_of_lock(context, request, options->names[i], print_broken);
    json_decref(body);
    return status;
}
