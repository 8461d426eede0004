/* A lock held by a connection for two minutes, through each proxy file and through nginx as it
 * comes, with a short, a long and the longest TTL side by side: no stream is cut or silent for
 * long. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/front.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELD_MS = 125000,
    SILENCE_MS = 15000, /* promised */
    LATE_MS = 1000,     /* what the way through a proxy may add */
    FRONTS = 3,
    TTLS = 3,
    STREAMS = FRONTS * TTLS,
};

static const char *const TTL[TTLS] = {"30s", "5m", "1h"};

struct held {
    char name[40];
    struct parked *stream;
    int64_t received_at;
    int64_t longest_silence;
    int heartbeats;
};

static void held_open(struct held *held, int port, const char *front, const char *ttl)
{
    char request[120];
    snprintf(held->name, sizeof held->name, "%s-%s", front, ttl);
    snprintf(request, sizeof request, "POST /locks/%.40s?hold=connection&ttl=%s", held->name, ttl);
    held->stream = parked_send(port, NULL, request, NULL);
    if (!parked_receives(held->stream, "{\"event\":\"granted\"", CLOCK_HANG_MS))
        fail_msg("%s: %s", held->name, held->stream->text);
    held->received_at = clock_ms();
}

static void held_note(struct held *held, int64_t now)
{
    if (now - held->received_at > held->longest_silence)
        held->longest_silence = now - held->received_at;
    held->received_at = now;
}

static void held_receive(struct held *held)
{
    while (parked_receives(held->stream, "{\"event\":\"heartbeat\"", 0)) {
        held_note(held, clock_ms());
        held->heartbeats++;
    }
}

static void receive_all(struct held all[STREAMS])
{
    struct pollfd fds[STREAMS];
    for (int i = 0; i < STREAMS; i++)
        fds[i] =
            (struct pollfd){.fd = all[i].stream->closed ? -1 : all[i].stream->fd, .events = POLLIN};
    poll(fds, STREAMS, 1000);
    for (int i = 0; i < STREAMS; i++)
        held_receive(&all[i]);
}

static void held_is_whole(struct held *held, struct http_client *client)
{
    char request[60];
    held_note(held, clock_ms());
    print_message("%-12s %d heartbeats, silent for %lld ms at most\n", held->name, held->heartbeats,
                  (long long)held->longest_silence);
    if (held->stream->closed)
        fail_msg("%s was cut: %s", held->name, held->stream->text);
    assert_null(strstr(held->stream->text, "\"lost\""));
    assert_null(strstr(held->stream->text, "\n\n")); /* readers take each line for an event */
    assert_in_range(held->longest_silence, 0, SILENCE_MS + LATE_MS);
    snprintf(request, sizeof request, "GET /locks/%.40s", held->name);
    answers(client, request, NULL, 200, NULL);
    assert_string_equal(member_text(client, "state"), "held");
    assert_int_equal(member_integer(client, "version"), member_integer(client, "holders.0.fence"));
}

TEST_ON_SERVICE(connection_hold_outlasts_two_minutes_behind_proxies)
{
    static const char *const NAMES[FRONTS] = {"haproxy", "nginx", "plain-nginx"};
    struct front fronts[FRONTS];
    struct held all[STREAMS] = {0};
    for (int i = 0; i < FRONTS; i++)
        front_start(&fronts[i], (enum front_kind)i,
                    (const int[FRONT_REPLICAS]){service->batond.port, service->batond.port});
    for (int i = 0; i < STREAMS; i++)
        held_open(&all[i], fronts[i / TTLS].port, NAMES[i / TTLS], TTL[i % TTLS]);
    for (int64_t end = clock_ms() + HELD_MS; clock_ms() < end;)
        receive_all(all);
    for (int i = 0; i < STREAMS; i++)
        held_is_whole(&all[i], service->client);
    for (int i = 0; i < STREAMS; i++)
        parked_close(all[i].stream);
    for (int i = 0; i < FRONTS; i++)
        front_stop(&fronts[i]);
}

/* Redis is there and does not answer: what is left of the hold is told all the same, and falls. */
TEST_ON_SERVICE(heartbeats_go_on_while_redis_is_away)
{
    enum { ROUNDS = 3 };
    static const char HEARTBEAT[] = "{\"event\":\"heartbeat\"", LEFT[] = "\"ttl_ms\":";
    struct held held = {0};
    int64_t ttl_ms = 3600000;
    held_open(&held, service->batond.port, "away", "1h");
    redis_process_freeze(&service->redis);
    for (int i = 0; i < ROUNDS; i++) {
        assert_true(parked_receives(held.stream, HEARTBEAT, SILENCE_MS + LATE_MS));
        assert_true(parked_receives(held.stream, LEFT, CLOCK_HANG_MS));
        int64_t reported = strtoll(held.stream->text + held.stream->seen, NULL, 10);
        assert_in_range(reported, 1, ttl_ms - 1);
        ttl_ms = reported;
    }
    redis_process_thaw(&service->redis);
    assert_true(parked_receives(held.stream, "\"ttl_ms\":3600000", SILENCE_MS + LATE_MS));
    parked_close(held.stream);
}

RUN_TESTS(service_start, service_stop)
