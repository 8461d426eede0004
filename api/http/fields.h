/* fields.h: the parameters of requests: a table of fields, read from the query, the body and the
 * Lock-Token header into one checked struct. */
#ifndef BATON_API_HTTP_FIELDS_H
#define BATON_API_HTTP_FIELDS_H

#include "base/slice.h"
#include "locks/locks.h"

#include <jansson.h>

struct exchange;

enum field_kind {
    FIELD_DURATION, /* text with a unit; by its other name an integer of milliseconds */
    FIELD_INTEGER,
    FIELD_MODE,
    FIELD_TEXT,     /* without control characters; the range is its length in bytes */
    FIELD_TOKEN,    /* never in the query */
    FIELD_OBJECT,   /* a JSON object, in the query its text; the range is the length in bytes */
    FIELD_FLAG,     /* true or false; in the query its bare name is true */
    FIELD_CHOICE,   /* the only valid word is `expected` */
    FIELD_LIST,     /* of different names, never in the query; the range is their number */
    FIELD_REPLICAS, /* "none", which is 0, or "replicas:N"; the range is N */
};

/* In the order in which a problem names the fields that a route takes. */
enum field_id {
    FIELD_TTL,
    FIELD_AT_LEAST,
    FIELD_MAX_HELD,
    FIELD_WAIT,
    FIELD_OWNER,
    FIELD_REENTRANT,
    FIELD_LOCK_MODE,
    FIELD_LIMIT,
    FIELD_PERMITS,
    FIELD_LOCK_TOKEN,
    FIELD_META,
    FIELD_FORCE,
    FIELD_PREFIX,
    FIELD_PAGE,
    FIELD_CURSOR,
    FIELD_KEEP,
    FIELD_HOLD,
    FIELD_AFTER,
    FIELD_NAMES,
    FIELD_VERBOSE,
    FIELD_CONFIRM,
    FIELD_REASON,
    FIELD_WAITERS,
    FIELD_UNTIL,
    FIELD_FENCE,
    FIELD_HELD_FOR,
    FIELD_COUNT,
};

struct field {
    const char *name;  /* in the query and in the body */
    const char *in_ms; /* the other name of a duration; else NULL */
    enum field_kind kind;
    int64_t lowest;
    int64_t highest;
    const char *expected; /* what the client should send, for a problem */
};

extern const struct field FIELDS[FIELD_COUNT];

#define FIELD_BIT(id) (1u << (id))

/* Whether the query may have the field: no secret, and no list. */
static inline bool field_is_in_query(const struct field *field)
{
    return field->kind != FIELD_TOKEN && field->kind != FIELD_LIST;
}

#define VERSION_HIGHEST INT64_C(9007199254740991) /* the highest exact integer in JSON */

/* The values, by field. A field that was not given is 0, LOCK_EXCLUSIVE, absent or false. `names`
 * has numbers[FIELD_NAMES] entries. */
struct parameters {
    unsigned given; /* FIELD_BIT of each */
    unsigned in_ms; /* those given as milliseconds */
    int64_t numbers[FIELD_COUNT];
    struct slice texts[FIELD_COUNT];
    struct slice *names;
};

/* Reads and checks the parameters of the exchange. `accepted` has the fields of its route. Returns
 * false if it has answered with a problem, which names the field and what it expects. */
bool fields_read(struct exchange *exchange, unsigned accepted);

/* The longest TTL, in ms, that the principal may give to the requested lock, or to each of the
 * names read so far; if no name has been read, to any lock. */
int64_t fields_longest_ttl(const struct exchange *exchange);

/* The longest time, in ms, for which the principal may hold the requested lock, or each of the
 * names read so far, by renewals; 0: no limit. */
int64_t fields_longest_held(const struct exchange *exchange);

/* Answers invalid_parameter for a field whose value does not fit. */
void field_refuse(struct exchange *exchange, enum field_id id, const char *expected);

static inline bool field_given(const struct parameters *parameters, enum field_id id)
{
    return (parameters->given & FIELD_BIT(id)) != 0;
}

#endif
