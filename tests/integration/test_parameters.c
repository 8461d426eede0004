/* Fields of requests as they come over HTTP. What each takes, and how a reader is told that it is
 * wrong, tests/unit/test_fields.c shows; here are the places from which fields come, what handlers
 * refuse by themselves, and what becomes of meta and of bodies. */
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TOKEN[] = "my-token-0123456789abcdef";
static const char TOKEN_HEADER[] = "Lock-Token: my-token-0123456789abcdef";

/* A request and the parameter that its 400 names; NULL where the reply has none. */
static const struct refusal {
    const char *request;
    const char *header;
    const char *body;
    const char *code;
    const char *parameter;
} REFUSALS[] = {
#define PARAMETER "invalid_parameter"
    /* One of each place that is read. */
    {"POST /locks/a", NULL, "{\"ttl_ms\": 99}", PARAMETER, "ttl_ms"},
    {"PUT /locks/a", TOKEN_HEADER, "{\"ttl_ms\": 3600001}", PARAMETER, "ttl_ms"},
    {"DELETE /locks/a", NULL, "{\"token\": \"short\"}", PARAMETER, "token"},
    {"POST /locks", NULL, "{\"names\": \"a\"}", PARAMETER, "names"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 99999999999999999999}", PARAMETER, "ttl_ms"},
    {"POST /locks/a?ttl=5s%00", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=%zz", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?wait=50001ms", NULL, NULL, PARAMETER, "wait"},
    {"POST /locks/a?ttl", NULL, NULL, PARAMETER, "ttl"},
    {"GET /locks/a/events?after=x", NULL, NULL, PARAMETER, "after"},
    {"GET /events?limit=0", NULL, NULL, PARAMETER, "limit"},
    {"GET /locks?prefix=%ff", NULL, NULL, PARAMETER, "prefix"},
    {"POST /locks/a", "Lock-Token: short", NULL, PARAMETER, "Lock-Token"},
    {"POST /locks/a", "Lock-Token;", NULL, PARAMETER, "Lock-Token"},
    {"GET /locks/a", "Lock-Token: short", NULL, PARAMETER, "Lock-Token"},
    {"POST /locks/a?ttl=5s", NULL, "{\"ttl_ms\": 5000}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", TOKEN_HEADER, "{\"token\": \"my-token-0123456789abcdef\"}", PARAMETER,
     "Lock-Token"},
    {"GET /livez?=", NULL, NULL, PARAMETER, "query"},
    {"GET /locks/a", NULL, "{}", PARAMETER, "body"},
    {"PUT /locks/a", TOKEN_HEADER, "[]", PARAMETER, "body"},
    {"DELETE /locks/a", TOKEN_HEADER, "{", "invalid_json", NULL},
    {"POST /locks/a", NULL, " ", "invalid_json", NULL},

    /* A token in the URL would be in every log on its way. */
    {"POST /locks/a?token=my-token-0123456789abcdef", NULL, NULL, PARAMETER, "token"},

    /* What handlers refuse: a field that needs another one, or excludes it. */
    {"POST /locks/a", NULL, "{\"keep_ms\": 5}", PARAMETER, "keep_ms"},
    {"POST /locks/a?keep=5s", NULL, NULL, PARAMETER, "keep_ms"},
    {"POST /locks/a", NULL, "{\"limit\": 5}", PARAMETER, "limit"},
    {"POST /locks/a?limit=5", NULL, NULL, PARAMETER, "limit"},
    {"POST /locks/a", NULL, "{\"mode\": \"exclusive\", \"limit\": 5}", PARAMETER, "limit"},
    {"PUT /locks/a", NULL, NULL, PARAMETER, "token"},
    {"PUT /locks/a", NULL, "{\"ttl_ms\": 5000}", PARAMETER, "token"},
    {"DELETE /locks/a", NULL, NULL, PARAMETER, "token"},
    {"DELETE /locks/a?force=false", NULL, NULL, PARAMETER, "token"},
    {"DELETE /locks/a?force=true", TOKEN_HEADER, NULL, PARAMETER, "force"},
    {"DELETE /locks/a?force=true", NULL, "{\"token\": \"my-token-0123456789abcdef\"}", PARAMETER,
     "force"},
};

static struct http_client *client_of(void **state)
{
    return ((struct service *)*state)->client;
}

