#include "cli/commands/waiting.h"

#include "base/duration.h"
#include "base/memory.h"
#include "base/monotonic.h"
#include "cli/commands/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Writes the line, without the time if it is only to be compared. */
static void waiting_describe(const struct waiting *waiting, bool has_time, char line[WAITING_LINE])
{
    const json_t *holders = json_object_get(waiting->refusal, "holders"),
                 *first = json_array_get(holders, 0),
                 *of_several = json_object_get(waiting->refusal, "name");
    json_int_t position = json_integer_value(json_object_get(waiting->refusal, "position"));
    char held[DURATION_SPOKEN], name[REPLY_SHOWN];
    memset(line, 0, WAITING_LINE);
    FILE *to = memory_checked(fmemopen(line, WAITING_LINE - 1, "w"));
    reply_show(of_several, waiting->name, name);
    fputs(name, to);
    reply_write(to, ": held by ", json_object_get(first, "owner"));
    waiting_write_process(to, json_object_get(first, "meta"));
    if (json_array_size(holders) > 1)
        fprintf(to, " and %zu more", json_array_size(holders) - 1);
    duration_speak(reply_ms(first, "held_ms") + monotonic_ms() - waiting->told_ms, held);
    if (has_time)
        fprintf(to, " for %s", held);
    if (position > 1)
        fprintf(to, "; %" JSON_INTEGER_FORMAT " before you", position - 1);
    fclose(to);
}

static void waiting_refresh(void *context)
{
    struct waiting *waiting = context;
    char line[WAITING_LINE], compared[WAITING_LINE];
    if (json_array_size(json_object_get(waiting->refusal, "holders")) == 0)
        return;
    waiting_describe(waiting, true, line);
    waiting_describe(waiting, false, compared);
    const char *said = waiting->is_terminal ? line : compared;
    if (strcmp(said, waiting->said) == 0)
        return;
    memcpy(waiting->said, said, sizeof waiting->said);
    if (waiting->is_terminal)
        dprintf(STDERR_FILENO, "%s%.*s", CLEAR, (int)table_room(STDERR_FILENO, 80) - 1,
                line); /* a line that wraps cannot be cleared */
    else
        dprintf(STDERR_FILENO, "baton: waiting. %s\n", line);
}

void waiting_begin(struct waiting *waiting, const char *name, struct client *client)
{
    const char *kind = getenv("TERM");
    *waiting = (struct waiting){
        .name = name, .is_terminal = isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0};
    if (waiting->is_terminal)
        client_on_idle(client, waiting_refresh, waiting);
}

void waiting_print(struct waiting *waiting, const struct reply *reply)
{
    json_decref(waiting->refusal);
    waiting->refusal = json_incref(reply->json);
    waiting->told_ms = monotonic_ms();
    waiting_refresh(waiting);
}

void waiting_end(struct waiting *waiting, struct client *client)
{
    if (waiting->is_terminal && waiting->said[0])
        dprintf(STDERR_FILENO, "%s", CLEAR);
    json_decref(waiting->refusal);
    client_on_idle(client, NULL, NULL);
}
