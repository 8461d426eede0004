/* HTTP as it goes over the wire: what connections and pipelines mean for locks, and what each reply
 * carries beside its body. Pieces, versions and nonsense are told in tests/edge. */
#include "tests/support/fixtures/service.h"

#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPLY_SIZE = 65536 };

static struct http_client *client_of(void **state)
{
    return ((struct service *)*state)->client;
}

static void every_reply_has_a_request_id(void **state)
{
    static const char *const REQUESTS[] = {
        "POST /locks/id",    "POST /locks/id", "PUT /locks/id",
        "GET /locks/id",     "GET /locks",     "DELETE /locks/id?force=true",
        "GET /livez",        "GET /readyz",    "GET /metrics",
        "GET /openapi.yaml", "GET /nothing",   "BREW /locks/id",
        "GET /locks/%00"};
    struct http_client *client = client_of(state);
    char last[80] = "";
    for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++) {
        char method[8];
        const char *target = strchr(REQUESTS[i], ' ') + 1;
        snprintf(method, sizeof method, "%.*s", (int)(target - REQUESTS[i] - 1), REQUESTS[i]);
        http_call(client, method, target, NULL);
        const char *made = http_header(client, "X-Request-Id");
        assert_non_null(made);
        assert_in_range(strlen(made), 1, 64);
        assert_string_not_equal(made, last);
        snprintf(last, sizeof last, "%s", made);

        http_request(client, &(struct http_call){.method = method,
                                                 .path = target,
                                                 .headers = (const char *const[]){
                                                     "X-Request-Id: My.own_id-7", NULL}});
        assert_string_equal(http_header(client, "X-Request-Id"), "My.own_id-7");
    }
}

static void a_request_id_of_another_form_is_replaced(void **state)
{
    static const char *const IDS[] = {"a b", "a,b", "a/b", "\"a\"", "\xc3\xa4", "a;b", ""};
    struct http_client *client = client_of(state);
    char header[128], longest[65], too_long[66];
    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++) {
        snprintf(header, sizeof header, "X-Request-Id: %s", IDS[i]);
        answers_with(client, header, "GET /livez", NULL, 200, NULL);
        assert_string_not_equal(http_header(client, "X-Request-Id"), IDS[i]);
    }
    memset(longest, 'x', 64);
    memset(too_long, 'x', 65);
    longest[64] = too_long[65] = '\0';
    snprintf(header, sizeof header, "X-Request-Id: %s", longest);
    answers_with(client, header, "GET /livez", NULL, 200, NULL);
    assert_string_equal(http_header(client, "X-Request-Id"), longest);
    snprintf(header, sizeof header, "X-Request-Id: %s", too_long);
    answers_with(client, header, "GET /livez", NULL, 200, NULL);
    assert_in_range(strlen(http_header(client, "X-Request-Id")), 1, 64);
}

static void head_is_get_without_a_body(void **state)
{
    static const char *const TARGETS[] = {"/livez", "/readyz", "/openapi.yaml", "/locks/head",
                                          "/locks?prefix=head"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof TARGETS / sizeof *TARGETS; i++) {
        char type[80], length[40], etag[40];
        assert_int_equal(http_call(client, "GET", TARGETS[i], NULL), 200);
        snprintf(type, sizeof type, "%s", http_header(client, "Content-Type"));
        snprintf(length, sizeof length, "%s", http_header(client, "Content-Length"));
        snprintf(etag, sizeof etag, "%.39s", http_header(client, "ETag") ? client->header : "");
        assert_int_equal(http_call(client, "HEAD", TARGETS[i], NULL), 200);
        assert_int_equal(client->reply.length, 0);
        assert_string_equal(http_header(client, "Content-Type"), type);
        assert_string_equal(http_header(client, "Content-Length"), length);
        assert_string_equal(http_header(client, "ETag") ? client->header : "", etag);
    }
    assert_int_equal(http_call(client, "HEAD", "/metrics", NULL), 200);
    assert_int_equal(http_call(client, "HEAD", "/nothing", NULL), 404);
    assert_int_equal(client->reply.length, 0);
    assert_int_equal(http_call(client, "HEAD", "/locks/%00", NULL), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reply_has_a_request_id),
        cmocka_unit_test(a_request_id_of_another_form_is_replaced),
        cmocka_unit_test(head_is_get_without_a_body),
    };
    return cmocka_run_group_tests(tests, service_start, service_stop);
}
