/* A quorum in which first one member is slow, cut off or empty, and then another one. */
#include "locks/quarantine/clock.h"
#include "tests/support/faults/wire_delay.h"
#include "tests/support/fixtures/on_quorum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call is refused as late when this has passed, and then the connection of a member that does not
 * answer is given up. Where the machine is too slow to come between the two, a story shows nothing.
 */
enum {
    LATE_MS = CLOCK_JUMP_US / 1000 + 60,
    TIMEOUT_MS = 3200, /* redis-timeout */
    LOST_MS = TIMEOUT_MS - 60,
    CLOSE_MS = CLOCK_JUMP_US / 1000 - 40, /* not late yet */
    ROUNDS_MOST = 4,
};

static const char TOKEN[] = "a-token-of-the-faults-001";

static int begin_with(void **state, const char *quarantine)
{
    return on_quorum_start(state, 1, LIST("--workers=1", "--redis-timeout=3200ms", quarantine));
}

static int begin(void **state)
{
    return begin_with(state, "--quarantine=off");
}

static int begin_careful(void **state)
{
    return begin_with(state, "--quarantine=auto");
}

static void sleep_until_ms(int64_t moment)
{
    int64_t left = moment - clock_ms();
    if (left > 0)
        clock_sleep_ms((int)left);
}

/* Two more members may be too slow for it. */
static bool is_answered_with(struct http_client *client, long status, const char *method,
                             const char *path)
{
    long found = http_call(client, method, path, NULL);
    assert_true(found == status || found == 503);
    return found == status;
}

/* A call that a member was too slow for is made again, but not once the others have decided: what
 * it has by then may be of another one, who was told of it. Returns whether the machine was fast
 * enough for the story. */
static bool breaks_while_a_member_is_slow(struct on_quorum *story, const char *name)
{
    struct redis_process *slow = &story->servers.members[0];
    char request[80];
    redis_process_freeze(slow);
    int64_t begun = clock_ms();
    snprintf(request, sizeof request, "/locks/%s?force=true", name);
    bool is_fast = is_answered_with(story->client, 200, "DELETE", request); /* after half of it */
    int64_t broken = clock_ms();
    snprintf(request, sizeof request, "/locks/%s?ttl=10m", name);
    is_fast &= is_answered_with(story->client, 201, "POST", request);
    sleep_until_ms(begun + LATE_MS);
    redis_process_thaw(slow);
    int64_t thawed = clock_ms();
    is_fast &= thawed - begun < LOST_MS && thawed - broken < CLOSE_MS;
    if (!is_fast)
        return false;
    await_held_at(&story->servers, name, 5);
    clock_sleep_ms(200);
    assert_int_equal(quorum_servers_held(&story->servers, name), 5);
    return true;
}

/* How slow calls were is remembered for some seconds. */
static void settle_down(struct on_quorum *story)
{
    await_up(story->client, "5 of 5");
    clock_sleep_ms(1500);
}

TEST_ON(struct on_quorum *story, a_break_that_comes_late_spares_the_next, begin, on_quorum_stop)
{
    char name[16];
    for (int i = 0; i < ROUNDS_MOST; i++) {
        snprintf(name, sizeof name, "broken-%d", i);
        if (breaks_while_a_member_is_slow(story, name))
            return;
        settle_down(story);
    }
    print_message("the machine is too slow\n");
}

