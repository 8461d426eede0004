#include "tests/chaos/line.h"

#include "tests/support/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last digits of an attempt tell it from those of some minutes before. */
static bool loses(void *context, const char *text, size_t length)
{
    struct line *line = context;
    const char *end = length > 2 ? memchr(text + 2, ' ', length - 2) : NULL;
    if (line->loses == 0 || memcmp(text, "g ", 2) != 0 || !end || end - text < 6)
        return false;
    unsigned attempt = (unsigned)strtoul(end - 4, NULL, 16) % LINE_ATTEMPTS;
    if (++line->received % (unsigned)line->loses != 0 || line->has_lost[attempt])
        return false;
    line->has_lost[attempt] = true;
    line->lost++;
    return true;
}

static size_t cut(void *context, char *bytes, size_t length)
{
    return published_cut(bytes, length, loses, context);
}

void line_start(struct line *line, int redis_port)
{
    wire_delay_start_cutting(&line->wire, redis_port, cut, line);
    snprintf(line->url, sizeof line->url, "redis://127.0.0.1:%d", line->wire.port);
}
