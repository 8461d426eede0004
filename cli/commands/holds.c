/* baton renew, release and break: what becomes of holds. */
#include "base/memory.h"
#include "cli/commands/commands.h"
#include "cli/commands/print.h"
#include "cli/problem.h"
#include "cli/token.h"

#include <string.h>
#include <unistd.h>

/* Sends a request with the token of --token-file for the names of the command line. Takes the body.
 */
static enum status holds_ask(struct context *context, const char *method, json_t *body)
{
    const struct options *options = context->options;
    char token[TOKEN_SIZE];
    struct failure failure;
    enum status status;
    if (!options->token_file)
        status = problem_print(STATUS_USAGE, "Name the file with the token: --token-file=FILE, or "
                                             "--token-file=- for standard input.");
    else if (token_read(options->token_file, token, &failure) < 0)
        status = problem_print(STATUS_CONFIG, "%s", failure.text);
    else
        status = command_ask(context,
                             (struct request){.method = method,
                                              .path = command_path(options, body),
                                              .token = token,
                                              .body = body},
                             options->name_count == 1 ? options->names[0] : "", NULL);
    json_decref(body);
    return status;
}

enum status command_renew(struct context *context)
{
    json_t *ttl = command_duration(context->options->ttl_ms);
    return holds_ask(context, "PUT", memory_checked(json_pack("{s:o*}", "ttl", ttl)));
}

enum status command_release(struct context *context)
{
    const char *file = context->options->token_file;
    enum status status = holds_ask(context, "DELETE", memory_checked(json_object()));
    if (status == STATUS_DONE && strcmp(file, "-") != 0)
        unlink(file);
    return status;
}

/* Breaks one lock, or all of a prefix: what the body says. Takes the path. */
static enum status break_ask(struct context *context, char *path, const json_t *body,
                             const char *subject)
{
    return command_ask(
        context,
        (struct request){.method = "DELETE", .path = path, .body = body, .cannot_repeat = true},
        subject, print_broken);
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
    if (prefix)
        status =
            break_ask(context, memory_checked(strdup("/locks")), body, prefix[0] ? prefix : "all");
    for (size_t i = 0; status == STATUS_DONE && i < options->name_count; i++)
        status = break_ask(context, client_path(options->names[i], ""), body, options->names[i]);
    json_decref(body);
    return status;
}
