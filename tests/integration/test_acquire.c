/* Acquiring: what is granted, what is refused, and what each reply says. */
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MINE[] = "my-token-0123456789abcdef";

TEST_OF_CLIENT(empty_post_takes_the_lock)
{
    answers(client, "POST /locks/empty", NULL, 201, NULL);
    assert_string_equal(http_header(client, "Content-Type"), "application/json");
    assert_string_equal(http_text(client, "name"), "empty");
    assert_string_equal(http_text(client, "mode"), "exclusive");
    assert_int_equal(strlen(http_text(client, "token")), 22);
    assert_string_equal(http_text(client, "owner"), "127.0.0.1");
    assert_in_range(http_integer(client, "ttl_ms"), 1, 30000);
    assert_int_equal(http_integer(client, "holds"), 1);
    assert_true(http_integer(client, "fence") > 1000000000000000);
    assert_true(http_integer(client, "fence") < INT64_C(1) << 53);
    assert_null(member(client, "limit"));
    assert_int_equal(json_object_size(client->reply.json), 7);
}

TEST_OF_CLIENT(body_query_and_header_may_be_mixed)
{
    answers_token(client, MINE, "POST /locks/mixed?ttl=9000ms", "{\"owner\": \"me\"}", 201, NULL);
    assert_string_equal(http_text(client, "token"), MINE);
    assert_string_equal(http_text(client, "owner"), "me");
    assert_in_range(http_integer(client, "ttl_ms"), 1, 9000);
}

