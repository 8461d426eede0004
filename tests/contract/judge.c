#include "tests/contract/judge.h"

#include "tests/contract/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Whether the value passes and is named in full. */
static bool judge_value(const struct spec *spec, const json_t *carrier, const json_t *value,
                        struct failure *failure)
{
    const json_t *schema = json_object_get(carrier, "schema");
    return schema_is_supported(spec->root, schema, failure) &&
           schema_accepts(spec->root, schema, value, failure) &&
           schema_names_all(spec->root, schema, value, failure);
}

/* A header's value as its schema would have it: a number where it is one. */
static json_t *header_value(const struct spec *spec, const json_t *header, const char *text)
{
    const json_t *schema = schema_resolve(spec->root, json_object_get(header, "schema"));
    const char *type = json_string_value(json_object_get(schema, "type"));
    char *end;
    long long number = strtoll(text, &end, 10);
    if (type && !strcmp(type, "integer") && *text && !*end)
        return json_integer(number);
    return json_string(text);
}

static bool judge_header(const struct spec *spec, const char *name, const json_t *header,
                         const char *text, struct failure *failure)
{
    struct failure why = {""};
    if (!text && json_is_true(json_object_get(header, "required")))
        return failure_set(failure, -EINVAL, "there is no header %s", name) == 0;
    if (!text)
        return true;
    json_t *value = header_value(spec, header, text);
    bool fine = judge_value(spec, header, value, &why);
    json_decref(value);
    return fine || failure_set(failure, -EINVAL, "%s: %s: %.250s", name, text, why.text) == 0;
}

static bool is_listed(const json_t *headers, const char *line)
{
    /* What HTTP itself adds, and what OpenAPI says with `content`. */
    static const char *const common[] = {"Connection", "Content-Length", "Content-Type",
                                         "Date",       "Keep-Alive",     "Transfer-Encoding"};
    size_t length = strcspn(line, ":");
    const char *name;
    json_t *header;
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (strlen(common[i]) == length && !strncasecmp(common[i], line, length))
            return true;
    json_object_foreach ((json_t *)headers, name, header)
        if (strlen(name) == length && !strncasecmp(name, line, length))
            return true;
    return false;
}

static bool judge_headers(const struct spec *spec, const json_t *headers,
                          struct http_client *client, struct failure *failure)
{
    const char *name;
    json_t *header;
    json_object_foreach ((json_t *)headers, name, header)
        if (!judge_header(spec, name, schema_resolve(spec->root, header), http_header(client, name),
                          failure))
            return false;
    for (const char *line = client->reply.headers; *line; line += strspn(line, "\r\n")) {
        size_t length = strcspn(line, "\r\n");
        if (memchr(line, ':', length) && !is_listed(headers, line))
            return failure_set(failure, -EINVAL, "not listed: %.*s", (int)length, line) == 0;
        line += length;
    }
    return true;
}

void judge_media_type(struct http_client *client, char type[64])
{
    const char *header = http_header(client, "Content-Type");
    snprintf(type, 64, "%.*s", header ? (int)strcspn(header, "; ") : 0, header ? header : "");
}

static bool is_json(const char *type)
{
    size_t length = strlen(type);
    return !strcmp(type, "application/json") || (length > 5 && !strcmp(type + length - 5, "+json"));
}

static bool judge_body(const struct spec *spec, const struct spec_operation *operation,
                       struct http_client *client, struct failure *failure)
{
    const struct http_reply *reply = &client->reply;
    char type[64];
    judge_media_type(client, type);
    if (!json_object_get(spec_response(spec, operation, reply->status), "content"))
        return (!reply->length && !*type) ||
               failure_set(failure, -EINVAL, "a body where there is none: %s", type) == 0;
    const json_t *carrier = spec_content(spec, operation, reply->status, type);
    if (!carrier)
        return failure_set(failure, -EINVAL, "the media type %s is not listed", type) == 0;
    if (is_json(type) && !reply->json)
        return failure_set(failure, -EINVAL, "no JSON: %.200s", reply->body) == 0;
    json_t *value =
        is_json(type) ? json_incref(reply->json) : json_stringn(reply->body, reply->length);
    bool fine = judge_value(spec, carrier, value, failure);
    json_decref(value);
    return fine;
}

bool judge_reply(const struct spec *spec, const struct spec_operation *operation,
                 struct http_client *client, struct failure *failure)
{
    const json_t *response = spec_response(spec, operation, client->reply.status);
    if (!response)
        return failure_set(failure, -EINVAL, "the status %ld is not listed (%s)",
                           client->reply.status, client->reply.trouble) == 0;
    return judge_headers(spec, json_object_get(response, "headers"), client, failure) &&
           judge_body(spec, operation, client, failure);
}
