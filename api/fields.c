#include "api/fields.h"

#include "api/api.h"
#include "api/problem.h"
#include "api/target.h"
#include "base/duration.h"
#include "base/utf8.h"
#include "locks/replicas.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

const struct field FIELDS[FIELD_COUNT] = {
    [FIELD_TTL] = {"ttl_ms", "ttl", FIELD_DURATION, 100, 86400000, NULL},
    [FIELD_WAIT] = {"wait_ms", "wait", FIELD_DURATION, 0, 3600000, NULL},
    [FIELD_OWNER] = {"owner", "owner", FIELD_TEXT, 1, OWNER_NAME_LENGTH, NULL},
    [FIELD_LOCK_MODE] = {"mode", "mode", FIELD_MODE, 0, 0, NULL},
    [FIELD_LIMIT] = {"limit", "limit", FIELD_INTEGER, 1, LOCK_LIMIT_HIGHEST, NULL},
    [FIELD_LOCK_TOKEN] = {"token", NULL, FIELD_TOKEN, TOKEN_SHORTEST, TOKEN_LONGEST, NULL},
    [FIELD_META] = {"meta", NULL, FIELD_OBJECT, 2, LOCK_META_LENGTH, NULL},
    [FIELD_FORCE] = {NULL, "force", FIELD_FLAG, 0, 1, NULL},
    [FIELD_PREFIX] = {NULL, "prefix", FIELD_TEXT, 0, NAME_LENGTH, NULL},
    [FIELD_PAGE] = {NULL, "limit", FIELD_INTEGER, 1, LOCKS_LIST_LONGEST, NULL},
    [FIELD_CURSOR] = {NULL, "cursor", FIELD_TEXT, 1, EXCHANGE_BODY_LONGEST * 2,
                      "expected the cursor of the page before, unchanged"},
    [FIELD_KEEP] = {"keep_ms", "keep", FIELD_DURATION, 0, 30000, NULL},
    [FIELD_HOLD] = {NULL, "hold", FIELD_CHOICE, 0, 0, "connection"},
    [FIELD_AFTER] = {NULL, "after", FIELD_INTEGER, 0, VERSION_HIGHEST, NULL},
    [FIELD_NAMES] = {"names", NULL, FIELD_LIST, 1, LOCKS_SEVERAL_MOST, NULL},
    [FIELD_VERBOSE] = {NULL, "verbose", FIELD_SWITCH, 0, 1, NULL},
    [FIELD_CONFIRM] = {"confirm", "confirm", FIELD_REPLICAS, 1, STORE_REPLICAS_MOST, NULL},
};

enum { JSON_DEPTH = 16, EXPECTED_LENGTH = 160, NAME_SHOWN = 60 };

/* One value on its way from the request into the parameters. */
struct input {
    struct exchange *exchange;
    enum field_id id;
    const char *name; /* as the client calls it */
    bool in_query;
};

static int64_t highest_of(const struct input *input)
{
    const struct api *api = input->exchange->api;
    if (input->id == FIELD_TTL)
        return api->max_ttl_ms;
    return input->id == FIELD_WAIT ? api->max_wait_ms : FIELDS[input->id].highest;
}

