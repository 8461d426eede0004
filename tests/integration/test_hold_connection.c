/* A lock held by a connection: as long as the client is there, and no longer. */
#include "tests/support/faults/wire_delay.h"
#include "tests/support/fixtures/parked.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char TOKEN[] = "a-token-of-a-connection-1";

static bool comes_to(struct http_client *client, const char *name, const char *state,
                     int64_t queue_length)
{
    char path[100];
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    snprintf(path, sizeof path, "/locks/%s", name);
    while (http_call(client, "GET", path, NULL) != 200 ||
           strcmp(http_text(client, "state"), state) != 0 ||
           http_integer(client, "queue_length") != queue_length) {
        if (clock_ms() > deadline)
            return false;
        clock_sleep_ms(5);
    }
    return true;
}

static struct parked *hold(int port, const char *query)
{
    char request[200];
    snprintf(request, sizeof request, "POST /locks/%s", query);
    return parked_send_token(port, TOKEN, request);
}

static void is_granted(struct parked *stream, int status)
{
    char line[40];
    snprintf(line, sizeof line, "HTTP/1.1 %d", status);
    if (!parked_receives(stream, line, CLOCK_HANG_MS) ||
        !parked_receives(stream, "{\"event\":\"granted\",\"name\":\"", CLOCK_HANG_MS) ||
        !parked_receives(stream, "}\n", CLOCK_HANG_MS))
        fail_msg("not granted: %s", stream->text);
}

TEST_ON_SERVICE(hold_by_connection_outlives_its_ttl)
{
    char line[100];
    int64_t begun = clock_ms();
    struct parked *stream = hold(service->batond.port, "kept?hold=connection&ttl=6s&owner=me");
    is_granted(stream, 201);
    assert_non_null(strstr(stream->text, "\r\nContent-Type: application/x-ndjson\r\n"));
    assert_non_null(strstr(stream->text, "\r\nLocation: /locks/kept\r\n"));
    assert_non_null(strstr(stream->text, "\r\nCache-Control: no-store\r\n"));
    assert_non_null(strstr(stream->text, TOKEN));
    answers_token(service->client, TOKEN, "GET /locks/kept", NULL, 200, NULL);
    assert_true(json_is_true(member(service->client, "mine")));
    int64_t version = http_integer(service->client, "version");
    snprintf(line, sizeof line, "{\"event\":\"heartbeat\",\"fence\":%" PRId64 ",\"ttl_ms\":6000}\n",
             version);
    for (int i = 0; i < 4; i++)
        assert_true(parked_receives(stream, line, CLOCK_HANG_MS));
    assert_true(clock_ms() - begun >= 7990); /* one every third of the TTL, not more */
    answers(service->client, "GET /locks/kept", NULL, 200, NULL);
    assert_int_equal(http_integer(service->client, "version"), version);
    parked_close(stream);
}

TEST_ON_SERVICE(hang_up_hands_the_lock_to_a_waiter)
{
    struct parked *stream = hold(service->batond.port, "handed?hold=connection&ttl=1h");
    is_granted(stream, 201);
    struct parked *waiter = parked_send(service->batond.port, NULL,
                                        "POST /locks/handed?hold=connection&wait=20s", NULL);
    assert_true(comes_to(service->client, "handed", "held", 1));
    assert_true(parked_waits(waiter, 0));
    parked_close(stream);
    is_granted(waiter, 201);
    parked_close(waiter);
    assert_true(comes_to(service->client, "handed", "free", 0));
    assert_string_equal(member_text(service->client, "last_release.reason"), "released");
}

TEST_ON_SERVICE(lost_hold_is_reported)
{
    struct parked *stream = hold(service->batond.port, "broken?hold=connection&ttl=1h");
    is_granted(stream, 201);
    answers(service->client, "DELETE /locks/broken?force=true&reason=moved", NULL, 200, NULL);
    assert_true(parked_receives(stream, "{\"event\":\"lost\",\"detail\":\"the hold was broken ",
                                CLOCK_HANG_MS));
    assert_true(parked_receives(
        stream, "\"broken\":{\"client\":\"127.0.0.1\",\"reason\":\"moved\"}", CLOCK_HANG_MS));
    assert_true(parked_ends(stream, CLOCK_HANG_MS));
    assert_non_null(strstr(stream->text, "\r\n0\r\n\r\n"));
    parked_close(stream);
    stream = hold(service->batond.port, "released?hold=connection&ttl=1h");
    is_granted(stream, 201);
    release_lock(service->client, TOKEN, "released");
    assert_true(parked_receives(stream, "{\"event\":\"lost\"", CLOCK_HANG_MS));
    parked_close(stream);
}

TEST_ON_SERVICE(hold_by_connection_may_be_asked_for_in_body)
{
    struct parked *stream = parked_send(service->batond.port, NULL, "POST /locks/in/body",
                                        "{\"hold\":\"connection\",\"ttl\":\"90s\",\"meta\":null}");
    is_granted(stream, 201);
    assert_non_null(strstr(stream->text, "\"name\":\"in/body\""));
    assert_non_null(strstr(stream->text, "\"ttl_ms\":90000,"));
    parked_close(stream);
    assert_true(comes_to(service->client, "in/body", "free", 0));
}

