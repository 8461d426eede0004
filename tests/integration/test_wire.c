/* The id of each request, in its reply. Pieces, pipelines, versions and nonsense are in tests/edge.
 */
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <string.h>

TEST_OF_CLIENT(reply_has_a_request_id)
{
    static const char *const REQUESTS[] = {
        "POST /locks/id",    "POST /locks/id", "PUT /locks/id",
        "GET /locks/id",     "GET /locks",     "DELETE /locks/id?force=true",
        "GET /livez",        "GET /readyz",    "GET /metrics",
        "GET /openapi.yaml", "GET /nothing",   "BREW /locks/id",
        "GET /locks/%00"};
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
                                                 .headers = LIST("X-Request-Id: My.own_id-7")});
        assert_string_equal(http_header(client, "X-Request-Id"), "My.own_id-7");
    }
}

TEST_OF_CLIENT(malformed_request_id_is_replaced)
{
    static const char *const IDS[] = {"a b", "a,b", "a/b", "\"a\"", "\xc3\xa4", "a;b", ""};
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

RUN_TESTS(service_start, service_stop)