static void describe_range(const struct input *input, char text[EXPECTED_LENGTH])
{
    const struct field *field = &FIELDS[input->id];
    int64_t low = field->lowest, high = highest_of(input);
    char low_text[DURATION_TEXT], high_text[DURATION_TEXT];
    switch (field->kind) {
    case FIELD_DURATION:
        duration_format(low, low_text);
        duration_format(high, high_text);
        if (input->in_query)
            snprintf(text, EXPECTED_LENGTH, "a duration from %s to %s, such as 500ms, 30s or 5m",
                     low_text, high_text);
        else
            snprintf(text, EXPECTED_LENGTH, "an integer of milliseconds, %" PRId64 " to %" PRId64,
                     low, high);
        break;
    case FIELD_INTEGER:
        snprintf(text, EXPECTED_LENGTH, "an integer from %" PRId64 " to %" PRId64, low, high);
        break;
    case FIELD_MODE:
        snprintf(text, EXPECTED_LENGTH, "\"exclusive\" or \"shared\"");
        break;
    case FIELD_TEXT:
        snprintf(text, EXPECTED_LENGTH,
                 "%" PRId64 " to %" PRId64 " bytes of UTF-8 without control characters", low, high);
        break;
    case FIELD_TOKEN:
        snprintf(text, EXPECTED_LENGTH,
                 "%" PRId64 " to %" PRId64 " characters of A-Z, a-z, 0-9, _ and -", low, high);
        break;
    case FIELD_OBJECT:
        snprintf(text, EXPECTED_LENGTH, "a JSON object of at most %" PRId64 " bytes", high);
        break;
    case FIELD_FLAG:
    case FIELD_SWITCH:
        snprintf(text, EXPECTED_LENGTH, "true or false");
        break;
    case FIELD_CHOICE:
        snprintf(text, EXPECTED_LENGTH, "\"%s\"", field->expected);
        break;
    case FIELD_REPLICAS:
        snprintf(text, EXPECTED_LENGTH,
                 "\"none\", or \"replicas:N\" with N from %" PRId64 " to %" PRId64, low, high);
        break;
    case FIELD_LIST:
        snprintf(text, EXPECTED_LENGTH,
                 "a list of %" PRId64 " to %" PRId64
                 " different names, each 1 to %d bytes of UTF-8 "
                 "without control characters",
                 low, high, NAME_LENGTH);
        break;
    }
}

static void refuse_parameter(struct exchange *exchange, const char *name, const char *detail)
{
    json_t *document = problem_new(exchange, PROBLEM_INVALID_PARAMETER, "%s: %s", name, detail);
    json_t *parameter = json_string(name);
    json_object_set_new(document, "parameter", parameter ? parameter : json_string("?"));
    problem_answer(exchange, PROBLEM_INVALID_PARAMETER, document);
}

static bool refuse(const struct input *input)
{
    char range[EXPECTED_LENGTH], detail[EXPECTED_LENGTH + 16];
    const char *expected = FIELDS[input->id].expected;
    if (!expected || FIELDS[input->id].kind == FIELD_CHOICE) {
        describe_range(input, range);
        expected = range;
    }
    snprintf(detail, sizeof detail, "expected %s", expected);
    refuse_parameter(input->exchange, input->name, detail);
    return false;
}

void field_refuse(struct exchange *exchange, enum field_id id, const char *expected)
{
    const struct field *field = &FIELDS[id];
    refuse_parameter(exchange, field->json ? field->json : field->query, expected);
}

static bool set_number(const struct input *input, int64_t number)
{
    if (number < FIELDS[input->id].lowest || number > highest_of(input))
        return refuse(input);
    input->exchange->parameters.numbers[input->id] = number;
    return true;
}

static bool set_text(const struct input *input, struct slice text)
{
    struct parameters *parameters = &input->exchange->parameters;
    const struct field *field = &FIELDS[input->id];
    if ((int64_t)text.length < field->lowest || (int64_t)text.length > field->highest ||
        !utf8_is_clean(text) || (field->kind == FIELD_TOKEN && !token_is_valid(text)))
        return refuse(input);
    parameters->texts[input->id] = text;
    return true;
}

static bool set_mode(const struct input *input, struct slice text)
{
    bool shared = slice_equals(text, "shared");
    if (!shared && !slice_equals(text, "exclusive"))
        return refuse(input);
    input->exchange->parameters.numbers[input->id] = shared ? LOCK_SHARED : LOCK_EXCLUSIVE;
    return true;
}

static bool set_flag(const struct input *input, struct slice text)
{
    bool yes = slice_equals(text, "true");
    if (!yes && !slice_equals(text, "false"))
        return refuse(input);
    input->exchange->parameters.numbers[input->id] = yes;
    return true;
}