static void whatever_is_wrong_is_named(void **state)
{
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i++) {
        const struct refusal *refusal = &REFUSALS[i];
        answers_with(client, refusal->header, refusal->request, refusal->body, 400, refusal->code);
        const char *named = http_text(client, "parameter");
        if (!refusal->parameter ? named != NULL : !named || strcmp(named, refusal->parameter) != 0)
            fail_msg("%s %s names %s: %s", refusal->request, refusal->body, named,
                     client->reply.body);
        assert_null(http_header(client, "Retry-After"));
    }
}

/* A problem's detail is for people: what they cannot see in it is escaped. */
static void what_is_invisible_shows_in_a_detail(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/a", "{\"t\\u202etl\\u2028\\n\": 1}", 400, "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "t\xe2\x80\xaetl\xe2\x80\xa8\n");
    assert_non_null(strstr(http_text(client, "detail"), "t\\u202etl\\u2028\\u000a: unknown field"));
    answers_with(client, "Accept: text/plain", "POST /locks/a", "{\"t\\u202etl\\n\": 1}", 400,
                 NULL);
    assert_non_null(strstr(client->reply.body, "t\\u202etl\\u000a: unknown field"));
}

/* Whoever finds it to be none: the reader of fields, or the locks. */
static void a_cursor_that_is_none_is_told_of_once(void **state)
{
    static const char *const CURSORS[] = {"", "%21", "17", "x"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof CURSORS / sizeof *CURSORS; i++) {
        char request[64];
        snprintf(request, sizeof request, "GET /locks?cursor=%s", CURSORS[i]);
        answers(client, request, NULL, 400, "invalid_parameter");
        assert_string_equal(http_text(client, "detail"),
                            "cursor: expected the cursor of the previous page, unchanged.");
    }
}

/* All of them were refused before Redis was asked. */
static void nothing_of_it_locked(void **state)
{
    answers(client_of(state), "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client_of(state), "locks")), 0);
}

static void a_refused_token_is_not_repeated_in_the_answer(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/a?token=my-token-0123456789abcdef", NULL, 400,
            "invalid_parameter");
    assert_null(strstr(client->reply.body, TOKEN));
    answers_with(client, "Lock-Token: my-token-0123456789abcdef!", "POST /locks/a", NULL, 400,
                 "invalid_parameter");
    assert_null(strstr(client->reply.body, TOKEN));
}

static void two_tokens_are_one_too_many(void **state)
{
    struct http_client *client = client_of(state);
    const struct http_call call = {
        .method = "DELETE",
        .path = "/locks/a",
        .headers =
            (const char *const[]){TOKEN_HEADER, "lock-token: my-token-0123456789abcdeg", NULL},
    };
    assert_int_equal(http_request(client, &call), 400);
    assert_string_equal(member_text(client, "parameter"), "Lock-Token");
}

/* By its bytes, without the space between its parts. */
static void meta_comes_back_as_it_was_sent(void **state)
{
    static const struct {
        const char *sent, *seen;
    } METAS[] = {
        {"{\"a\":0.1,\"b\":1e3,\"c\":-0.0,\"d\":1.10}",
         "{\"a\":0.1,\"b\":1e3,\"c\":-0.0,\"d\":1.10}"},
        {" { \"a b\" : [ 1 ,\t2 ] ,\n\"c\" : \" , } \\\" \" } ",
         "{\"a b\":[1,2],\"c\":\" , } \\\" \"}"},
        {"{\"\\u00e9\":\"\\u2028\\/\\n\\u0001\",\"big\":9223372036854775807,\"none\":null}",
         "{\"\\u00e9\":\"\\u2028\\/\\n\\u0001\",\"big\":9223372036854775807,\"none\":null}"},
        {"{ }", "{}"},
    };
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof METAS / sizeof *METAS; i++) {
        char body[512], seen[256];
        snprintf(body, sizeof body,
                 " { \"ttl_ms\" : 60000 , \"met\\u0061\" :%s, \"owner\" : \"m,e}\" }",
                 METAS[i].sent);
        snprintf(seen, sizeof seen, "\"meta\":%s}", METAS[i].seen);
        answers(client, "POST /locks/seen", body, 201, NULL);
        answers(client, "GET /locks/seen", NULL, 200, NULL);
        if (!strstr(client->reply.body, seen))
            fail_msg("%s is shown as %s", body, client->reply.body);
        answers(client, "DELETE /locks/seen?force=true", NULL, 200, NULL);
    }
}

