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

/* A line is: SECONDS.MICROSECONDS [DATABASE ADDRESS] "COMMAND" "ARGUMENT"... */
static void understand(struct monitor_line *line)
{
    const char *source = strchr(line->text, '[');
    const char *quote = source ? strchr(source, '"') : NULL;
    if (!quote)
        errx(2, "MONITOR says: %s", line->text);
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
