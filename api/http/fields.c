#include "api/http/fields.h"

#include "api/http/body.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/input.h"
#include "api/http/problem.h"
#include "api/http/route.h"
#include "api/http/target.h"
#include "api/http/unknown.h"
#include "base/memory.h"

#include <stdio.h>

enum { CURSOR_LONGEST = 32768, DETAIL_LENGTH = 128 };

const struct field FIELDS[FIELD_COUNT] = {
    [FIELD_TTL] = {"ttl", "ttl_ms", FIELD_DURATION, 100, 86400000, NULL},
    [FIELD_AT_LEAST] = {"at_least", "at_least_ms", FIELD_DURATION, 0, 86400000, NULL},
    [FIELD_MAX_HELD] = {"max_held", "max_held_ms", FIELD_DURATION, 100, 2592000000, NULL},
    [FIELD_WAIT] = {"wait", "wait_ms", FIELD_DURATION, 0, 3600000, NULL},
    [FIELD_OWNER] = {"owner", NULL, FIELD_TEXT, 1, OWNER_NAME_LENGTH, NULL},
    [FIELD_REENTRANT] = {"reentrant", NULL, FIELD_FLAG, 0, 1, NULL},
    [FIELD_LOCK_MODE] = {"mode", NULL, FIELD_MODE, 0, 0, NULL},
    [FIELD_LIMIT] = {"limit", NULL, FIELD_INTEGER, 1, LOCK_LIMIT_HIGHEST, NULL},
    [FIELD_PERMITS] = {"permits", NULL, FIELD_INTEGER, 1, LOCK_LIMIT_HIGHEST, NULL},
    [FIELD_LOCK_TOKEN] = {"token", NULL, FIELD_TOKEN, TOKEN_SHORTEST, TOKEN_LONGEST, NULL},
    [FIELD_META] = {"meta", NULL, FIELD_OBJECT, 2, LOCK_META_LENGTH, NULL},
    [FIELD_FORCE] = {"force", NULL, FIELD_FLAG, 0, 1, NULL},
    [FIELD_PREFIX] = {"prefix", NULL, FIELD_TEXT, 0, NAME_LENGTH, NULL},
    [FIELD_PAGE] = {"limit", NULL, FIELD_INTEGER, 1, LOCKS_LIST_LONGEST, NULL},
    [FIELD_CURSOR] = {"cursor", NULL, FIELD_TEXT, 1, CURSOR_LONGEST,
                      "the cursor of the previous page, unchanged"},
    [FIELD_KEEP] = {"keep", "keep_ms", FIELD_DURATION, 0, 30000, NULL},
    [FIELD_HOLD] = {"hold", NULL, FIELD_CHOICE, 0, 0, "connection"},
    [FIELD_AFTER] = {"after", NULL, FIELD_INTEGER, 0, VERSION_HIGHEST, NULL},
    [FIELD_NAMES] = {"names", NULL, FIELD_LIST, 1, LOCKS_SEVERAL_MOST, NULL},
    [FIELD_VERBOSE] = {"verbose", NULL, FIELD_FLAG, 0, 1, NULL},
    [FIELD_REASON] = {"reason", NULL, FIELD_TEXT, 1, LOCK_REASON_LENGTH, NULL},
    [FIELD_CONFIRM] = {"confirm", NULL, FIELD_REPLICAS, 1, STORE_REPLICAS_MOST, NULL},
    [FIELD_UNTIL] = {"until", NULL, FIELD_CHOICE, 0, 0, "ended"},
    [FIELD_WAITERS] = {"waiters", NULL, FIELD_INTEGER, 1, LOCK_WAITERS_MOST, NULL},
    [FIELD_HELD_FOR] = {"held_for", "held_for_ms", FIELD_DURATION, 0, 31536000000, NULL},
    [FIELD_FENCE] = {"fence", NULL, FIELD_INTEGER, 1, VERSION_HIGHEST, NULL},
};

/* The client's name for a field; `name` for one that it did not give. */
static const char *name_given(const struct parameters *parameters, enum field_id id)
{
    return (parameters->in_ms & FIELD_BIT(id)) != 0 ? FIELDS[id].in_ms : FIELDS[id].name;
}

