/* baton renew, release and break: what becomes of holds. */
#include "base/duration.h"
#include "base/memory.h"
#include "cli/commands/commands.h"
#include "cli/commands/print.h"
#include "cli/problem.h"
#include "cli/token.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *command_path(const struct options *options, json_t *body)
{
    if (options->name_count == 1)
        return client_path(options->names[0], "");
    json_t *names = memory_checked(json_array());
    for (size_t i = 0; i < options->name_count; i++)
        json_array_append_new(names, json_string(options->names[i]));
    json_object_set_new(body, "names", names);
    return memory_checked(strdup("/locks"));
}

void command_add_duration(json_t *body, const char *member, int64_t ms)
{
    char text[DURATION_TEXT];
    duration_format(ms, text);
    if (ms > 0)
        json_object_set_new(body, member, json_string(text));
}

/* Sends a request with the token of --token-file for the names of the command line. */
static enum status holds_send(const struct context *context, const char *method, json_t *body)
{
    const struct options *options = context->options;
    char token[TOKEN_SIZE];
    struct failure failure;
    if (!options->token_file)
        return problem_print(STATUS_USAGE, "Name the file with the token: --token-file=FILE, or "
                                           "--token-file=- for standard input.");
    if (token_read(options->token_file, token, &failure) < 0)
        return problem_print(STATUS_CONFIG, "%s", failure.text);
    struct reply reply = client_send(
        context->client,
        &(struct request){
            .method = method, .path = command_path(options, body), .token = token, .body = body});
    enum status status = problem_report(&reply, options->name_count == 1 ? options->names[0] : "");
    if (status == STATUS_DONE && options->json) {
        json_object_del(reply.json, "token");
        print_json(reply.json);
    }
    reply_free(&reply);
    return status;
}

enum status command_renew(const struct context *context)
{
    json_t *body = memory_checked(json_object());
    command_add_duration(body, "ttl", context->options->ttl_ms);
    enum status status = holds_send(context, "PUT", body);
    json_decref(body);
    return status;
}

enum status command_release(const struct context *context)
{
    const char *file = context->options->token_file;
    json_t *body = memory_checked(json_object());
    enum status status = holds_send(context, "DELETE", body);
    json_decref(body);
    if (status == STATUS_DONE && strcmp(file, "-") != 0)
        unlink(file);
    return status;
}

/* Takes the path. Sets *ret_cursor (to be freed) if there are more locks. */
static enum status break_some(const struct context *context, char *path, const char *subject,
                              char **ret_cursor)
{
    struct reply reply =
        client_send(context->client,
                    &(struct request){.method = "DELETE", .path = path, .cannot_repeat = true});
    enum status status = problem_report(&reply, subject);
    const char *cursor = json_string_value(json_object_get(reply.json, "cursor"));
    json_int_t broken = json_integer_value(json_object_get(reply.json, "broken"));
    *ret_cursor = cursor ? memory_checked(strdup(cursor)) : NULL;
    if (status == STATUS_DONE && context->options->json)
        print_json(reply.json);
    else if (status == STATUS_DONE)
        print_broken(subject, broken, json_object_get(reply.json, "holders"));
    reply_free(&reply);
    return status;
}

static enum status break_prefix(const struct context *context)
{
    const struct options *options = context->options;
    enum status status;
    char *cursor = NULL;
    do {
        const char *const fields[] = {"force",         "true",   "prefix",
                                      options->prefix, "reason", options->reason,
                                      "cursor",        cursor,   NULL};
        char *path = client_query(memory_checked(strdup("/locks")), fields);
        free(cursor);
        status = break_some(context, path, options->prefix[0] ? options->prefix : "all", &cursor);
    } while (status == STATUS_DONE && cursor);
    free(cursor);
    return status;
}

enum status command_break(const struct context *context)
{
    const struct options *options = context->options;
    enum status status = STATUS_DONE;
    char *cursor = NULL;
    if (!options->prefix == !options->name_count)
        return problem_print(STATUS_USAGE, "Give the names to break, or --prefix.");
    if (options->prefix && !options->reason)
        return problem_print(STATUS_USAGE, "--prefix needs a reason: --prefix=job: "
                                           "--reason='site closed'");
    if (options->fence && options->name_count != 1)
        return problem_print(STATUS_USAGE, "--fence is of a hold of one lock. Give one name.");
    if (options->prefix)
        return break_prefix(context);
    for (size_t i = 0; status == STATUS_DONE && i < options->name_count; i++) {
        const char *const fields[] = {"force",  "true",          "fence", options->fence,
                                      "reason", options->reason, NULL};
        char *path = client_query(client_path(options->names[i], ""), fields);
        status = break_some(context, path, options->names[i], &cursor);
        free(cursor);
    }
    return status;
}
