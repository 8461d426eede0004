/* What replies say of a hold: how long it is kept, how it ends, and what others see of it. Which
 * holds go together, tests/scripts shows. */
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *state_of(struct http_client *client, const char *name)
{
    char request[200];
    snprintf(request, sizeof request, "GET /locks/%s", name);
    answers(client, request, NULL, 200, NULL);
    return http_text(client, "state");
}

static void wait_until_free(struct http_client *client, const char *name)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (strcmp(state_of(client, name), "free") != 0) {
        if (clock_ms() > deadline)
            fail_msg("%s is still held: %s", name, client->reply.body);
        clock_sleep_ms(5);
    }
}

TEST_OF_CLIENT(renewal_sets_what_remains)
{
    char token[TOKEN_TEXT], etag[40];
    acquire_lock(client, "keep?ttl=10m&owner=me", token);
    snprintf(etag, sizeof etag, "%.39s", http_header(client, "ETag"));
    int64_t fence = http_integer(client, "fence");

    answers_token(client, token, "PUT /locks/keep?ttl=40m", NULL, 200, NULL);
    assert_in_range(http_integer(client, "ttl_ms"), 1800000, 2400000);
    assert_int_equal(http_integer(client, "fence"), fence);
    assert_string_equal(http_text(client, "owner"), "me");
    assert_string_equal(http_text(client, "token"), token);
    assert_string_equal(http_header(client, "ETag"), etag);
    answers(client, "GET /locks/keep", NULL, 200, NULL);
    assert_in_range(member_integer(client, "holders.0.ttl_ms"), 1800000, 2400000);
}

static void has_fence(struct http_client *client, const char *fence)
{
    const char *header = http_header(client, "Lock-Fence");
    if (strcmp(header ? header : "", fence) != 0)
        fail_msg("Lock-Fence: %s, not %s, with %s", header, fence, client->reply.body);
}

TEST_OF_CLIENT(fence_header_is_on_replies_about_one_hold)
{
    char token[TOKEN_TEXT], fence[24];
    answers(client, "GET /locks/fenced", NULL, 200, NULL);
    has_fence(client, "");
    acquire_lock(client, "fenced?mode=shared", token);
    snprintf(fence, sizeof fence, "%lld", (long long)http_integer(client, "fence"));
    has_fence(client, fence);
    answers_token(client, token, "POST /locks/fenced?mode=shared", NULL, 200, NULL);
    has_fence(client, fence);
    answers_token(client, token, "PUT /locks/fenced", NULL, 200, NULL);
    has_fence(client, fence);
    answers(client, "GET /locks/fenced", NULL, 200, NULL);
    has_fence(client, fence);
    answers_with(client, "If-None-Match: *", "GET /locks/fenced", NULL, 304, NULL);
    has_fence(client, fence);
    answers(client, "GET /locks/fenced/events", NULL, 200, NULL);
    has_fence(client, fence);
    answers(client, "POST /locks/fenced", NULL, 409, "locked");
    has_fence(client, "");
    answers_with(client, "Accept: text/plain", "POST /locks/fenced?mode=shared", NULL, 201, NULL);
    assert_non_null(http_header(client, "Lock-Fence"));
    answers(client, "GET /locks/fenced", NULL, 200, NULL);
    has_fence(client, ""); /* there are two */
    for (int i = 0; i < 2; i++) {
        release_lock(client, token, "fenced");
        has_fence(client, fence);
    }
    answers(client, "DELETE /locks/fenced?force=true", NULL, 200, NULL);
    has_fence(client, "");
}

TEST_OF_CLIENT(release_can_be_repeated)
{
    char token[TOKEN_TEXT];
    acquire_lock(client, "back", token);
    int64_t fence = http_integer(client, "fence");
    clock_sleep_ms(15);
    release_lock(client, token, "back");
    assert_string_equal(http_text(client, "name"), "back");
    assert_true(json_is_true(member(client, "released")));
    assert_int_equal(http_integer(client, "fence"), fence);
    assert_int_equal(http_integer(client, "holds"), 0);
    assert_in_range(http_integer(client, "held_ms"), 15, CLOCK_HANG_MS);
    char *first = strdup(client->reply.body);
    answers(client, "POST /locks/back", NULL, 201, NULL);
    release_lock(client, token, "back");
    assert_string_equal(client->reply.body, first);
    free(first);
    assert_string_equal(state_of(client, "back"), "held");

    char body[TOKEN_TEXT + 16];
    snprintf(body, sizeof body, "{\"token\": \"%s\"}", token);
    answers(client, "DELETE /locks/back", body, 200, NULL);
    answers(client, "PUT /locks/back", body, 409, "not_held");
}

