/* When a refused client is to ask again: locks are mostly released long before their lease ends. */
#include "tests/support/fixtures/service.h"

#include <stdlib.h>
#include <string.h>

static void expect_retry_after(struct http_client *client, const char *request, const char *body,
                               const char *code)
{
    answers(client, request, body, 409, code);
    assert_int_equal(http_integer(client, "retry_after_ms"), 10000);
    assert_string_equal(http_header(client, "Retry-After"), "10");
    assert_in_range(member_integer(client, "holders.0.ttl_ms"), 60000, 3600000);
}

TEST_OF_CLIENT(retry_after_long_lease_is_ten_seconds)
{
    answers(client, "POST /locks/long?ttl=1h", NULL, 201, NULL);
    expect_retry_after(client, "POST /locks/long", NULL, "locked");
    assert_non_null(strstr(http_text(client, "detail"), "Wait for it with wait="));
    expect_retry_after(client, "POST /locks/long?mode=shared", NULL, "locked");
    expect_retry_after(client, "POST /locks/long?wait=1ms", NULL, "wait_timeout");
    expect_retry_after(client, "POST /locks/long?wait=1ms&keep=1s", NULL, "wait_timeout");
    expect_retry_after(client, "POST /locks/long?hold=connection", NULL, "locked");
    expect_retry_after(client, "POST /locks", "{\"names\":[\"free\",\"long\"]}", "locked");
    answers_with(client, "Accept: text/plain", "POST /locks/long", NULL, 409, NULL);
    assert_string_equal(http_header(client, "Retry-After"), "10");
}

TEST_OF_CLIENT(retry_after_short_lease_is_its_end)
{
    answers(client, "POST /locks/short?ttl=9s", NULL, 201, NULL);
    if (http_call(client, "POST", "/locks/short", NULL) != 409)
        return; /* the machine stood still for 9 s */
    assert_int_equal(http_integer(client, "retry_after_ms"),
                     member_integer(client, "holders.0.ttl_ms") + 1);
    assert_int_equal(strtol(http_header(client, "Retry-After"), NULL, 10),
                     (http_integer(client, "retry_after_ms") + 999) / 1000);
}

RUN_TESTS(service_start, service_stop)
