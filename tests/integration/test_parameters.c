/* Names, fields and bodies as they come over HTTP: one row for each place that reads or refuses
 * them. What each takes, tests/unit/test_{target, routes, name, fields, json}.c show; malformed
 * requests, tests/edge. */
#include "tests/support/fixtures/service.h"

#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN         "my-token-0123456789abcdef"
#define TOKEN_HEADER  "Lock-Token: " TOKEN
#define TOKEN_IN_BODY "{\"token\": \"" TOKEN "\"}"

TEST_OF_CLIENT(path_segment_names_the_lock)
{
    static const struct {
        const char *segment, *name;
    } NAMES[] = {
        {"a%2Fb%2f%2e%2ec", "a/b/..c"}, {"shop/orders/17", "shop/orders/17"},
        {"a%2Fevents", "a/events"},     {"a/b%2Frenew", "a/b/renew"},
        {"%2Fa%2F%2Fb%2F", "/a//b/"},   {"renew", "renew"},
        {"a%2Bb+%20c", "a+b+ c"},       {"{}[]\\|^\"<>`", "{}[]\\|^\"<>`"},
    };
    for (size_t i = 0; i < LENGTH(NAMES); i++) {
        char request[200], token[TOKEN_TEXT], back[400];
        snprintf(request, sizeof request, "POST /locks/%s", NAMES[i].segment);
        answers(client, request, NULL, 201, NULL);
        assert_string_equal(http_text(client, "name"), NAMES[i].name);
        keep_token(client, token);
        snprintf(back, sizeof back, "DELETE %s", http_header(client, "Location"));
        answers_token(client, token, back, NULL, 200, NULL);
        assert_string_equal(http_text(client, "name"), NAMES[i].name);
    }
    answers(client, "POST /locks/one%2fname", NULL, 201, NULL);
    answers(client, "POST /locks/%6Fne%2F%6eame", NULL, 409, "locked");
}

TEST_OF_CLIENT(longest_name_fits_into_path_and_location)
{
    char request[1024], *end = stpcpy(request, "POST /locks/");
    for (int i = 0; i < 255; i++)
        end = stpcpy(end, "%7B");
    answers(client, request, NULL, 201, NULL);
    assert_string_equal(http_header(client, "Location"), strchr(request, '/'));
}

TEST_OF_CLIENT(slash_and_its_encoding_name_the_same_lock)
{
    answers(client, "POST /locks/same/lock/1", NULL, 201, NULL);
    answers(client, "POST /locks/same%2Flock/1", NULL, 409, "locked");
    answers(client, "POST /locks", "{\"names\": [\"same/lock/1\"]}", 409, "locked");
    answers(client, "GET /locks/same/lock/1/events?wait=0", NULL, 200, NULL);
    assert_string_equal(http_text(client, "name"), "same/lock/1");
    answers(client, "GET /locks?prefix=same/lock/", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 1);
    answers(client, "DELETE /locks/same/lock%2f1?force", NULL, 200, NULL);
}

TEST_OF_CLIENT(call_of_another_service_is_answered_with_the_right_one)
{
    static const struct {
        const char *request, *said;
    } CALLS[] = {
        {"POST /locks/a/b/acquire", "send POST /locks/a/b."},
        {"POST /locks/a/lock?ttl=5s", "send POST /locks/a."},
        {"POST /locks/a%2Fb/renew", "send PUT /locks/a%2Fb."},
        {"POST /locks/a/release", "send DELETE /locks/a."},
        {"DELETE /locks/a/unlock", "send DELETE /locks/a."},
    };
    for (size_t i = 0; i < LENGTH(CALLS); i++) {
        answers(client, CALLS[i].request, NULL, 404, "not_found");
        assert_non_null(strstr(http_text(client, "detail"), CALLS[i].said));
    }
    answers(client, "POST /locks/a/events", NULL, 405, "method_not_allowed");
    assert_non_null(strstr(http_text(client, "detail"), "write the slash as %2F"));
    answers(client, "POST /events", NULL, 405, "method_not_allowed");
    assert_null(strstr(http_text(client, "detail"), "%2F"));
    char request[1024], *end = stpcpy(request, "POST /locks/");
    memset(end, 'n', 500);
    strcpy(end + 500, "/renew");
    answers(client, request, NULL, 404, "not_found");
    assert_non_null(strstr(http_text(client, "detail"), "nnn…. If"));
}

