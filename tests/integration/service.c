#include "tests/integration/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void service_open(struct service *service, const struct redis_options *redis,
                  const char *const *arguments)
{
    redis_process_start(&service->redis, redis);
    struct batond_options options = {.redis_url = service->redis.url, .arguments = arguments};
    batond_process_start(&service->batond, &options);
    service->client = http_client_new(service->batond.url);
}

static int end(struct service *service)
{
    http_client_free(service->client);
    int code = batond_process_stop(&service->batond);
    redis_process_stop(&service->redis);
    return code;
}

void service_close(struct service *service)
{
    assert_int_equal(end(service), 0);
}

int service_start(void **state)
{
    struct service *service = calloc(1, sizeof *service);
    if (!service)
        abort();
    *state = service;
    service_open(service, NULL, NULL);
    return 0;
}

int service_stop(void **state)
{
    int code = end(*state);
    free(*state);
    return code;
}

/* Whether the latest reply is a complete problem document of this code. */
static bool is_problem(struct http_client *client, const char *target, const char *code)
{
    char type[80];
    const char *content_type = http_header(client, "Content-Type");
    if (!content_type || strcmp(content_type, "application/problem+json") != 0)
        return false;
    const char *texts[] = {http_text(client, "type"),     http_text(client, "title"),
                           http_text(client, "detail"),   http_text(client, "code"),
                           http_text(client, "instance"), http_text(client, "request_id")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!texts[i] || !texts[i][0])
            return false;
    snprintf(type, sizeof type, "urn:baton:problem:%s", code);
    size_t path_length = strcspn(target, "?");
    const char *request_id = http_header(client, "X-Request-Id");
    return strcmp(texts[0], type) == 0 && strcmp(texts[3], code) == 0 &&
           strlen(texts[4]) == path_length && strncmp(texts[4], target, path_length) == 0 &&
           request_id && strcmp(texts[5], request_id) == 0 &&
           http_integer(client, "status") == client->reply.status;
}

void answers_at(struct http_client *client, const char *header, const char *request,
                const char *body, long status, const char *code, const char *file, int line)
{
    char method[16];
    const char *target = strchr(request, ' ') + 1;
    snprintf(method, sizeof method, "%.*s", (int)(target - request - 1), request);
    const char *const headers[] = {header, NULL};
    long actual = http_request(
        client,
        &(struct http_call){.method = method, .path = target, .body = body, .headers = headers});
    if (actual == status && (!code || is_problem(client, target, code)))
        return;
    print_error("%s %s\nexpected %ld %s, got %ld %s\n%s%s\n", request, body ? body : "", status,
                code ? code : "", actual, client->reply.trouble,
                client->reply.headers ? client->reply.headers : "", client->reply.body);
    _fail(file, line);
}

void answers_token_at(struct http_client *client, const char *token, const char *request,
                      const char *body, long status, const char *code, const char *file, int line)
{
    char header[TOKEN_TEXT + 16];
    snprintf(header, sizeof header, "Lock-Token: %s", token);
    answers_at(client, header, request, body, status, code, file, line);
}

void keep_token(const struct http_client *client, char token[TOKEN_TEXT])
{
    const char *text = http_text(client, "token");
    if (!text)
        fail_msg("no token in %s", client->reply.body);
    snprintf(token, TOKEN_TEXT, "%s", text);
}

json_t *member(const struct http_client *client, const char *path)
{
    json_t *value = client->reply.json;
    while (value && *path) {
        char name[64];
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        value = json_is_array(value) ? json_array_get(value, strtoul(name, NULL, 10))
                                     : json_object_get(value, name);
        path += length + (path[length] == '.');
    }
    return value;
}

const char *member_text(const struct http_client *client, const char *path)
{
    return json_string_value(member(client, path));
}

int64_t member_integer(const struct http_client *client, const char *path)
{
    json_t *value = member(client, path);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

bool comes_to_answer(struct http_client *client, const char *target, long status, int timeout_ms)
{
    int64_t deadline = clock_ms() + timeout_ms;
    while (http_call(client, "GET", target, NULL) != status) {
        if (clock_ms() > deadline)
            return false;
        clock_sleep_ms(5);
    }
    return true;
}
