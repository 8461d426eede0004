/* Being told of changes: by a reply that waits for them, or by a stream of events. */
#include "tests/support/fixtures/parked.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char STREAM[] = "Accept: text/event-stream";
static const char JSON[] = "Accept: application/json";

static struct service *service_of(void **state)
{
    return *state;
}

static int64_t version_of(struct http_client *client, const char *name)
{
    char request[100];
    snprintf(request, sizeof request, "GET /locks/%s", name);
    answers(client, request, NULL, 200, NULL);
    return http_integer(client, "version");
}

static void hold(struct http_client *client, const char *query, char token[TOKEN_TEXT])
{
    char request[200];
    snprintf(request, sizeof request, "POST /locks/%s", query);
    answers(client, request, NULL, 201, NULL);
    keep_token(client, token);
}

static void release(struct http_client *client, const char *token, const char *name)
{
    char request[100];
    snprintf(request, sizeof request, "DELETE /locks/%s", name);
    answers_token(client, token, request, NULL, 200, NULL);
}

/* Watches the name from its version on. */
static struct parked *watch(int port, const char *header, const char *name, int64_t after)
{
    char request[200];
    snprintf(request, sizeof request, "GET /locks/%s/events?wait=20s&after=%" PRId64, name, after);
    struct parked *parked = parked_send(port, header, request, NULL);
    if (header == JSON && !parked_waits(parked, 0))
        fail_msg("%s: %s", request, parked->text);
    return parked;
}

static void without_a_version_the_state_is_told_at_once(void **state)
{
    struct http_client *client = service_of(state)->client;
    char token[TOKEN_TEXT];
    answers(client, "GET /locks/at-once/events?wait=20s", NULL, 200, NULL);
    assert_string_equal(http_text(client, "state"), "free");
    assert_true(json_is_true(member(client, "changed")));
    assert_null(member(client, "mine"));
    hold(client, "at-once", token);
    int64_t fence = http_integer(client, "fence");
    answers_token(client, token, "GET /locks/at-once/events?after=1", NULL, 200, NULL);
    assert_string_equal(http_text(client, "state"), "held");
    assert_int_equal(http_integer(client, "version"), fence);
    assert_true(json_is_true(member(client, "mine")));
    assert_null(strstr(client->reply.body, token));
}

static void a_stream_tells_the_state_and_then_each_change(void **state)
{
    struct service *service = service_of(state);
    struct http_client *client = service->client;
    char token[TOKEN_TEXT], line[64];
    struct parked *stream =
        parked_send(service->batond.port, STREAM, "GET /locks/stream/events", NULL);
    assert_true(parked_hears(stream, "HTTP/1.1 200", CLOCK_HANG_MS));
    assert_true(parked_hears(stream, "Content-Type: text/event-stream\r\n", CLOCK_HANG_MS));
    snprintf(line, sizeof line, "id: %" PRId64 "\n", version_of(client, "stream"));
    assert_true(parked_hears(stream, line, CLOCK_HANG_MS));
    assert_true(parked_hears(stream, "event: lock\ndata: {\"name\":\"stream\",\"state\":\"free\"",
                             CLOCK_HANG_MS));
    for (int i = 0; i < 3; i++) {
        hold(client, "stream", token);
        snprintf(line, sizeof line, "id: %" PRId64 "\n", version_of(client, "stream"));
        assert_true(parked_hears(stream, line, CLOCK_HANG_MS));
        assert_true(parked_hears(stream, "\"state\":\"held\"", CLOCK_HANG_MS));
        release(client, token, "stream");
        snprintf(line, sizeof line, "id: %" PRId64 "\n", version_of(client, "stream"));
        assert_true(parked_hears(stream, line, CLOCK_HANG_MS));
        assert_true(parked_hears(stream, "\"state\":\"free\"", CLOCK_HANG_MS));
        assert_true(parked_hears(stream, "}\n\n", CLOCK_HANG_MS));
    }
    hold(client, "stream", token);
    snprintf(line, sizeof line, "id: %" PRId64 "\n", version_of(client, "stream"));
    assert_true(parked_hears(stream, "event:", CLOCK_HANG_MS)); /* each is told once */
    assert_non_null(strstr(stream->text, line));
    assert_false(stream->closed);
    parked_close(stream);
}

