#include "cli/commands/waiting.h"

#include "base/duration.h"
#include "base/memory.h"
#include "base/monotonic.h"
#include "base/utf8.h"
#include "cli/commands/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AWAY_SAID_MS = 1000 }; /* most restarts take less */

static const char CLEAR[] = "\r\033[K";

/* " (pid 4711, backup.sh)", as the meta of baton run has it. */
static void waiting_write_process(FILE *to, const json_t *meta)
{
    const json_t *pid = json_object_get(meta, "pid");
    if (!json_is_integer(pid))
        return;
    reply_write(to, " (pid ", pid);
    reply_write(to, ", ", json_object_get(meta, "command"));
    fputc(')', to);
}

/* Why batond cannot grant the lock, and for how long baton asks again. */
static void waiting_write_trouble(FILE *to, const struct waiting *waiting, bool has_time)
{
    char left[DURATION_SPOKEN];
    const json_t *title = json_object_get(waiting->refusal, "title");
    int64_t left_ms = waiting->end_ms - monotonic_ms();
    if (title)
        reply_write(to, ": ", title);
    else
        fputs(": no batond answers", to);
    duration_speak(left_ms > 0 ? left_ms : 0, left);
    if (has_time)
        fprintf(to, "; baton asks again for %s", left);
    if (has_time && waiting->trouble[0])
        fprintf(to, " (%s)", waiting->trouble);
}

static void waiting_write_holders(FILE *to, const struct waiting *waiting, bool has_time)
{
    const json_t *holders = json_object_get(waiting->refusal, "holders"),
                 *first = json_array_get(holders, 0);
    json_int_t position = json_integer_value(json_object_get(waiting->refusal, "position"));
    bool is_released = json_is_true(json_object_get(first, "released"));
    int64_t since_ms = monotonic_ms() - waiting->refused_ms;
    int64_t ms = is_released ? reply_ms(first, "at_least_ms") - since_ms
                             : reply_ms(first, "held_ms") + since_ms;
    char time[DURATION_SPOKEN];
    reply_write(to, is_released ? ": released by " : ": held by ", json_object_get(first, "owner"));
    if (!is_released)
        waiting_write_process(to, json_object_get(first, "meta"));
    if (json_array_size(holders) > 1)
        fprintf(to, " and %zu more", json_array_size(holders) - 1);
    duration_speak(ms > 0 ? ms : 0, time);
    if (has_time)
        fprintf(to, is_released ? ", taken for %s more" : " for %s", time);
    if (position > 1)
        fprintf(to, "; %" JSON_INTEGER_FORMAT " before you", position - 1);
}

/* Writes the line, without the time if it is only to be compared. */
static void waiting_describe(const struct waiting *waiting, bool has_time, char line[WAITING_LINE])
{
    char name[REPLY_SHOWN];
    FILE *to = memory_checked(fmemopen(line, WAITING_LINE, "w"));
    reply_show(json_object_get(waiting->refusal, "name"), waiting->name, name); /* of several */
    fputs(name, to);
    if (waiting->away_ms)
        waiting_write_trouble(to, waiting, has_time);
    else
        waiting_write_holders(to, waiting, has_time);
    fclose(to);
}

/* Whether there is anything to print. */
static bool waiting_has_line(const struct waiting *waiting)
{
    if (waiting->away_ms)
        return monotonic_ms() - waiting->away_ms >= AWAY_SAID_MS;
    return json_array_size(json_object_get(waiting->refusal, "holders")) > 0;
}

static void waiting_refresh(void *context)
{
    struct waiting *waiting = context;
    char line[WAITING_LINE], compared[WAITING_LINE];
    if (!waiting_has_line(waiting))
        return;
    waiting_describe(waiting, true, line);
    waiting_describe(waiting, false, compared);
    const char *said = waiting->is_terminal ? line : compared;
    if (strcmp(said, waiting->said) == 0)
        return;
    strcpy(waiting->said, said);
    if (waiting->is_terminal)
        fprintf(stderr, "%s%.*s", CLEAR, (int)table_room(STDERR_FILENO, 80) - 1,
                line); /* a line that wraps cannot be cleared */
    else
        fprintf(stderr, "baton: waiting. %s\n", line);
}

void waiting_begin(struct waiting *waiting, const char *name, struct client *client)
{
    const char *kind = getenv("TERM");
    *waiting = (struct waiting){
        .name = name, .is_terminal = isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0};
    client_on_idle(client, waiting_refresh, waiting);
}

void waiting_print(struct waiting *waiting, const struct reply *reply)
{
    if (!waiting->name)
        return;
    json_decref(waiting->refusal);
    waiting->refusal = json_incref(reply->json);
    waiting->refused_ms = monotonic_ms();
    struct slice trouble = {reply->trouble, strcspn(reply->trouble, "\n")};
    utf8_show_all(trouble, waiting->trouble, sizeof waiting->trouble);
    waiting_refresh(waiting);
}

void waiting_end(struct waiting *waiting, struct client *client)
{
    if (waiting->is_terminal && waiting->said[0])
        fprintf(stderr, "%s", CLEAR);
    json_decref(waiting->refusal);
    client_on_idle(client, NULL, NULL);
}
