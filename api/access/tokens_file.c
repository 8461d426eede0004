#include "api/access/tokens_file.h"

#include "api/http/fields.h"
#include "api/http/json_text.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/utf8.h"
#include "locks/types/name.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLACE_LENGTH = 96, SHOWN_LENGTH = 48 };

/* One reading of the file. */
struct reading {
    const struct tokens_file_options *options;
    struct principals *principals;
    struct failure *failure;
};

/* The place of a value, as in "principals[2].rules[0]". */
struct place {
    char text[PLACE_LENGTH];
};

static struct place place_in(const char *format, ...) __attribute__((format(printf, 1, 2)));

static struct place place_in(const char *format, ...)
{
    struct place place;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(place.text, sizeof place.text, format, arguments);
    va_end(arguments);
    return place;
}

static bool tokens_file_refuse(const struct reading *reading, const struct place *place,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool tokens_file_refuse(const struct reading *reading, const struct place *place,
                               const char *format, ...)
{
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    failure_set(reading->failure, -EINVAL, "--tokens-file: %s: %s%s%s", reading->options->path,
                place->text, place->text[0] ? ": " : "", why);
    return false;
}

/* Checks that the value is an object with these members and no others. */
static bool tokens_file_check_members(const struct reading *reading, const struct place *place,
                                      const json_t *object, const char *const *known,
                                      const char *expected)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return tokens_file_refuse(reading, place, "expected an object with %s", expected);
    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return tokens_file_refuse(reading, place, "unknown member \"%.*s\"; known here: %s",
                                      SHOWN_LENGTH, key, expected);
    }
    return true;
}

static bool read_text(const struct reading *reading, const struct place *place, const json_t *value,
                      size_t shortest, size_t longest, struct slice *ret)
{
    struct slice text = {json_string_value(value), json_string_length(value)};
    if (!text.bytes || text.length < shortest || text.length > longest || !utf8_is_clean(text))
        return tokens_file_refuse(reading, place,
                                  "expected a text of %zu to %zu bytes without control characters",
                                  shortest, longest);
    *ret = text;
    return true;
}

static bool read_limit(const struct reading *reading, const struct place *place,
                       const json_t *value, int64_t *ret)
{
    int64_t number;
    if (!value)
        return true;
    if (!json_text_integer(value, &number) || number < 0 || number > PRINCIPAL_LIMIT_MOST)
        return tokens_file_refuse(reading, place, "expected an integer from 0 (no limit) to %d",
                                  PRINCIPAL_LIMIT_MOST);
    *ret = number;
    return true;
}

static bool read_verb(const struct reading *reading, const struct place *place, const json_t *value,
                      unsigned *verbs)
{
    const char *word = json_is_string(value) ? json_string_value(value) : "";
    unsigned verb = 0;
    while (verb < VERB_COUNT && strcmp(VERB_WORDS[verb], word) != 0)
        verb++;
    if (verb == VERB_COUNT)
        return tokens_file_refuse(reading, place,
                                  "expected \"acquire\", \"read\", \"break\" or \"metrics\"");
    if (*verbs & VERB_BIT(verb))
        return tokens_file_refuse(reading, place, "\"%s\" is there twice", word);
    *verbs |= VERB_BIT(verb);
    return true;
}

/* Reads a duration with the syntax of settings, in the range of a field. */
static bool read_longest(const struct reading *reading, const struct place *place,
                         const json_t *value, enum field_id id, int64_t *ret)
{
    const struct field *field = &FIELDS[id];
    struct slice text = {json_string_value(value), json_string_length(value)};
    char expected[DURATION_RANGE];
    if (!value || (text.bytes && duration_parse(text, ret) == 0 && *ret >= field->lowest &&
                   *ret <= field->highest))
        return true;
    duration_describe(field->lowest, field->highest, expected);
    return tokens_file_refuse(reading, place, "expected %s in quotes, such as \"10m\"", expected);
}