static void a_stream_goes_on_where_it_stopped(void **state)
{
    struct service *service = service_of(state);
    struct http_client *client = service->client;
    char token[TOKEN_TEXT], header[100];
    hold(client, "resumed", token);
    int64_t version = version_of(client, "resumed");
    snprintf(header, sizeof header, "Accept: text/event-stream\r\nLast-Event-ID: %" PRId64,
             version);
    struct parked *stream =
        parked_send(service->batond.port, header, "GET /locks/resumed/events?after=1", NULL);
    assert_true(parked_hears(stream, ": keep-alive\n\n", CLOCK_HANG_MS));
    assert_null(strstr(stream->text, "data:"));
    release(client, token, "resumed");
    assert_true(parked_hears(stream, "\"state\":\"free\"", CLOCK_HANG_MS));
    parked_close(stream);

    stream = parked_send(service->batond.port, header, "GET /locks/resumed/events", NULL);
    assert_true(parked_hears(stream, "\"state\":\"free\"", CLOCK_HANG_MS));
    parked_close(stream);
}

static void a_stream_ends_where_that_was_asked_for(void **state)
{
    struct service *service = service_of(state);
    int64_t begun = clock_ms();
    struct parked *stream =
        parked_send(service->batond.port, STREAM, "GET /locks/short/events?wait=300ms", NULL);
    assert_int_equal(parked_answer(stream, CLOCK_HANG_MS), 200);
    assert_in_range(clock_ms() - begun, 295, CLOCK_HANG_MS);
    assert_non_null(strstr(stream->text, ": keep-alive\n\n"));
    assert_non_null(strstr(stream->text, "\r\n0\r\n\r\n")); /* complete, not cut off */
    parked_close(stream);
    stream = parked_send(service->batond.port, STREAM, "HEAD /locks/short/events", NULL);
    assert_int_equal(parked_answer(stream, CLOCK_HANG_MS), 200);
    assert_string_equal(http_header(&stream->client, "Content-Type"), "text/event-stream");
    assert_int_equal(stream->client.reply.length, 0);
    parked_close(stream);
}

/* Redis is asked for the state at the end of the wait, and does not answer. */
static void a_stream_that_ends_because_redis_is_away_says_so(void **state)
{
    struct service service;
    struct parked *streams[2];
    (void)state;
    service_open(&service, NULL, NULL);
    streams[0] = parked_send(service.batond.port, STREAM, "GET /locks/frozen/events?wait=2s", NULL);
    streams[1] = parked_send(service.batond.port, STREAM, "GET /events?wait=2s", NULL);
    assert_true(parked_hears(streams[0], "data:", CLOCK_HANG_MS));
    assert_true(parked_hears(streams[1], "keep-alive", CLOCK_HANG_MS));
    redis_process_freeze(&service.redis);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(parked_answer(streams[i], CLOCK_HANG_MS), 200);
        assert_non_null(strstr(streams[i]->text, "event: store\ndata: {\"available\":false}\n\n"));
        parked_close(streams[i]);
    }
    redis_process_thaw(&service.redis);
    service_close(&service);
}

/* Long before a sign of life is due, which would show it. A stream whose look is on its way when
 * Redis goes ends with it: here the one for a name has none. */
