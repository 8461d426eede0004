/* Several locks at once: all or none, under one token, and no two callers that wait for each other.
 */
#include "tests/support/fixtures/parked.h"

#include <stdio.h>
#include <string.h>

enum { LEAVERS = 30, HOUR_MS = 3600 * 1000 };

static const char HEADER[] = "Lock-Token: a-token-for-several-0001";

/* So long that no hold on the way to the others ends because the machine is slow. */
static const char *const SETTINGS[] = {"--claim-window=60s", NULL};

static int start(void **state)
{
    return service_start_with(state, NULL, SETTINGS);
}

static bool comes_to_have_holds(struct http_client *client, const char *name, int64_t count)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (hold_count(client, name) != count) {
        if (clock_ms() > deadline)
            return false;
        clock_sleep_ms(5);
    }
    return true;
}

TEST_OF_CLIENT(all_are_held_under_one_token)
{
    char token[TOKEN_TEXT];
    answers(client, "POST /locks?ttl=20s",
            "{\"names\": [\"all-c\", \"all-a\", \"all/b\"], \"owner\": \"me\", "
            "\"meta\": {\"job\": 1}}",
            201, NULL);
    keep_token(client, token);
    assert_string_equal(http_text(client, "owner"), "me");
    assert_int_equal(json_array_size(member(client, "locks")), 3);
    assert_string_equal(member_text(client, "locks.0.name"), "all-a"); /* by bytes: - before / */
    assert_string_equal(member_text(client, "locks.1.name"), "all-c");
    assert_string_equal(member_text(client, "locks.2.name"), "all/b");
    for (int i = 0; i < 3; i++) {
        static const char *const PATHS[] = {"GET /locks/all-a", "GET /locks/all-c",
                                            "GET /locks/all%2Fb"};
        answers_token(client, token, PATHS[i], NULL, 200, NULL);
        assert_true(json_is_true(member(client, "mine")));
        assert_string_equal(member_text(client, "holders.0.owner"), "me");
        assert_int_equal(member_integer(client, "holders.0.meta.job"), 1);
        assert_in_range(member_integer(client, "holders.0.ttl_ms"), 1, 20000);
        release_lock(client, token, strrchr(PATHS[i], '/') + 1);
    }
}

/* POST /locks has no `keep`. */
TEST_OF_CLIENT(the_end_of_a_wait_for_all_does_not_advise_what_is_refused)
{
    char token[TOKEN_TEXT];
    acquire_lock(client, "advice-a?ttl=10m", token);
    answers(client, "POST /locks?wait=1ms", "{\"names\": [\"advice-a\", \"advice-b\"]}", 409,
            "wait_timeout");
    assert_non_null(strstr(http_text(client, "detail"), "Queue again with wait=50s."));
    release_lock(client, token, "advice-a");
}

TEST_ON_SERVICE(all_are_waited_for)
{
    struct http_client *client = service->client;
    char first[TOKEN_TEXT], second[TOKEN_TEXT];
    acquire_lock(client, "wait-a", first);
    acquire_lock(client, "wait-c", second);
    struct parked *parked = parked_send(service->batond.port, HEADER, "POST /locks?wait=50s&ttl=1h",
                                        "{\"names\": [\"wait-c\", \"wait-b\", \"wait-a\"]}");
    comes_to_queue(client, "wait-a", 1);
    assert_true(parked_waits(parked, 0));
    release_lock(client, first, "wait-a");
    comes_to_queue(client, "wait-c", 1);
    assert_true(parked_waits(parked, 0));
    assert_int_equal(hold_count(client, "wait-a"), 1);
    assert_int_equal(hold_count(client, "wait-b"), 1);
    release_lock(client, second, "wait-c");
    assert_int_equal(parked_answer(parked, CLOCK_HANG_MS), 201);
    for (int i = 0; i < 3; i++) {
        char path[40];
        snprintf(path, sizeof path, "locks.%d.ttl_ms", i);
        assert_in_range(member_integer(&parked->client, path), HOUR_MS - CLOCK_HANG_MS, HOUR_MS);
    }
    assert_int_equal(hold_count(client, "wait-a"), 1);
    assert_in_range(member_integer(client, "holders.0.ttl_ms"), HOUR_MS - CLOCK_HANG_MS, HOUR_MS);
    parked_close(parked);
}

TEST_ON_SERVICE(break_of_a_part_is_reported_and_gives_all_back)
{
    static const char BODY[] = "{\"names\": [\"part-a\", \"part-b\"]}";
    struct http_client *client = service->client;
    char token[TOKEN_TEXT];
    acquire_lock(client, "part-b", token);
    struct parked *waiter = parked_send(service->batond.port, HEADER, "POST /locks?wait=50s", BODY);
    comes_to_queue(client, "part-b", 1);
    answers(client, "DELETE /locks/part-a?force=true&reason=moved", NULL, 200, NULL);
    release_lock(client, token, "part-b");
    assert_int_equal(parked_answer(waiter, CLOCK_HANG_MS), 409);
    assert_string_equal(http_text(&waiter->client, "code"), "not_held");
    assert_string_equal(http_text(&waiter->client, "name"), "part-a");
    assert_string_equal(member_text(&waiter->client, "ended.broken.reason"), "moved");
    assert_non_null(strstr(http_text(&waiter->client, "detail"), "Repeat the request"));
    parked_close(waiter);
    assert_true(comes_to_have_holds(client, "part-b", 0));
    answers_with(client, HEADER, "POST /locks", BODY, 201, NULL);
}

