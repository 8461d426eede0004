/* at_least: the name stays taken for so long from the grant, though its holder has released it. */
#include "tests/support/fixtures/on_quorum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR_MS = 3600 * 1000, SOON_MS = 600 };

static const char TOKEN[] = "a-token-for-at-least-01";
static const char OTHER[] = "a-token-for-at-least-02";

/* No message that is repeated, and no look at all who wait, comes within these. */
static const char *const SETTINGS[] = {"--claim-window=60s", "--waiter-lease=10m", NULL};

static int start(void **state)
{
    return service_start_with(state, NULL, SETTINGS);
}

static void assert_nearly(int64_t ms, int64_t expected)
{
    assert_in_range(ms, expected - 5 * CLOCK_HANG_MS, expected);
}

/* That the text says how long the name stays taken, between these two. */
static void assert_says_how_long(const char *text, const char *before, const char *behind)
{
    assert_nearly(number_between(text, before, behind) * 1000, HOUR_MS);
}

TEST_OF_CLIENT(early_release_reports_when_the_name_is_free)
{
    answers_token(client, TOKEN, "POST /locks/early?at_least=1h&ttl=10m&owner=job", NULL, 201,
                  NULL);
    assert_int_equal(http_integer(client, "ttl_ms"), HOUR_MS);
    assert_int_equal(http_integer(client, "at_least_ms"), HOUR_MS);
    int64_t fence = http_integer(client, "fence");
    release_lock(client, TOKEN, "early");
    assert_true(json_is_true(member(client, "released")));
    assert_nearly(http_integer(client, "free_in_ms"), HOUR_MS);
    release_lock(client, TOKEN, "early");
    assert_nearly(http_integer(client, "free_in_ms"), HOUR_MS);
    assert_int_equal(http_integer(client, "fence"), fence);
    answers_token(client, TOKEN, "PUT /locks/early", NULL, 409, "not_held");
    answers_token(client, TOKEN, "POST /locks/early", NULL, 409, "not_held");
    /* Of three hosts whose clocks differ, one runs a job that takes no time. */
    answers(client, "POST /locks/early?at_least=1h", NULL, 409, "locked");
}

TEST_OF_CLIENT(shows_a_released_hold_as_what_it_is)
{
    answers_token(client, TOKEN, "POST /locks/shown?at_least=1h&owner=job", NULL, 201, NULL);
    answers(client, "GET /locks/shown", NULL, 200, NULL);
    assert_nearly(member_integer(client, "holders.0.at_least_ms"), HOUR_MS);
    assert_null(member(client, "holders.0.released"));
    int64_t version = http_integer(client, "version");
    release_lock(client, TOKEN, "shown");
    char watch[100];
    snprintf(watch, sizeof watch, "GET /locks/shown/events?wait=10s&after=%lld",
             (long long)version);
    answers_token(client, TOKEN, watch, NULL, 200, NULL);
    assert_true(json_is_true(member(client, "changed")));
    assert_string_equal(http_text(client, "state"), "held");
    assert_true(json_is_false(member(client, "mine")));
    assert_string_equal(member_text(client, "holders.0.owner"), "job");
    assert_true(json_is_true(member(client, "holders.0.released")));
    assert_string_equal(member_text(client, "last_release.reason"), "released");
    answers(client, "GET /locks?prefix=shown", NULL, 200, NULL);
    assert_true(json_is_true(member(client, "locks.0.holders.0.released")));
    answers(client, "POST /locks/shown?owner=job&reentrant=true", NULL, 409, "locked");
    assert_says_how_long(http_text(client, "detail"), "Released by job, taken for ", " s more.");
    answers_with(client, "Accept: text/plain", "GET /locks/shown", NULL, 200, NULL);
    assert_says_how_long(client->reply.body, "released by job, taken for ", " s more\n");
}

TEST_ON_SERVICE(waiter_is_granted_as_soon_as_it_is_over)
{
    static const char RELEASED[] = "baton_holds_ended_total{reason=\"released\"}";
    static const char EXPIRED[] = "baton_holds_ended_total{reason=\"expired\"}";
    struct http_client *client = service->client;
    int64_t released = metric_of(client, RELEASED), expired = metric_of(client, EXPIRED);
    int64_t begun = clock_ms();
    answers_token(client, TOKEN, "POST /locks/awaited?at_least_ms=600", NULL, 201, NULL);
    struct parked *parked =
        parked_send_token(service->batond.port, OTHER, "POST /locks/awaited?wait=50s");
    comes_to_queue(client, "awaited", 1);
    release_lock(client, TOKEN, "awaited");
    assert_int_equal(parked_answer(parked, CLOCK_HANG_MS), 201);
    assert_true(clock_ms() - begun >= SOON_MS);
    parked_close(parked);
    assert_int_equal(metric_of(client, RELEASED), released + 1);
    assert_int_equal(metric_of(client, EXPIRED), expired);
}