TEST_OF_CLIENT(force_breaks_every_hold)
{
    char token[TOKEN_TEXT];
    char first[TOKEN_TEXT];
    acquire_lock(client, "broken?mode=shared", first);
    for (int i = 1; i < 5; i++)
        acquire_lock(client, "broken?mode=shared", token);
    int64_t fence = http_integer(client, "fence");
    answers(client, "DELETE /locks/broken?force=true&reason=moved", NULL, 200, NULL);
    assert_string_equal(http_text(client, "name"), "broken");
    assert_int_equal(http_integer(client, "broken"), 5);
    int64_t version = http_integer(client, "version");
    assert_true(version > fence);
    answers_token(client, token, "PUT /locks/broken", NULL, 409, "not_held");
    assert_string_equal(member_text(client, "ended.broken.reason"), "moved");
    answers_token(client, first, "DELETE /locks/broken", NULL, 409, "not_held");
    assert_string_equal(member_text(client, "ended.broken.reason"), "moved");
    assert_string_equal(state_of(client, "broken"), "free");
    assert_int_equal(http_integer(client, "version"), version);
    answers(client, "DELETE /locks/broken?force=true", NULL, 200, NULL);
    assert_int_equal(http_integer(client, "broken"), 0);
    assert_int_equal(http_integer(client, "version"), version);
    answers(client, "POST /locks/broken", NULL, 201, NULL);
    assert_true(http_integer(client, "fence") > version);
    answers(client, "DELETE /locks/broken?force=true", NULL, 200, NULL);
    answers_token(client, first, "PUT /locks/broken", NULL, 409, "not_held");
    assert_null(member(client, "ended"));
}

TEST_OF_CLIENT(last_release_says_how_the_hold_ended)
{
    char token[TOKEN_TEXT];
    assert_string_equal(state_of(client, "ends"), "free");
    assert_true(json_is_null(member(client, "last_release")));
    acquire_lock(client, "ends", token);
    int64_t fence = http_integer(client, "fence");
    state_of(client, "ends");
    assert_true(json_is_null(member(client, "last_release")));
    release_lock(client, token, "ends");
    state_of(client, "ends");
    assert_string_equal(member_text(client, "last_release.reason"), "released");
    assert_int_equal(member_integer(client, "last_release.fence"), fence);
    assert_in_range(member_integer(client, "last_release.ago_ms"), 0, CLOCK_HANG_MS);
    assert_null(member(client, "last_release.broken"));

    answers(client, "POST /locks/ends?ttl=100ms&owner=ann", NULL, 201, NULL);
    fence = http_integer(client, "fence");
    wait_until_free(client, "ends");
    assert_string_equal(member_text(client, "last_release.reason"), "expired");
    assert_string_equal(member_text(client, "last_release.owner"), "ann");
    assert_int_equal(member_integer(client, "last_release.fence"), fence);
    assert_in_range(member_integer(client, "last_release.ago_ms"), 0, CLOCK_HANG_MS);

    answers(client, "POST /locks/ends?owner=bob", NULL, 201, NULL);
    fence = http_integer(client, "fence");
    answers(client, "DELETE /locks/ends?force=true&reason=bob%20is%20gone", NULL, 200, NULL);
    assert_string_equal(member_text(client, "holders.0.owner"), "bob");
    state_of(client, "ends");
    assert_string_equal(member_text(client, "last_release.reason"), "forced");
    assert_string_equal(member_text(client, "last_release.owner"), "bob");
    assert_int_equal(member_integer(client, "last_release.fence"), fence);
    assert_string_equal(member_text(client, "last_release.broken.client"), "127.0.0.1");
    assert_string_equal(member_text(client, "last_release.broken.reason"), "bob is gone");
    assert_null(member(client, "last_release.broken.principal"));
}

static void expect_reason(struct http_client *client, const char *token, const char *request,
                          const char *reason, int64_t fence)
{
    answers_token(client, token, request, NULL, 409, "not_held");
    assert_string_equal(member_text(client, "ended.reason"), reason);
    assert_int_equal(member_integer(client, "ended.fence"), fence);
    assert_in_range(member_integer(client, "ended.ago_ms"), 0, CLOCK_HANG_MS);
}

TEST_OF_CLIENT(owner_of_a_broken_hold_learns_who_broke_it)
{
    static const char SAID[] = "s ago from 127.0.0.1 (\"site closed\"), so nothing was ";
    char token[TOKEN_TEXT];
    acquire_lock(client, "told?owner=ann", token);
    int64_t fence = http_integer(client, "fence");
    answers(client, "DELETE /locks/told?force=true&reason=site%20closed", NULL, 200, NULL);
    answers(client, "POST /locks/told", NULL, 201, NULL);
    expect_reason(client, token, "PUT /locks/told", "forced", fence);
    assert_non_null(strstr(http_text(client, "detail"), SAID));
    expect_reason(client, token, "DELETE /locks/told", "forced", fence);
    assert_non_null(strstr(http_text(client, "detail"), SAID));
    assert_string_equal(member_text(client, "ended.owner"), "ann");
    assert_string_equal(member_text(client, "ended.broken.client"), "127.0.0.1");
    assert_string_equal(member_text(client, "ended.broken.reason"), "site closed");
    answers_token(client, "a-token-that-had-nothing", "PUT /locks/told", NULL, 409, "not_held");
    assert_null(member(client, "ended"));
    /* It is not known any more when another hold has ended. */
    answers(client, "DELETE /locks/told?force=true", NULL, 200, NULL);
    answers_token(client, token, "PUT /locks/told", NULL, 409, "not_held");
    assert_null(member(client, "ended"));
}

