/* Names and targets: which names there are, how they are written, and what is no name at all. */
#include "tests/support/fixtures/service.h"

#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct http_client *client_of(void **state)
{
    return ((struct service *)*state)->client;
}

static void a_name_is_what_its_segment_decodes_to(void **state)
{
    static const struct {
        const char *segment, *name;
    } NAMES[] = {
        {"plain", "plain"},
        {"a%2Fb%2f%2e", "a/b/."},
        {"%2F", "/"},
        {"..", ".."},
        {".", "."},
        {"%2e%2E", ".."},
        {"...", "..."},
        {"a+b", "a+b"},
        {"a%2Bb%20c", "a+b c"},
        {"a;b=c,d", "a;b=c,d"},
        {"a:b@c!$&'()*", "a:b@c!$&'()*"},
        {"%25", "%"},
        {"%2525", "%25"},
        {"%3F%23", "?#"},
        {"%7B%7D%5b%5D%5C", "{}[]\\"},
        {"{}[]\\|^\"<>`", "{}[]\\|^\"<>`"},
        {"%22%3C", "\"<"},
        {"%C3%BC%c3%bc", "\303\274\303\274"},
        {"\303\274", "\303\274"},
        {"%E2%82%AC%F0%9F%94%92", "\342\202\254\360\237\224\222"},
        {"%EF%BB%BF", "\357\273\277"},
        {"%C2%A0", "\302\240"},
        {"%41%61%7e", "Aa~"},
    };
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char request[200], token[TOKEN_TEXT], back[400];
        snprintf(request, sizeof request, "POST /locks/%s", NAMES[i].segment);
        answers(client, request, NULL, 201, NULL);
        assert_string_equal(http_text(client, "name"), NAMES[i].name);
        keep_token(client, token);
        snprintf(back, sizeof back, "DELETE %s", http_header(client, "Location"));
        answers_token(client, token, back, NULL, 200, NULL);
        assert_string_equal(http_text(client, "name"), NAMES[i].name);
    }
}

static void two_ways_to_write_a_name_are_one_name(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/one%2fname", NULL, 201, NULL);
    answers(client, "POST /locks/%6Fne%2F%6eame", NULL, 409, "locked");
    answers(client, "POST /locks/One%2fname", NULL, 201, NULL);
    answers(client, "POST /locks/one%2Fname%20", NULL, 201, NULL);
    answers(client, "POST /locks/one%252fname", NULL, 201, NULL);
}

static void what_is_no_name_is_refused(void **state)
{
    static const char *const SEGMENTS[] = {
        "",       "%",        "%2",        "%zz",       "a%",           "a%4",
        "%%41",   "%00",      "a%00b",     "%0a",       "%1F",          "%7f",
        "%C2%80", "%c2%9F",   "%ff",       "%C3",       "%C3%28",       "%80",
        "%C0%AF", "%c1%81",   "%E0%80%AF", "%ED%A0%80", "%F4%90%80%80", "%F8%88%80%80%80",
        "%E2%82", "a%e2%82b", "%2g"};
    static const char *const METHODS[] = {"POST", "PUT", "DELETE", "GET"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof SEGMENTS / sizeof *SEGMENTS; i++) {
        for (size_t j = 0; j < sizeof METHODS / sizeof *METHODS; j++) {
            char request[200];
            snprintf(request, sizeof request, "%s /locks/%s", METHODS[j], SEGMENTS[i]);
            answers(client, request, NULL, 400, "invalid_name");
            assert_string_equal(http_text(client, "parameter"), "name");
        }
    }
}

/* "METHOD /locks/" and `count` times `unit`. */
static void repeat(char *request, const char *method, const char *unit, size_t count,
                   const char *rest)
{
    char *end = request + sprintf(request, "%s /locks/", method);
    for (size_t i = 0; i < count; i++)
        end = stpcpy(end, unit);
    strcpy(end, rest);
}

static void a_name_has_1_to_255_bytes(void **state)
{
    struct http_client *client = client_of(state);
    char request[4096];
    repeat(request, "POST", "a", 255, "");
    answers(client, request, NULL, 201, NULL);
    repeat(request, "POST", "a", 256, "");
    answers(client, request, NULL, 400, "invalid_name");
    repeat(request, "POST", "%C3%A4", 127, "b");
    answers(client, request, NULL, 201, NULL);
    assert_int_equal(strlen(http_header(client, "Location")), 7 + 127 * 6 + 1);
    repeat(request, "POST", "%C3%A4", 128, "");
    answers(client, request, NULL, 400, "invalid_name");
    repeat(request, "POST", "%2F", 255, "");
    answers(client, request, NULL, 201, NULL);
    repeat(request, "POST", "%2F", 256, "");
    answers(client, request, NULL, 400, "invalid_name");
    repeat(request, "POST", "%7B", 255, "");
    answers(client, request, NULL, 201, NULL);
    repeat(request, "POST", "%F0%9F%94%92", 63, "abc");
    answers(client, request, NULL, 201, NULL);
    repeat(request, "POST", "%F0%9F%94%92", 64, "");
    answers(client, request, NULL, 400, "invalid_name");
}