static bool read_rule(const struct reading *reading, const struct place *place, const json_t *value,
                      struct principal *principal, size_t index)
{
    static const char *const KNOWN[] = {"prefix", "verbs", "max_ttl", "max_held", NULL};
    struct place at = place_in("%s.prefix", place->text);
    struct place ttl = place_in("%s.max_ttl", place->text);
    struct place held = place_in("%s.max_held", place->text);
    struct rule rule = {.verbs = 0};
    if (!tokens_file_check_members(reading, place, value, KNOWN,
                                   "\"prefix\", \"verbs\", \"max_ttl\" and \"max_held\"") ||
        !read_text(reading, &at, json_object_get(value, "prefix"), 0, NAME_LENGTH, &rule.prefix) ||
        !read_longest(reading, &ttl, json_object_get(value, "max_ttl"), FIELD_TTL,
                      &rule.max_ttl_ms) ||
        !read_longest(reading, &held, json_object_get(value, "max_held"), FIELD_MAX_HELD,
                      &rule.max_held_ms))
        return false;
    const json_t *list = json_object_get(value, "verbs");
    at = place_in("%s.verbs", place->text);
    if (json_array_size(list) == 0)
        return tokens_file_refuse(reading, &at,
                                  "expected a list of \"acquire\", \"read\", \"break\" and "
                                  "\"metrics\", one of them at least");
    for (size_t i = 0; i < json_array_size(list); i++) {
        at = place_in("%s.verbs[%zu]", place->text, i);
        if (!read_verb(reading, &at, json_array_get(list, i), &rule.verbs))
            return false;
    }
    principal_set_rule(principal, index, &rule);
    return true;
}

static bool read_rules(const struct reading *reading, const struct place *place, const json_t *list,
                       struct principal *principal)
{
    for (size_t i = 0; i < principal->rule_count; i++) {
        struct place at = place_in("%s.rules[%zu]", place->text, i);
        if (!read_rule(reading, &at, json_array_get(list, i), principal, i))
            return false;
    }
    return true;
}

static bool read_digest(const struct reading *reading, const struct place *place,
                        const json_t *value, struct principal *principal)
{
    struct slice hex = {json_string_value(value), json_string_length(value)};
    struct digest digest;
    if (!hex.bytes || digest_parse(hex, &digest) < 0)
        return tokens_file_refuse(reading, place,
                                  "expected %d hexadecimal digits: the SHA-256 of an API key, as "
                                  "batond --new-token prints it",
                                  DIGEST_HEX_LENGTH);
    struct digest of_nothing = digest_of(slice_of(""));
    if (digest_equals(&digest, &of_nothing))
        return tokens_file_refuse(reading, place,
                                  "this is the SHA-256 of an empty text, perhaps of a variable "
                                  "that is not set. Make an API key with batond --new-token.");
    if (!principals_add_token(reading->principals, &digest, principal))
        return tokens_file_refuse(reading, place,
                                  "the file has this API key twice. Each principal needs a key of "
                                  "its own: batond --new-token makes one.");
    return true;
}

/* One digest, or a list while a token is being replaced. */
static bool read_digests(const struct reading *reading, const struct place *place,
                         const json_t *value, struct principal *principal)
{
    struct place at = place_in("%s.sha256", place->text);
    size_t count = json_array_size(value);
    if (!value && reading->options->certificates)
        return true;
    if (!json_is_array(value))
        return read_digest(reading, &at, value, principal);
    if (count == 0 || count > TOKENS_FILE_TOKENS)
        return tokens_file_refuse(reading, &at, "expected 1 to %d digests", TOKENS_FILE_TOKENS);
    for (size_t i = 0; i < count; i++) {
        at = place_in("%s.sha256[%zu]", place->text, i);
        if (!read_digest(reading, &at, json_array_get(value, i), principal))
            return false;
    }
    return true;
}

/* The limits that a principal may have of its own. */
static const struct {
    const char *name;
    size_t member;
} LIMITS[] = {
    {"rate_limit", offsetof(struct principal, rate_limit)},
    {"max_waiters", offsetof(struct principal, max_waiters)},
    {"max_streams", offsetof(struct principal, max_streams)},
    {"max_connection_holds", offsetof(struct principal, max_connection_holds)},
};

/* Reads the rules and limits; afterwards the principal is shared and constant. */
static bool read_rights(const struct reading *reading, const struct place *place,
                        const json_t *value, struct principal *principal)
{
    if (!read_rules(reading, place, json_object_get(value, "rules"), principal))
        return false;
    for (size_t i = 0; i < sizeof LIMITS / sizeof LIMITS[0]; i++) {
        struct place at = place_in("%s.%s", place->text, LIMITS[i].name);
        int64_t *limit = (int64_t *)(void *)((char *)principal + LIMITS[i].member);
        if (!read_limit(reading, &at, json_object_get(value, LIMITS[i].name), limit))
            return false;
    }
    return true;
}