static void a_stream_tells_that_redis_is_away_and_that_it_is_back(void **state)
{
    struct service service;
    struct parked *streams[2];
    (void)state;
    service_open(&service, NULL, (const char *const[]){"--workers=1", NULL});
    streams[0] = parked_send(service.batond.port, STREAM, "GET /locks/away/events", NULL);
    streams[1] = parked_send(service.batond.port, STREAM, "GET /events", NULL);
    assert_true(parked_hears(streams[0], "data:", CLOCK_HANG_MS));
    assert_true(parked_hears(streams[1], "keep-alive", CLOCK_HANG_MS));
    for (int i = 0; i < 2; i++) /* behind its look, on the same connection to Redis */
        version_of(service.client, "away");
    redis_process_kill(&service.redis);
    for (size_t i = 0; i < 2; i++)
        assert_true(parked_hears(streams[i], "event: store\ndata: {\"available\":false}\n\n",
                                 CLOCK_HANG_MS));
    redis_process_resume(&service.redis);
    assert_true(
        parked_hears(streams[0], "event: store\ndata: {\"available\":true}\n\n", CLOCK_HANG_MS));
    for (size_t i = 0; i < 2; i++)
        parked_close(streams[i]);
    service_close(&service);
}

static void watches_end_when_batond_stops(void **state)
{
    struct service service;
    (void)state;
    service_open(&service, NULL, NULL);
    struct parked *stream =
        parked_send(service.batond.port, STREAM, "GET /locks/stops/events", NULL);
    struct parked *all = parked_send(service.batond.port, STREAM, "GET /events", NULL);
    struct parked *parked =
        watch(service.batond.port, JSON, "stops", version_of(service.client, "stops"));
    assert_true(parked_hears(stream, "data:", CLOCK_HANG_MS));
    assert_true(parked_hears(all, "keep-alive", CLOCK_HANG_MS));
    process_signal(&service.batond.process, SIGTERM);
    assert_int_equal(parked_answer(parked, CLOCK_HANG_MS), 200);
    assert_true(json_is_false(member(&parked->client, "changed")));
    assert_true(parked_hears(stream, "\r\n0\r\n\r\n", CLOCK_HANG_MS));
    assert_true(parked_hears(all, "\r\n0\r\n\r\n", CLOCK_HANG_MS));
    parked_close(parked);
    parked_close(stream);
    parked_close(all);
    assert_true(process_wait(&service.batond.process, CLOCK_HANG_MS));
    service_close(&service);
}

/* The number of locks told of, and whether this name is among them. */
static size_t told(const struct http_client *client, const char *name, bool *ret_named)
{
    json_t *locks = member(client, "locks"), *lock;
    size_t i;
    *ret_named = false;
    json_array_foreach (locks, i, lock)
        *ret_named |= strcmp(json_string_value(json_object_get(lock, "name")), name) == 0;
    return json_array_size(locks);
}

static void a_prefix_tells_of_all_that_is_held_and_then_of_changes(void **state)
{
    struct service *service = service_of(state);
    struct http_client *client = service->client;
    char token[TOKEN_TEXT], other[TOKEN_TEXT], request[200];
    bool named;
    answers(client, "GET /events?prefix=job:", NULL, 200, NULL);
    assert_true(json_is_false(member(client, "changed")));
    hold(client, "job:1", token);
    hold(client, "outside", other);
    answers(client, "GET /events?prefix=job:", NULL, 200, NULL);
    assert_int_equal(told(client, "job:1", &named), 1);
    assert_true(named);
    assert_true(json_is_true(member(client, "changed")));
    assert_true(json_is_true(member(client, "complete")));
    int64_t version = http_integer(client, "version");

    /* A change of the very microsecond may be told twice; then its version is told with it. */
    snprintf(request, sizeof request, "GET /events?prefix=job:&wait=20s&after=%" PRId64, version);
    struct parked *parked = parked_send(service->batond.port, NULL, request, NULL);
    release(client, other, "outside");
    answers(client, "GET /events?prefix=job:", NULL, 200, NULL); /* it has heard of that */
    assert_true(parked_waits(parked, 0));
    release(client, token, "job:1");
    assert_int_equal(parked_answer(parked, CLOCK_HANG_MS), 200);
    assert_true(told(&parked->client, "job:1", &named) >= 1);
    assert_true(named);
    assert_string_equal(member_text(&parked->client, "locks.0.state"), "free");
    assert_true(http_integer(&parked->client, "version") >=
                member_integer(&parked->client, "locks.0.version"));
    version = http_integer(&parked->client, "version");
    parked_close(parked);

    /* What happened while nobody watched. */
    hold(client, "job:2", token);
    snprintf(request, sizeof request, "GET /events?prefix=job:&wait=20s&after=%" PRId64, version);
    answers(client, request, NULL, 200, NULL);
    told(client, "job:2", &named);
    assert_true(named);
}

