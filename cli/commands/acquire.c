/* baton acquire: takes one lock or several, and waits for them over requests and batonds. */
#include "base/memory.h"
#include "base/monotonic.h"
#include "cli/commands/commands.h"
#include "cli/commands/print.h"
#include "cli/commands/waiting.h"
#include "cli/problem.h"
#include "cli/run/boottime.h"
#include "cli/token.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PORTION_MS = 25000,  /* how long one request waits: less than any proxy allows */
    FIRST_MS = 1000,     /* the first one, where its reply is printed */
    CURRENT_MS = 10000,  /* and the others */
    SHORTEST_MS = 1000,  /* a batond with a shorter max-wait is not waited at */
    KEEP_MS = 10000,     /* for a place in the queue between two requests */
    PATIENCE_MS = 60000, /* for a batond that has answered before, and does not now */
    PAUSE_US = 500000,
    OWNER_TEXT = 128,
};

/* One acquire, which may take many requests. */
struct acquisition {
    const struct context *context;
    const char *token;
    json_t *body;
    int64_t sent_ns;                           /* by CLOCK_BOOTTIME: the latest request */
    int64_t begun_ms, answered_ms, portion_ms; /* by the monotonic clock of this machine */
    bool is_last;                              /* of the requests that the wait allows */
    bool is_silent;
    struct waiting waiting;
};

static void acquire_name_owner(char owner[OWNER_TEXT])
{
    char host[65] = "";
    /* cppcheck-suppress getpwuidCalled; there is one thread */
    const struct passwd *user = getpwuid(geteuid());
    gethostname(host, sizeof host - 1);
    snprintf(owner, OWNER_TEXT, "%.32s@%s", user ? user->pw_name : "user", host);
}

/* What tells others which process has the lock. The arguments of a command may be secret. */
static json_t *acquire_meta(const struct options *options)
{
    const char *command = options->shell_line ? "sh"
                          : options->command  ? basename(options->command[0])
                                              : NULL;
    if (!command)
        return json_incref(options->meta);
    json_t *meta = json_pack("{s:i, s:o*}", "pid", (int)getpid(), "command", json_string(command));
    json_object_update(meta, options->meta);
    return meta;
}

static json_t *acquire_body(const struct options *options)
{
    char owner[OWNER_TEXT];
    acquire_name_owner(owner);
    return memory_checked(json_pack(
        "{s:o*, s:s*, s:b, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*}", "owner",
        json_string(options->owner ? options->owner : owner), "mode",
        options->shared ? "shared" : NULL, "reentrant", options->reentrant, "limit",
        command_number(options->limit), "permits", command_number(options->permits), "ttl",
        command_duration(options->ttl_ms), "at_least", command_duration(options->at_least_ms),
        "max_held", command_duration(options->max_held_ms), "meta", acquire_meta(options)));
}

/* What is left of the wait, or a portion of it. */
static int64_t acquire_wait(struct acquisition *acquisition)
{
    int64_t wait_ms = acquisition->context->options->wait_ms;
    int64_t left_ms = acquisition->begun_ms + wait_ms - monotonic_ms();
    acquisition->is_last = wait_ms >= 0 && left_ms <= acquisition->portion_ms;
    if (!acquisition->is_last)
        return acquisition->portion_ms;
    return left_ms > 0 ? left_ms : 0;
}

static struct reply acquire_send(struct acquisition *acquisition)
{
    const struct options *options = acquisition->context->options;
    int64_t wait_ms = acquire_wait(acquisition);
    bool keeps = !acquisition->is_last && options->name_count == 1;
    json_object_set_new(acquisition->body, "wait_ms", json_integer(wait_ms));
    if (options->name_count == 1)
        json_object_set_new(acquisition->body, "keep_ms", json_integer(keeps ? KEEP_MS : 0));
    acquisition->sent_ns = boottime_ns();
    return client_send(acquisition->context->client,
                       &(struct request){.method = "POST",
                                         .path = acquisition->context->path,
                                         .token = acquisition->token,
                                         .body = acquisition->body,
                                         .wait_ms = wait_ms});
}

/* batond says by 400 that its max-wait is shorter than our portion. */
static bool acquire_shortens(struct acquisition *acquisition, const struct reply *reply)
{
    const char *parameter = json_string_value(json_object_get(reply->json, "parameter"));
    if (reply->status != 400 || !parameter || strncmp(parameter, "wait", 4) != 0)
        return false;
    acquisition->portion_ms /= 2;
    return acquisition->portion_ms >= SHORTEST_MS;
}

/* Prints for whom it waits. The place in a queue for several locks is lost with each request, so
 * there are few of them. */
