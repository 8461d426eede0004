/* max_held: no renewal carries a hold beyond that time from its grant. */
#include "tests/support/fixtures/on_quorum.h"

#include <stdio.h>
#include <string.h>

enum { HOUR_MS = 3600 * 1000 };

static const char TOKEN[] = "a-token-for-max-held-01";
static const char OTHER[] = "a-token-for-max-held-02";

static bool is_renewable(const struct http_client *client)
{
    return member(client, "renewable") == NULL;
}

TEST_OF_CLIENT(last_renewal_is_reported_and_the_next_is_refused)
{
    answers_token(client, TOKEN, "POST /locks/a?ttl=10m&max_held=1h&owner=job", NULL, 201, NULL);
    assert_int_equal(http_integer(client, "ttl_ms"), HOUR_MS / 6);
    assert_int_equal(http_integer(client, "max_held_ms"), HOUR_MS);
    assert_true(is_renewable(client));
    answers_token(client, TOKEN, "PUT /locks/a?ttl=20m", NULL, 200, NULL);
    assert_int_equal(http_integer(client, "ttl_ms"), HOUR_MS / 3);
    assert_true(is_renewable(client));
    answers_token(client, TOKEN, "PUT /locks/a?ttl=1h", NULL, 200, NULL);
    int64_t left_ms = http_integer(client, "ttl_ms");
    assert_true(left_ms < HOUR_MS);
    assert_int_equal(http_integer(client, "max_held_ms"), left_ms);
    assert_false(is_renewable(client));
    answers_token(client, TOKEN, "PUT /locks/a?ttl=1h", NULL, 409, "max_held");
    assert_in_range(http_integer(client, "ttl_ms"), 1, left_ms);
    answers_token(client, TOKEN, "PUT /locks/a", NULL, 409, "max_held");
    answers_token(client, TOKEN, "GET /locks/a", NULL, 200, NULL);
    assert_true(json_is_true(member(client, "mine")));
    assert_in_range(member_integer(client, "holders.0.max_held_ms"), 1, left_ms);
}

TEST_OF_CLIENT(renewal_that_shortens_is_granted)
{
    char header[80];
    snprintf(header, sizeof header, "Lock-Token: %s", TOKEN);
    answers_token(client, TOKEN, "POST /locks/b?ttl=1h&max_held=1h&owner=job", NULL, 201, NULL);
    assert_false(is_renewable(client));
    answers_token(client, TOKEN, "PUT /locks/b?ttl=10m", NULL, 200, NULL);
    assert_true(is_renewable(client));
    const char *const headers[] = {header, "Accept: text/plain", NULL};
    http_request(client, &(struct http_call){
                             .method = "PUT", .path = "/locks/b?ttl=1h", .headers = headers});
    assert_non_null(strstr(client->reply.body, " s left, not renewable\n"));
}

TEST_OF_CLIENT(all_of_several_are_bounded)
{
    answers_token(client, TOKEN, "POST /locks",
                  "{\"names\":[\"one\",\"two\"],\"ttl\":\"1h\",\"max_held\":\"1h\"}", 201, NULL);
    assert_in_range(member_integer(client, "locks.0.max_held_ms"), 1, HOUR_MS);
    answers_token(client, TOKEN, "PUT /locks", "{\"names\":[\"one\",\"two\"],\"ttl\":\"1h\"}", 409,
                  "max_held");
    assert_int_equal(json_array_size(member(client, "names")), 2);
    answers_token(client, TOKEN, "PUT /locks/one?ttl=10m", NULL, 200, NULL);
    answers_token(client, TOKEN, "PUT /locks", "{\"names\":[\"one\",\"two\"],\"ttl\":\"20m\"}", 200,
                  NULL);
}