/* Sends a request line with a target that no client would, and expects this status and text. */
static void raw_answers(const struct service *service, const char *line, const char *status,
                        const char *text)
{
    char request[512], reply[4096];
    int fd = raw_connect(service->batond.port);
    int length = snprintf(request, sizeof request,
                          "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", line);
    raw_send(fd, request, (size_t)length);
    raw_receive(fd, reply, sizeof reply, NULL, CLOCK_HANG_MS, NULL);
    close(fd);
    if (strncmp(reply, status, strlen(status)) != 0 || !strstr(reply, text))
        fail_msg("%s: expected %s %s, got %s", line, status, text, reply);
}

TEST(unusual_target_is_answered_with_valid_json)
{
    static const struct {
        const char *line, *status, *text;
    } ROWS[] = {
        {"POST http://h/locks/abs%2F1?ttl=5s", "HTTP/1.1 201", "\"name\":\"abs/1\""},
        {"POST http://h/locks/abs%2F1", "HTTP/1.1 409", "\"instance\":\"/locks/abs%2F1\""},
        {"POST http://h/locks/abs/1", "HTTP/1.1 409", "\"instance\":\"/locks/abs/1\""},
        /* Clients and proxies fold these out of a path, or merge two slashes. */
        {"POST /locks/..", "HTTP/1.1 400", "invalid_name"},
        {"POST /locks/%2e%2E", "HTTP/1.1 400", "invalid_name"},
        {"POST /locks/a/../b", "HTTP/1.1 400", "invalid_name"},
        {"POST /locks/a%2F%2e", "HTTP/1.1 400", "invalid_name"},
        {"POST /locks/a/.", "HTTP/1.1 400", "invalid_name"},
        {"POST /locks/a/", "HTTP/1.1 400", "invalid_name"},
        {"POST /locks//a", "HTTP/1.1 400", "invalid_name"},
        {"POST /locks/a//b", "HTTP/1.1 400",
         "Write a slash with nothing before or behind it as %2F"},
        {"GET /locks//events", "HTTP/1.1 400", "invalid_name"},
        {"POST /locks/a\xff", "HTTP/1.1 400", "\"instance\":\"\""},
        {"POST /locks/a?\xff=5", "HTTP/1.1 400", "\"instance\":\"/locks/a\""},
    };
    for (size_t i = 0; i < LENGTH(ROWS); i++)
        raw_answers(*state, ROWS[i].line, ROWS[i].status, ROWS[i].text);
}

/* A request, and the parameter that its 400 names. */
static const struct {
    const char *request, *header, *body, *parameter;
} REFUSED[] = {
    /* one of each place that is read */
    {"POST /locks/a?ttl=5s%00", NULL, NULL, "ttl"},
    {"POST /locks/a?ttl=5s", NULL, "{\"ttl_ms\": 5000}", "ttl_ms"},
    {"POST /locks/a", "Lock-Token;", NULL, "Lock-Token"},
    {"GET /locks/a", "Lock-Token: short", NULL, "Lock-Token"},
    {"POST /locks/a", TOKEN_HEADER, TOKEN_IN_BODY, "Lock-Token"},
    {"GET /locks/a", NULL, "{}", "body"},
    {"POST /locks/a?token=" TOKEN, NULL, NULL, "token"},
    /* by handlers: a field that needs another one, or excludes it */
    {"POST /locks/a?limit=5", NULL, NULL, "limit"},
    {"POST /locks/a?limit=5&mode=exclusive", NULL, NULL, "limit"},
    {"PUT /locks/a?ttl=5s", NULL, NULL, "token"},
    {"DELETE /locks/a?force=false", NULL, NULL, "token"},
    {"DELETE /locks/a?force=true", TOKEN_HEADER, NULL, "force"},
    {"DELETE /locks/a?force=true", NULL, TOKEN_IN_BODY, "force"},
    {"GET /locks?cursor=x", NULL, NULL, "cursor"},
};

