/* Names and targets as they come over HTTP. Which names there are, how they are decoded, and which
 * routes there are, tests/unit/test_{name, utf8, target, routes}.c show. */
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
        {"a%2Fb%2f%2e", "a/b/."},
        {"..", ".."},
        {"%2e%2E", ".."},
        {"a%2Bb+%20c", "a+b+ c"},
        {"%2525", "%25"},
        {"%3F%23", "?#"},
        {"%7B%7D%5b%5D%5C", "{}[]\\"},
        {"{}[]\\|^\"<>`", "{}[]\\|^\"<>`"},
        {"\303\274", "\303\274"},
        {"%EF%BB%BF%F0%9F%94%92", "\357\273\277\360\237\224\222"},
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
    static const char *const SEGMENTS[] = {"", "%", "a%4", "%zz", "%00", "%0a", "%ff", "a%e2%82b"};
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
    repeat(request, "POST", "%7B", 255, "");
    answers(client, request, NULL, 201, NULL);
}

static void what_is_not_there_is_not_found(void **state)
{
    static const char *const TARGETS[] = {"/", "/locks/a/b", "/locks/../livez", "/%6Cocks/a",
                                          "/livez%00"};
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
    struct http_client *client = client_of(state);
    answers(client, "PATCH /locks/a", NULL, 405, "method_not_allowed");
    assert_string_equal(http_header(client, "Allow"), "POST, PUT, DELETE, GET, HEAD");
    answers(client, "OPTIONS /livez", NULL, 405, "method_not_allowed");
    assert_string_equal(http_header(client, "Allow"), "GET, HEAD");
}

static void a_method_that_http_does_not_have_is_not_implemented(void **state)
{
    static const char *const UNKNOWN[] = {"BREW /locks/a", "get /locks/a", "BREW /nowhere"};
    for (size_t i = 0; i < sizeof UNKNOWN / sizeof *UNKNOWN; i++) {
        answers(client_of(state), UNKNOWN[i], NULL, 501, "unsupported");
        assert_null(http_header(client_of(state), "Allow"));
    }
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