TEST_ON_SERVICE(token_that_holds_gets_its_ttl_anew)
{
    answers_token(service->client, TOKEN, "POST /locks/again?ttl=1h", NULL, 201, NULL);
    struct parked *stream = hold(service->batond.port, "again?hold=connection&ttl=6s");
    is_granted(stream, 200);
    assert_non_null(strstr(stream->text, "\"ttl_ms\":6000,"));
    assert_true(parked_receives(stream, "\"heartbeat\"", CLOCK_HANG_MS));
    parked_close(stream);
    assert_true(comes_to(service->client, "again", "free", 0));
}

/* The hold that its token had is renewed before the stream begins. batond watches the connection of
 * a request that may wait. */
TEST(client_that_goes_before_stream_begins_releases)
{
    enum { WAY_MS = 300 }; /* to Redis, and back: once for the acquire, and once for the renewal */
    struct redis_process redis;
    struct wire_delay wire;
    struct batond_process batond;
    char url[64];
    redis_process_start(&redis, &(struct redis_options){.port = true});
    wire_delay_start(&wire, redis.port, 0);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", wire.port);
    batond_process_start(&batond, &(struct batond_options){.redis_url = url});
    struct http_client *client = http_client_new(batond.url);
    answers_token(client, TOKEN, "POST /locks/early?ttl=1h", NULL, 201, NULL);
    wire.ms = WAY_MS;
    struct parked *stream = hold(batond.port, "early?hold=connection&ttl=1h&wait=10s");
    assert_true(parked_waits(stream, 3 * WAY_MS));
    parked_close(stream);
    wire.ms = 0;
    assert_true(comes_to(client, "early", "free", 0));
    http_client_free(client);
    assert_int_equal(batond_process_stop(&batond), 0);
    wire_delay_stop(&wire);
    redis_process_stop(&redis);
}

/* As after a network that was lost: the client comes again, and only then it shows that its first
 * connection is gone. The later one has the hold, wherever it is. */
TEST_ON_SERVICE(later_connection_has_the_hold)
{
    struct batond_process other;
    struct batond_options options = {.redis_url = service->redis.url};
    batond_process_start(&other, &options);
    const int ports[] = {service->batond.port, other.port};
    for (size_t i = 0; i < 2; i++) {
        const char *const name = i == 0 ? "twice" : "twice-elsewhere";
        char query[60], last[60], path[60];
        snprintf(query, sizeof query, "%s?hold=connection&ttl=6s", name);
        snprintf(last, sizeof last, "%s?hold=connection&ttl=1h", name);
        snprintf(path, sizeof path, "PUT /locks/%s", name);
        struct parked *first = hold(service->batond.port, query);
        is_granted(first, 201);
        struct parked *second = hold(ports[i], query);
        is_granted(second, 200);
        answers_token(service->client, TOKEN, path, NULL, 200, NULL);
        parked_close(first);
        assert_true(parked_receives(second, "\"heartbeat\"", CLOCK_HANG_MS));
        struct parked *third = hold(ports[i], last);
        is_granted(third, 200);
        parked_close(third);
        assert_true(comes_to(service->client, name, "free", 0));
        parked_close(second);
    }
    assert_int_equal(batond_process_stop(&other), 0);
}

TEST_ON_SERVICE(renewed_hold_ends_with_its_connection)
{
    struct parked *stream = hold(service->batond.port, "renews?hold=connection&ttl=1h");
    is_granted(stream, 201);
    answers_token(service->client, TOKEN, "PUT /locks/renews", NULL, 200, NULL);
    answers_token(service->client, TOKEN, "POST /locks/renews", NULL, 200, NULL);
    parked_close(stream);
    assert_true(comes_to(service->client, "renews", "free", 0));
}

TEST_ON_SERVICE(stop_leaves_the_hold_its_ttl)
{
    struct batond_process stopping;
    struct batond_options options = {.redis_url = service->redis.url};
    batond_process_start(&stopping, &options);
    struct parked *stream = hold(stopping.port, "drain?hold=connection&ttl=1m");
    is_granted(stream, 201);
    process_signal(&stopping.process, SIGTERM);
    assert_true(parked_receives(stream, "{\"event\":\"draining\"}\n", CLOCK_HANG_MS));
    assert_true(parked_ends(stream, CLOCK_HANG_MS));
    assert_non_null(strstr(stream->text, "\r\n0\r\n\r\n"));
    parked_close(stream);
    assert_true(process_wait(&stopping.process, CLOCK_HANG_MS));
    assert_int_equal(batond_process_stop(&stopping), 0);
    answers_token(service->client, TOKEN, "PUT /locks/drain", NULL, 200, NULL);
    stream = hold(service->batond.port, "drain?hold=connection&ttl=1h");
    is_granted(stream, 200);
    parked_close(stream);
    assert_true(comes_to(service->client, "drain", "free", 0));
}

RUN_TESTS(service_start, service_stop)