TEST(refused_parameter_is_named_and_changes_nothing)
{
    struct http_client *client = service_client(state);
    redis_process_forget(&((struct service *)*state)->redis);
    for (size_t i = 0; i < LENGTH(REFUSED); i++) {
        answers_with(client, REFUSED[i].header, REFUSED[i].request, REFUSED[i].body, 400,
                     "invalid_parameter");
        if (strcmp(http_text(client, "parameter"), REFUSED[i].parameter) != 0 ||
            strstr(client->reply.body, TOKEN) || http_header(client, "Retry-After"))
            fail_msg("%s %s: %s", REFUSED[i].request, REFUSED[i].body, client->reply.body);
    }
    assert_string_equal(http_text(client, "detail"),
                        "cursor: expected the cursor of the previous page, unchanged.");
    answers(client, "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 0);
}

TEST_OF_CLIENT(header_of_another_service_is_refused)
{
    answers_with(client, "x-lock-token: " TOKEN, "POST /locks/foreign", NULL, 400,
                 "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "X-Lock-Token");
    answers_with(client, "Idempotency-Key: 5", "POST /locks/foreign", NULL, 400,
                 "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "Idempotency-Key");
    answers_with(client, "Idempotency-Key: 5", "GET /livez", NULL, 200, NULL);
}

TEST_OF_CLIENT(second_token_header_is_refused)
{
    const struct http_call call = {
        .method = "DELETE",
        .path = "/locks/a",
        .headers = LIST(TOKEN_HEADER, "lock-token: " TOKEN "g"),
    };
    assert_int_equal(http_request(client, &call), 400);
    assert_string_equal(member_text(client, "parameter"), "Lock-Token");
}

/* A problem's detail is for people: what they cannot see in it is escaped. */
TEST_OF_CLIENT(invisible_character_is_escaped_in_detail)
{
    answers(client, "POST /locks/a", "{\"t\\u202etl\\u2028\\n\": 1}", 400, "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "t\xe2\x80\xaetl\xe2\x80\xa8\n");
    assert_non_null(strstr(http_text(client, "detail"), "t\\u202etl\\u2028\\u000a: unknown field"));
    answers_with(client, "Accept: text/plain", "POST /locks/a", "{\"t\\u202etl\\n\": 1}", 400,
                 NULL);
    assert_non_null(strstr(client->reply.body, "t\\u202etl\\u000a: unknown field"));
}

/* batond does not decode what a client has compressed. */
TEST_OF_CLIENT(coded_body_is_refused)
{
    answers_with(client, "Content-Encoding: identity, gzip", "POST /locks/coding", "{}", 415,
                 "unsupported_media_type");
    assert_non_null(strstr(http_text(client, "detail"), "Content-Encoding"));
    answers_with(client, "Content-Encoding: Identity", "POST /locks/coding", "{}", 201, NULL);
    answers_with(client, "Content-Encoding: gzip", "GET /locks/coding", NULL, 200, NULL);
}

/* 64 names of 255 bytes: 127 letters of two bytes, escaped, and a character that differs. */
TEST_OF_CLIENT(body_with_64_longest_names_fits)
{
    char *body = malloc(1 << 17), *at = stpcpy(body, "{\"names\": [");
    for (int i = 0; i < 64; i++) {
        at += sprintf(at, "%s\"%c", i ? ", " : "", '0' + i == '\\' ? ' ' : '0' + i);
        for (int j = 0; j < 127; j++)
            at = stpcpy(at, "\\u00f6");
        *at++ = '"';
    }
    strcpy(at, "]}");
    answers(client, "POST /locks", body, 201, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 64);
    assert_int_equal(strlen(member_text(client, "locks.63.name")), 255);
    free(body);
}

TEST(body_of_more_than_64_kib_is_refused)
{
    static const struct {
        const char *request, *header;
        size_t size;
        long status;
    } ROWS[] = {
        {"POST /locks/big", NULL, 65536, 201},
        {"PUT /locks/big", NULL, 65537, 413},
        {"POST /locks/big2", "Transfer-Encoding: chunked", 65536, 201},
        {"POST /locks/big", "Transfer-Encoding: chunked", 65537, 413},
        {"DELETE /locks/big", "Transfer-Encoding: chunked", 1 << 20, 413},
        {"POST /locks/big", "Expect: 100-continue", 1 << 20, 413},
        {"PATCH /locks/big", NULL, 65537, 405},
        {"POST /nowhere", NULL, 65537, 404},
    };
    for (size_t i = 0; i < LENGTH(ROWS); i++) {
        char *body = malloc(ROWS[i].size + 1);
        snprintf(body, ROWS[i].size + 1, "{}%*s", (int)ROWS[i].size - 2, "");
        answers_with(service_client(state), ROWS[i].header, ROWS[i].request, body, ROWS[i].status,
                     ROWS[i].status == 413 ? "too_large" : NULL);
        free(body);
    }
}

RUN_TESTS(service_start, service_stop)