static void acquire_print(struct acquisition *acquisition, const struct reply *reply)
{
    if (acquisition->is_silent)
        return;
    waiting_print(&acquisition->waiting, reply);
    if (acquisition->portion_ms == FIRST_MS)
        acquisition->portion_ms =
            acquisition->context->options->name_count == 1 ? CURRENT_MS : PORTION_MS;
}

/* Whether the lock may still be granted to a request that is repeated. Pauses before one that
 * batond did not let wait. */
static bool acquire_goes_on(struct acquisition *acquisition, const struct reply *reply)
{
    const char *code = reply_code(reply);
    int64_t now = monotonic_ms();
    bool is_away = reply->connected && reply_status(reply) == STATUS_UNANSWERED;
    if (acquire_shortens(acquisition, reply))
        return true;
    if (!is_away)
        acquisition->answered_ms = now;
    if (acquisition->is_last)
        return false;
    if (strcmp(code, "wait_timeout") == 0) {
        acquire_print(acquisition, reply);
        return true;
    }
    if (!is_away && strcmp(code, "quarantined") != 0)
        return false;
    usleep(PAUSE_US);
    return now - acquisition->answered_ms < PATIENCE_MS;
}

struct reply acquire_lock(const struct context *context, char token[TOKEN_SIZE],
                          int64_t *ret_sent_ns)
{
    const struct options *options = context->options;
    bool is_silent = options->quiet || options->wait_ms == 0;
    struct acquisition acquisition = {
        .context = context,
        .token = token,
        .body = acquire_body(options),
        .begun_ms = monotonic_ms(),
        .answered_ms = monotonic_ms(),
        .is_silent = is_silent,
        .portion_ms = is_silent ? PORTION_MS : FIRST_MS,
    };
    token_make(token);
    json_object_update(acquisition.body, context->body);
    waiting_begin(&acquisition.waiting, options->names[0], context->client);
    struct reply reply = acquire_send(&acquisition);
    while (acquire_goes_on(&acquisition, &reply)) {
        bool has_connected = reply.connected;
        reply_free(&reply);
        reply = acquire_send(&acquisition);
        reply.connected |= has_connected;
    }
    waiting_end(&acquisition.waiting, context->client);
    *ret_sent_ns = acquisition.sent_ns;
    json_decref(acquisition.body);
    return reply;
}

enum status acquire_report(const struct context *context, const struct reply *reply)
{
    const struct options *options = context->options;
    enum status status = reply_status(reply);
    bool runs = options->command || options->shell_line;
    bool is_silent = options->quiet || (options->wait_ms == 0 && runs && !options->verbose);
    if (status != STATUS_REFUSED || !is_silent)
        problem_report(reply, options, context->subject);
    return status == STATUS_REFUSED ? (enum status)options->refused_status : status;
}

void command_release_token(const struct context *context, const char *token)
{
    struct reply reply = client_send(context->client, &(struct request){.method = "DELETE",
                                                                        .path = context->path,
                                                                        .token = token,
                                                                        .body = context->body});
    if (context->options->verbose)
        problem_print(STATUS_DONE, "%s: %s", context->options->names[0],
                      reply_status(&reply) == STATUS_DONE ? "released" : "not released");
    reply_free(&reply);
}

/* Hands the token on. A hold whose token nobody has is of no use. */
static enum status acquire_hand_on(struct context *context, struct token_file *file,
                                   const char *token, const struct reply *reply)
{
    struct failure failure;
    if (file->path && token_file_put(file, token, &failure) < 0) {
        command_release_token(context, token);
        return problem_print(STATUS_FAULT, "%s", failure.text);
    }
    if (file->path)
        print_reply(context, reply, NULL);
    else if (context->options->json)
        print_json(reply->json);
    else
        puts(token);
    if (fflush(stdout) != 0 && !file->path)
        command_release_token(context, token);
    return STATUS_DONE;
}

enum status command_acquire(struct context *context)
{
    const char *path = context->options->token_file;
    char token[TOKEN_SIZE];
    struct token_file file = {0};
    struct failure failure;
    int64_t sent_ns;
    if (context->options->reentrant && !context->options->owner)
        return problem_print(STATUS_USAGE, "--reentrant is for the holds of one --owner. Name it: "
                                           "--owner=TEXT.");
    if (path && strcmp(path, "-") != 0 && token_file_open(&file, path, &failure) < 0)
        return problem_print(STATUS_CONFIG, "%s", failure.text);
    struct reply reply = acquire_lock(context, token, &sent_ns);
    enum status status = acquire_report(context, &reply);
    if (reply_status(&reply) == STATUS_DONE)
        status = acquire_hand_on(context, &file, token, &reply);
    reply_free(&reply);
    token_file_close(&file);
    return status;
}