static void what_may_have_been_forgotten_is_said(void **state)
{
    struct http_client *client = service_of(state)->client;
    char token[TOKEN_TEXT];
    bool named;
    hold(client, "old:1", token);
    answers(client, "GET /events?prefix=old:&wait=20s&after=1", NULL, 200, NULL);
    assert_true(json_is_false(member(client, "complete")));
    told(client, "old:1", &named);
    assert_true(named);
}

static void a_prefix_can_be_a_stream(void **state)
{
    struct service *service = service_of(state);
    struct http_client *client = service->client;
    char token[TOKEN_TEXT];
    hold(client, "flow:1", token);
    struct parked *stream =
        parked_send(service->batond.port, STREAM, "GET /events?prefix=flow:", NULL);
    assert_true(parked_hears(stream, "Content-Type: text/event-stream\r\n", CLOCK_HANG_MS));
    assert_true(parked_hears(stream, "id: ", CLOCK_HANG_MS));
    assert_true(
        parked_hears(stream, "data: {\"name\":\"flow:1\",\"state\":\"held\"", CLOCK_HANG_MS));
    release(client, token, "flow:1");
    assert_true(
        parked_hears(stream, "data: {\"name\":\"flow:1\",\"state\":\"free\"", CLOCK_HANG_MS));
    hold(client, "flow:2", token);
    assert_true(
        parked_hears(stream, "data: {\"name\":\"flow:2\",\"state\":\"held\"", CLOCK_HANG_MS));
    parked_close(stream);

    /* Each of several says where to go on, and the last one that all has been told. */
    hold(client, "flow:3", token);
    stream = parked_send(service->batond.port, STREAM, "GET /events?prefix=flow:&wait=0", NULL);
    assert_int_equal(parked_answer(stream, CLOCK_HANG_MS), 200);
    const char *first = strstr(stream->text, "id: "), *last = strstr(first + 1, "id: ");
    assert_non_null(last);
    assert_null(strstr(last + 1, "id: "));
    int64_t after = 0, since = 0;
    assert_int_equal(sscanf(first, "id: %" SCNd64 "-%" SCNd64 "\nevent: lock\n", &after, &since),
                     2);
    assert_int_equal(after, version_of(client, "flow:2"));
    assert_true(since > after);
    assert_int_equal(strspn(last + 4, "0123456789"), strcspn(last + 4, "\n"));
    parked_close(stream);
    stream =
        parked_send(service->batond.port, STREAM, "GET /events?prefix=flow:&wait=0&after=1", NULL);
    assert_int_equal(parked_answer(stream, CLOCK_HANG_MS), 200);
    assert_true(parked_hears(stream, "event: incomplete\ndata: {\"version\":", CLOCK_HANG_MS));
    assert_true(parked_hears(stream, "event: lock\n", CLOCK_HANG_MS));
    parked_close(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_version_the_state_is_told_at_once),
        cmocka_unit_test(a_stream_tells_the_state_and_then_each_change),
        cmocka_unit_test(a_stream_goes_on_where_it_stopped),
        cmocka_unit_test(a_stream_ends_where_that_was_asked_for),
        cmocka_unit_test(a_stream_that_ends_because_redis_is_away_says_so),
        cmocka_unit_test(a_stream_tells_that_redis_is_away_and_that_it_is_back),
        cmocka_unit_test(watches_end_when_batond_stops),
        cmocka_unit_test(a_prefix_tells_of_all_that_is_held_and_then_of_changes),
        cmocka_unit_test(what_may_have_been_forgotten_is_said),
        cmocka_unit_test(a_prefix_can_be_a_stream),
    };
    return cmocka_run_group_tests_name("events", tests, service_start, service_stop);
}
