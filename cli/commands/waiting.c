#include "cli/commands/waiting.h"

#include "base/duration.h"
#include "base/memory.h"
#include "base/monotonic.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAUSE_US = 999999,  /* the most that usleep(3) takes */
    PORTION_MS = 10000, /* a change in the queue ends no wait for changes of the lock */
    PART_TEXT = 400,
    LINE_TEXT = 1200,
};

static const char CLEAR[] = "\r\033[K";

struct waiting {
    const struct context *context;
    const char *token;
    bool is_terminal;
    struct reply reply; /* a lock */
    int64_t asked_ms;   /* when it was so, by the monotonic clock */
    char said[LINE_TEXT];
};

static void waiting_write(FILE *to, const char *before, const json_t *value)
{
    char shown[PART_TEXT];
    if (json_is_integer(value))
        fprintf(to, "%s%" JSON_INTEGER_FORMAT, before, json_integer_value(value));
    if (!json_is_string(value))
        return;
    utf8_show_all(slice_of(json_string_value(value)), shown, sizeof shown);
    fprintf(to, "%s%s", before, shown);
}

/* " (pid 4711, backup.sh)", as the meta of baton run has it. */
static void waiting_write_process(FILE *to, const json_t *meta)
{
    const json_t *pid = json_object_get(meta, "pid");
    if (!json_is_integer(pid))
        return;
    waiting_write(to, " (pid ", pid);
    waiting_write(to, ", ", json_object_get(meta, "command"));
    fputc(')', to);
}

/* Whether another holds the lock: one that takes several names may hold this one itself. */
static bool waiting_is_held(const struct waiting *waiting)
{
    const json_t *lock = waiting->reply.json;
    return json_array_size(json_object_get(lock, "holders")) > 0 &&
           !json_is_true(json_object_get(lock, "mine"));
}

/* Writes the line, without the time if it is only to be compared. */
static void waiting_describe(const struct waiting *waiting, bool has_time, char line[LINE_TEXT])
{
    const json_t *lock = waiting->reply.json,
                 *first = json_array_get(json_object_get(lock, "holders"), 0);
    json_int_t count = json_integer_value(json_object_get(lock, "hold_count"));
    json_int_t position = json_integer_value(json_object_get(lock, "position"));
    int64_t held_ms = reply_ms(first, "held_ms");
    char held[DURATION_SPOKEN];
    memset(line, 0, LINE_TEXT);
    FILE *to = memory_checked(fmemopen(line, LINE_TEXT - 1, "w"));
    waiting_write(to, "", json_object_get(lock, "name"));
    waiting_write(to, ": held by ", json_object_get(first, "owner"));
    waiting_write_process(to, json_object_get(first, "meta"));
    if (count > 1)
        fprintf(to, " and %" JSON_INTEGER_FORMAT " more", count - 1);
    duration_speak(held_ms + monotonic_ms() - waiting->asked_ms, held);
    if (has_time)
        fprintf(to, " for %s", held);
    if (position > 1)
        fprintf(to, "; %" JSON_INTEGER_FORMAT " before you", position - 1);
    fclose(to);
}

/* Cut, since a line that wraps cannot be cleared. */
static int waiting_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
}

static void waiting_print(void *context)
{
    struct waiting *waiting = context;
    char line[LINE_TEXT], compared[LINE_TEXT];
    if (!waiting_is_held(waiting))
        return;
    waiting_describe(waiting, true, line);
    waiting_describe(waiting, false, compared);
    const char *said = waiting->is_terminal ? line : compared;
    if (strcmp(said, waiting->said) == 0)
        return;
    memcpy(waiting->said, said, sizeof waiting->said);
    if (waiting->is_terminal)
        dprintf(STDERR_FILENO, "%s%.*s", CLEAR, waiting_width(), line);
    else
        dprintf(STDERR_FILENO, "baton: waiting. %s\n", line);
}

/* `token` may be NULL. */
static struct reply waiting_get(const struct waiting *waiting, char *path, const char *token,
                                int64_t wait_ms)
{
    return client_send(
        waiting->context->client,
        &(struct request){.method = "GET", .path = path, .token = token, .wait_ms = wait_ms});
}

/* Prints a lock, and waits until it has changed. With a token, it would watch the hold that this
 * has, or has not yet. */
static void waiting_watch(struct waiting *waiting, const char *name)
{
    char rest[96];
    json_int_t version = json_integer_value(json_object_get(waiting->reply.json, "version"));
    waiting_print(waiting);
    snprintf(rest, sizeof rest, "/events?after=%" JSON_INTEGER_FORMAT "&wait_ms=%d", version,
             PORTION_MS);
    struct reply reply = waiting_get(waiting, client_path(name, rest), NULL, PORTION_MS);
    reply_free(&reply);
}

/* Goes from name to name, and stays with one that somebody holds. Ends if it may not look. */
static void waiting_run(struct waiting *waiting)
{
    const struct options *options = waiting->context->options;
    size_t i = 0;
    bool is_refused = false;
    usleep(PAUSE_US);
    client_on_idle(waiting->context->client, waiting_print, waiting);
    while (!is_refused) {
        struct reply *reply = &waiting->reply;
        *reply =
            waiting_get(waiting, client_path(options->names[i], "?waiters=1"), waiting->token, 0);
        waiting->asked_ms = monotonic_ms();
        is_refused = reply->status >= 400 && reply->status < 500;
        if (waiting_is_held(waiting)) {
            waiting_watch(waiting, options->names[i]);
        } else {
            i = (i + 1) % options->name_count;
            usleep(i == 0 ? PAUSE_US : 0);
        }
        reply_free(reply);
    }
}

static bool waiting_has_terminal(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0;
}

pid_t waiting_start(const struct context *context, const char *token)
{
    struct waiting waiting = {
        .context = context, .token = token, .is_terminal = waiting_has_terminal()};
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        waiting_run(&waiting);
    _exit(0);
}

void waiting_stop(pid_t pid, int64_t begun_ms)
{
    if (pid < 0)
        return;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (monotonic_ms() - begun_ms >= PAUSE_US / 1000 && waiting_has_terminal())
        dprintf(STDERR_FILENO, "%s", CLEAR);
}
