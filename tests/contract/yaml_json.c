#include "tests/contract/yaml_json.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MAX_DEPTH = 64 };

struct reader {
    yaml_parser_t parser;
    struct failure *failure;
    int depth;
};

static json_t *read_node(struct reader *reader, const yaml_event_t *event);

static json_t *refuse(struct reader *reader, const yaml_event_t *event, const char *reason)
{
    failure_set(reader->failure, -EINVAL, "line %zu: %s", event->start_mark.line + 1, reason);
    return NULL;
}

/* The next event; false with a failure where the text is not YAML. */
static bool next_event(struct reader *reader, yaml_event_t *event)
{
    if (yaml_parser_parse(&reader->parser, event))
        return true;
    failure_set(reader->failure, -EINVAL, "line %zu: %s", reader->parser.problem_mark.line + 1,
                reader->parser.problem);
    return false;
}

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
        abort();
    bool matched = !regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    return matched;
}

static json_t *read_integer(const char *digits, int base)
{
    char *end;
    errno = 0;
    long long number = strtoll(digits, &end, base);
    return errno || *end ? NULL : json_integer(number);
}

/* The rows of YAML 1.2's core schema, 10.3.2. */
static json_t *read_plain(struct reader *reader, const yaml_event_t *event, const char *text)
{
    json_t *value = NULL;
    if (matches(text, "^(null|Null|NULL|~|)$"))
        return json_null();
    if (matches(text, "^(true|True|TRUE)$"))
        return json_true();
    if (matches(text, "^(false|False|FALSE)$"))
        return json_false();
    if (matches(text, "^[-+]?[0-9]+$"))
        value = read_integer(text, 10);
    else if (matches(text, "^0o[0-7]+$"))
        value = read_integer(text + 2, 8);
    else if (matches(text, "^0x[0-9a-fA-F]+$"))
        value = read_integer(text + 2, 16);
    else if (matches(text, "^[-+]?([.][0-9]+|[0-9]+([.][0-9]*)?)([eE][-+]?[0-9]+)?$"))
        value = json_real(strtod(text, NULL));
    else if (!matches(text, "^([-+]?[.](inf|Inf|INF)|[.](nan|NaN|NAN))$"))
        return json_string(text);
    return value ? value : refuse(reader, event, "a number that JSON cannot hold");
}

static json_t *read_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    if (event->data.scalar.tag)
        return refuse(reader, event, "a tag");
    if (event->data.scalar.plain_implicit)
        return read_plain(reader, event, text);
    return json_stringn(text, event->data.scalar.length);
}

static json_t *read_sequence(struct reader *reader)
{
    json_t *array = json_array();
    for (;;) {
        yaml_event_t event;
        if (!next_event(reader, &event))
            break;
        bool ended = event.type == YAML_SEQUENCE_END_EVENT;
        json_t *item = ended ? NULL : read_node(reader, &event);
        yaml_event_delete(&event);
        if (ended)
            return array;
        if (!item)
            break;
        json_array_append_new(array, item);
    }
    json_decref(array);
    return NULL;
}

/* The value that follows `key`, put into `object`. */
static bool read_member(struct reader *reader, json_t *object, const yaml_event_t *key)
{
    yaml_event_t event;
    if (key->type != YAML_SCALAR_EVENT)
        return refuse(reader, key, "a key that is not a scalar");
    const char *name = (const char *)key->data.scalar.value;
    if (json_object_get(object, name))
        return refuse(reader, key, "a key twice");
    if (!next_event(reader, &event))
        return false;
    json_t *value = read_node(reader, &event);
    yaml_event_delete(&event);
    return value && !json_object_set_new(object, name, value);
}

static json_t *read_mapping(struct reader *reader)
{
    json_t *object = json_object();
    for (;;) {
        yaml_event_t key;
        if (!next_event(reader, &key))
            break;
        bool ended = key.type == YAML_MAPPING_END_EVENT;
        bool fine = ended || read_member(reader, object, &key);
        yaml_event_delete(&key);
        if (ended)
            return object;
        if (!fine)
            break;
    }
    json_decref(object);
    return NULL;
}

static json_t *read_node(struct reader *reader, const yaml_event_t *event)
{
    json_t *value = NULL;
    if (++reader->depth > MAX_DEPTH)
        return refuse(reader, event, "nested too deep");
    if (event->type == YAML_SCALAR_EVENT)
        value = read_scalar(reader, event);
    else if (event->type == YAML_SEQUENCE_START_EVENT)
        value = read_sequence(reader);
    else if (event->type == YAML_MAPPING_START_EVENT)
        value = read_mapping(reader);
    else
        refuse(reader, event, event->type == YAML_ALIAS_EVENT ? "an alias" : "no value");
    reader->depth--;
    return value;
}

/* Reads on to the first event that is none of these two. */
static bool skip_events(struct reader *reader, yaml_event_t *event, yaml_event_type_t first,
                        yaml_event_type_t second)
{
    while (next_event(reader, event)) {
        if (event->type != first && event->type != second)
            return true;
        yaml_event_delete(event);
    }
    return false;
}

static bool at_end(struct reader *reader)
{
    yaml_event_t event;
    if (!skip_events(reader, &event, YAML_DOCUMENT_END_EVENT, YAML_NO_EVENT))
        return false;
    bool ended = event.type == YAML_STREAM_END_EVENT;
    if (!ended)
        refuse(reader, &event, "a second document");
    yaml_event_delete(&event);
    return ended;
}

static json_t *read_document(struct reader *reader)
{
    yaml_event_t event;
    if (!skip_events(reader, &event, YAML_STREAM_START_EVENT, YAML_DOCUMENT_START_EVENT))
        return NULL;
    json_t *value = read_node(reader, &event);
    yaml_event_delete(&event);
    if (!value || at_end(reader))
        return value;
    json_decref(value);
    return NULL;
}

json_t *yaml_json_parse(const char *text, size_t length, struct failure *failure)
{
    struct reader reader = {.failure = failure};
    if (!yaml_parser_initialize(&reader.parser))
        abort();
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    json_t *value = read_document(&reader);
    yaml_parser_delete(&reader.parser);
    return value;
}