TEST_OF_CLIENT(all_of_several_stay_taken)
{
    answers_token(client, TOKEN, "POST /locks", "{\"names\":[\"one\",\"two\"],\"at_least\":\"1h\"}",
                  201, NULL);
    assert_nearly(member_integer(client, "locks.0.at_least_ms"), HOUR_MS);
    assert_nearly(member_integer(client, "locks.1.ttl_ms"), HOUR_MS);
    answers_token(client, TOKEN, "DELETE /locks", "{\"names\":[\"one\",\"two\"]}", 200, NULL);
    assert_nearly(member_integer(client, "locks.0.free_in_ms"), HOUR_MS);
    answers(client, "POST /locks/one", NULL, 409, "locked");
    answers(client, "POST /locks/two", NULL, 409, "locked");
    answers_with(client, "Accept: text/plain", "GET /locks/two", NULL, 200, NULL);
    assert_says_how_long(client->reply.body, "taken for ", " s more");
}

/* What one request of several names gave back, no client has had. */
TEST_OF_CLIENT(refused_request_for_several_leaves_nothing_taken)
{
    answers(client, "POST /locks/zz-taken", NULL, 201, NULL);
    answers(client, "POST /locks", "{\"names\":[\"aa-free\",\"zz-taken\"],\"at_least\":\"1h\"}",
            409, "locked");
    answers(client, "POST /locks/aa-free?wait=10s", NULL, 201, NULL);
}

TEST_OF_CLIENT(longest_is_that_of_a_ttl)
{
    answers(client, "POST /locks/long?at_least=61m", NULL, 400, "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "at_least");
    assert_non_null(strstr(http_text(client, "detail"), "max-ttl"));
    answers(client, "POST /locks", "{\"at_least_ms\":3600001,\"names\":[\"long\"]}", 400,
            "invalid_parameter");
    answers(client, "POST /locks/long?at_least=0", NULL, 201, NULL);
    assert_null(member(client, "at_least_ms"));
}

TEST_ON_SERVICE(end_of_a_connection_leaves_the_name_taken)
{
    struct parked *parked = parked_send_token(
        service->batond.port, TOKEN, "POST /locks/connected?hold=connection&at_least=1h&owner=job");
    assert_true(parked_receives(parked, "\"event\":\"granted\"", CLOCK_HANG_MS));
    parked_close(parked);
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    do {
        answers(service->client, "GET /locks/connected", NULL, 200, NULL);
        assert_true(clock_ms() < deadline);
    } while (!member(service->client, "holders.0.released"));
    answers(service->client, "POST /locks/connected", NULL, 409, "locked");
}

/* Nothing is granted after a loss of Redis' data until the name would have been free. */
TEST(quarantine_lasts_as_long_as_a_name_stays_taken)
{
    struct service service;
    service_open(&service, NULL, LIST("--quarantine=auto", "--workers=1"));
    answers_token(service.client, TOKEN, "POST /locks/lost?ttl=10s&at_least=1h", NULL, 201, NULL);
    release_lock(service.client, TOKEN, "lost");
    answers(service.client, "GET /quarantine", NULL, 200, NULL);
    assert_true(http_integer(service.client, "loss_would_cost_ms") > HOUR_MS - CLOCK_HANG_MS);
    service_close(&service);
}

TEST(quorum_keeps_the_name_taken)
{
    struct on_quorum story;
    on_quorum_open(&story, 2, LIST("--workers=1"));
    acquire_at_all(story.client, &story.servers, TOKEN,
                   "POST /locks/q?ttl=10s&at_least=1h&owner=job");
    assert_true(http_integer(story.client, "ttl_ms") > HOUR_MS / 2);
    release_lock(story.other, TOKEN, "q");
    assert_nearly(http_integer(story.other, "free_in_ms"), HOUR_MS);
    answers(story.client, "POST /locks/q?owner=job&reentrant=true", NULL, 409, "locked");
    assert_true(json_is_true(member(story.client, "holders.0.released")));
    answers(story.client, "GET /locks/q", NULL, 200, NULL);
    assert_true(json_is_true(member(story.client, "holders.0.released")));
    answers_token(story.client, TOKEN, "POST /locks",
                  "{\"names\":[\"qa\",\"qb\"],\"at_least\":\"1h\"}", 201, NULL);
    assert_nearly(member_integer(story.client, "locks.0.at_least_ms"), HOUR_MS);
    assert_nearly(member_integer(story.client, "locks.1.at_least_ms"), HOUR_MS);
    int64_t begun = clock_ms();
    answers_token(story.client, TOKEN, "POST /locks/soon?at_least_ms=600", NULL, 201, NULL);
    release_lock(story.client, TOKEN, "soon");
    answers(story.other, "POST /locks/soon?wait=20s", NULL, 201, NULL);
    assert_true(clock_ms() - begun >= SOON_MS);
    on_quorum_close(&story);
}

RUN_TESTS(start, service_stop)
