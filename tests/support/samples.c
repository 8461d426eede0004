#include "tests/support/samples.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the lines before have said. */
struct reading {
    struct samples *samples;
    char name[128]; /* of the metric that was introduced last */
    char type[32];
    size_t first; /* of its samples */
    bool goes_on;
};

__attribute__((format(printf, 2, 3))) static void complain(struct samples *samples,
                                                           const char *format, ...)
{
    va_list arguments;
    if (samples->trouble[0])
        return;
    va_start(arguments, format);
    vsnprintf(samples->trouble, sizeof samples->trouble, format, arguments);
    va_end(arguments);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* What follows the metric's name in a series: "", "_bucket", ...; NULL where it is another's. */
static const char *suffix_of(const struct reading *reading, const char *series)
{
    static const char *const OF_HISTOGRAMS[] = {"_bucket", "_sum", "_count"};
    if (!begins_with(series, reading->name))
        return NULL;
    const char *rest = series + strlen(reading->name);
    size_t length = strcspn(rest, "{");
    if (strcmp(reading->type, "histogram") != 0)
        return length == 0 ? "" : NULL;
    for (size_t i = 0; i < sizeof OF_HISTOGRAMS / sizeof OF_HISTOGRAMS[0]; i++)
        if (strlen(OF_HISTOGRAMS[i]) == length && begins_with(rest, OF_HISTOGRAMS[i]))
            return OF_HISTOGRAMS[i];
    return NULL;
}

/* `a="b",c="d"}`: no value has a quote, a comma or a brace in it, but a route's has braces. */
static bool labels_are_whole(const char *labels)
{
    for (;;) {
        size_t name = strspn(labels, "abcdefghijklmnopqrstuvwxyz_");
        if (name == 0 || labels[name] != '=' || labels[name + 1] != '"')
            return false;
        const char *end = strchr(labels + name + 2, '"');
        if (!end)
            return false;
        if (strcmp(end + 1, "}") == 0)
            return true;
        if (end[1] != ',')
            return false;
        labels = end + 2;
    }
}

static void add(struct reading *reading, char *line)
{
    struct samples *samples = reading->samples;
    char *space = strrchr(line, ' '), *end;
    if (!space) {
        complain(samples, "no value: %s", line);
        return;
    }
    *space = '\0';
    struct sample sample = {line, strtod(space + 1, &end)};
    const char *labels = strchr(line, '{');
    if (*end || end == space + 1)
        complain(samples, "no number: %s %s", line, space + 1);
    if (labels && !labels_are_whole(labels + 1))
        complain(samples, "odd labels: %s", line);
    if (!suffix_of(reading, line))
        complain(samples, "%s after %s, a %s", line, reading->name, reading->type);
    if (strcmp(reading->type, "gauge") != 0 && !(sample.value >= 0))
        complain(samples, "%s is negative", line);
    for (size_t i = 0; i < samples->count; i++)
        if (strcmp(samples->all[i].series, line) == 0)
            complain(samples, "%s stands twice", line);
    samples->all = realloc(samples->all, (samples->count + 1) * sizeof sample);
    if (!samples->all)
        abort();
    samples->all[samples->count++] = sample;
}

/* One histogram's samples: buckets, sum, count. Returns how many those are. */
static size_t check_histogram(struct reading *reading, size_t first)
{
    struct samples *samples = reading->samples;
    const struct sample *all = samples->all;
    double before = 0, bound_before = 0, least_sum = 0, most_sum = 0;
    size_t i = first;
    for (; i < samples->count && strcmp(suffix_of(reading, all[i].series), "_bucket") == 0; i++) {
        const char *bound_text = strstr(all[i].series, "le=\"");
        double bound = bound_text ? strtod(bound_text + 4, NULL) : NAN, own = all[i].value - before;
        if (!(bound > bound_before))
            complain(samples, "%s: the bounds do not ascend", all[i].series);
        if (own < 0)
            complain(samples, "%s is less than the bucket before", all[i].series);
        least_sum += own * bound_before;
        most_sum += own > 0 ? own * bound : 0;
        before = all[i].value;
        bound_before = bound;
    }
    if (i == first || !isinf(bound_before)) {
        complain(samples, "%s has no bucket +Inf", reading->name);
        return samples->count - first;
    }
    if (i + 1 >= samples->count || strcmp(suffix_of(reading, all[i].series), "_sum") != 0 ||
        strcmp(suffix_of(reading, all[i + 1].series), "_count") != 0) {
        complain(samples, "%s has no sum and count", all[i - 1].series);
        return samples->count - first;
    }
    /* Each may be rounded by half a microsecond. */
    double slack = before * 1e-6;
    bool is_short = all[i].value < least_sum - slack && !reading->goes_on;
    if (is_short || all[i].value > most_sum + slack)
        complain(samples, "%s %g is not between %g and %g", all[i].series, all[i].value, least_sum,
                 most_sum);
    if (all[i + 1].value != before)
        complain(samples, "%s is not the bucket +Inf", all[i + 1].series);
    return i + 2 - first;
}

static void end_metric(struct reading *reading)
{
    if (strcmp(reading->type, "histogram") != 0 || reading->samples->trouble[0])
        return;
    for (size_t i = reading->first; i < reading->samples->count;)
        i += check_histogram(reading, i);
}

/* HELP and TYPE, which stand one after the other. */
static void begin_metric(struct reading *reading, const char *help, const char *type)
{
    char name[128] = "";
    end_metric(reading);
    if (sscanf(help, "# HELP %127s %*c", name) != 1 || !type ||
        sscanf(type, "# TYPE %127s %31s", reading->name, reading->type) != 2 ||
        strcmp(name, reading->name) != 0)
        complain(reading->samples, "no HELP and TYPE: %s", help);
    bool counts = strcmp(reading->type, "counter") == 0;
    if (counts != ends_with(name, "_total"))
        complain(reading->samples, "%s is a %s", name, reading->type);
    for (size_t i = 0; i < reading->samples->count; i++)
        if (suffix_of(reading, reading->samples->all[i].series))
            complain(reading->samples, "%s is introduced twice", name);
    reading->first = reading->samples->count;
}

struct samples samples_read(const char *text, bool goes_on)
{
    struct samples samples = {.text = strdup(text)};
    struct reading reading = {.samples = &samples, .goes_on = goes_on};
    char *rest = NULL;
    if (!samples.text)
        abort();
    if (!ends_with(text, "\n"))
        complain(&samples, "the last line does not end");
    for (char *line = strtok_r(samples.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (line[0] == '#')
            begin_metric(&reading, line, strtok_r(NULL, "\n", &rest));
        else
            add(&reading, line);
    end_metric(&reading);
    return samples;
}

void samples_free(struct samples *samples)
{
    free(samples->text);
    free(samples->all);
}

double samples_value(const struct samples *samples, const char *series)
{
    for (size_t i = 0; i < samples->count; i++)
        if (strcmp(samples->all[i].series, series) == 0)
            return samples->all[i].value;
    return NAN;
}

double samples_sum(const struct samples *samples, const char *beginning)
{
    double sum = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (begins_with(samples->all[i].series, beginning))
            sum += samples->all[i].value;
    return sum;
}
