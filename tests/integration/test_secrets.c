/* What is left in batond's memory of the tokens it was given, once it is done with them. */
#include "tests/integration/parked.h"

#include "base/heap.h"
#include "tests/support/memory.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000, SETTLED_MS = 1500, HEADER_TEXT = TOKEN_TEXT + 16, BODY_TEXT = 512 };

/* Each journey has a token of its own, so that what is found names the one that left it. */
struct journey {
    struct service *service;
    char token[TOKEN_TEXT];
    char header[HEADER_TEXT];
};

static void ask(struct journey *journey, const char *request, const char *body, long status)
{
    answers_token(journey->service->client, journey->token, request, body, status, NULL);
}

/* The same with the token in the body, behind which `members` stand. */
static void ask_in_body(struct journey *journey, const char *request, const char *members,
                        long status)
{
    char body[BODY_TEXT];
    snprintf(body, sizeof body, "{\"token\": \"%s\"%s}", journey->token, members);
    answers(journey->service->client, request, body, status, NULL);
}

static struct parked *park(struct journey *journey, const char *request)
{
    return parked_send_token(journey->service->batond.port, journey->token, request);
}

static void in_a_header(struct journey *journey)
{
    ask(journey, "POST /locks/header", NULL, 201);
    ask(journey, "POST /locks/header", NULL, 200);
    ask(journey, "PUT /locks/header?ttl=5s", NULL, 200);
    ask(journey, "GET /locks/header", NULL, 200);
    ask(journey, "DELETE /locks/header", NULL, 200);
    ask(journey, "DELETE /locks/header", NULL, 200);
}

static void in_a_body(struct journey *journey)
{
    ask_in_body(journey, "POST /locks/body", ", \"meta\": {\"a\": [1, \"b\"]}", 201);
    ask_in_body(journey, "PUT /locks/body", ", \"ttl_ms\": 5000", 200);
    ask_in_body(journey, "DELETE /locks/body", "", 200);
}

static void on_a_connection_that_closes(struct journey *journey)
{
    const char *const headers[] = {journey->header, "Connection: close", NULL};
    struct http_call call = {"POST", "/locks/close", NULL, 0, headers, 0};
    assert_int_equal(http_request(journey->service->client, &call), 201);
    call.method = "DELETE";
    assert_int_equal(http_request(journey->service->client, &call), 200);
}

static void made_by_the_server(struct journey *journey)
{
    answers(journey->service->client, "POST /locks/made", NULL, 201, NULL);
    keep_token(journey->service->client, journey->token);
    ask(journey, "DELETE /locks/made", NULL, 200);
}

static void as_plain_text(struct journey *journey)
{
    const char *const headers[] = {journey->header, "Accept: text/plain", NULL};
    struct http_call call = {"POST", "/locks/text", NULL, 0, headers, 0};
    assert_int_equal(http_request(journey->service->client, &call), 201);
    assert_non_null(strstr(journey->service->client->reply.body, journey->token));
    ask(journey, "DELETE /locks/text", NULL, 200);
}

static void of_several(struct journey *journey)
{
    static const char NAMES[] = "{\"names\": [\"one\", \"two\", \"three\"]}";
    ask(journey, "POST /locks", NAMES, 201);
    ask(journey, "PUT /locks", NAMES, 200);
    ask(journey, "DELETE /locks", NAMES, 200);
}

static void in_refused_requests(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    char text[BODY_TEXT], *large = malloc(40000);
    assert_non_null(large);
    snprintf(text, sizeof text, "POST /locks/refused?token=%s", journey->token);
    answers(client, text, NULL, 400, "invalid_parameter");
    snprintf(text, sizeof text, "{\"token\": \"%s\", \"ttl_ms\": 1, \"token\": 1}", journey->token);
    answers(client, "POST /locks/refused", text, 400, "invalid_json");
    ask_in_body(journey, "POST /locks/refused", ", \"ttl_ms\": 1", 400);
    ask_in_body(journey, "POST /locks/refused", ", \"ttl_ms\": ", 400);
    snprintf(text, sizeof text, "{\"unknown\": {\"token\": [\"%s\"]}}", journey->token);
    answers(client, "POST /locks/refused", text, 400, "invalid_parameter");
    snprintf(text, sizeof text, "{\"token\": \"%s %s\"}", journey->token, journey->token);
    answers(client, "POST /locks/refused", text, 400, "invalid_parameter");
    ask(journey, "POST /locks/refused", text, 400);
    ask(journey, "POST /nowhere", NULL, 404);
    ask(journey, "PATCH /locks/refused", NULL, 405);
    ask(journey, "PUT /locks/refused", NULL, 409);
    ask(journey, "DELETE /locks/refused", NULL, 409);
    int length = snprintf(large, 40000, "{\"token\": \"%s\", \"meta\": \"", journey->token);
    memset(large + length, 'x', (size_t)(39999 - length));
    large[39999] = '\0';
    answers(client, "POST /locks/refused", large, 413, "too_large");
    free(large);
}

static void of_a_hold_of_others(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    answers(client, "POST /locks/others", NULL, 201, NULL);
    ask(journey, "POST /locks/others", NULL, 409);
    ask(journey, "POST /locks/others?wait=20ms", NULL, 409);
    answers(client, "DELETE /locks/others?force=true", NULL, 200, NULL);
}

/* Waiting: until it is granted, until its client goes, until it is cancelled, with a place kept. */

static void is_queued(struct journey *journey, const char *name)
{
    char path[64];
    int64_t deadline = clock_ms() + PATIENCE_MS;
    snprintf(path, sizeof path, "/locks/%s", name);
    do
        assert_int_equal(http_call(journey->service->client, "GET", path, NULL), 200);
    while (http_integer(journey->service->client, "queue_length") != 1 && clock_ms() < deadline);
    assert_int_equal(http_integer(journey->service->client, "queue_length"), 1);
}