/* The client has gone before it can be told. */
TEST_ON_SERVICE(hang_up_gives_all_locks_back)
{
    char body[100], name[40];
    for (int i = 0; i < LEAVERS; i++) {
        snprintf(body, sizeof body, "{\"names\": [\"left-%d\", \"left-%d-b\"]}", i, i);
        parked_close(parked_send(service->batond.port, NULL, "POST /locks", body));
    }
    for (int i = 0; i < LEAVERS; i++) {
        snprintf(name, sizeof name, "left-%d", i);
        assert_true(comes_to_have_holds(service->client, name, 0));
        snprintf(name, sizeof name, "left-%d-b", i);
        assert_true(comes_to_have_holds(service->client, name, 0));
    }
}

TEST_OF_CLIENT(all_are_renewed)
{
    answers_with(client, HEADER, "POST /locks?ttl=5s", "{\"names\": [\"renew-a\", \"renew-b\"]}",
                 201, NULL);
    answers_with(client, HEADER, "PUT /locks?ttl=1m", "{\"names\": [\"renew-b\", \"renew-a\"]}",
                 200, NULL);
    assert_string_equal(member_text(client, "locks.0.name"), "renew-a");
    assert_int_equal(member_integer(client, "locks.0.ttl_ms"), 60000);
    assert_int_equal(member_integer(client, "locks.1.ttl_ms"), 60000);
    answers_with(client, HEADER, "PUT /locks", "{\"names\": [\"renew-a\"]}", 200, NULL);
    assert_int_equal(member_integer(client, "locks.0.ttl_ms"), 60000);

    answers_with(client, HEADER, "PUT /locks",
                 "{\"names\": [\"renew-z\", \"renew-a\", \"renew-c\"], \"ttl_ms\": 90000}", 409,
                 "not_held");
    assert_int_equal(json_array_size(member(client, "names")), 2);
    assert_string_equal(member_text(client, "names.0"), "renew-c");
    assert_string_equal(member_text(client, "names.1"), "renew-z");
    assert_int_equal(hold_count(client, "renew-a"), 1);
    assert_in_range(member_integer(client, "holders.0.ttl_ms"), 60001, 90000);

    answers(client, "DELETE /locks/renew-a?force=true&reason=moved", NULL, 200, NULL);
    answers_with(client, HEADER, "PUT /locks", "{\"names\": [\"renew-b\", \"renew-a\"]}", 409,
                 "not_held");
    assert_string_equal(member_text(client, "ended.name"), "renew-a");
    assert_string_equal(member_text(client, "ended.broken.reason"), "moved");
    assert_non_null(strstr(http_text(client, "detail"), "The hold of renew-a was broken "));
}

TEST_OF_CLIENT(all_are_released)
{
    static const char BODY[] =
        "{\"token\": \"a-token-for-several-0001\", \"names\": [\"free-b\", \"free-a\"]}";
    answers(client, "POST /locks", BODY, 201, NULL);
    int64_t fence = member_integer(client, "locks.1.fence");
    for (int i = 0; i < 2; i++) {
        answers(client, "DELETE /locks", BODY, 200, NULL);
        assert_int_equal(json_array_size(member(client, "locks")), 2);
        assert_string_equal(member_text(client, "locks.1.name"), "free-b");
        assert_true(json_is_true(member(client, "locks.1.released")));
        assert_int_equal(member_integer(client, "locks.1.fence"), fence);
        assert_int_equal(member_integer(client, "locks.1.holds"), 0);
    }
    assert_int_equal(hold_count(client, "free-a"), 0);
    answers(client, "POST /locks", BODY, 409, "not_held");
    assert_string_equal(http_text(client, "name"), "free-a");

    answers_with(client, HEADER, "POST /locks", "{\"names\": [\"free-c\"]}", 201, NULL);
    answers_with(client, HEADER, "DELETE /locks", "{\"names\": [\"free-c\", \"free-never\"]}", 409,
                 "not_held");
    assert_int_equal(json_array_size(member(client, "names")), 1);
    assert_string_equal(member_text(client, "names.0"), "free-never");
    assert_int_equal(hold_count(client, "free-c"), 0);
}

TEST_OF_CLIENT(missing_parameter_is_named)
{
    static const struct {
        const char *request, *header, *body, *parameter;
    } MISSING[] = {
        {"POST /locks", NULL, NULL, "names"},
        {"PUT /locks", HEADER, "{}", "names"},
        {"PUT /locks", NULL, "{\"names\": [\"a\"]}", "token"},
        {"DELETE /locks", HEADER, NULL, "names"},
        {"DELETE /locks", NULL, "{\"names\": [\"a\"]}", "token"},
        {"DELETE /locks?force=true", NULL, "{\"names\": [\"a\"]}", "force"},
    };
    for (size_t i = 0; i < sizeof MISSING / sizeof *MISSING; i++) {
        answers_with(client, MISSING[i].header, MISSING[i].request, MISSING[i].body, 400,
                     "invalid_parameter");
        assert_string_equal(http_text(client, "parameter"), MISSING[i].parameter);
    }
}

RUN_TESTS(start, service_stop)
