/* baton acquire: takes one lock or several, and waits for them over requests and batonds. */
#include "base/duration.h"
#include "base/memory.h"
#include "base/monotonic.h"
#include "cli/commands/commands.h"
#include "cli/commands/print.h"
#include "cli/commands/waiting.h"
#include "cli/problem.h"
#include "cli/run/boottime.h"
#include "cli/token.h"

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PORTION_MS = 25000, /* how long one request waits: less than any proxy allows */
    FIRST_MS = 1000,    /* the first request, so that its reply is soon printed */
    CURRENT_MS = 10000, /* the others, if their replies are printed */
    SHORTEST_MS = 1000, /* baton does not wait at a batond with a shorter max-wait */
    KEEP_MS = 10000,    /* how long the queue keeps the place between two requests */
    PAUSE_MS = 500,     /* unless a Retry-After says more */
    WITHDRAW_MS = 1000, /* how long each batond may take when baton is about to end */
    OWNER_TEXT = 128,
};

/* One acquire, which may take many requests. */
struct acquisition {
    const struct context *context;
    const char *token;
    json_t *body;
    int64_t sent_ns;    /* when the latest request was sent, by CLOCK_BOOTTIME */
    int64_t begun_ms;   /* the same by the monotonic clock */
    int64_t left_ms;    /* what remains of the wait for a holder */
    int64_t portion_ms; /* how long one request waits at most */
    bool keeps_place;   /* the queue keeps the place after the latest request */
    bool has_connected; /* so batond may know the token */
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

/* Shows others which process has the lock. A command's arguments may be secret, so they are left
 * out. */
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

/* What remains of the patience while no batond can grant the lock, in ms. */
static int64_t acquire_patience(const struct acquisition *acquisition)
{
    int64_t left_ms = acquisition->waiting.end_ms - monotonic_ms();
    return left_ms > 0 ? left_ms : 0;
}

/* How long the next request may wait: a portion of what is left. */
static int64_t acquire_wait(const struct acquisition *acquisition)
{
    int64_t most_ms = acquisition->portion_ms;
    if (acquisition->waiting.away_ms)
        most_ms = least(most_ms, acquire_patience(acquisition) + FIRST_MS);
    return least(most_ms, acquisition->left_ms);
}

static struct reply acquire_send(struct acquisition *acquisition)
{
    const struct options *options = acquisition->context->options;
    int64_t wait_ms = acquire_wait(acquisition);
    acquisition->keeps_place = wait_ms < acquisition->left_ms && options->name_count == 1;
    json_object_set_new(acquisition->body, "wait_ms", json_integer(wait_ms));
    if (options->name_count == 1)
        json_object_set_new(acquisition->body, "keep_ms",
                            json_integer(acquisition->keeps_place ? KEEP_MS : 0));
    acquisition->begun_ms = monotonic_ms();
    acquisition->sent_ns = boottime_ns();
    struct reply reply = client_send(acquisition->context->client,
                                     &(struct request){.method = "POST",
                                                       .path = acquisition->context->path,
                                                       .token = acquisition->token,
                                                       .body = acquisition->body,
                                                       .wait_ms = wait_ms});
    acquisition->has_connected |= reply.connected;
    if (strcmp(reply_code(&reply), "wait_timeout") == 0)
        acquisition->left_ms -= monotonic_ms() - acquisition->begun_ms;
    return reply;
}

/* batond answers 400 if its max-wait is shorter than our portion: tries a shorter one. */
static bool acquire_shortens(struct acquisition *acquisition, const struct reply *reply)
{
    const char *parameter = json_string_value(json_object_get(reply->json, "parameter"));
    if (reply->status != 400 || !parameter || strncmp(parameter, "wait", 4) != 0)
        return false;
    acquisition->portion_ms /= 2;
    return acquisition->portion_ms >= SHORTEST_MS;
}

/* Whether no batond can grant the lock now. A server that is no batond may be a proxy that has not
 * noticed a new batond yet. */
static bool acquire_is_away(const struct reply *reply)
{
    return reply_status(reply) == STATUS_UNANSWERED || (reply->status == 0 && reply->connected);
}

/* Whether to ask again although no batond can grant the lock now. Pauses before that. */
static bool acquire_is_patient(struct acquisition *acquisition, const struct reply *reply)
{
    struct waiting *waiting = &acquisition->waiting;
    int64_t pause_ms = reply->retry_ms ? reply->retry_ms : PAUSE_MS;
    if (!waiting->away_ms) {
        waiting->away_ms =
            acquisition->portion_ms == FIRST_MS ? acquisition->begun_ms : monotonic_ms();
        waiting->end_ms = waiting->away_ms + acquisition->context->options->patience_ms;
    }
    int64_t left_ms = acquire_patience(acquisition);
    if (left_ms == 0)
        return false;
    waiting_print(waiting, reply);
    if (acquisition->keeps_place)
        pause_ms = least(pause_ms, KEEP_MS / 2);
    client_pause(acquisition->context->client, least(pause_ms, left_ms));
    return true;
}

/* Whether a further request may still get the lock. */
static bool acquire_goes_on(struct acquisition *acquisition, const struct reply *reply)
{
    if (acquire_shortens(acquisition, reply))
        return true;
    if (acquire_is_away(reply))
        return acquire_is_patient(acquisition, reply);
    acquisition->waiting.away_ms = 0;
    if (strcmp(reply_code(reply), "wait_timeout") != 0 || acquisition->left_ms <= 0)
        return false;
    waiting_print(&acquisition->waiting, reply);
    return true;
}

static enum status acquire_delete(const struct context *context, const char *token)
{
    struct reply reply = client_send(context->client, &(struct request){.method = "DELETE",
                                                                        .path = context->path,
                                                                        .token = token,
                                                                        .body = context->body});
    enum status status = reply_status(&reply);
    reply_free(&reply);
    return status;
}

/* Takes the token out of the queue, and gives back a grant that baton does not know of. */
static void acquire_withdraw(const struct acquisition *acquisition)
{
    const struct context *context = acquisition->context;
    if (!acquisition->has_connected)
        return;
    client_set_timeout(context->client, least(context->options->connect_timeout_ms, WITHDRAW_MS));
    acquire_delete(context, acquisition->token);
}

/* Asks until the lock is granted or cannot be. With several locks each request loses the place in
 * the queue, so it sends few requests. */
static struct reply acquire_ask(struct acquisition *acquisition)
{
    const struct context *context = acquisition->context;
    bool is_current = context->options->name_count == 1 && !context->options->quiet;
    client_interrupt_by(context->client, context->interrupt.descriptor);
    struct reply reply = acquire_send(acquisition);
    while (acquire_goes_on(acquisition, &reply) && !client_is_interrupted(context->client)) {
        reply_free(&reply);
        if (acquisition->portion_ms == FIRST_MS)
            acquisition->portion_ms = is_current ? CURRENT_MS : PORTION_MS;
        reply = acquire_send(acquisition);
    }
    client_interrupt_by(context->client, -1);
    reply.signal = interrupt_close(&context->interrupt);
    return reply;
}

struct reply acquire_lock(const struct context *context, char token[TOKEN_SIZE],
                          int64_t *ret_sent_ns)
{
    const struct options *options = context->options;
    struct acquisition acquisition = {
        .context = context,
        .token = token,
        .body = acquire_body(options),
        .left_ms = options->wait_ms,
        .portion_ms = FIRST_MS,
    };
    token_make(token);
    json_object_update(acquisition.body, context->body);
    if (!options->quiet)
        waiting_begin(&acquisition.waiting, options->names[0], context->client);
    struct reply reply = acquire_ask(&acquisition);
    waiting_end(&acquisition.waiting, context->client);
    if (reply.signal || acquire_is_away(&reply))
        acquire_withdraw(&acquisition);
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
    char patience[DURATION_TEXT];
    if (reply->signal)
        return status;
    if (status != STATUS_REFUSED || !is_silent)
        problem_report(reply, options, context->subject);
    duration_format(options->patience_ms, patience);
    if (acquire_is_away(reply) && options->patience_ms)
        fprintf(stderr, "  baton has asked again for %s (--patience).\n", patience);
    return status == STATUS_REFUSED ? (enum status)options->refused_status : status;
}

void command_release_token(const struct context *context, const char *token)
{
    bool is_done = acquire_delete(context, token) == STATUS_DONE;
    if (context->options->verbose)
        problem_print(STATUS_DONE, "%s: %s", context->options->names[0],
                      is_done ? "released" : "not released");
}

/* Hands the token on, or else releases the hold: the script that reads the token may have been
 * killed during the wait. */
static enum status acquire_hand_on(struct context *context, struct token_file *file,
                                   const char *token, const struct reply *reply)
{
    struct failure failure;
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
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
    interrupt_open(&context->interrupt);
    if (path && strcmp(path, "-") != 0 && token_file_open(&file, path, &failure) < 0)
        return problem_print(STATUS_CONFIG, "%s", failure.text);
    struct reply reply = acquire_lock(context, token, &sent_ns);
    enum status status = acquire_report(context, &reply);
    if (reply_status(&reply) == STATUS_DONE)
        status = acquire_hand_on(context, &file, token, &reply);
    int signal = reply.signal;
    reply_free(&reply);
    token_file_close(&file);
    if (signal)
        interrupt_die(signal);
    return status;
}