TEST(setting_bounds_every_hold)
{
    struct service service;
    service_open(&service, NULL, LIST("--max-held=20m"));
    struct http_client *client = service.client;
    answers_token(client, TOKEN, "POST /locks/a?ttl=1h", NULL, 201, NULL);
    assert_int_equal(http_integer(client, "ttl_ms"), HOUR_MS / 3);
    assert_false(is_renewable(client));
    answers_token(client, TOKEN, "PUT /locks/a?ttl=1h", NULL, 409, "max_held");
    answers(client, "POST /locks/b?max_held=21m", NULL, 400, "invalid_parameter");
    assert_non_null(strstr(http_text(client, "detail"), "The longest is the setting max-held."));
    answers(client, "POST /locks/b?at_least=21m", NULL, 400, "invalid_parameter");
    assert_non_null(strstr(http_text(client, "detail"), "longer than max_held, which is 20m"));
    answers(client, "POST /locks/b?max_held=10m", NULL, 201, NULL);
    assert_int_equal(http_integer(client, "max_held_ms"), HOUR_MS / 6);
    service_close(&service);
}

TEST_ON_SERVICE(connection_has_the_lock_no_longer)
{
    struct parked *stream = parked_send_token(service->batond.port, TOKEN,
                                              "POST /locks/c?hold=connection&ttl=5s&max_held=7s");
    assert_true(parked_receives(stream, "\"event\":\"granted\"", CLOCK_HANG_MS));
    assert_true(parked_receives(stream, "\"event\":\"heartbeat\"", CLOCK_HANG_MS));
    assert_true(parked_receives(stream, ",\"renewable\":false}\n", CLOCK_HANG_MS));
    assert_true(
        parked_receives(stream,
                        "{\"event\":\"lost\",\"detail\":\"the hold has ended: it has reached "
                        "its max_held\"}\n",
                        CLOCK_HANG_MS));
    assert_true(parked_ends(stream, CLOCK_HANG_MS));
    parked_close(stream);
    answers(service->client, "POST /locks/c?wait=10s", NULL, 201, NULL);
}

TEST_ON_SERVICE(connection_that_comes_again_goes_on_with_what_is_left)
{
    answers_token(service->client, TOKEN, "POST /locks/d?ttl=1h&max_held=1h", NULL, 201, NULL);
    struct parked *stream = parked_send_token(service->batond.port, TOKEN,
                                              "POST /locks/d?hold=connection&ttl=1h&max_held=1h");
    assert_true(parked_receives(stream, "HTTP/1.1 200", CLOCK_HANG_MS));
    assert_true(parked_receives(stream, "\"renewable\":false", CLOCK_HANG_MS));
    parked_close(stream);
}

/* Enters a hold that can be carried for an hour at most. */
static void assert_entry_is_bounded(struct http_client *client)
{
    answers_token(client, OTHER, "POST /locks/entered?owner=job&reentrant=true", NULL, 201, NULL);
    assert_int_equal(http_integer(client, "holds"), 2);
    assert_in_range(http_integer(client, "max_held_ms"), 1, HOUR_MS);
}

TEST_ON_SERVICE(reentry_is_bounded_by_what_it_enters)
{
    answers_token(service->client, TOKEN, "POST /locks/entered?owner=job&max_held=1h", NULL, 201,
                  NULL);
    assert_entry_is_bounded(service->client);
}

TEST(quorum_bounds_a_hold)
{
    struct on_quorum story;
    on_quorum_open(&story, 1, LIST("--workers=1"));
    struct http_client *client = story.client;
    acquire_at_all(client, &story.servers, TOKEN, "POST /locks/q?ttl=10m&max_held=1h");
    assert_true(is_renewable(client));
    answers_token(client, TOKEN, "PUT /locks/q?ttl=1h", NULL, 200, NULL);
    assert_false(is_renewable(client));
    answers_token(client, TOKEN, "PUT /locks/q?ttl=1h", NULL, 409, "max_held");
    assert_in_range(http_integer(client, "ttl_ms"), 1, 60 * 60 * 1000);
    answers_token(client, TOKEN, "PUT /locks/q?ttl=10m", NULL, 200, NULL);
    assert_true(is_renewable(client));
    acquire_at_all(client, &story.servers, TOKEN, "POST /locks/entered?owner=job&max_held=1h");
    assert_entry_is_bounded(client);
    on_quorum_close(&story);
}

RUN_TESTS(service_start, service_stop)