static bool set_choice(const struct input *input, struct slice text)
{
    input->exchange->parameters.numbers[input->id] = 1;
    return slice_equals(text, FIELDS[input->id].expected) || refuse(input);
}

static bool set_integer_text(const struct input *input, struct slice text)
{
    int64_t number = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9' || number > VERSION_HIGHEST)
            return refuse(input);
        number = number * 10 + (text.bytes[i] - '0');
    }
    return text.length > 0 ? set_number(input, number) : refuse(input);
}

static bool set_replicas(const struct input *input, struct slice text)
{
    int64_t replicas;
    if (!replicas_parse(text, &replicas))
        return refuse(input);
    input->exchange->parameters.numbers[input->id] = replicas;
    return true;
}

static bool set_from_query(const struct input *input, struct slice text)
{
    int64_t ms;
    switch (FIELDS[input->id].kind) {
    case FIELD_DURATION:
        return duration_parse(text, &ms) == 0 ? set_number(input, ms) : refuse(input);
    case FIELD_INTEGER:
        return set_integer_text(input, text);
    case FIELD_MODE:
        return set_mode(input, text);
    case FIELD_FLAG:
        return set_flag(input, text);
    case FIELD_SWITCH:
        return set_flag(input, text.length > 0 ? text : slice_of("true"));
    case FIELD_CHOICE:
        return set_choice(input, text);
    case FIELD_TEXT:
        return set_text(input, text);
    case FIELD_REPLICAS:
        return set_replicas(input, text);
    case FIELD_TOKEN:
    case FIELD_OBJECT:
    case FIELD_LIST:
        break; /* has no name in the query */
    }
    return refuse(input);
}

static bool set_object(const struct input *input, const json_t *value)
{
    struct exchange *exchange = input->exchange;
    if (!json_is_object(value))
        return refuse(input);
    exchange->meta = json_dumps(value, JSON_COMPACT);
    if (!exchange->meta || strlen(exchange->meta) > LOCK_META_LENGTH)
        return refuse(input);
    exchange->parameters.texts[input->id] = slice_of(exchange->meta);
    return true;
}

static bool is_among(struct slice name, const struct slice *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (names[i].length == name.length && memcmp(names[i].bytes, name.bytes, name.length) == 0)
            return true;
    return false;
}

static bool set_list(const struct input *input, const json_t *value)
{
    struct parameters *parameters = &input->exchange->parameters;
    size_t count = json_array_size(value);
    if (!set_number(input, (int64_t)count))
        return false;
    parameters->names = calloc(count, sizeof *parameters->names);
    if (!parameters->names)
        abort();
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        struct slice name = {json_string_value(item), json_string_length(item)};
        if (!name.bytes || !name_is_valid(name) || is_among(name, parameters->names, i))
            return refuse(input);
        parameters->names[i] = name;
    }
    return true;
}

static bool set_from_json(const struct input *input, const json_t *value)
{
    enum field_kind kind = FIELDS[input->id].kind;
    struct slice text = {json_string_value(value), json_string_length(value)};
    if (kind == FIELD_OBJECT)
        return set_object(input, value);
    if (kind == FIELD_LIST)
        return set_list(input, value);
    if (kind == FIELD_DURATION || kind == FIELD_INTEGER)
        return json_is_integer(value) ? set_number(input, json_integer_value(value))
                                      : refuse(input);
    if (!json_is_string(value))
        return refuse(input);
    if (kind == FIELD_REPLICAS)
        return set_replicas(input, text);
    return kind == FIELD_MODE ? set_mode(input, text) : set_text(input, text);
}

