#include "base/duration.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static const int64_t LARGEST_MS = (INT64_C(1) << 53) - 1;

/* Largest first, as duration_format looks for the first that divides. */
static const struct unit {
    const char *name;
    int64_t ms;
} UNITS[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

enum { UNIT_COUNT = sizeof UNITS / sizeof UNITS[0] };

static int64_t duration_unit_ms(struct slice name)
{
    if (name.length == 0)
        return 1000;
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (slice_equals(name, UNITS[i].name))
            return UNITS[i].ms;
    return 0;
}

int duration_parse(struct slice text, int64_t *ret_ms)
{
    int64_t number = 0;
    size_t i = 0;
    for (; i < text.length && text.bytes[i] >= '0' && text.bytes[i] <= '9'; i++) {
        number = number * 10 + (text.bytes[i] - '0');
        if (number > LARGEST_MS)
            return -EINVAL;
    }
    if (i == 0)
        return -EINVAL;

    int64_t unit = duration_unit_ms((struct slice){text.bytes + i, text.length - i});
    if (unit == 0 || number > LARGEST_MS / unit)
        return -EINVAL;
    *ret_ms = number * unit;
    return 0;
}

void duration_format(int64_t ms, char text[DURATION_TEXT])
{
    const struct unit *unit = &UNITS[UNIT_COUNT - 2]; /* seconds, for 0 */
    for (size_t i = 0; ms != 0 && i < UNIT_COUNT; i++) {
        unit = &UNITS[i];
        if (ms % unit->ms == 0)
            break;
    }
    snprintf(text, DURATION_TEXT, "%" PRId64 "%s", ms / unit->ms, unit->name);
}

void duration_speak(int64_t ms, char text[DURATION_SPOKEN])
{
    static const struct unit SPOKEN[] = {{"h", 3600000}, {"min", 60000}, {"s", 1000}};
    size_t length = 0;
    for (size_t i = 0; i < sizeof SPOKEN / sizeof SPOKEN[0]; i++) {
        int64_t count = ms / SPOKEN[i].ms;
        bool is_last = SPOKEN[i].ms == 1000;
        ms %= SPOKEN[i].ms;
        if (count > 0 || (is_last && length == 0))
            length += (size_t)snprintf(text + length, DURATION_SPOKEN - length, "%s%" PRId64 " %s",
                                       length > 0 ? " " : "", count, SPOKEN[i].name);
    }
}

void duration_describe(int64_t lowest_ms, int64_t highest_ms, char text[DURATION_RANGE])
{
    char lowest[DURATION_TEXT], highest[DURATION_TEXT];
    duration_format(lowest_ms, lowest);
    duration_format(highest_ms, highest);
    snprintf(text, DURATION_RANGE,
             "a duration from %s to %s, as one number and one unit (ms, s, m or h)", lowest,
             highest);
}
