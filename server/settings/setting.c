#include "server/settings/setting.h"

#include "base/duration.h"
#include "base/memory.h"
#include "base/table.h"
#include "locks/quarantine/quarantine.h"
#include "locks/types/replicas.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char **setting_text(struct settings *settings, const struct setting *setting)
{
    return (char **)((char *)settings + setting->offset);
}

static int set_text(struct settings *settings, const struct setting *setting, const char *value)
{
    char **place = setting_text(settings, setting);
    free(*place);
    *place = memory_checked(strdup(value));
    return 0;
}

static int set_number(struct settings *settings, const struct setting *setting, int64_t number)
{
    if (number < setting->lowest || number > setting->highest)
        return -EINVAL;
    *(int64_t *)((char *)settings + setting->offset) = number;
    return 0;
}

static int set_count(struct settings *settings, const struct setting *setting, const char *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end || errno)
        return -EINVAL;
    return set_number(settings, setting, number);
}

static int set_duration(struct settings *settings, const struct setting *setting, const char *value)
{
    int64_t ms;
    if (duration_parse(slice_of(value), &ms) < 0)
        return -EINVAL;
    return set_number(settings, setting, ms);
}

static int set_choice(struct settings *settings, const struct setting *setting, const char *value)
{
    for (int i = 0; setting->choices[i]; i++) {
        if (strcmp(setting->choices[i], value) == 0) {
            *(int *)((char *)settings + setting->offset) = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int set_flag(struct settings *settings, const struct setting *setting, const char *value)
{
    bool yes = strcmp(value, "true") == 0;
    if (!yes && strcmp(value, "false") != 0)
        return -EINVAL;
    *(bool *)((char *)settings + setting->offset) = yes;
    return 0;
}

static int set_quarantine(struct settings *settings, const struct setting *setting,
                          const char *value)
{
    int64_t ms;
    if (!quarantine_parse(slice_of(value), &ms))
        return -EINVAL;
    return set_number(settings, setting, ms);
}

static int set_replicas(struct settings *settings, const struct setting *setting, const char *value)
{
    int64_t replicas;
    if (!replicas_parse(slice_of(value), &replicas))
        return -EINVAL;
    return set_number(settings, setting, replicas);
}

/* Describes the expected value for a message. */
static void setting_describe(const struct setting *setting, char *text, size_t size)
{
    char duration[DURATION_RANGE];
    switch (setting->kind) {
    case DURATION:
        duration_describe(setting->lowest, setting->highest, duration);
        snprintf(text, size, "%s", duration);
        break;
    case COUNT:
        snprintf(text, size, "a number from %" PRId64 " to %" PRId64, setting->lowest,
                 setting->highest);
        break;
    case CHOICE: {
        int length = 0;
        for (int i = 0; setting->choices[i]; i++)
            length += snprintf(text + length, size - (size_t)length, "%s%s", i ? ", " : "one of ",
                               setting->choices[i]);
        break;
    }
    case REPLICAS:
        snprintf(text, size, "none, or replicas:N with N from 1 to %" PRId64, setting->highest);
        break;
    case QUARANTINE:
        duration_describe(QUARANTINE_SHORTEST_MS, QUARANTINE_LONGEST_MS, duration);
        snprintf(text, size, "auto, off, or %s", duration);
        break;
    case FLAG:
        snprintf(text, size, "true or false");
        break;
    case TEXT:
    case SECRET:
        snprintf(text, size, "a text");
        break;
    }
}

#define SETTERS(X)                                                                                 \
    X(TEXT, set_text)                                                                              \
    X(SECRET, set_text)                                                                            \
    X(DURATION, set_duration)                                                                      \
    X(COUNT, set_count)                                                                            \
    X(CHOICE, set_choice)                                                                          \
    X(FLAG, set_flag)                                                                              \
    X(REPLICAS, set_replicas)                                                                      \
    X(QUARANTINE, set_quarantine)

int setting_set(struct settings *settings, const struct setting *setting, const char *value,
                const char *origin, struct failure *failure)
{
    static int (*const SET[])(struct settings *, const struct setting *,
                              const char *) = {SETTERS(TABLE_ROW)};
    TABLE_IS_COMPLETE(SETTERS, SETTING_KINDS);
    if (SET[setting->kind](settings, setting, value) == 0)
        return 0;
    char expected[160];
    setting_describe(setting, expected, sizeof expected);
    return failure_set(failure, -EINVAL, "%s: \"%.*s\" is not valid; expected %s", origin,
                       SETTING_SHOWN, value, expected);
}