static bool renews_while_a_member_is_slow(struct on_quorum *story, const char *name)
{
    struct redis_process *slow = &story->servers.members[0];
    enum { SHORT_MS = 3 * TIMEOUT_MS / 2 };
    char request[80], path[80], header[TOKEN_TEXT + 16];
    snprintf(request, sizeof request, "POST /locks/%s?ttl=10m", name);
    acquire_at_all(story->client, &story->servers, TOKEN, request);
    redis_process_freeze(slow);
    int64_t begun = clock_ms();
    snprintf(request, sizeof request, "PUT /locks/%s?ttl=%dms", name, SHORT_MS);
    answers_token(story->client, TOKEN, request, NULL, 200, NULL);
    sleep_until_ms(begun + LATE_MS / 2);
    int64_t renewed = clock_ms();
    snprintf(path, sizeof path, "/locks/%s?ttl=10m", name);
    snprintf(header, sizeof header, "Lock-Token: %s", TOKEN);
    const char *const headers[] = {header, NULL};
    const struct http_call again = {.method = "PUT", .path = path, .headers = headers};
    bool is_renewed = http_request(story->client, &again) == 200;
    sleep_until_ms(begun + LATE_MS);
    redis_process_thaw(slow);
    int64_t thawed = clock_ms();
    if (!is_renewed || thawed - begun >= LOST_MS || thawed - renewed >= CLOSE_MS)
        return false;
    clock_sleep_ms(SHORT_MS + 100);
    snprintf(request, sizeof request, "GET /locks/%s", name);
    answers(story->client, request, NULL, 200, NULL); /* what has expired is gone by that */
    clock_sleep_ms(100);
    assert_int_equal(quorum_servers_held(&story->servers, name), 5);
    return true;
}

TEST_ON(struct on_quorum *story, a_renewal_that_comes_late_does_not_shorten, begin, on_quorum_stop)
{
    char name[16];
    for (int i = 0; i < ROUNDS_MOST; i++) {
        snprintf(name, sizeof name, "renewed-%d", i);
        settle_down(story);
        if (renews_while_a_member_is_slow(story, name))
            return;
    }
    print_message("the machine is too slow\n");
}

/* The longest TTL that clients were told of in this window, as the member's epoch has it; us. */
static int64_t remembered_span(struct redis_process *redis)
{
    redisReply *span = redis_process_command(redis, "HGET baton:epoch span");
    int64_t us = span->str ? strtoll(span->str, NULL, 10) : 0;
    freeReplyObject(span);
    return us;
}

static void end_window(struct redis_process *redis)
{
    freeReplyObject(redis_process_command(redis, "HSET baton:epoch span 0 turns 0"));
}

/* A batond renews it for its client, however long ago that asked for it. */
TEST_ON(struct on_quorum *story, hold_of_a_connection_is_remembered, begin_careful, on_quorum_stop)
{
    struct parked *parked =
        parked_send_token(story->batond.port, TOKEN, "POST /locks/stream?hold=connection&ttl=6s");
    assert_true(parked_receives(parked, "\"granted\"", PATIENCE_MS));
    int64_t deadline = clock_ms() + PATIENCE_MS;
    for (int i = 0; i < QUORUM_MEMBERS; i++) {
        end_window(&story->servers.members[i]);
        while (remembered_span(&story->servers.members[i]) < 6 * INT64_C(1000000)) {
            assert_true(clock_ms() < deadline);
            clock_sleep_ms(20);
        }
    }
    assert_int_equal(quorum_servers_held(&story->servers, "stream"), 5);
    parked_close(parked);
}

/* Lines are written by a thread of their own, after what they tell of. */
static void await_one_quarantine(struct on_quorum *story, const char *server)
{
    char line[1024];
    size_t offset = 0;
    assert_true(process_wait_line(&story->batond.process, "\"quarantine: no lock is granted there ",
                                  &offset, line, sizeof line, PATIENCE_MS));
    if (!strstr(line, server))
        fail_msg("no %s in %s", server, line);
    char *output = process_output(&story->batond.process);
    assert_null(strstr(output + offset, "\"quarantine: "));
    free(output);
}

/* Whoever runs it is told that it is one server, and in the log, which one; the others grant. */
TEST_ON(struct on_quorum *story, a_member_that_grants_nothing_is_named, begin_careful,
        on_quorum_stop)
{
    struct redis_process *member = &story->servers.members[2];
    char server[64];
    answers(story->client, "POST /locks/long?ttl=10m", NULL, 201, NULL);
    redis_process_kill(member);
    await_up(story->client, "4 of 5");
    redis_process_resume(member);
    await_up(story->client, "\"new locks are paused by 1 of the servers of Redis for another ");
    answers(story->client, "POST /locks/other", NULL, 201, NULL);
    snprintf(server, sizeof server, "\"server\":\"Redis at redis://127.0.0.1:%d/0\"", member->port);
    await_one_quarantine(story, server);
}