/* Nothing here decodes what a client has compressed. */
static void a_body_has_no_coding(void **state)
{
    static const char *const REFUSED[] = {"Content-Encoding: gzip",
                                          "Content-Encoding: identity, gzip"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        answers_with(client, REFUSED[i], "POST /locks/coding", "{}", 415, "unsupported_media_type");
        assert_non_null(strstr(http_text(client, "detail"), "Content-Encoding"));
    }
    answers_with(client, "Content-Encoding: Identity", "POST /locks/coding", "{}", 201, NULL);
    answers_with(client, REFUSED[0], "GET /locks/coding", NULL, 200, NULL);
}

/* 64 names of 255 bytes: 127 letters, each of two bytes or an escape of six, and a number. */
static void names_at_their_longest_fit(struct http_client *client, const char *letter)
{
    static const char DIGITS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    char *body = malloc(1 << 17), *at = stpcpy(body, "{\"ttl_ms\": 60000, \"names\": [");
    for (int i = 0; i < 64; i++) {
        at += sprintf(at, "%s\"%c", i ? ", " : "", DIGITS[i]);
        for (int j = 0; j < 127; j++)
            at = stpcpy(at, letter);
        *at++ = '"';
    }
    strcpy(at, "]}");
    answers(client, "POST /locks", body, 201, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 64);
    assert_int_equal(strlen(member_text(client, "locks.63.name")), 255);
    answers_with(client, NULL, "DELETE /locks", NULL, 400, "invalid_parameter");
    free(body);
}

static void sixty_four_of_the_longest_names_fit(void **state)
{
    struct http_client *client = client_of(state);
    names_at_their_longest_fit(client, "\xc3\xa4");
    names_at_their_longest_fit(client, "\\u00f6");
}

static char *body_of_size(size_t size)
{
    char *body = malloc(size + 1);
    memset(body, ' ', size);
    memcpy(body, "{}", 2);
    body[size] = '\0';
    return body;
}

static void a_body_has_at_most_64_kibibytes(void **state)
{
    struct http_client *client = client_of(state);
    static const char *const METHODS[] = {"POST /locks/big", "PUT /locks/big", "DELETE /locks/big"};
    char *most = body_of_size(65536), *more = body_of_size(65537), *huge = body_of_size(1 << 20);
    for (size_t i = 0; i < 3; i++) {
        answers(client, METHODS[i], more, 413, "too_large");
        answers_with(client, "Transfer-Encoding: chunked", METHODS[i], more, 413, "too_large");
        answers_with(client, "Transfer-Encoding: chunked", METHODS[i], huge, 413, "too_large");
    }
    answers_with(client, "Expect: 100-continue", METHODS[0], huge, 413, "too_large");
    answers(client, METHODS[0], most, 201, NULL);
    answers_with(client, "Transfer-Encoding: chunked", "POST /locks/big2", most, 201, NULL);
    answers_with(client, "Accept: text/plain", METHODS[0], more, 413, NULL);
    assert_string_equal(client->reply.body,
                        "too_large: A body may have 65536 bytes. Send a shorter one.\n");
    answers(client, "PATCH /locks/big", more, 405, "method_not_allowed");
    answers(client, "POST /nowhere", more, 404, "not_found");
    free(most);
    free(more);
    free(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_wrong_is_named),
        cmocka_unit_test(what_is_invisible_shows_in_a_detail),
        cmocka_unit_test(a_cursor_that_is_none_is_told_of_once),
        cmocka_unit_test(nothing_of_it_locked),
        cmocka_unit_test(a_refused_token_is_not_repeated_in_the_answer),
        cmocka_unit_test(meta_comes_back_as_it_was_sent),
        cmocka_unit_test(two_tokens_are_one_too_many),
        cmocka_unit_test(a_body_has_no_coding),
        cmocka_unit_test(sixty_four_of_the_longest_names_fit),
        cmocka_unit_test(a_body_has_at_most_64_kibibytes),
    };
    return cmocka_run_group_tests(tests, service_start, service_stop);
}
