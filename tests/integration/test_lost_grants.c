/* Grants that their client cannot have learnt of: none of them keeps a lock. */
#include "tests/support/fixtures/proxied.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int start(void **state)
{
    static const char *const ONE[] = {"--workers=1", NULL}; /* requests are asked in their order */
    return proxied_start(state, ONE);
}

/* Before each story: all is well, and batond knows. */
static int begin(void **state)
{
    struct proxied *scene = *state;
    scene->proxy.mode = PROXY_OPEN;
    if (!comes_to_answer(scene->client, "/readyz", 200, CLOCK_HANG_MS))
        return -1;
    http_call(scene->client, "POST", "/locks/warm", NULL); /* Redis is given the script of it */
    return http_call(scene->client, "DELETE", "/locks/warm?force=true", NULL) == 200 ? 0 : -1;
}

/* The latest reply is the 503 of an acquire, with what a client needs to repeat it. */
static void keep_token_in_doubt(struct http_client *client, char token[TOKEN_TEXT])
{
    assert_string_equal(http_header(client, "Retry-After"), "1");
    keep_token(client, token);
}

static void await_calls(struct proxied *scene, const char *command, int64_t count)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (redis_process_calls(&scene->redis, command) < count) {
        assert_true(clock_ms() < deadline);
        clock_sleep_ms(5);
    }
}

/* The request would have waited, but the lock was free. */
TEST_ON(struct proxied *scene, lost_reply_to_waiting_request_is_taken_back, begin, NULL)
{
    scene->proxy.mode = PROXY_LOSES_REPLY;
    answers(scene->client, "POST /locks/patient?ttl=10m&wait=50s&owner=doubtful", NULL, 503,
            "store_unavailable");
    assert_int_equal(hold_count(scene->other, "patient"), 1);
    scene->proxy.mode = PROXY_OPEN;
    becomes_free(scene->other, "patient");
}

/* The first that goes over the new connection is the taking back, so this client is never told that
 * the lock is held by its own lost grant. */
TEST_ON(struct proxied *scene, lost_grant_is_taken_back_before_other_requests, begin, NULL)
{
    scene->proxy.mode = PROXY_LOSES_REPLY;
    answers(scene->client, "POST /locks/first?ttl=10m&owner=doubtful", NULL, 503,
            "store_unavailable");
    assert_int_equal(hold_count(scene->other, "first"), 1);
    scene->proxy.mode = PROXY_OPEN;
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (http_call(scene->client, "POST", "/locks/first", NULL) == 503 && clock_ms() < deadline)
        clock_sleep_ms(1);
    assert_int_equal(scene->client->reply.status, 201);
}

TEST_ON(struct proxied *scene, repeat_with_its_token_keeps_a_lost_grant, begin, NULL)
{
    char token[TOKEN_TEXT];
    scene->proxy.mode = PROXY_LOSES_REPLY;
    answers(scene->client, "POST /locks/return?ttl=10m&owner=doubtful", NULL, 503,
            "store_unavailable");
    keep_token_in_doubt(scene->client, token);
    answers_token(scene->other, token, "POST /locks/return?ttl=10m", NULL, 200, NULL);
    int64_t fence = http_integer(scene->other, "fence");

    scene->proxy.mode = PROXY_OPEN;
    assert_true(comes_to_answer(scene->client, "/readyz", 200, CLOCK_HANG_MS));
    answers_token(scene->client, token, "GET /locks/return", NULL, 200, NULL);
    assert_true(json_is_true(member(scene->client, "mine")));
    answers_token(scene->client, token, "POST /locks/return?ttl=10m", NULL, 200, NULL);
    assert_int_equal(http_integer(scene->client, "fence"), fence);
    release_lock(scene->client, token, "return");
}

/* Redis is back, but takes no writes for a while: the grant is not forgotten over that. */
TEST_ON(struct proxied *scene, take_back_that_redis_refuses_is_repeated, begin, NULL)
{
    scene->proxy.mode = PROXY_LOSES_REPLY;
    answers(scene->client, "POST /locks/doubtful-refused?ttl=10m", NULL, 503, "store_unavailable");
    assert_int_equal(hold_count(scene->other, "doubtful-refused"), 1);
    freeReplyObject(redis_process_command(&scene->redis, "CONFIG SET min-replicas-to-write %d", 1));
    int64_t refused = redis_process_calls(&scene->redis, "fcall");
    scene->proxy.mode = PROXY_OPEN;
    await_calls(scene, "fcall", refused + 2); /* it is connected, and was refused more than once */
    answers(scene->client, "GET /readyz", NULL, 503, "store_unavailable");
    freeReplyObject(redis_process_command(&scene->redis, "CONFIG SET min-replicas-to-write %d", 0));
    becomes_free(scene->other, "doubtful-refused");
}

/* Nothing can be taken back where the scripts themselves fail: that is not tried for ever, and the
 * log says what is wrong. */