void field_refuse(struct exchange *exchange, enum field_id id, const char *expected)
{
    problem_parameter(exchange, name_given(&exchange->parameters, id), expected);
}

/* Sets the field and the name of an input to the accepted field with this name. Returns false if
 * there is none. */
static bool find_field(unsigned accepted, struct slice name, bool in_query, struct input *input)
{
    for (unsigned id = 0; id < FIELD_COUNT; id++) {
        const struct field *field = &FIELDS[id];
        if (!(accepted & FIELD_BIT(id)) || (in_query && !field_is_in_query(field)))
            continue;
        bool is_named = slice_equals(name, field->name);
        input->in_ms = !is_named && field->in_ms && slice_equals(name, field->in_ms);
        if (!is_named && !input->in_ms)
            continue;
        input->id = (enum field_id)id;
        input->name = input->in_ms ? field->in_ms : field->name;
        return true;
    }
    return false;
}

static bool refuse_repeated(const struct input *input)
{
    char detail[DETAIL_LENGTH];
    const char *first = name_given(&input->exchange->parameters, input->id);
    bool is_other = input->in_ms != (first == FIELDS[input->id].in_ms);
    if (is_other)
        snprintf(detail, sizeof detail, "the same as %s, which is given too. Send one of them.",
                 first);
    problem_parameter(input->exchange, input->name,
                      is_other ? detail : "given more than once. Give it in one place only.");
    return false;
}

/* Marks the field as given. Returns false if it was given before. */
static bool claim(const struct input *input)
{
    struct parameters *parameters = &input->exchange->parameters;
    if (field_given(parameters, input->id))
        return refuse_repeated(input);
    parameters->given |= FIELD_BIT(input->id);
    if (input->in_ms)
        parameters->in_ms |= FIELD_BIT(input->id);
    return true;
}

static bool read_pair(struct exchange *exchange, unsigned accepted, struct slice name,
                      struct slice value, char *decoded)
{
    struct input input = {.exchange = exchange};
    if (!find_field(accepted, name, true, &input))
        return unknown_refuse(exchange, accepted, name, true);
    if (!claim(&input))
        return false;
    if (!value.bytes && FIELDS[input.id].kind == FIELD_FLAG)
        return input_set_from_query(&input, slice_of("true"));
    struct slice text = {decoded, 0};
    if (percent_decode(value, decoded, &text.length) < 0)
        return input_refuse(&input);
    return input_set_from_query(&input, text);
}

static bool read_query(struct exchange *exchange, unsigned accepted)
{
    struct slice path, query, name, value;
    target_split(exchange->head.target, &path, &query);
    if (query.length == 0)
        return true;
    exchange->kept.decoded = memory_checked(malloc(query.length));
    const char *start = query.bytes;
    while (query_next(&query, &name, &value)) {
        /* Decodes in place: a value only gets shorter. */
        char *place = exchange->kept.decoded + (value.bytes ? value.bytes - start : 0);
        if (!read_pair(exchange, accepted, name, value, place))
            return false;
    }
    return true;
}

static bool read_body(struct exchange *exchange, unsigned accepted)
{
    const char *key;
    json_t *value;
    if (exchange->body.length == 0)
        return true;
    if (strcmp(exchange->route->method, "GET") == 0) {
        if (body_is_null(exchange))
            return true;
        problem_parameter(exchange, "body", "a GET request takes no body. Use query parameters.");
        return false;
    }
    if (!body_parse(exchange))
        return false;
    json_object_foreach (exchange->kept.json, key, value) {
        struct input input = {.exchange = exchange};
        if (!find_field(accepted, slice_of(key), false, &input))
            return unknown_refuse(exchange, accepted, slice_of(key), false);
        if (json_is_null(value))
            continue; /* counts as absent */
        if (!claim(&input) || !input_set_from_json(&input, value))
            return false;
    }
    return true;
}

