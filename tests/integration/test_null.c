/* null in a body: some clients send it for what they do not have. */
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <string.h>

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))
#define TOKEN         "a-token-of-the-test-of-null"
#define TOKEN_HEADER  "Lock-Token: " TOKEN

/* Each operation, and what it answers without a body. */
static const struct {
    const char *request;
    long status;
    const char *code; /* of a problem */
} OPERATIONS[] = {
    {"POST /locks/a", 201, NULL},
    {"POST /locks/a", 200, NULL},
    {"PUT /locks/a", 200, NULL},
    {"DELETE /locks/a", 200, NULL},
    {"POST /locks/b?ttl=10s&owner=me", 201, NULL},
    {"DELETE /locks/b?force=true", 200, NULL},
    {"GET /locks/a", 200, NULL},
    {"GET /locks/a/events?wait=0", 200, NULL},
    {"GET /locks", 200, NULL},
    {"POST /locks", 400, "invalid_parameter"},
    {"PUT /locks", 400, "invalid_parameter"},
    {"DELETE /locks", 400, "invalid_parameter"},
    {"DELETE /locks?prefix=a&force=true&reason=test", 200, NULL},
    {"GET /events?wait=0", 200, NULL},
    {"GET /livez", 200, NULL},
    {"GET /readyz", 200, NULL},
    {"GET /metrics", 200, NULL},
    {"GET /stats", 200, NULL},
    {"GET /quarantine", 200, NULL},
    {"DELETE /quarantine?reason=test", 200, NULL},
    {"GET /openapi.yaml", 200, NULL},
};

static long ask(struct http_client *client, const char *token, const char *request,
                const char *body)
{
    char method[8], path[100];
    assert_int_equal(sscanf(request, "%7s %99s", method, path), 2);
    bool has_token = !strstr(path, "force=") && !strstr(path, "reason=");
    const char *headers[] = {"Content-Type: application/json", has_token ? token : NULL, NULL};
    return http_request(
        client,
        &(struct http_call){.method = method, .path = path, .headers = headers, .body = body});
}

static void null_body_counts_as_no_body(void **state)
{
    static const char *const BODIES[] = {"null", " null\r\n"};
    static const char *const TOKENS[] = {TOKEN_HEADER "1", TOKEN_HEADER "2"};
    struct service *service = *state;
    for (size_t body = 0; body < LENGTH(BODIES); body++)
        for (size_t i = 0; i < LENGTH(OPERATIONS); i++) {
            long status = ask(service->client, TOKENS[body], OPERATIONS[i].request, BODIES[body]);
            if (status != OPERATIONS[i].status)
                fail_msg("%s: %ld %s", OPERATIONS[i].request, status, service->client->reply.body);
            if (OPERATIONS[i].code)
                assert_string_equal(http_text(service->client, "code"), OPERATIONS[i].code);
        }
}

static void null_field_counts_as_absent(void **state)
{
    struct http_client *client = ((struct service *)*state)->client;
    assert_int_equal(
        ask(client, TOKEN_HEADER, "POST /locks/field?ttl=20s",
            "{\"ttl_ms\":null,\"wait_ms\":null,\"keep_ms\":null,\"owner\":null,"
            "\"mode\":null,\"limit\":null,\"token\":null,\"meta\":null,\"confirm\":null}"),
        201);
    assert_int_equal(http_integer(client, "ttl_ms"), 20000);
    assert_string_equal(http_text(client, "token"), TOKEN);
    assert_string_equal(http_text(client, "mode"), "exclusive");
    assert_int_equal(ask(client, TOKEN_HEADER, "POST /locks", "{\"names\":null}"), 400);
    assert_non_null(strstr(http_text(client, "detail"), "names"));
    assert_int_equal(ask(client, TOKEN_HEADER, "POST /locks/field", "{\"nonsense\":null}"), 400);
    assert_int_equal(ask(client, TOKEN_HEADER, "DELETE /locks/field", "{\"token\":null}"), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_body_counts_as_no_body),
        cmocka_unit_test(null_field_counts_as_absent),
    };
    return cmocka_run_group_tests_name("null", tests, service_start, service_stop);
}
