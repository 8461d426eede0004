#include "tests/bench/monitor.h"

#include <ctype.h>
#include <err.h>
#include <stdio.h>
#include <string.h>

redisContext *monitor_open(const char *redis)
{
    redisContext *monitor = plain_connect(redis);
    freeReplyObject(plain_command(monitor, "MONITOR"));
    return monitor;
}

/* A line is: SECONDS.MICROSECONDS [DATABASE ADDRESS] "COMMAND" "ARGUMENT"...; the address of a
 * script is "lua". */
static void understand(struct monitor_line *line)
{
    const char *source = strchr(line->text, '[');
    const char *quote = source ? strchr(source, '"') : NULL;
    if (!quote)
        errx(2, "MONITOR says: %s", line->text);
    const char *blank = strchr(source, ' ');
    line->inside = strncmp(blank, " lua]", 5) == 0;
    size_t length = strcspn(quote + 1, "\"");
    snprintf(line->name, sizeof line->name, "%.*s", (int)length, quote + 1);
    for (char *c = line->name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

bool monitor_next(redisContext *monitor, struct monitor_line *line, bool wait)
{
    if (line->reply)
        freeReplyObject(line->reply);
    line->reply = plain_take(monitor);
    while (!line->reply && wait)
        line->reply = plain_read(monitor);
    if (!line->reply)
        return false;
    line->text = line->reply->str;
    understand(line);
    return true;
}

void tally_add(struct tally *tally, const char *name, long count)
{
    size_t i = 0;
    while (i < MONITOR_NAMES - 1 && tally->rows[i].name[0] &&
           strcmp(tally->rows[i].name, name) != 0)
        i++;
    snprintf(tally->rows[i].name, sizeof tally->rows[i].name, "%s", name);
    tally->rows[i].count += count;
    tally->total += count;
}

void tally_describe(const struct tally *tally, double rounds, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < MONITOR_NAMES && tally->rows[i].name[0] && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%.2f %s", i ? ", " : "",
                                   (double)tally->rows[i].count / rounds, tally->rows[i].name);
}