TEST_ON(struct proxied *scene, a_key_that_is_none_of_ours_is_complained_about, begin, NULL)
{
    freeReplyObject(redis_process_command(&scene->redis, "LPUSH baton:{foreign} x"));
    answers(scene->other, "POST /locks/foreign", NULL, 500, "damaged");
    assert_true(
        process_wait_line(&scene->other_batond.process, "WRONGTYPE", NULL, NULL, 0, CLOCK_HANG_MS));
    int64_t deadline = clock_ms() + CLOCK_HANG_MS, before, after = 0;
    do { /* it would be tried each second */
        assert_true(clock_ms() < deadline);
        before = after;
        clock_sleep_ms(1500);
        after = redis_process_calls(&scene->redis, "get");
    } while (before != after);
    freeReplyObject(redis_process_command(&scene->redis, "DEL baton:{foreign}"));
}

/* Sends an acquire to the batond of this client, and goes away: by a reset where `abort_it`. A
 * batond whose loop has turned since it read the request has sent it to Redis. */
static void ask_and_go(struct http_client *client, int port, const char *name, const char *headers,
                       bool abort_it)
{
    char request[200];
    snprintf(request, sizeof request, "POST /locks/%s?ttl=10m HTTP/1.1\r\nHost: h\r\n%s\r\n", name,
             headers);
    int fd = raw_connect(port);
    assert_true(raw_send(fd, request, strlen(request)));
    assert_true(raw_comes_to_be_read(fd, CLOCK_HANG_MS));
    for (int i = 0; i < 2; i++)
        answers(client, "GET /livez", NULL, 200, NULL);
    if (abort_it) {
        struct linger at_once = {.l_onoff = 1};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    close(fd);
}

/* Redis goes on: what was asked meanwhile is granted, and taken back. */
static void thaw_and_become_free(struct proxied *scene, const char *name)
{
    redis_process_thaw(&scene->redis);
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (redis_process_integer(&scene->redis, "EXISTS baton:{%s}", name) == 0)
        assert_true(clock_ms() < deadline); /* it reached Redis: the name has a version by then */
    becomes_free(scene->other, name);
}

static void hang_up_before_the_grant(struct proxied *scene, const char *name, bool abort_it)
{
    redis_process_freeze(&scene->redis);
    ask_and_go(scene->other, scene->other_batond.port, name, "", abort_it);
    thaw_and_become_free(scene, name);
}

TEST_WITH(hang_up_before_the_201_leaves_no_hold, begin, NULL)
{
    hang_up_before_the_grant(*state, "hangup", false);
}

TEST_WITH(reset_before_the_201_leaves_no_hold, begin, NULL)
{
    hang_up_before_the_grant(*state, "abort", true);
}

#define TOKEN "the-same-token-for-both-of-them"
static const char WITH_TOKEN[] = "Lock-Token: " TOKEN "\r\n";

/* A client that asked again elsewhere before it had its answer, and went before it had either. */
TEST_ON(struct proxied *scene, hang_up_at_two_batonds_leaves_no_hold, begin, NULL)
{
    redis_process_freeze(&scene->redis);
    ask_and_go(scene->client, scene->batond.port, "twice", WITH_TOKEN, false);
    ask_and_go(scene->other, scene->other_batond.port, "twice", WITH_TOKEN, false);
    thaw_and_become_free(scene, "twice");
}

/* ... and one that waited for the answer at one of them, and was told of the hold there. */
TEST_ON(struct proxied *scene, hang_up_at_one_of_two_batonds_keeps_the_hold, begin, NULL)
{
    answers_token(scene->client, TOKEN, "POST /locks/once?ttl=10m", NULL, 201, NULL);
    redis_process_freeze(&scene->redis);
    ask_and_go(scene->other, scene->other_batond.port, "once", WITH_TOKEN, false);
    redis_process_thaw(&scene->redis);
    for (int i = 0; i < 2; i++) /* behind the second acquire, and behind what it would give back */
        assert_int_equal(hold_count(scene->other, "once"), 1);
}

/* Redis answers too late for the client, who got its 503: the late grant is taken back. */
TEST_ON(struct proxied *scene, a_grant_that_comes_after_the_503_is_taken_back, begin, NULL)
{
    redis_process_freeze(&scene->redis);
    answers(scene->other, "POST /locks/late?ttl=10m", NULL, 503, "store_unavailable");
    redis_process_thaw(&scene->redis);
    assert_true(comes_to_answer(scene->other, "/readyz", 200, CLOCK_HANG_MS));
    becomes_free(scene->other, "late");
    answers(scene->other, "POST /locks/late", NULL, 201, NULL);
}

/* The acquire itself arrives after everything: the client had its 503, and the grant in doubt was
 * taken back before it was there. It must not be granted any more, since nobody would know. */
TEST_ON(struct proxied *scene, an_acquire_that_arrives_after_its_take_back_grants_nothing, begin,
        NULL)
{
    scene->proxy.mode = PROXY_HOLDS_BACK;
    answers(scene->client, "POST /locks/belated?ttl=10m&owner=doubtful", NULL, 503,
            "store_unavailable");
    assert_true(comes_to_answer(scene->client, "/readyz", 200, CLOCK_HANG_MS));
    scene->proxy.mode = PROXY_DELIVERS;
    while (scene->proxy.mode == PROXY_DELIVERS)
        clock_sleep_ms(1);
    assert_int_equal(hold_count(scene->other, "belated"), 0);
}

RUN_TESTS(start, proxied_stop)