TEST_OF_CLIENT(owner_learns_that_its_hold_expired_or_was_released)
{
    char token[TOKEN_TEXT];
    acquire_lock(client, "over?ttl=100ms", token);
    int64_t fence = http_integer(client, "fence");
    wait_until_free(client, "over");
    expect_reason(client, token, "PUT /locks/over", "expired", fence);
    expect_reason(client, token, "DELETE /locks/over", "expired", fence);
    acquire_lock(client, "over", token);
    fence = http_integer(client, "fence");
    release_lock(client, token, "over");
    expect_reason(client, token, "PUT /locks/over", "released", fence);
}

TEST_OF_CLIENT(break_by_fence_ends_that_hold_alone)
{
    char request[80];
    answers(client, "POST /locks/exact?mode=shared&owner=ann", NULL, 201, NULL);
    answers(client, "POST /locks/exact?mode=shared&owner=bob", NULL, 201, NULL);
    int64_t fence = http_integer(client, "fence");
    snprintf(request, sizeof request, "DELETE /locks/exact?force&fence=%lld", (long long)fence);
    answers(client, request, NULL, 200, NULL);
    assert_int_equal(member_integer(client, "broken"), 1);
    assert_int_equal(member_integer(client, "holders.0.fence"), fence);
    answers(client, request, NULL, 409, "hold_ended");
    assert_string_equal(member_text(client, "holders.0.owner"), "ann");
    assert_int_equal(member_integer(client, "last_release.fence"), fence);
    assert_non_null(strstr(member_text(client, "detail"), "held by ann (shared)"));
    answers(client, "GET /locks/exact", NULL, 200, NULL);
    assert_int_equal(member_integer(client, "hold_count"), 1);
    answers(client, "DELETE /locks/exact?force&fence=0", NULL, 400, "invalid_parameter");
}

TEST_OF_CLIENT(inspection_shows_all_but_tokens)
{
    char token[TOKEN_TEXT];
    answers(client, "POST /locks/look?mode=shared&limit=20&owner=a",
            "{\"meta\": {\"host\": \"b3\"}, \"ttl_ms\": 9000}", 201, NULL);
    keep_token(client, token);
    int64_t fence = http_integer(client, "fence");
    for (int i = 0; i < 11; i++)
        answers(client, "POST /locks/look?mode=shared&limit=20&ttl=1m", NULL, 201, NULL);
    answers(client, "GET /locks/look", NULL, 200, NULL);
    assert_string_equal(http_text(client, "name"), "look");
    assert_string_equal(http_text(client, "state"), "held");
    assert_int_equal(http_integer(client, "hold_count"), 12);
    assert_int_equal(http_integer(client, "limit"), 20);
    assert_int_equal(http_integer(client, "queue_length"), 0);
    assert_int_equal(json_array_size(member(client, "holders")), 10);
    assert_string_equal(member_text(client, "holders.0.owner"), "a");
    assert_string_equal(member_text(client, "holders.0.mode"), "shared");
    assert_string_equal(member_text(client, "holders.0.meta.host"), "b3");
    assert_int_equal(member_integer(client, "holders.0.fence"), fence);
    assert_in_range(member_integer(client, "holders.0.ttl_ms"), 1, 9000);
    assert_in_range(member_integer(client, "holders.0.held_ms"), 0, 9000);
    assert_string_equal(member_text(client, "holders.0.client"), "127.0.0.1");
    assert_int_equal(strlen(member_text(client, "holders.0.since")),
                     strlen("2026-11-22T20:56:37.204Z"));
    assert_true(json_is_null(member(client, "holders.1.meta")));
    assert_null(member(client, "mine"));
    assert_null(strstr(client->reply.body, token));
    assert_null(strstr(client->reply.body, "token"));
}

TEST_OF_CLIENT(etag_changes_with_the_holds)
{
    char etag[40], header[128], token[TOKEN_TEXT];
    acquire_lock(client, "tag", token);
    snprintf(etag, sizeof etag, "%.39s", http_header(client, "ETag"));
    answers_with(client, "If-None-Match: *", "GET /locks/tag", NULL, 304, NULL);
    assert_int_equal(client->reply.length, 0);
    assert_string_equal(http_header(client, "ETag"), etag);
    assert_non_null(http_header(client, "X-Request-Id"));
    answers_with(client, "If-None-Match: \"1\"", "GET /locks/tag", NULL, 200, NULL);
    snprintf(header, sizeof header, "If-None-Match: %s", etag);
    answers_token(client, token, "PUT /locks/tag", NULL, 200, NULL);
    answers_with(client, header, "GET /locks/tag", NULL, 304, NULL);
    release_lock(client, token, "tag");
    assert_string_not_equal(http_header(client, "ETag"), etag);
    answers_with(client, header, "GET /locks/tag", NULL, 200, NULL);
}

RUN_TESTS(service_start, service_stop)