static void freeze(struct on_quorum *story, int from, int to)
{
    for (int i = from; i < to; i++)
        redis_process_freeze(&story->servers.members[i]);
}

static void thaw(struct on_quorum *story, int from, int to)
{
    for (int i = from; i < to; i++)
        redis_process_thaw(&story->servers.members[i]);
    await_up(story->client, "5 of 5");
}

/* Of a grant that was taken back the first member alone has heard. */
static void something_happens_at_the_first(struct on_quorum *story)
{
    freeze(story, 1, QUORUM_MEMBERS);
    int64_t begun = clock_ms();
    answers(story->client, "POST /locks/seen?mode=shared", NULL, 503, "store_unavailable");
    sleep_until_ms(begun + LATE_MS + 100);
    thaw(story, 1, QUORUM_MEMBERS);
    await_held_at(&story->servers, "seen", 5);
}

/* The latest reply's. */
static int64_t version_reported(struct http_client *client)
{
    const char *etag = http_header(client, "ETag");
    assert_non_null(etag);
    return strtoll(etag + 1, NULL, 10);
}

/* A version that one member alone knows is told to nobody: without it, the next would be told an
 * earlier one. */
TEST_ON(struct on_quorum *story, a_version_does_not_fall, begin, on_quorum_stop)
{
    static const char *const REQUESTS[] = {"PUT /locks/seen?ttl=10m",
                                           "POST /locks/seen?mode=shared&ttl=10m"};
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/seen?mode=shared&ttl=10m");
    for (size_t i = 0; i < sizeof REQUESTS / sizeof REQUESTS[0]; i++) {
        something_happens_at_the_first(story);
        freeze(story, 3, QUORUM_MEMBERS);
        answers_token(story->client, TOKEN, REQUESTS[i], NULL, 200, NULL);
        int64_t version = version_reported(story->client);
        thaw(story, 3, QUORUM_MEMBERS);
        freeze(story, 0, 1);
        answers(story->client, "GET /locks/seen", NULL, 200, NULL);
        int64_t next = version_reported(story->client);
        thaw(story, 0, 1);
        if (next < version)
            fail_msg("%s: %lld was told before %lld", REQUESTS[i], (long long)version,
                     (long long)next);
    }
    release_lock(story->client, TOKEN, "seen");
    assert_null(http_header(story->client, "ETag")); /* each member gave it another one */
}

/* The address of a member leads to another one's server for a while: that has one vote only. */
TEST_ON(struct on_quorum *story, a_server_in_the_place_of_another_counts_once, begin,
        on_quorum_stop)
{
    struct redis_process *members = story->servers.members;
    struct batond_process batond;
    struct wire_delay wire;
    char url[128];
    wire_delay_start(&wire, members[2].port, 0);
    snprintf(url, sizeof url, "redis+quorum://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
             members[0].port, members[1].port, wire.port);
    struct http_client *client = batond_open(&batond, url, LIST("--workers=1", "--quarantine=off"));
    await_up(client, "3 of 3");
    wire.target = members[0].port;
    redis_process_kill(&members[2]);
    await_up(client, "member 3 is away");
    clock_sleep_ms(1500); /* it has come to the first by now */
    await_up(client, "member 3 is away");
    answers(client, "POST /locks/place?ttl=10m", NULL, 201, NULL);
    redis_process_freeze(&members[1]);
    answers(client, "POST /locks/other?ttl=10m", NULL, 503, "store_unavailable");
    redis_process_thaw(&members[1]);
    redis_process_resume(&members[2]);
    wire.target = members[2].port;
    await_up(client, "3 of 3");
    batond_close(&batond, client);
    wire_delay_stop(&wire);
}
