/* Acquiring: what is granted, what is refused, and what each reply says. */
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MINE[] = "my-token-0123456789abcdef";

static struct http_client *client_of(void **state)
{
    return ((struct service *)*state)->client;
}

static void an_empty_post_takes_the_lock(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/empty", NULL, 201, NULL);
    assert_string_equal(http_header(client, "Content-Type"), "application/json");
    assert_string_equal(http_text(client, "name"), "empty");
    assert_string_equal(http_text(client, "mode"), "exclusive");
    assert_int_equal(strlen(http_text(client, "token")), 22);
    assert_int_equal(strlen(http_text(client, "owner")), 22);
    assert_string_not_equal(http_text(client, "token"), http_text(client, "owner"));
    assert_in_range(http_integer(client, "ttl_ms"), 1, 30000);
    assert_int_equal(http_integer(client, "holds"), 1);
    assert_true(http_integer(client, "fence") > 1000000000000000);
    assert_true(http_integer(client, "fence") < INT64_C(1) << 53);
    assert_null(member(client, "limit"));
    assert_int_equal(json_object_size(client->reply.json), 7);
}

static void the_reply_says_where_the_lock_is_and_its_version(void **state)
{
    struct http_client *client = client_of(state);
    char location[200], etag[40];
    answers(client, "POST /locks/a%2fb%C3%a9%20%25", NULL, 201, NULL);
    snprintf(location, sizeof location, "GET %s", http_header(client, "Location"));
    snprintf(etag, sizeof etag, "%s", http_header(client, "ETag"));
    assert_string_equal(location, "GET /locks/a%2Fb%C3%A9%20%25");
    answers(client, location, NULL, 200, NULL);
    assert_string_equal(http_text(client, "name"), "a/b\303\251 %");
    assert_string_equal(http_text(client, "state"), "held");
    assert_string_equal(http_header(client, "ETag"), etag);
}

static void everything_can_be_given_in_the_body(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/body",
            "{\"ttl_ms\": 5000, \"wait_ms\": 0, \"owner\": \"me\", \"mode\": \"shared\", "
            "\"limit\": 3, \"token\": \"my-token-0123456789abcdef\", \"meta\": {\"a\": [1, null]}}",
            201, NULL);
    assert_string_equal(http_text(client, "token"), MINE);
    assert_string_equal(http_text(client, "owner"), "me");
    assert_string_equal(http_text(client, "mode"), "shared");
    assert_int_equal(http_integer(client, "limit"), 3);
    assert_in_range(http_integer(client, "ttl_ms"), 1, 5000);
}

static void everything_but_token_and_meta_can_be_given_in_the_query(void **state)
{
    struct http_client *client = client_of(state);
    answers_token(client, MINE,
                  "POST /locks/query?ttl=5s&wait=0&owner=a%20b+%c3%A9&mode=shared&limit=7", NULL,
                  201, NULL);
    assert_string_equal(http_text(client, "token"), MINE);
    assert_string_equal(http_text(client, "owner"), "a b+\303\251");
    assert_string_equal(http_text(client, "mode"), "shared");
    assert_int_equal(http_integer(client, "limit"), 7);
    assert_in_range(http_integer(client, "ttl_ms"), 1, 5000);
}

static void body_and_query_and_header_may_be_mixed(void **state)
{
    struct http_client *client = client_of(state);
    answers_token(client, MINE, "POST /locks/mixed?ttl=9000ms", "{\"owner\": \"me\"}", 201, NULL);
    assert_string_equal(http_text(client, "token"), MINE);
    assert_string_equal(http_text(client, "owner"), "me");
    assert_in_range(http_integer(client, "ttl_ms"), 1, 9000);
}

static void durations_carry_units(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } DURATIONS[] = {{"100ms", 100},   {"1500ms", 1500},  {"2", 2000},
                     {"0030s", 30000}, {"5m", 300000},    {"1h", 3600000},
                     {"60m", 3600000}, {"3600", 3600000}, {"3600000ms", 3600000}};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof DURATIONS / sizeof *DURATIONS; i++) {
        char request[80];
        snprintf(request, sizeof request, "POST /locks/duration%zu?ttl=%s", i, DURATIONS[i].text);
        answers(client, request, NULL, 201, NULL);
        assert_in_range(http_integer(client, "ttl_ms"),
                        DURATIONS[i].ms > 2000 ? DURATIONS[i].ms - 1000 : 1, DURATIONS[i].ms);
    }
}

static void queries_with_gaps_are_read(void **state)
{
    static const char *const QUERIES[] = {"?", "?&", "?&&ttl=5s&", "?ttl=5s&&owner=a"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof QUERIES / sizeof *QUERIES; i++) {
        char request[80];
        snprintf(request, sizeof request, "POST /locks/gaps%zu%s", i, QUERIES[i]);
        answers(client, request, NULL, 201, NULL);
    }
}