/* Which of the accepted fields has this name there; FIELD_COUNT for none. */
static enum field_id field_find(unsigned accepted, struct slice name, bool in_query)
{
    for (unsigned id = 0; id < FIELD_COUNT; id++) {
        const char *known = in_query ? FIELDS[id].query : FIELDS[id].json;
        if ((accepted & FIELD_BIT(id)) && known && slice_equals(name, known))
            return (enum field_id)id;
    }
    return FIELD_COUNT;
}

static void list_names(unsigned accepted, bool in_query, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (unsigned id = 0; id < FIELD_COUNT; id++) {
        const char *known = in_query ? FIELDS[id].query : FIELDS[id].json;
        if (!(accepted & FIELD_BIT(id)) || !known || length + strlen(known) + 3 > size)
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "", known);
    }
}

/* How much of a name a problem shows; no character is cut in two. */
static int shown_length(struct slice name)
{
    size_t length = name.length > NAME_SHOWN ? NAME_SHOWN : name.length;
    while (length < name.length && length > 0 && (name.bytes[length] & 0xc0) == 0x80)
        length--;
    return (int)length;
}

static bool refuse_unknown(struct exchange *exchange, unsigned accepted, struct slice name,
                           bool in_query)
{
    char known[128], detail[256], shown[NAME_SHOWN + 1];
    list_names(accepted, in_query, known, sizeof known);
    snprintf(shown, sizeof shown, "%.*s", shown_length(name), name.bytes);
    if (in_query && slice_equals(name, "token"))
        snprintf(detail, sizeof detail,
                 "a token never travels in the URL; send it in the Lock-Token header");
    else if (known[0])
        snprintf(detail, sizeof detail, "unknown %s; known here: %s",
                 in_query ? "query parameter" : "field", known);
    else
        snprintf(detail, sizeof detail, "this request takes no %s",
                 in_query ? "query parameters" : "body");
    refuse_parameter(exchange, shown, detail);
    return false;
}

static bool refuse_repeated(const struct input *input)
{
    refuse_parameter(input->exchange, input->name,
                     "given more than once; give it in one place only");
    return false;
}

/* Marks the field as given. False where it was given before. */
static bool claim(const struct input *input)
{
    struct parameters *parameters = &input->exchange->parameters;
    if (field_given(parameters, input->id))
        return refuse_repeated(input);
    parameters->given |= FIELD_BIT(input->id);
    return true;
}

static bool read_pair(struct exchange *exchange, unsigned accepted, struct slice name,
                      struct slice value, char *decoded)
{
    enum field_id id = field_find(accepted, name, true);
    if (id == FIELD_COUNT)
        return refuse_unknown(exchange, accepted, name, true);

    struct input input = {exchange, id, FIELDS[id].query, true};
    struct slice text = {decoded, 0};
    if (!claim(&input))
        return false;
    if (percent_decode(value, decoded, &text.length) < 0)
        return refuse(&input);
    return set_from_query(&input, text);
}

static bool read_query(struct exchange *exchange, unsigned accepted)
{
    struct slice path, query, name, value;
    target_split(exchange->target, &path, &query);
    if (query.length == 0)
        return true;
    exchange->decoded = malloc(query.length);
    if (!exchange->decoded)
        abort();
    const char *start = query.bytes;
    while (query_next(&query, &name, &value)) {
        /* A value is decoded to where it stands in the query: it only gets shorter. */
        char *place = exchange->decoded + (value.bytes ? value.bytes - start : 0);
        if (!read_pair(exchange, accepted, name, value, place))
            return false;
    }
    return true;
}

/* How deep the brackets nest; brackets within strings do not count. */
static int json_depth(struct slice text)
{
    int depth = 0, deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
            deepest = depth > deepest ? depth : deepest;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return deepest;
}

static bool is_json_type(const char *content_type)
{
    static const char JSON[] = "application/json";
    size_t length = sizeof JSON - 1;
    return content_type && strncasecmp(content_type, JSON, length) == 0 &&
           (content_type[length] == '\0' || strchr("; \t", content_type[length]));
}