/* Refuses what other services have in place of Lock-Token: batond would not read it. */
static bool refuse_header(struct exchange *exchange)
{
    if (exchange->head.has_x_lock_token)
        problem_parameter(exchange, "X-Lock-Token",
                          "not a header of Baton. Send the token as Lock-Token.");
    else
        problem_parameter(
            exchange, "Idempotency-Key",
            "not a header of Baton. The token makes a repeat safe: send Lock-Token, "
            "22 to 128 characters of A-Z, a-z, 0-9, _ and -, and the same one again.");
    return false;
}

static bool read_header(struct exchange *exchange, unsigned accepted)
{
    if (!(accepted & FIELD_BIT(FIELD_LOCK_TOKEN)))
        return true;
    if (exchange->head.has_x_lock_token || exchange->head.has_idempotency_key)
        return refuse_header(exchange);
    if (!exchange->head.lock_token)
        return true;
    struct input input = {.exchange = exchange, .id = FIELD_LOCK_TOKEN, .name = "Lock-Token"};
    if (exchange->head.lock_token_repeated)
        return refuse_repeated(&input);
    return claim(&input) && input_set_text(&input, slice_of(exchange->head.lock_token));
}

/* When an event stream's client reconnects, it repeats its query. The header says where it stopped,
 * and so takes precedence; it is empty during a snapshot. Batond 0.2 put a hyphen and a second
 * number behind some versions. */
static bool read_last_event(struct exchange *exchange)
{
    const char *id = exchange->head.last_event_id;
    if (!exchange->wants_events || !id || !*id)
        return true;
    struct input input = {.exchange = exchange, .id = FIELD_AFTER, .name = "Last-Event-ID"};
    struct slice after = slice_of(id);
    if (exchange->route->fields & FIELD_BIT(FIELD_PREFIX))
        after.length = strcspn(id, "-");
    exchange->parameters.given |= FIELD_BIT(FIELD_AFTER);
    return input_set_integer(&input, after);
}

typedef int64_t longest_of(const struct principal *principal, struct slice name, int64_t setting);

/* What the rules allow for the requested lock, or for each of the names. */
static int64_t fields_longest(const struct exchange *exchange, longest_of *longest, int64_t setting)
{
    const struct parameters *parameters = &exchange->parameters;
    const struct principal *principal = exchange->principal;
    if (!parameters->names)
        return longest(principal, exchange->name.length > 0 ? exchange->name : slice_of(NULL),
                       setting);
    int64_t shortest = INT64_MAX;
    for (int64_t i = 0; i < parameters->numbers[FIELD_NAMES]; i++) {
        int64_t allowed = longest(principal, parameters->names[i], setting);
        shortest = allowed < shortest ? allowed : shortest;
    }
    return shortest;
}

int64_t fields_longest_ttl(const struct exchange *exchange)
{
    return fields_longest(exchange, principal_longest_ttl, exchange->api->max_ttl_ms);
}

int64_t fields_longest_held(const struct exchange *exchange)
{
    int64_t setting = exchange->api->max_held_ms;
    int64_t longest =
        fields_longest(exchange, principal_longest_held, setting > 0 ? setting : INT64_MAX);
    return longest < INT64_MAX ? longest : 0;
}

/* Runs last: each of several names may have its own rule, and the field may be read before them. */
static bool check_longest(struct exchange *exchange)
{
    static const enum field_id IDS[] = {FIELD_TTL, FIELD_AT_LEAST, FIELD_MAX_HELD};
    const struct parameters *parameters = &exchange->parameters;
    for (size_t i = 0; parameters->names && i < sizeof IDS / sizeof IDS[0]; i++) {
        const struct input input = {.exchange = exchange,
                                    .id = IDS[i],
                                    .name = name_given(parameters, IDS[i]),
                                    .in_ms = (parameters->in_ms & FIELD_BIT(IDS[i])) != 0};
        if (field_given(parameters, IDS[i]) &&
            !input_set_number(&input, parameters->numbers[IDS[i]]))
            return false;
    }
    return true;
}

bool fields_read(struct exchange *exchange, unsigned accepted)
{
    return read_query(exchange, accepted) && read_body(exchange, accepted) &&
           read_header(exchange, accepted) && read_last_event(exchange) && check_longest(exchange);
}