static void of_one_who_waited(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    answers(client, "POST /locks/waited", NULL, 201, NULL);
    struct parked *waiting = park(journey, "POST /locks/waited?wait=30s");
    is_queued(journey, "waited");
    answers(client, "DELETE /locks/waited?force=true", NULL, 200, NULL);
    assert_int_equal(parked_answer(waiting, PATIENCE_MS), 201);
    ask(journey, "DELETE /locks/waited", NULL, 200);
    parked_close(waiting);
}

static void of_one_who_hung_up(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    answers(client, "POST /locks/gone", NULL, 201, NULL);
    struct parked *waiting = park(journey, "POST /locks/gone?wait=30s");
    is_queued(journey, "gone");
    parked_close(waiting);
    answers(client, "DELETE /locks/gone?force=true", NULL, 200, NULL);
}

static void of_one_who_was_cancelled(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    answers(client, "POST /locks/cancelled", NULL, 201, NULL);
    struct parked *waiting = park(journey, "POST /locks/cancelled?wait=30s&keep=10s");
    is_queued(journey, "cancelled");
    ask(journey, "DELETE /locks/cancelled", NULL, 200);
    assert_int_equal(parked_answer(waiting, PATIENCE_MS), 409);
    parked_close(waiting);
}

static void of_a_connection(struct journey *journey)
{
    struct parked *stream = park(journey, "POST /locks/stream?hold=connection&ttl=600ms");
    assert_true(parked_hears(stream, journey->token, PATIENCE_MS));
    assert_true(parked_hears(stream, "heartbeat", PATIENCE_MS));
    parked_close(stream);
}

/* Redis is away while the request is under way, and what it may have done is taken back later. */
static void in_doubt(struct journey *journey)
{
    redis_process_freeze(&journey->service->redis);
    ask(journey, "POST /locks/doubt", NULL, 503);
    ask(journey, "DELETE /locks/doubt", NULL, 503);
    redis_process_thaw(&journey->service->redis);
    assert_true(comes_to_answer(journey->service->client, "/readyz", 200, PATIENCE_MS));
}

/* The connections are kept, and nothing else is asked before the memory is looked at. */
static void leaves_nothing(void **state, void (*travel)(struct journey *journey), const char *name)
{
    char places[MEMORY_PLACES];
    if (!heap_wipes() || geteuid() != 0)
        skip();
    struct journey journey = {.service = *state};
    snprintf(journey.token, sizeof journey.token, "tell-%s-tale-of-a-token", name);
    snprintf(journey.header, sizeof journey.header, "Lock-Token: %s", journey.token);
    travel(&journey);
    int64_t deadline = clock_ms() + SETTLED_MS;
    pid_t pid = journey.service->batond.process.pid;
    size_t count = memory_count(pid, journey.token, places);
    while (count > 0 && clock_ms() < deadline) {
        clock_sleep_ms(50);
        count = memory_count(pid, journey.token, places);
    }
    if (count > 0)
        fail_msg("%zu copies of %s:\n%s", count, journey.token, places);
}

/* The test itself can see a token: of a hold that a connection keeps. */
static void a_token_in_use_is_found(void **state)
{
    char places[MEMORY_PLACES];
    if (geteuid() != 0)
        skip();
    struct journey journey = {.service = *state, .token = "tell-tale-token-in-use"};
    struct parked *stream = park(&journey, "POST /locks/used?hold=connection&ttl=10s");
    assert_true(parked_hears(stream, journey.token, PATIENCE_MS));
    assert_true(memory_count(journey.service->batond.process.pid, journey.token, places) > 0);
    parked_close(stream);
}

#define JOURNEY(travel, name)                                                                      \
    static void travel##_leaves_nothing(void **state)                                              \
    {                                                                                              \
        leaves_nothing(state, travel, name);                                                       \
    }

JOURNEY(in_a_header, "header")
JOURNEY(in_a_body, "body")
JOURNEY(on_a_connection_that_closes, "closing")
JOURNEY(made_by_the_server, "made")
JOURNEY(as_plain_text, "text")
JOURNEY(of_several, "several")
JOURNEY(in_refused_requests, "refused")
JOURNEY(of_a_hold_of_others, "others")
JOURNEY(of_one_who_waited, "waited")
JOURNEY(of_one_who_hung_up, "gone")
JOURNEY(of_one_who_was_cancelled, "cancelled")
JOURNEY(of_a_connection, "stream")
JOURNEY(in_doubt, "doubt")

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_in_use_is_found),
        cmocka_unit_test(in_a_header_leaves_nothing),
        cmocka_unit_test(in_a_body_leaves_nothing),
        cmocka_unit_test(on_a_connection_that_closes_leaves_nothing),
        cmocka_unit_test(made_by_the_server_leaves_nothing),
        cmocka_unit_test(as_plain_text_leaves_nothing),
        cmocka_unit_test(of_several_leaves_nothing),
        cmocka_unit_test(in_refused_requests_leaves_nothing),
        cmocka_unit_test(of_a_hold_of_others_leaves_nothing),
        cmocka_unit_test(of_one_who_waited_leaves_nothing),
        cmocka_unit_test(of_one_who_hung_up_leaves_nothing),
        cmocka_unit_test(of_one_who_was_cancelled_leaves_nothing),
        cmocka_unit_test(of_a_connection_leaves_nothing),
        cmocka_unit_test(in_doubt_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, service_start, service_stop);
}
