#include "api/http/accept.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { QUALITY_HIGHEST = 1000 };

/* How well a range of the field fits a type. The closest one counts. */
enum closeness { CLOSENESS_NONE, CLOSENESS_ANY, CLOSENESS_TYPE, CLOSENESS_EXACT };

struct preference {
    enum closeness closeness;
    int quality; /* in thousandths; 0: not acceptable */
    size_t place;
};

/* The length up to one of the two characters, or to the end; those in quotes do not count. */
static size_t accept_span(const char *text, const char *ends)
{
    bool is_quoted = false;
    size_t i = 0;
    for (; text[i] && (is_quoted || !strchr(ends, text[i])); i++) {
        if (text[i] == '"')
            is_quoted = !is_quoted;
        else if (is_quoted && text[i] == '\\' && text[i + 1])
            i++;
    }
    return i;
}

static bool accept_is(const char *text, size_t length, const char *word, size_t word_length)
{
    return length == word_length && strncasecmp(text, word, length) == 0;
}

static enum closeness accept_closeness(const char *range, size_t length, const char *type)
{
    size_t main_length = (size_t)(strchr(type, '/') - type) + 1;
    if (accept_is(range, length, type, strlen(type)))
        return CLOSENESS_EXACT;
    if (length == main_length + 1 && range[length - 1] == '*' &&
        strncasecmp(range, type, main_length) == 0)
        return CLOSENESS_TYPE;
    return accept_is(range, length, "*/*", 3) ? CLOSENESS_ANY : CLOSENESS_NONE;
}

/* 0.8 is 800. What is no number counts as 1. */
static int accept_read_quality(const char *text)
{
    int quality = 0, unit = QUALITY_HIGHEST / 10;
    if (text[0] != '0')
        return QUALITY_HIGHEST;
    if (text[1] != '.')
        return 0;
    for (text += 2; *text >= '0' && *text <= '9' && unit > 0; text++, unit /= 10)
        quality += (*text - '0') * unit;
    return quality;
}

/* The quality among the parameters that begin here, up to the end of the range. */
static int accept_quality(const char *parameters)
{
    while (*parameters == ';') {
        parameters++;
        parameters += strspn(parameters, " \t");
        if ((parameters[0] == 'q' || parameters[0] == 'Q') && parameters[1] == '=')
            return accept_read_quality(parameters + 2);
        parameters += accept_span(parameters, ";,");
    }
    return QUALITY_HIGHEST;
}

static struct preference accept_find(const char *accept, const char *type)
{
    struct preference found = {.closeness = CLOSENESS_NONE};
    const char *next = accept;
    for (size_t place = 0; next && *next; place++) {
        next += strspn(next, ", \t");
        size_t length = strcspn(next, ",; \t");
        enum closeness closeness = accept_closeness(next, length, type);
        const char *parameters = next + length + strspn(next + length, " \t");
        if (closeness > found.closeness)
            found = (struct preference){closeness, accept_quality(parameters), place};
        next += accept_span(next, ",");
    }
    return found;
}

/* Problems are JSON, too, where they are named. */
static struct preference accept_find_json(const char *accept)
{
    struct preference json = accept_find(accept, "application/json");
    struct preference problem = accept_find(accept, "application/problem+json");
    bool is_named = problem.closeness == CLOSENESS_EXACT;
    bool is_before = problem.quality > json.quality ||
                     (problem.quality == json.quality && problem.place < json.place);
    return is_named && is_before ? problem : json;
}

/* Most clients name neither text nor a quality, without which JSON is as good as all else. */
bool accept_prefers_text(const char *accept)
{
    return accept && (strcasestr(accept, "text/") || strchr(accept, ';')) &&
           accept_find(accept, "text/plain").quality > accept_find_json(accept).quality;
}

bool accept_prefers_events(const char *accept)
{
    if (!accept || !strcasestr(accept, "text/"))
        return false;
    struct preference events = accept_find(accept, "text/event-stream");
    struct preference json = accept_find_json(accept);
    return events.closeness == CLOSENESS_EXACT &&
           (events.quality > json.quality ||
            (events.quality > 0 && events.quality == json.quality && events.place < json.place));
}

bool accept_prefers_page(const char *accept)
{
    if (!accept)
        return false;
    struct preference page = accept_find(accept, "text/html");
    return page.closeness == CLOSENESS_EXACT && page.quality > 0 &&
           page.quality >= accept_find(accept, "text/plain").quality;
}