static bool read_principal(const struct reading *reading, const struct place *place,
                           const json_t *value)
{
    static const char *const KNOWN[] = {"name",
                                        "sha256",
                                        "rules",
                                        "rate_limit",
                                        "max_waiters",
                                        "max_streams",
                                        "max_connection_holds",
                                        NULL};
    static const char EXPECTED[] = "\"name\", \"sha256\", \"rules\", \"rate_limit\", "
                                   "\"max_waiters\", \"max_streams\" and \"max_connection_holds\"";
    struct principals *before = reading->options->before;
    const json_t *rules = json_object_get(value, "rules");
    struct place at = place_in("%s.name", place->text);
    struct slice name = slice_of(NULL);
    if (!tokens_file_check_members(reading, place, value, KNOWN, EXPECTED) ||
        !read_text(reading, &at, json_object_get(value, "name"), 1, PRINCIPAL_NAME_LENGTH, &name))
        return false;
    if (!json_is_array(rules) || json_array_size(rules) > TOKENS_FILE_RULES)
        return tokens_file_refuse(reading, place,
                                  "\"rules\": expected a list of at most %d of {\"prefix\": "
                                  "\"…\", \"verbs\": [\"…\"]}",
                                  TOKENS_FILE_RULES);
    struct principal *principal = principal_new(name, json_array_size(rules),
                                                before ? principals_by_name(before, name) : NULL);
    if (!read_rights(reading, place, value, principal)) {
        principal_drop(principal);
        return false;
    }
    if (!principals_add(reading->principals, principal))
        return tokens_file_refuse(reading, &at,
                                  "there is another principal \"%.*s\". To give one principal "
                                  "several API keys, make \"sha256\" a list.",
                                  (int)name.length, name.bytes);
    return read_digests(reading, place, json_object_get(value, "sha256"), principal);
}

static bool read_document(const struct reading *reading, const json_t *document)
{
    static const char *const KNOWN[] = {"principals", NULL};
    struct place at = {""};
    if (!tokens_file_check_members(reading, &at, document, KNOWN, "\"principals\""))
        return false;
    const json_t *list = json_object_get(document, "principals");
    at = place_in("principals");
    if (!json_is_array(list) || json_array_size(list) > TOKENS_FILE_PRINCIPALS)
        return tokens_file_refuse(reading, &at, "expected a list of at most %d principals",
                                  TOKENS_FILE_PRINCIPALS);
    for (size_t i = 0; i < json_array_size(list); i++) {
        at = place_in("principals[%zu]", i);
        if (!read_principal(reading, &at, json_array_get(list, i)))
            return false;
    }
    return true;
}

/* Length of jansson's message without the text it quotes: that may be a secret, and goes to the
 * log. */
static size_t unquoted(const char *text)
{
    const char *quote = strstr(text, " near '");
    return quote ? (size_t)(quote - text) : strlen(text);
}

int tokens_file_parse(const struct tokens_file_options *options, struct slice text,
                      struct principals **ret, struct failure *failure)
{
    json_error_t error;
    struct reading reading = {options, principals_new(), failure};
    struct place nowhere = {""};
    json_t *document = json_text_load(text, JSON_REJECT_DUPLICATES, &error);
    bool good = document
                    ? read_document(&reading, document)
                    : tokens_file_refuse(&reading, &nowhere, "line %d, column %d: %.*s", error.line,
                                         error.column, (int)unquoted(error.text), error.text);
    json_decref(document);
    if (good)
        *ret = reading.principals;
    else
        principals_drop(reading.principals);
    return good ? 0 : -EINVAL;
}

int tokens_file_read(const struct tokens_file_options *options, struct principals **ret,
                     struct failure *failure)
{
    const struct file_options file = {"tokens-file", options->path, TOKENS_FILE_LONGEST, true};
    char *bytes;
    size_t length;
    int result = file_read(&file, &bytes, &length, failure);
    if (result < 0)
        return result;
    result = tokens_file_parse(options, (struct slice){bytes, length}, ret, failure);
    free(bytes);
    return result;
}
