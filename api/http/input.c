#include "api/http/input.h"

#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/json_text.h"
#include "api/http/problem.h"
#include "base/duration.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "locks/types/replicas.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    EXPECTED_LENGTH = 160,
    BARE_HIGHEST_MS = 3600000, /* of a duration without a unit, which is seconds */
};

static int64_t highest_of(const struct input *input)
{
    const struct api *api = input->exchange->api;
    int64_t longest = 0;
    if (input->id == FIELD_TTL || input->id == FIELD_AT_LEAST)
        longest = fields_longest_ttl(input->exchange);
    else if (input->id == FIELD_MAX_HELD)
        longest = fields_longest_held(input->exchange);
    else if (input->id == FIELD_WAIT)
        longest = api->max_wait_ms;
    return longest > 0 ? longest : FIELDS[input->id].highest;
}

static void describe_range(const struct input *input, char text[EXPECTED_LENGTH])
{
    const struct field *field = &FIELDS[input->id];
    int64_t low = field->lowest, high = highest_of(input);
    char duration[DURATION_RANGE];
    switch (field->kind) {
    case FIELD_DURATION:
        duration_describe(low, high, duration);
        if (input->in_ms)
            snprintf(text, EXPECTED_LENGTH, "an integer of milliseconds, %" PRId64 " to %" PRId64,
                     low, high);
        else
            snprintf(text, EXPECTED_LENGTH, "%s", duration);
        break;
    case FIELD_INTEGER:
        snprintf(text, EXPECTED_LENGTH, "an integer from %" PRId64 " to %" PRId64, low, high);
        break;
    case FIELD_MODE:
        snprintf(text, EXPECTED_LENGTH, "\"exclusive\" or \"shared\"");
        break;
    case FIELD_TEXT:
        snprintf(text, EXPECTED_LENGTH,
                 "text of %" PRId64 " to %" PRId64 " bytes of UTF-8 without control characters",
                 low, high);
        break;
    case FIELD_TOKEN:
        snprintf(text, EXPECTED_LENGTH,
                 "%" PRId64 " to %" PRId64 " characters of A-Z, a-z, 0-9, _ and -", low, high);
        break;
    case FIELD_OBJECT:
        snprintf(text, EXPECTED_LENGTH,
                 "a JSON object of at most %" PRId64
                 " bytes, not counting the space between its parts",
                 high);
        break;
    case FIELD_FLAG:
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
                 "without control characters, and none with \".\" or \"..\" between slashes",
                 low, high, NAME_LENGTH);
        break;
    }
}

/* What else bounds a value here, other than its field. */
static const char *bounded_by(const struct input *input)
{
    const struct api *api = input->exchange->api;
    int64_t highest = highest_of(input);
    if (input->id == FIELD_WAIT)
        return " The longest is the setting max-wait. To wait longer, repeat the request.";
    if (input->id == FIELD_TTL || input->id == FIELD_AT_LEAST)
        return highest == api->max_ttl_ms
                   ? " The longest is the setting max-ttl."
                   : " No rule of yours in the tokens-file allows more (max_ttl).";
    if (input->id != FIELD_MAX_HELD || highest == FIELDS[FIELD_MAX_HELD].highest)
        return "";
    return highest == api->max_held_ms
               ? " The longest is the setting max-held."
               : " No rule of yours in the tokens-file allows more (max_held).";
}

bool input_refuse(const struct input *input)
{
    char range[EXPECTED_LENGTH], detail[2 * EXPECTED_LENGTH];
    const char *expected = FIELDS[input->id].expected;
    if (!expected || FIELDS[input->id].kind == FIELD_CHOICE) {
        describe_range(input, range);
        expected = range;
    }
    snprintf(detail, sizeof detail, "expected %s.%s", expected, bounded_by(input));
    problem_parameter(input->exchange, input->name, detail);
    return false;
}

bool input_set_number(const struct input *input, int64_t number)
{
    if (number < FIELDS[input->id].lowest || number > highest_of(input))
        return input_refuse(input);
    input->exchange->parameters.numbers[input->id] = number;
    return true;
}

bool input_set_text(const struct input *input, struct slice text)
{
    struct parameters *parameters = &input->exchange->parameters;
    const struct field *field = &FIELDS[input->id];
    if ((int64_t)text.length < field->lowest || (int64_t)text.length > field->highest ||
        !utf8_is_clean(text) || (field->kind == FIELD_TOKEN && !token_is_valid(text)))
        return input_refuse(input);
    parameters->texts[input->id] = text;
    return true;
}

static bool set_mode(const struct input *input, struct slice text)
{
    bool shared = slice_equals(text, "shared");
    if (!shared && !slice_equals(text, "exclusive"))
        return input_refuse(input);
    input->exchange->parameters.numbers[input->id] = shared ? LOCK_SHARED : LOCK_EXCLUSIVE;
    return true;
}

static bool input_set_flag(const struct input *input, struct slice text)
{
    bool yes = slice_equals(text, "true");
    if (!yes && !slice_equals(text, "false"))
        return input_refuse(input);
    input->exchange->parameters.numbers[input->id] = yes;
    return true;
}

static bool input_set_choice(const struct input *input, struct slice text)
{
    input->exchange->parameters.numbers[input->id] = 1;
    return slice_equals(text, FIELDS[input->id].expected) || input_refuse(input);
}

