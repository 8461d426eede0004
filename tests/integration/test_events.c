/* Being told of changes: by a reply that waits for them, or by a stream of events. */
#include "tests/support/fixtures/parked.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char STREAM[] = "Accept: text/event-stream";
static const char JSON[] = "Accept: application/json";

static int64_t version_of(struct http_client *client, const char *name)
{
    char request[100];
    snprintf(request, sizeof request, "GET /locks/%s", name);
    answers(client, request, NULL, 200, NULL);
    return http_integer(client, "version");
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

/* The reply tells of a change, with that state and the version of the name. */
static void reports(struct parked *parked, struct http_client *client, const char *state)
{
    char etag[40];
    if (parked_answer(parked, CLOCK_HANG_MS) != 200)
        fail_msg("nothing told: %s", parked->text);
    assert_true(json_is_true(member(&parked->client, "changed")));
    assert_string_equal(http_text(&parked->client, "state"), state);
    int64_t version = version_of(client, http_text(&parked->client, "name"));
    assert_int_equal(http_integer(&parked->client, "version"), version);
    snprintf(etag, sizeof etag, "\"%" PRId64 "\"", version);
    assert_string_equal(http_header(&parked->client, "ETag"), etag);
}

TEST_OF_CLIENT(watch_without_version_is_answered_at_once)
{
    char token[TOKEN_TEXT];
    answers(client, "GET /locks/at-once/events?wait=20s", NULL, 200, NULL);
    assert_string_equal(http_text(client, "state"), "free");
    assert_true(json_is_true(member(client, "changed")));
    assert_null(member(client, "mine"));
    acquire_lock(client, "at-once", token);
    int64_t fence = http_integer(client, "fence");
    answers(client, "GET /locks/at-once/events?after=1", NULL, 200, NULL);
    assert_string_equal(http_text(client, "state"), "held");
    assert_int_equal(http_integer(client, "version"), fence);
    assert_null(strstr(client->reply.body, token));
}

TEST_OF_CLIENT(wait_without_change_ends)
{
    char token[TOKEN_TEXT], request[100];
    acquire_lock(client, "quiet", token);
    int64_t begun = clock_ms(), version = version_of(client, "quiet");
    snprintf(request, sizeof request, "GET /locks/quiet/events?wait=300ms&after=%" PRId64, version);
    answers(client, request, NULL, 200, NULL);
    assert_in_range(clock_ms() - begun, 295, CLOCK_HANG_MS);
    assert_true(json_is_false(member(client, "changed")));
    assert_string_equal(http_text(client, "state"), "held");
    assert_int_equal(http_integer(client, "version"), version);
    snprintf(request, sizeof request, "GET /locks/quiet/events?wait=0&after=%" PRId64, version);
    answers(client, request, NULL, 200, NULL);
    assert_true(json_is_false(member(client, "changed")));
}

TEST_ON_SERVICE(waiting_watch_is_answered_with_the_change)
{
    char token[TOKEN_TEXT];
    struct parked *parked =
        watch(service->batond.port, JSON, "told", version_of(service->client, "told"));
    acquire_lock(service->client, "told", token);
    reports(parked, service->client, "held");
    parked_close(parked);
}

TEST_ON_SERVICE(watch_of_hold_is_answered_when_somebody_waits_or_it_ends)
{
    static const char ENDED[] = "GET /locks/own/events?wait=50s&until=ended";
    struct http_client *client = service->client;
    char token[TOKEN_TEXT];
    acquire_lock(client, "own", token);
    answers_token(client, token, "GET /locks/own/events?wait=1ms", NULL, 200, NULL);
    assert_true(json_is_false(member(client, "changed")));
    struct parked *wanted =
        parked_send_token(service->batond.port, token, "GET /locks/own/events?wait=50s");
    struct parked *ended = parked_send_token(service->batond.port, token, ENDED);
    struct parked *waiter =
        parked_send(service->batond.port, NULL, "POST /locks/own?wait=50s", NULL);
    assert_int_equal(parked_answer(wanted, CLOCK_HANG_MS), 200);
    assert_true(json_is_true(member(&wanted->client, "changed")));
    assert_true(json_is_true(member(&wanted->client, "mine")));
    assert_int_equal(http_integer(&wanted->client, "queue_length"), 1);
    assert_true(parked_waits(ended, 0));
    answers(client, "DELETE /locks/own?force=true", NULL, 200, NULL);
    assert_int_equal(parked_answer(ended, CLOCK_HANG_MS), 200);
    assert_true(json_is_false(member(&ended->client, "mine")));
    answers(client, "GET /locks/own/events?until=ended", NULL, 400, "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "until");
    parked_close(wanted);
    parked_close(ended);
    parked_close(waiter);
}

TEST_ON_SERVICE(stream_of_hold_reports_waiters_and_its_end)
{
    static const char *const LEFT[] = {"\"queue_length\":0", "\"queue_length\":1"};
    struct http_client *client = service->client;
    char token[TOKEN_TEXT], headers[200];
    acquire_lock(client, "own-stream", token);
    snprintf(headers, sizeof headers, "Lock-Token: %s\r\nAccept: text/event-stream", token);
    struct parked *stream =
        parked_send(service->batond.port, headers, "GET /locks/own-stream/events", NULL);
    for (int i = 0; i < 3; i++) {
        struct parked *waiter =
            i % 2 ? parked_send(service->batond.port, NULL, "POST /locks/own-stream?wait=50s", NULL)
                  : NULL;
        assert_true(parked_receives(stream, LEFT[i % 2], CLOCK_HANG_MS));
        assert_true(parked_receives(stream, "\"mine\":true", CLOCK_HANG_MS));
        if (waiter)
            parked_close(waiter);
    }
    release_lock(client, token, "own-stream");
    assert_true(parked_receives(stream, "\"mine\":false", CLOCK_HANG_MS));
    parked_close(stream);
}

TEST_ON_SERVICE(stream_has_the_state_and_then_each_change)
{
    struct http_client *client = service->client;
    char token[TOKEN_TEXT], line[64];
    struct parked *stream =
        parked_send(service->batond.port, STREAM, "GET /locks/stream/events", NULL);
    assert_true(parked_receives(stream, "HTTP/1.1 200", CLOCK_HANG_MS));
    assert_true(parked_receives(stream, "Content-Type: text/event-stream\r\n", CLOCK_HANG_MS));
    snprintf(line, sizeof line, "id: %" PRId64 "\n", version_of(client, "stream"));
    assert_true(parked_receives(stream, line, CLOCK_HANG_MS));
    assert_true(parked_receives(
        stream, "event: lock\ndata: {\"name\":\"stream\",\"state\":\"free\"", CLOCK_HANG_MS));
    for (int i = 0; i < 3; i++) {
        acquire_lock(client, "stream", token);
        snprintf(line, sizeof line, "id: %" PRId64 "\n", version_of(client, "stream"));
        assert_true(parked_receives(stream, line, CLOCK_HANG_MS));
        assert_true(parked_receives(stream, "\"state\":\"held\"", CLOCK_HANG_MS));
        release_lock(client, token, "stream");
        snprintf(line, sizeof line, "id: %" PRId64 "\n", version_of(client, "stream"));
        assert_true(parked_receives(stream, line, CLOCK_HANG_MS));
        assert_true(parked_receives(stream, "\"state\":\"free\"", CLOCK_HANG_MS));
        assert_true(parked_receives(stream, "}\n\n", CLOCK_HANG_MS));
    }
    acquire_lock(client, "stream", token);
    snprintf(line, sizeof line, "id: %" PRId64 "\n", version_of(client, "stream"));
    assert_true(parked_receives(stream, "event:", CLOCK_HANG_MS)); /* each is told once */
    assert_non_null(strstr(stream->text, line));
    assert_false(stream->closed);
    parked_close(stream);
}

TEST_ON_SERVICE(stream_resumes_at_last_event_id)
{
    struct http_client *client = service->client;
    char token[TOKEN_TEXT], header[100];
    acquire_lock(client, "resumed", token);
    int64_t version = version_of(client, "resumed");
    snprintf(header, sizeof header, "Accept: text/event-stream\r\nLast-Event-ID: %" PRId64,
             version);
    struct parked *stream =
        parked_send(service->batond.port, header, "GET /locks/resumed/events?after=1", NULL);
    assert_true(parked_receives(stream, ": keep-alive\n\n", CLOCK_HANG_MS));
    assert_null(strstr(stream->text, "data:"));
    release_lock(client, token, "resumed");
    assert_true(parked_receives(stream, "\"state\":\"free\"", CLOCK_HANG_MS));
    parked_close(stream);

    stream = parked_send(service->batond.port, header, "GET /locks/resumed/events", NULL);
    assert_true(parked_receives(stream, "\"state\":\"free\"", CLOCK_HANG_MS));
    parked_close(stream);
}

TEST_ON_SERVICE(stream_ends_after_its_wait)
{
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
TEST(ending_stream_says_that_redis_is_away)
{
    struct service service;
    struct parked *streams[2];
    service_open(&service, NULL, NULL);
    streams[0] = parked_send(service.batond.port, STREAM, "GET /locks/frozen/events?wait=4s", NULL);
    streams[1] = parked_send(service.batond.port, STREAM, "GET /events?wait=4s", NULL);
    assert_true(parked_receives(streams[0], "data:", CLOCK_HANG_MS));
    assert_true(parked_receives(streams[1], "event: complete\n", CLOCK_HANG_MS));
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
TEST(stream_says_when_redis_goes_and_comes)
{
    struct service service;
    struct parked *streams[2];
    service_open(&service, NULL, LIST("--workers=1"));
    streams[0] = parked_send(service.batond.port, STREAM, "GET /locks/away/events", NULL);
    streams[1] = parked_send(service.batond.port, STREAM, "GET /events", NULL);
    assert_true(parked_receives(streams[0], "data:", CLOCK_HANG_MS));
    assert_true(parked_receives(streams[1], "event: complete\n", CLOCK_HANG_MS));
    for (int i = 0; i < 2; i++) /* behind its look, on the same connection to Redis */
        version_of(service.client, "away");
    redis_process_kill(&service.redis);
    for (size_t i = 0; i < 2; i++)
        assert_true(parked_receives(streams[i], "event: store\ndata: {\"available\":false}\n\n",
                                    CLOCK_HANG_MS));
    redis_process_resume(&service.redis);
    assert_true(
        parked_receives(streams[0], "event: store\ndata: {\"available\":true}\n\n", CLOCK_HANG_MS));
    for (size_t i = 0; i < 2; i++)
        parked_close(streams[i]);
    service_close(&service);
}

/* The number of locks told of, and whether this name is among them. */
static size_t reported(const struct http_client *client, const char *name, bool *ret_named)
{
    json_t *locks = member(client, "locks"), *lock;
    size_t i;
    *ret_named = false;
    json_array_foreach (locks, i, lock)
        *ret_named |= strcmp(json_string_value(json_object_get(lock, "name")), name) == 0;
    return json_array_size(locks);
}

TEST_ON_SERVICE(prefix_has_all_holds_and_then_changes)
{
    struct http_client *client = service->client;
    char token[TOKEN_TEXT], other[TOKEN_TEXT], request[200];
    bool named;
    answers(client, "GET /events?prefix=job:", NULL, 200, NULL);
    assert_true(json_is_false(member(client, "changed")));
    acquire_lock(client, "job:1", token);
    acquire_lock(client, "outside", other);
    answers(client, "GET /events?prefix=job:", NULL, 200, NULL);
    assert_int_equal(reported(client, "job:1", &named), 1);
    assert_true(named);
    assert_true(json_is_true(member(client, "changed")));
    assert_true(json_is_true(member(client, "complete")));
    int64_t version = http_integer(client, "version");

    /* A change of the very microsecond, or one while the names are looked at, may be told twice:
     * then the version to go on from is below that of the lock. */
    snprintf(request, sizeof request, "GET /events?prefix=job:&wait=20s&after=%" PRId64, version);
    struct parked *parked = parked_send(service->batond.port, NULL, request, NULL);
    release_lock(client, other, "outside");
    answers(client, "GET /events?prefix=job:", NULL, 200, NULL); /* it has heard of that */
    assert_true(parked_waits(parked, 0));
    release_lock(client, token, "job:1");
    assert_int_equal(parked_answer(parked, CLOCK_HANG_MS), 200);
    assert_true(reported(&parked->client, "job:1", &named) >= 1);
    assert_true(named);
    assert_string_equal(member_text(&parked->client, "locks.0.state"), "free");
    assert_true(http_integer(&parked->client, "version") >= version);
    version = http_integer(&parked->client, "version");
    bool comes_again = version < member_integer(&parked->client, "locks.0.version");
    parked_close(parked);

    /* What happened while nobody watched. */
    acquire_lock(client, "job:2", token);
    snprintf(request, sizeof request, "GET /events?prefix=job:&wait=20s&after=%" PRId64, version);
    answers(client, request, NULL, 200, NULL);
    reported(client, "job:2", &named);
    assert_true(named);
    reported(client, "job:1", &named);
    assert_true(named || !comes_again);
}

/* What the client knew may be out of date: it hears so at once, also when nothing is held. */
TEST_OF_CLIENT(old_version_is_answered_as_incomplete)
{
    char token[TOKEN_TEXT];
    bool named;
    for (int held = 0; held < 2; held++) {
        answers(client, "GET /events?prefix=old:&wait=50s&after=1", NULL, 200, NULL);
        assert_true(json_is_false(member(client, "complete")));
        assert_true(json_is_true(member(client, "changed")));
        assert_null(member(client, "more"));
        assert_int_equal(reported(client, "old:1", &named), held);
        assert_int_equal(named, held);
        if (held == 0)
            acquire_lock(client, "old:1", token);
    }
}

TEST_OF_CLIENT(reply_says_that_more_is_held_than_fits)
{
    char token[TOKEN_TEXT], request[100];
    bool named;
    acquire_lock(client, "many:1", token);
    acquire_lock(client, "many:2", token);
    answers(client, "GET /events?prefix=many:&limit=1", NULL, 200, NULL);
    assert_int_equal(reported(client, "many:1", &named), 1);
    assert_true(json_is_true(member(client, "more")));
    assert_true(json_is_false(member(client, "complete")));
    snprintf(request, sizeof request, "GET /events?prefix=many:&wait=0&after=%" PRId64,
             http_integer(client, "version"));
    answers(client, request, NULL, 200, NULL);
    assert_true(json_is_false(member(client, "changed"))); /* what is held is up to GET /locks */
    assert_true(json_is_true(member(client, "complete")));
}

/* The number of times that the text has this part. */
static int occurrences(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

TEST_ON_SERVICE(stream_marks_where_its_snapshot_begins_and_ends)
{
    static const char *const QUERIES[] = {"", "&after=1"};
    struct http_client *client = service->client;
    char token[TOKEN_TEXT], request[100], line[100];
    int64_t version = 0, resumed = 0;
    acquire_lock(client, "flow:2", token);
    acquire_lock(client, "flow:1", token);
    for (int i = 0; i < 2; i++) {
        snprintf(request, sizeof request, "GET /events?prefix=flow:&wait=0%s", QUERIES[i]);
        struct parked *stream = parked_send(service->batond.port, STREAM, request, NULL);
        assert_int_equal(parked_answer(stream, CLOCK_HANG_MS), 200);
        const char *begin = strstr(stream->text, "id: \nevent: snapshot\ndata: {\"version\":");
        assert_non_null(begin);
        const char *end = strstr(begin, "\nevent: complete\n");
        assert_non_null(end);
        assert_int_equal(occurrences(begin, "event: lock\ndata: {\"name\":\"flow:"), 2);
        assert_null(strstr(end, "event: lock"));
        while (*--end != '\n') /* the only id to resume at */
            ;
        assert_int_equal(sscanf(end, " id: %" SCNd64, &version), 1);
        assert_int_equal(occurrences(begin, "id: "), 2);
        parked_close(stream);
    }
    snprintf(line, sizeof line, "%s\r\nLast-Event-ID: %" PRId64, STREAM, version);
    struct parked *stream =
        parked_send(service->batond.port, line, "GET /events?prefix=flow:&after=1", NULL);
    assert_true(parked_receives(stream, ": keep-alive\n", CLOCK_HANG_MS));
    assert_null(strstr(stream->text, "event:"));
    release_lock(client, token, "flow:1");
    assert_true(parked_receives(
        stream, "event: lock\ndata: {\"name\":\"flow:1\",\"state\":\"free\"", CLOCK_HANG_MS));
    const char *id = strstr(stream->text, "id: ");
    assert_non_null(id);
    assert_int_equal(sscanf(id, "id: %" SCNd64, &resumed), 1);
    assert_true(resumed >= version);
    parked_close(stream);
}

RUN_TESTS(service_start, service_stop)

/* Redis has nothing of it, so a scan does not find it: a stream gets a snapshot, and so does who
 * asks later. */
TEST(hold_that_redis_has_lost_is_in_no_snapshot)
{
    struct service service;
    char token[TOKEN_TEXT], request[100];
    bool named;
    service_open(&service, NULL, LIST("--workers=1"));
    for (int restarts = 0; restarts < 2; restarts++) {
        acquire_lock(service.client, "lost:1?wait=20s", token);
        answers(service.client, "GET /events?prefix=lost:", NULL, 200, NULL);
        assert_int_equal(reported(service.client, "lost:1", &named), 1);
        snprintf(request, sizeof request, "GET /events?prefix=lost:&wait=0&after=%" PRId64,
                 http_integer(service.client, "version"));
        struct parked *stream = parked_send(service.batond.port, STREAM, "GET /events", NULL);
        assert_true(parked_receives(stream, "event: complete\n", CLOCK_HANG_MS));
        if (restarts) { /* which may end the stream */
            redis_process_kill(&service.redis);
            redis_process_resume(&service.redis);
        } else {
            redis_process_flush(&service.redis);
            assert_true(parked_receives(stream, "event: complete\n", CLOCK_HANG_MS));
            assert_int_equal(occurrences(stream->text, "lost:1"), 1);
        }
        parked_close(stream);
        assert_true(comes_to_answer(service.client, request + strlen("GET "), 200, CLOCK_HANG_MS));
        assert_int_equal(reported(service.client, "lost:1", &named), 0);
        assert_true(json_is_false(member(service.client, "complete")));
    }
    service_close(&service);
}