/* An integer that has no room in 64 bits is out of a field's range, though jansson sees bad JSON:
 * this names the field. False, with nothing answered, where no field itself is such a number. */
static bool refuse_number_too_large(struct exchange *exchange)
{
    const char *key;
    json_t *value;
    exchange->json = json_loadb(exchange->body.bytes, exchange->body.length,
                                JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
    json_object_foreach (exchange->json, key, value) {
        double number = json_real_value(value);
        if (number >= 9223372036854775808.0 || number < -9223372036854775808.0) {
            refuse_parameter(exchange, key, "no number may be so large");
            return true;
        }
    }
    json_decref(exchange->json);
    exchange->json = NULL;
    return false;
}

/* What jansson lets pass: any depth, and a NUL behind a number or a word. */
static bool check_text(struct exchange *exchange)
{
    bool has_nul = memchr(exchange->body.bytes, '\0', exchange->body.length);
    bool is_deep = json_depth(exchange->body) > JSON_DEPTH;
    if (has_nul)
        problem_simply(exchange, PROBLEM_INVALID_JSON, "there is a NUL in it");
    else if (is_deep)
        problem_simply(exchange, PROBLEM_INVALID_JSON, "at most %d levels may nest", JSON_DEPTH);
    return !has_nul && !is_deep;
}

/* Parses the body into exchange->json. */
static bool parse_body(struct exchange *exchange)
{
    if (!is_json_type(exchange->content_type)) {
        problem_simply(exchange, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                       "send the body as Content-Type: application/json, or use query parameters");
        return false;
    }
    if (!check_text(exchange))
        return false;
    json_error_t error;
    exchange->json =
        json_loadb(exchange->body.bytes, exchange->body.length, JSON_REJECT_DUPLICATES, &error);
    if (!exchange->json && json_error_code(&error) == json_error_numeric_overflow &&
        refuse_number_too_large(exchange))
        return false;
    if (!exchange->json) {
        problem_simply(exchange, PROBLEM_INVALID_JSON, "line %d, column %d: %s", error.line,
                       error.column, error.text);
        return false;
    }
    if (!json_is_object(exchange->json)) {
        problem_simply(exchange, PROBLEM_INVALID_JSON, "expected an object: {\"field\": value}");
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
        refuse_parameter(exchange, "body", "a GET request takes no body");
        return false;
    }
    if (!parse_body(exchange))
        return false;
    json_object_foreach (exchange->json, key, value) {
        enum field_id id = field_find(accepted, slice_of(key), false);
        if (id == FIELD_COUNT)
            return refuse_unknown(exchange, accepted, slice_of(key), false);
        struct input input = {exchange, id, FIELDS[id].json, false};
        if (!claim(&input) || !set_from_json(&input, value))
            return false;
    }
    return true;
}

static bool read_header(struct exchange *exchange, unsigned accepted)
{
    if (!exchange->lock_token || !(accepted & FIELD_BIT(FIELD_LOCK_TOKEN)))
        return true;
    struct input input = {exchange, FIELD_LOCK_TOKEN, "Lock-Token", false};
    if (exchange->lock_token_repeated)
        return refuse_repeated(&input);
    return claim(&input) && set_text(&input, slice_of(exchange->lock_token));
}

/* A client of an event stream that connects again repeats its query as it was: where it stopped is
 * in the header, and counts more. */
static bool read_last_event(struct exchange *exchange)
{
    if (!exchange->wants_events || !exchange->last_event_id)
        return true;
    struct input input = {exchange, FIELD_AFTER, "Last-Event-ID", true};
    exchange->parameters.given |= FIELD_BIT(FIELD_AFTER);
    return set_integer_text(&input, slice_of(exchange->last_event_id));
}

bool fields_read(struct exchange *exchange, unsigned accepted)
{
    return read_query(exchange, accepted) && read_body(exchange, accepted) &&
           read_header(exchange, accepted) && read_last_event(exchange);
}