static void a_held_lock_is_refused_with_all_that_helps(void **state)
{
    struct http_client *client = client_of(state);
    char token[TOKEN_TEXT];
    answers(client, "POST /locks/busy",
            "{\"owner\": \"first\", \"ttl_ms\": 75000, \"meta\": {\"job\": 1}}", 201, NULL);
    keep_token(client, token);
    int64_t fence = http_integer(client, "fence");
    answers(client, "POST /locks/busy", NULL, 409, "locked");
    assert_string_equal(member_text(client, "holders.0.owner"), "first");
    assert_string_equal(member_text(client, "holders.0.mode"), "exclusive");
    assert_int_equal(member_integer(client, "holders.0.fence"), fence);
    assert_in_range(member_integer(client, "holders.0.ttl_ms"), 1, 75000);
    assert_in_range(member_integer(client, "holders.0.held_ms"), 0, 75000);
    assert_int_equal(member_integer(client, "holders.0.meta.job"), 1);
    assert_null(member(client, "holders.1"));
    assert_int_equal(http_integer(client, "queue_length"), 0);
    int64_t retry_ms = http_integer(client, "retry_after_ms");
    assert_in_range(retry_ms, 1, 75001);
    assert_int_equal(strtol(http_header(client, "Retry-After"), NULL, 10), (retry_ms + 999) / 1000);
    assert_null(strstr(client->reply.body, token));
}

/* Asks once more, with the wait that the problem has named. */
static void asks_as_the_detail_says(struct http_client *client, const char *name)
{
    char request[80];
    const char *wait = strstr(http_text(client, "detail"), "Wait for it with wait=");
    assert_non_null(wait);
    snprintf(request, sizeof request, "POST /locks/%s?%.*s", name,
             (int)strcspn(strstr(wait, "wait="), ","), strstr(wait, "wait="));
    answers(client, request, NULL, 201, NULL);
}

static void a_refusal_says_how_to_wait(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/step?ttl=2s", NULL, 201, NULL);
    answers(client, "POST /locks/step", NULL, 409, "locked");
    asks_as_the_detail_says(client, "step");
}

static void it_names_no_wait_that_is_too_long(void **state)
{
    struct service service;
    (void)state;
    service_open(&service, NULL, (const char *const[]){"--max-wait=20s", NULL});
    answers(service.client, "POST /locks/short?ttl=2s", NULL, 201, NULL);
    answers(service.client, "POST /locks/short", NULL, 409, "locked");
    asks_as_the_detail_says(service.client, "short");
    service_close(&service);
}

static void a_wait_is_never_shorter_than_a_second(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/soon?ttl=900ms", NULL, 201, NULL);
    answers(client, "POST /locks/soon", NULL, 409, "locked");
    assert_string_equal(http_header(client, "Retry-After"), "1");
}

static void at_most_ten_holders_are_shown(void **state)
{
    struct http_client *client = client_of(state);
    for (int i = 0; i < 12; i++) {
        char request[80];
        snprintf(request, sizeof request, "POST /locks/many?mode=shared&owner=o%d&ttl=%ds", i,
                 60 - i);
        answers(client, request, NULL, 201, NULL);
    }
    answers(client, "POST /locks/many", NULL, 409, "locked");
    assert_int_equal(json_array_size(member(client, "holders")), 10);
    assert_string_equal(member_text(client, "holders.0.owner"), "o11");
    assert_string_equal(member_text(client, "holders.9.owner"), "o2");
    assert_int_equal(http_integer(client, "retry_after_ms"), 10000);
}

static void a_lock_has_one_limit_at_a_time(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/limit?mode=shared&limit=5", NULL, 201, NULL);
    answers(client, "POST /locks/limit?mode=shared&limit=6", NULL, 409, "limit_mismatch");
    assert_non_null(strstr(http_text(client, "detail"), "the limit 5"));
    assert_null(http_header(client, "Retry-After"));
    answers(client, "POST /locks/limit?mode=shared", NULL, 409, "limit_mismatch");
    answers(client, "POST /locks/nolimit?mode=shared", NULL, 201, NULL);
    answers(client, "POST /locks/nolimit?mode=shared&limit=6", NULL, 409, "limit_mismatch");
    assert_non_null(strstr(http_text(client, "detail"), "no limit"));
}