bool input_set_integer(const struct input *input, struct slice text)
{
    int64_t number = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9' || number > VERSION_HIGHEST)
            return input_refuse(input);
        number = number * 10 + (text.bytes[i] - '0');
    }
    return text.length > 0 ? input_set_number(input, number) : input_refuse(input);
}

/* Such a number without a unit is most likely meant as milliseconds. */
static bool refuse_bare(const struct input *input, int64_t ms)
{
    char spoken[DURATION_SPOKEN], detail[EXPECTED_LENGTH];
    int64_t number = ms / 1000;
    duration_speak(ms, spoken);
    snprintf(detail, sizeof detail,
             "%" PRId64 " seconds are %s: write %" PRId64 "ms or %" PRId64 "s.", number, spoken,
             number, number);
    problem_parameter(input->exchange, input->name, detail);
    return false;
}

static bool input_set_duration(const struct input *input, struct slice text)
{
    int64_t ms;
    if (duration_parse(text, &ms) < 0)
        return input_refuse(input);
    bool is_bare = text.bytes[text.length - 1] >= '0' && text.bytes[text.length - 1] <= '9';
    if (is_bare && ms > BARE_HIGHEST_MS)
        return refuse_bare(input, ms);
    return input_set_number(input, ms);
}

static bool input_set_replicas(const struct input *input, struct slice text)
{
    int64_t replicas;
    if (!replicas_parse(text, &replicas))
        return input_refuse(input);
    input->exchange->parameters.numbers[input->id] = replicas;
    return true;
}

/* The object, and its text as the client wrote it. */
static bool set_object(const struct input *input, const json_t *value, struct slice source)
{
    struct exchange *exchange = input->exchange;
    if (!json_is_object(value))
        return input_refuse(input);
    exchange->kept.meta = json_text_compact(source);
    if (strlen(exchange->kept.meta) > LOCK_META_LENGTH)
        return input_refuse(input);
    exchange->parameters.texts[input->id] = slice_of(exchange->kept.meta);
    return true;
}

static bool is_among(struct slice name, const struct slice *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (slice_same(names[i], name))
            return true;
    return false;
}

static bool set_list(const struct input *input, const json_t *value)
{
    struct parameters *parameters = &input->exchange->parameters;
    size_t count = json_array_size(value);
    if (!input_set_number(input, (int64_t)count))
        return false;
    parameters->names = memory_checked(calloc(count, sizeof *parameters->names));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        struct slice name = {json_string_value(item), json_string_length(item)};
        if (!name.bytes || !name_is_valid(name) || is_among(name, parameters->names, i))
            return input_refuse(input);
        parameters->names[i] = name;
    }
    return true;
}

static bool set_object_from_query(const struct input *input, struct slice text)
{
    bool may_be = !json_text_is_deep(text) && !memchr(text.bytes, '\0', text.length);
    json_t *value = may_be ? json_text_load(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    bool is_set = set_object(input, value, text);
    json_decref(value);
    return is_set;
}

/* A value that is text in the query and in the body alike. */
static bool input_set(const struct input *input, struct slice text)
{
    switch (FIELDS[input->id].kind) {
    case FIELD_DURATION:
        return input_set_duration(input, text);
    case FIELD_MODE:
        return set_mode(input, text);
    case FIELD_CHOICE:
        return input_set_choice(input, text);
    case FIELD_TEXT:
    case FIELD_TOKEN:
        return input_set_text(input, text);
    case FIELD_REPLICAS:
        return input_set_replicas(input, text);
    case FIELD_INTEGER:
    case FIELD_FLAG:
    case FIELD_OBJECT:
    case FIELD_LIST:
        break; /* has a type of its own in the body */
    }
    return input_refuse(input);
}

/* The value has another type in the body, most likely a number without a unit. */
static bool refuse_type(const struct input *input)
{
    const struct field *field = &FIELDS[input->id];
    char detail[EXPECTED_LENGTH];
    if (field->kind != FIELD_DURATION)
        return input_refuse(input);
    snprintf(detail, sizeof detail,
             "expected text such as \"30s\"; or send a number of milliseconds as %s.",
             field->in_ms);
    problem_parameter(input->exchange, input->name, detail);
    return false;
}

static bool is_integer(const struct input *input)
{
    return input->in_ms || FIELDS[input->id].kind == FIELD_INTEGER;
}

bool input_set_from_query(const struct input *input, struct slice text)
{
    enum field_kind kind = FIELDS[input->id].kind;
    if (is_integer(input))
        return input_set_integer(input, text);
    if (kind == FIELD_FLAG)
        return input_set_flag(input, text);
    return kind == FIELD_OBJECT ? set_object_from_query(input, text) : input_set(input, text);
}

bool input_set_from_json(const struct input *input, const json_t *value)
{
    struct exchange *exchange = input->exchange;
    enum field_kind kind = FIELDS[input->id].kind;
    int64_t number;
    if (is_integer(input))
        return json_text_integer(value, &number) ? input_set_number(input, number)
                                                 : input_refuse(input);
    if (kind == FIELD_OBJECT)
        return set_object(input, value,
                          json_text_member(exchange->body, exchange->kept.json, input->name));
    if (kind == FIELD_LIST)
        return set_list(input, value);
    if (kind == FIELD_FLAG && json_is_boolean(value))
        return input_set_flag(input, slice_of(json_is_true(value) ? "true" : "false"));
    if (kind == FIELD_FLAG || !json_is_string(value))
        return refuse_type(input);
    return input_set(input, (struct slice){json_string_value(value), json_string_length(value)});
}
