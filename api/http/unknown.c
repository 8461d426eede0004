#include "api/http/unknown.h"

#include "api/http/fields.h"
#include "api/http/problem.h"
#include "base/spelling.h"

#include <ctype.h>
#include <stdio.h>

enum {
    NAME_SHOWN = 60,    /* bytes */
    KNOWN_LENGTH = 256, /* room for the names of all fields of a request */
    NAME_COUNT = 2 * FIELD_COUNT,
};

/* The names that the request may have, by number: two of each field; NULL: there is none. */
static const char *known_name(unsigned accepted, bool in_query, unsigned number)
{
    const struct field *field = &FIELDS[number / 2];
    if (!(accepted & FIELD_BIT(number / 2)) || (in_query && !field_is_in_query(field)))
        return NULL;
    return number % 2 ? field->in_ms : field->name;
}

static void list_names(unsigned accepted, bool in_query, char text[KNOWN_LENGTH])
{
    size_t length = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < NAME_COUNT; i++) {
        const char *known = known_name(accepted, in_query, i);
        if (known && length + strlen(known) + sizeof ", " <= KNOWN_LENGTH)
            length += (size_t)snprintf(text + length, KNOWN_LENGTH - length, "%s%s",
                                       length ? ", " : "", known);
    }
}

/* The known name that is closest to this one; NULL if none is close. Capitals do not count. */
static const char *guess_name(unsigned accepted, bool in_query, const char *shown)
{
    char lower[NAME_SHOWN + 1];
    const char *guess = NULL;
    unsigned fewest = SPELLING_FAR;
    size_t length = strlen(shown);
    for (size_t i = 0; i <= length; i++)
        lower[i] = (char)tolower((unsigned char)shown[i]);
    for (unsigned i = 0; i < NAME_COUNT; i++) {
        const char *known = known_name(accepted, in_query, i);
        if (!known)
            continue;
        if (strcmp(lower, known) == 0)
            return known;
        unsigned slips = spelling_slips(lower, known);
        if (slips < fewest) {
            fewest = slips;
            guess = known;
        }
    }
    return guess;
}

/* How many bytes of a name a problem shows, in whole characters. */
static int shown_length(struct slice name)
{
    size_t length = name.length > NAME_SHOWN ? NAME_SHOWN : name.length;
    while (length < name.length && length > 0 && (name.bytes[length] & 0xc0) == 0x80)
        length--;
    return (int)length;
}

bool unknown_refuse(struct exchange *exchange, unsigned accepted, struct slice name, bool in_query)
{
    char known[KNOWN_LENGTH], detail[KNOWN_LENGTH + 2 * NAME_SHOWN], shown[NAME_SHOWN + 1];
    const char *kind = in_query ? "query parameter" : "field";
    list_names(accepted, in_query, known);
    snprintf(shown, sizeof shown, "%.*s", shown_length(name), name.bytes);
    const char *guess = guess_name(accepted, in_query, shown);
    if (name.length == 0)
        snprintf(detail, sizeof detail, "a %s has no name. Known here: %s.", kind,
                 known[0] ? known : "none");
    else if (in_query && slice_equals(name, "token"))
        snprintf(detail, sizeof detail, "never in the URL. Send it in the Lock-Token header.");
    else if (in_query && slice_equals(name, "names"))
        snprintf(detail, sizeof detail, "only in the body: {\"names\": [\"a\", \"b\"]}.");
    else if (known[0])
        snprintf(detail, sizeof detail, "unknown %s.%s%s%s Known here: %s.", kind,
                 guess ? " Did you mean " : "", guess ? guess : "", guess ? "?" : "", known);
    else
        snprintf(detail, sizeof detail, "this request takes no %s. Leave them out.",
                 in_query ? "query parameters" : "body");
    problem_parameter(exchange, shown[0] ? shown : in_query ? "query" : "body", detail);
    return false;
}