static void what_is_not_there_is_not_found(void **state)
{
    static const char *const TARGETS[] = {
        "/",          "/lock",        "/locks/a/b",       "/locks//", "/locks/a/",
        "//locks/a",  "/Locks/a",     "/locks/../livez",  "/livez/",  "/livezz",
        "/%6Cocks/a", "/openapi.yml", "/locks/a/events/", "/livez%00"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof TARGETS / sizeof *TARGETS; i++) {
        char request[80];
        snprintf(request, sizeof request, "GET %s", TARGETS[i]);
        answers(client, request, NULL, 404, "not_found");
        assert_null(http_header(client, "Allow"));
    }
    answers(client, "POST /locks/a/b", NULL, 404, "not_found");
    assert_non_null(strstr(http_text(client, "detail"), "%2F"));
}

static void other_methods_are_not_allowed(void **state)
{
    static const struct {
        const char *request, *allow;
    } REQUESTS[] = {
        {"PATCH /locks/a", "POST, PUT, DELETE, GET, HEAD"},
        {"OPTIONS /locks/a", "POST, PUT, DELETE, GET, HEAD"},
        {"PATCH /locks", "GET, HEAD, POST, PUT, DELETE"},
        {"POST /locks/a/events", "GET, HEAD"},
        {"DELETE /events", "GET, HEAD"},
        {"POST /livez", "GET, HEAD"},
        {"PUT /readyz", "GET, HEAD"},
        {"DELETE /metrics", "GET, HEAD"},
        {"POST /openapi.yaml", "GET, HEAD"},
    };
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++) {
        answers(client, REQUESTS[i].request, NULL, 405, "method_not_allowed");
        assert_string_equal(http_header(client, "Allow"), REQUESTS[i].allow);
    }
}

static void a_method_that_http_does_not_have_is_not_implemented(void **state)
{
    answers(client_of(state), "BREW /locks/a", NULL, 501, "unsupported");
    answers(client_of(state), "post /locks/a", NULL, 501, "unsupported");
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
    raw_receive(fd, reply, sizeof reply, NULL, 5000, NULL);
    close(fd);
    if (strncmp(reply, status, strlen(status)) != 0 || !strstr(reply, text))
        fail_msg("%s: expected %s %s, got %s", line, status, text, reply);
}

static void targets_may_be_absolute(void **state)
{
    const struct service *service = *state;
    raw_answers(service, "POST http://h/locks/abs%2F1?ttl=5s", "HTTP/1.1 201",
                "\"name\":\"abs/1\"");
    raw_answers(service, "GET HTTPS://H:443/locks/abs%2F1", "HTTP/1.1 200", "\"state\":\"held\"");
    raw_answers(service, "GET http://h/locks?prefix=abs", "HTTP/1.1 200", "\"name\":\"abs/1\"");
    raw_answers(service, "POST http://h/locks/abs%2F1", "HTTP/1.1 409",
                "\"instance\":\"/locks/abs%2F1\"");
    raw_answers(service, "GET http://h", "HTTP/1.1 404", "not_found");
    raw_answers(service, "GET http://h?a=/livez", "HTTP/1.1 404", "not_found");
    raw_answers(service, "OPTIONS *", "HTTP/1.1 404", "not_found");
    raw_answers(service, "GET http://elsewhere/livez", "HTTP/1.1 400", "invalid_request");
    raw_answers(service, "GET ftp://h/livez", "HTTP/1.1 400", "invalid_request");
    raw_answers(service, "GET livez", "HTTP/1.1 400", "invalid_request");
}

/* Where they stand as they are, and where they are percent-encoded. */
static void bytes_that_are_not_utf8_are_answered_with_json_that_is(void **state)
{
    const struct service *service = *state;
    raw_answers(service, "POST /locks/a\xff", "HTTP/1.1 400", "\"instance\":\"\"");
    raw_answers(service, "POST /locks/a?\xff=5", "HTTP/1.1 400", "\"instance\":\"/locks/a\"");
    raw_answers(service, "POST /locks/a?%ff=5", "HTTP/1.1 400", "invalid_parameter");
    raw_answers(service, "POST /locks/a?owner=%c3", "HTTP/1.1 400", "\"parameter\":\"owner\"");
}

static void a_long_query_is_read_too(void **state)
{
    struct http_client *client = client_of(state);
    char request[4096] = "POST /locks/long?owner=";
    for (int i = 0; i < 128; i++)
        strcat(request, "%41");
    answers(client, request, NULL, 201, NULL);
    assert_int_equal(strlen(http_text(client, "owner")), 128);
    strcat(request, "%41");
    answers(client, request, NULL, 400, "invalid_parameter");

    memset(request + strlen("POST /locks/long?"), 'x', 3000);
    answers(client, request, NULL, 400, "invalid_parameter");
    assert_in_range(strlen(http_text(client, "parameter")), 1, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_what_its_segment_decodes_to),
        cmocka_unit_test(two_ways_to_write_a_name_are_one_name),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(a_name_has_1_to_255_bytes),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(other_methods_are_not_allowed),
        cmocka_unit_test(a_method_that_http_does_not_have_is_not_implemented),
        cmocka_unit_test(targets_may_be_absolute),
        cmocka_unit_test(bytes_that_are_not_utf8_are_answered_with_json_that_is),
        cmocka_unit_test(a_long_query_is_read_too),
    };
    return cmocka_run_group_tests(tests, service_start, service_stop);
}