TEST_OF_CLIENT(refusal_shows_the_holder_and_when_to_retry)
{
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

/* Three hosts that give the same label exclude each other. */
TEST_OF_CLIENT(same_owner_is_refused_and_learns_how_to_enter)
{
    static const char HINT[] = "A holder has the same owner name: with reentrant=true";
    answers(client, "POST /locks/label?owner=nightly-report&ttl=60s", NULL, 201, NULL);
    for (int i = 0; i < 2; i++) {
        answers(client, "POST /locks/label?owner=nightly-report", NULL, 409, "locked");
        assert_non_null(strstr(http_text(client, "detail"), HINT));
    }
    answers(client, "POST /locks/label?owner=nightly-report&wait=1ms", NULL, 409, "wait_timeout");
    assert_non_null(strstr(http_text(client, "detail"), HINT));
    answers(client, "POST /locks/label?owner=other&reentrant", NULL, 409, "locked");
    assert_null(strstr(http_text(client, "detail"), HINT));
    answers(client, "POST /locks/label", NULL, 409, "locked");
    assert_null(strstr(http_text(client, "detail"), HINT));
    answers(client, "POST /locks/label", "{\"owner\": \"nightly-report\", \"reentrant\": true}",
            201, NULL);
    assert_int_equal(http_integer(client, "holds"), 2);
}

TEST_OF_CLIENT(reentry_without_owner_is_refused)
{
    answers(client, "POST /locks/nobody?reentrant", NULL, 400, "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "reentrant");
    answers(client, "POST /locks", "{\"names\": [\"nobody\"], \"reentrant\": true}", 400,
            "invalid_parameter");
    answers(client, "POST /locks/nobody?reentrant=false", NULL, 201, NULL);
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

/* Takes it, and once more if that has ended before it was asked for again. */
static void comes_to_be_refused(struct http_client *client, const char *path)
{
    while (http_call(client, "POST", path, NULL) == 201)
        ;
    assert_int_equal(client->reply.status, 409);
    assert_string_equal(http_text(client, "code"), "locked");
}

TEST_OF_CLIENT(refusal_says_how_to_wait)
{
    comes_to_be_refused(client, "/locks/step?ttl=2s");
    asks_as_the_detail_says(client, "step");
}

TEST(refusal_names_no_wait_beyond_max_wait)
{
    struct service service;
    service_open(&service, NULL, LIST("--max-wait=20s"));
    comes_to_be_refused(service.client, "/locks/short?ttl=2s");
    asks_as_the_detail_says(service.client, "short");
    service_close(&service);
}

TEST_OF_CLIENT(retry_after_is_at_least_a_second)
{
    comes_to_be_refused(client, "/locks/soon?ttl=900ms");
    assert_string_equal(http_header(client, "Retry-After"), "1");
}

TEST_OF_CLIENT(refusal_shows_at_most_ten_holders)
{
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

TEST_OF_CLIENT(repeated_acquire_returns_its_hold)
{
    const char *body =
        "{\"token\": \"my-token-0123456789abcdef\", \"ttl_ms\": 20000, \"owner\": \"a\"}";
    answers(client, "POST /locks/again", body, 201, NULL);
    int64_t fence = http_integer(client, "fence"), ttl_ms = http_integer(client, "ttl_ms");
    clock_sleep_ms(20);
    answers(client, "POST /locks/again", body, 200, NULL);
    assert_int_equal(http_integer(client, "fence"), fence);
    assert_int_equal(http_integer(client, "holds"), 1);
    assert_in_range(http_integer(client, "ttl_ms"), 1, ttl_ms - 15);
    assert_string_equal(http_header(client, "Location"), "/locks/again");

    /* Without an owner it has no other one, and whatever the TTL, nothing is renewed. */
    answers_token(client, MINE, "POST /locks/again?ttl=1h", NULL, 200, NULL);
    assert_string_equal(http_text(client, "owner"), "a");
    assert_in_range(http_integer(client, "ttl_ms"), 1, ttl_ms - 15);
    answers(client, "GET /locks/again", NULL, 200, NULL);
    assert_int_equal(http_integer(client, "hold_count"), 1);
}

TEST_OF_CLIENT(token_for_another_request_is_refused_with_what_it_was_used_for)
{
    static const char USED[] = "This token was used for a shared hold of ann with limit=3.",
                      SEVERAL[] =
                          "This token was used for an exclusive hold of bob, with other names.",
                      OTHER_TOKEN[] = "another-token-0123456789";
    static const char *const OTHERS[] = {"owner=bob&mode=shared&limit=3", "owner=ann",
                                         "owner=ann&mode=shared&limit=4", "owner=ann&mode=shared"};
    answers_token(client, MINE, "POST /locks/used?owner=ann&mode=shared&limit=3", NULL, 201, NULL);
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        char request[100];
        snprintf(request, sizeof request, "POST /locks/used?%s", OTHERS[i]);
        answers_token(client, MINE, request, NULL, 409, "token_in_use");
        assert_non_null(strstr(http_text(client, "detail"), USED));
    }
    answers_token(client, MINE, "POST /locks/used?owner=ann&mode=shared&limit=3", NULL, 200, NULL);

    answers_token(client, OTHER_TOKEN, "POST /locks?owner=bob", "{\"names\": [\"u1\", \"u2\"]}",
                  201, NULL);
    answers_token(client, OTHER_TOKEN, "POST /locks?owner=bob", "{\"names\": [\"u2\", \"u3\"]}",
                  409, "token_in_use");
    assert_string_equal(http_text(client, "name"), "u2");
    assert_non_null(strstr(http_text(client, "detail"), SEVERAL));
    answers_token(client, OTHER_TOKEN, "POST /locks/u1?owner=bob", NULL, 409, "token_in_use");
}

/* Anybody on the same host, or behind the same NAT, has this name. */
TEST_OF_CLIENT(owner_that_nobody_named_is_not_entered)
{
    answers(client, "POST /locks/made", NULL, 201, NULL);
    assert_string_equal(http_text(client, "owner"), "127.0.0.1");
    answers(client, "POST /locks/made?owner=127.0.0.1&reentrant=true", NULL, 409, "locked");
    assert_string_equal(member_text(client, "holders.0.owner"), "127.0.0.1");
    answers(client, "POST /locks/made?owner=127.0.0.1", NULL, 409, "locked");
    assert_null(strstr(http_text(client, "detail"), "reentrant"));
    answers(client, "GET /locks?prefix=made&owner=127.0.0.1", NULL, 200, NULL);
    assert_string_equal(member_text(client, "locks.0.name"), "made");
}

TEST_OF_CLIENT(waiting_token_with_another_reentrant_is_refused)
{
    answers(client, "POST /locks/re", NULL, 201, NULL);
    answers_token(client, MINE, "POST /locks/re?owner=ann&wait=1ms&keep=30s", NULL, 409,
                  "wait_timeout");
    answers_token(client, MINE, "POST /locks/re?owner=ann&wait=20s&reentrant=true", NULL, 409,
                  "token_in_use");
    assert_non_null(strstr(http_text(client, "detail"), " hold of ann, without reentrant. "));
    release_lock(client, MINE, "re");
    answers(client, "POST /locks/re2", NULL, 201, NULL);
    answers_token(client, MINE, "POST /locks/re2?owner=ann&wait=1ms&keep=30s&reentrant=true", NULL,
                  409, "wait_timeout");
    answers_token(client, MINE, "POST /locks/re2?owner=ann&wait=20s", NULL, 409, "token_in_use");
    assert_non_null(strstr(http_text(client, "detail"), " hold of ann, with reentrant=true. "));
}

TEST_OF_CLIENT(refusal_of_a_semaphore_says_how_many_are_taken)
{
    answers(client, "POST /locks/pool?mode=shared&limit=2&ttl=12s", NULL, 201, NULL);
    answers(client, "POST /locks/pool?mode=shared&limit=2&ttl=60s", NULL, 201, NULL);
    answers(client, "POST /locks/pool?mode=shared&limit=2", NULL, 409, "locked");
    assert_in_range(number_between(http_text(client, "detail"), "2 of 2 taken, the next ends in ",
                                   " s at the latest. Wait for it"),
                    1, 12);
    answers(client, "POST /locks/pool?mode=shared&limit=2&wait=1ms", NULL, 409, "wait_timeout");
    assert_in_range(
        number_between(http_text(client, "detail"), "2 of 2 taken, the next ends in ", " s"), 1,
        12);
    answers(client, "POST /locks/pool", NULL, 409, "locked");
    assert_null(strstr(http_text(client, "detail"), "taken, "));
}

TEST_OF_CLIENT(permits_count_by_the_limit)
{
    static const char *const WRONG[] = {"POST /locks/p?permits=2",
                                        "POST /locks/p?mode=shared&permits=2",
                                        "POST /locks/p?mode=shared&limit=2&permits=3"};
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        answers(client, WRONG[i], NULL, 400, "invalid_parameter");
        assert_string_equal(http_text(client, "parameter"), "permits");
    }
    answers_token(client, MINE, "POST /locks/p?owner=ann&mode=shared&limit=5&permits=4&ttl=12s",
                  NULL, 201, NULL);
    assert_int_equal(http_integer(client, "permits"), 4);
    answers(client, "POST /locks/p?mode=shared&limit=5&permits=2", NULL, 409, "locked");
    assert_int_equal(member_integer(client, "holders.0.permits"), 4);
    assert_in_range(number_between(http_text(client, "detail"),
                                   "4 of 5 taken and 2 wanted, the next ends in ",
                                   " s at the latest"),
                    1, 12);
    answers_token(client, MINE, "POST /locks/p?mode=shared&limit=5", NULL, 409, "token_in_use");
    assert_non_null(strstr(http_text(client, "detail"), "with limit=5 and permits=4"));
    answers_token(client, MINE, "POST /locks/p?mode=shared&limit=5&permits=4", NULL, 200, NULL);
    assert_int_equal(http_integer(client, "permits"), 4);
    answers(client, "POST /locks/p?mode=shared&limit=5", NULL, 201, NULL);
}

/* The log names the lock, once a minute. */
TEST_ON_SERVICE(limit_changes_while_the_lock_is_busy)
{
    static const char LINE[] = "different limits";
    struct http_client *client = service->client;
    const struct process *process = &service->batond.process;
    char line[512];
    size_t offset = 0;
    answers(client, "POST /locks/grown?mode=shared&limit=1", NULL, 201, NULL);
    answers(client, "POST /locks/grown?mode=shared&limit=2", NULL, 201, NULL);
    assert_int_equal(http_integer(client, "limit"), 2);
    assert_true(process_wait_line(process, LINE, &offset, line, sizeof line, CLOCK_HANG_MS));
    assert_non_null(strstr(line, "\"lock\":\"grown\",\"limit\":\"2\",\"other\":\"1\""));
    answers(client, "POST /locks/grown?mode=shared&limit=1", NULL, 409, "locked");
    answers(client, "POST /locks/shrunk?mode=shared", NULL, 201, NULL);
    answers(client, "POST /locks/shrunk?mode=shared&limit=1", NULL, 409, "locked");
    assert_true(process_wait_line(process, LINE, &offset, line, sizeof line, CLOCK_HANG_MS));
    assert_non_null(strstr(line, "\"lock\":\"shrunk\",\"limit\":\"1\",\"other\":\"0\""));
}

TEST_OF_CLIENT(text_reply_is_the_bare_token)
{
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
    assert_non_null(http_header(client, "Retry-After"));
    release_lock(client, token, "shell");
    answers_with(client, ACCEPT, "POST /locks/shell", "{\"token\": \"my-token-0123456789abcdef\"}",
                 201, NULL);
    answers_with(client, ACCEPT, "POST /locks/shell", "{\"token\": \"my-token-0123456789abcdef\"}",
                 200, NULL);
    assert_string_equal(client->reply.body, "my-token-0123456789abcdef\n");
}

RUN_TESTS(service_start, service_stop)