static void a_shell_script_gets_the_bare_token(void **state)
{
    struct http_client *client = client_of(state);
    static const char ACCEPT[] = "Accept: text/plain";
    answers_with(client, ACCEPT, "POST /locks/shell", NULL, 201, NULL);
    assert_int_equal(strncmp(http_header(client, "Content-Type"), "text/plain", 10), 0);
    assert_int_equal(client->reply.length, 23);
    assert_int_equal(client->reply.body[22], '\n');
    assert_string_equal(http_header(client, "Location"), "/locks/shell");
    assert_non_null(http_header(client, "ETag"));
    char token[TOKEN_TEXT];
    snprintf(token, sizeof token, "%.22s", client->reply.body);
    answers_token(client, token, "PUT /locks/shell", NULL, 200, NULL);
    answers_with(client, ACCEPT, "POST /locks/shell", "{\"token\": \"my-token-0123456789abcdef\"}",
                 409, NULL);
    answers_token(client, token, "DELETE /locks/shell", NULL, 200, NULL);
    answers_with(client, ACCEPT, "POST /locks/shell", "{\"token\": \"my-token-0123456789abcdef\"}",
                 201, NULL);
    answers_with(client, ACCEPT, "POST /locks/shell", "{\"token\": \"my-token-0123456789abcdef\"}",
                 200, NULL);
    assert_string_equal(client->reply.body, "my-token-0123456789abcdef\n");
}

static void a_shell_script_gets_errors_as_one_line(void **state)
{
    static const struct {
        const char *request, *body, *line;
        long status;
    } LINES[] = {
        {"POST /locks/line", NULL, "locked: ", 409},
        {"POST /locks/line?ttl=1ms", NULL, "invalid_parameter: ttl: ", 400},
        {"POST /locks/line", "{", "invalid_json: ", 400},
        {"POST /locks/line", "{\"a\\nb\\u007f\\u2028\": 1}",
         "invalid_parameter: a\\u000ab\\u007f\\u2028: ", 400},
        {"POST /locks/%00", NULL, "invalid_name: ", 400},
        {"POST /locks/shared?mode=shared", NULL, "limit_mismatch: ", 409},
    };
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/line", NULL, 201, NULL);
    answers(client, "POST /locks/shared?mode=shared&limit=2", NULL, 201, NULL);
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        answers_with(client, "Accept: text/plain", LINES[i].request, LINES[i].body, LINES[i].status,
                     NULL);
        const char *body = client->reply.body;
        if (strncmp(body, LINES[i].line, strlen(LINES[i].line)) != 0)
            fail_msg("%s does not begin with %s", body, LINES[i].line);
        assert_ptr_equal(strchr(body, '\n'), body + client->reply.length - 1);
        assert_int_equal(strncmp(http_header(client, "Content-Type"), "text/plain", 10), 0);
    }
    answers_with(client, "Accept: text/plain", "POST /locks/line", NULL, 409, NULL);
    assert_non_null(http_header(client, "Retry-After"));
}

static void text_is_for_those_who_prefer_it_and_for_acquire_only(void **state)
{
    static const char *const JSON[] = {
        "Accept: */*",
        "Accept: application/json, text/plain",
        "Accept: text/plain, application/json, application/*+json, */*",
        "Accept: text/html",
        "Accept: text/plainer",
        "Accept: "};
    static const char *const TEXT[] = {"Accept: text/plain, application/json;q=0.9",
                                       "Accept: TEXT/Plain; q=0.9, */*;q=0.1",
                                       "Accept: text/html , text/plain"};
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/prefer", NULL, 201, NULL);
    for (size_t i = 0; i < sizeof JSON / sizeof *JSON; i++)
        answers_with(client, JSON[i], "POST /locks/prefer", NULL, 409, "locked");
    for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++) {
        answers_with(client, TEXT[i], "POST /locks/prefer", NULL, 409, NULL);
        assert_int_equal(strncmp(client->reply.body, "locked: ", 8), 0);
    }
    answers_with(client, TEXT[0], "PUT /locks/prefer", NULL, 400, "invalid_parameter");
    answers_with(client, TEXT[0], "GET /locks/prefer", NULL, 200, NULL);
    assert_string_equal(http_text(client, "state"), "held");
    answers_with(client, TEXT[0], "DELETE /locks/prefer?force=true", NULL, 200, NULL);
    assert_int_equal(http_integer(client, "broken"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_post_takes_the_lock),
        cmocka_unit_test(the_reply_says_where_the_lock_is_and_its_version),
        cmocka_unit_test(everything_can_be_given_in_the_body),
        cmocka_unit_test(everything_but_token_and_meta_can_be_given_in_the_query),
        cmocka_unit_test(body_and_query_and_header_may_be_mixed),
        cmocka_unit_test(durations_carry_units),
        cmocka_unit_test(queries_with_gaps_are_read),
        cmocka_unit_test(a_held_lock_is_refused_with_all_that_helps),
        cmocka_unit_test(a_refusal_says_how_to_wait),
        cmocka_unit_test(it_names_no_wait_that_is_too_long),
        cmocka_unit_test(a_wait_is_never_shorter_than_a_second),
        cmocka_unit_test(at_most_ten_holders_are_shown),
        cmocka_unit_test(a_lock_has_one_limit_at_a_time),
        cmocka_unit_test(a_shell_script_gets_the_bare_token),
        cmocka_unit_test(a_shell_script_gets_errors_as_one_line),
        cmocka_unit_test(text_is_for_those_who_prefer_it_and_for_acquire_only),
    };
    return cmocka_run_group_tests(tests, service_start, service_stop);
}
