/* Locks in five independent Redis: held where a majority says so, whoever of them is away. */
#include "tests/support/fixtures/on_quorum.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 12 };

static const char TOKEN[] = "a-token-of-the-quorum-01";
static const char OTHER[] = "a-token-of-the-quorum-02";

static int begin(void **state)
{
    return on_quorum_start(state, 2, LIST("--workers=1"));
}

static void await_all(struct on_quorum *story)
{
    await_up(story->client, "5 of 5");
    await_up(story->other, "5 of 5");
}

static void await_held(struct on_quorum *story, const char *name, int members)
{
    await_held_at(&story->servers, name, members);
}

TEST_ON_QUORUM(a_lock_is_held_by_all_members_and_released)
{
    await_all(story);
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/plain?ttl=1m&owner=me");
    int64_t fence = http_integer(story->client, "fence");
    assert_in_range(http_integer(story->client, "ttl_ms"), 1, 60000 - 602);
    assert_int_equal(http_integer(story->client, "holds"), 1);
    answers(story->other, "POST /locks/plain", NULL, 409, "locked");
    assert_string_equal(member_text(story->other, "holders.0.owner"), "me");
    assert_int_equal(member_integer(story->other, "holders.0.fence"), fence);

    answers(story->other, "GET /locks/plain", NULL, 200, NULL);
    assert_string_equal(http_text(story->other, "state"), "held");
    int64_t version = http_integer(story->other, "version");
    assert_true(version >= fence);

    answers_token(story->other, TOKEN, "PUT /locks/plain?ttl=2m", NULL, 200, NULL);
    assert_int_equal(http_integer(story->other, "fence"), fence);
    assert_in_range(http_integer(story->other, "ttl_ms"), 60001, 120000 - 1202);
    release_lock(story->other, TOKEN, "plain");
    assert_int_equal(http_integer(story->other, "fence"), fence);
    char line[1024];
    assert_true(process_wait_line(&story->other_batond.process,
                                  "\"lock released\",\"lock\":\"plain\"", NULL, line, sizeof line,
                                  PATIENCE_MS));
    assert_non_null(strstr(line, "\"owner\":\"me\""));
    await_held(story, "plain", 0);
    release_lock(story->client, TOKEN, "plain");
    answers_token(story->client, TOKEN, "PUT /locks/plain", NULL, 409, "not_held");
    answers_token(story->client, TOKEN, "POST /locks/plain", NULL, 409, "not_held");
    answers_token(story->client, OTHER, "DELETE /locks/plain", NULL, 409, "not_held");
    answers_token(story->client, OTHER, "DELETE /locks/plain", NULL, 409, "not_held");
    answers(story->client, "GET /locks/plain", NULL, 200, NULL);
    assert_string_equal(http_text(story->client, "state"), "free");
    assert_true(http_integer(story->client, "version") > version);
    answers(story->client, "POST /locks/plain", NULL, 201, NULL);
    assert_true(http_integer(story->client, "fence") > version);
}

/* Members remove in portions what has ended of very many; whoever asks meanwhile is told how it is,
 * rather than to come again. */
TEST_ON_QUORUM(very_many_that_ended_hold_nobody_up)
{
    enum { LONG = 1100, SHORT = 2100, TTL_MS = 3000 };
    for (int i = 0; i < LONG;) /* of so many one may be 503 on a busy machine */
        i += http_call(story->client, "POST", "/locks/many?mode=shared&ttl=10m", NULL) == 201;
    for (int i = 0; i < SHORT;)
        i += http_call(story->client, "POST", "/locks/many?mode=shared&ttl=3s", NULL) == 201;
    clock_sleep_ms(TTL_MS);
    while (http_call(story->client, "POST", "/locks/many", NULL) == 503) {
    }
    assert_int_equal(story->client->reply.status, 409);
    answers(story->client, "DELETE /locks/many?force=true", NULL, 200, NULL);
    answers_token(story->client, TOKEN, "POST /locks/many", NULL, 201, NULL);
    release_lock(story->client, TOKEN, "many");
}

/* The break that was answered is still on its way to one of the members, at most. */
static void comes_to_be_ended(struct http_client *client, const char *request)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (http_call(client, "DELETE", strchr(request, '/'), NULL) == 200)
        assert_true(clock_ms() < until);
    assert_string_equal(http_text(client, "code"), "hold_ended");
}

TEST_ON_QUORUM(a_break_ends_it_everywhere)
{
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/broken");
    answers(story->other, "DELETE /locks/broken?force=true&reason=moved", NULL, 200, NULL);
    assert_int_equal(http_integer(story->other, "broken"), 1);
    await_held(story, "broken", 0);
    answers_token(story->client, TOKEN, "PUT /locks/broken", NULL, 409, "not_held");
    assert_string_equal(member_text(story->client, "ended.broken.reason"), "moved");
    answers_token(story->client, TOKEN, "DELETE /locks/broken", NULL, 409, "not_held");
    assert_string_equal(member_text(story->client, "ended.broken.reason"), "moved");
}

TEST_ON_QUORUM(break_by_fence_ends_that_hold_everywhere)
{
    char request[80];
    answers(story->client, "POST /locks/exact?mode=shared&owner=ann", NULL, 201, NULL);
    answers(story->client, "POST /locks/exact?mode=shared&owner=bob", NULL, 201, NULL);
    snprintf(request, sizeof request, "DELETE /locks/exact?force&reason=gone&fence=%lld",
             (long long)member_integer(story->client, "fence"));
    answers(story->other, request, NULL, 200, NULL);
    assert_int_equal(member_integer(story->other, "broken"), 1);
    assert_string_equal(member_text(story->other, "holders.0.owner"), "bob");
    comes_to_be_ended(story->client, request);
    assert_string_equal(member_text(story->client, "holders.0.owner"), "ann");
    assert_string_equal(member_text(story->client, "holders.0.client"), "127.0.0.1");
    assert_string_equal(member_text(story->client, "last_release.owner"), "bob");
    assert_string_equal(member_text(story->client, "last_release.broken.reason"), "gone");
    answers(story->client, "GET /locks/exact", NULL, 200, NULL);
    assert_int_equal(member_integer(story->client, "hold_count"), 1);
}

enum { AT_ONCE_MOST = 12 };

/* Sends each token to both batonds at once, `each` times. All answers to a token tell one fence,
 * and those to another token another one. The members grant to different requests, and each of
 * these proposes a fence. */
static void acquires_at_both(struct on_quorum *story, const char *path, const char *mode,
                             int tokens, int each)
{
    static int tokens_before;
    struct parked *parked[AT_ONCE_MOST];
    int64_t fences[AT_ONCE_MOST] = {0};
    char request[80], token[40];
    int requests = 2 * tokens * each;
    snprintf(request, sizeof request, "POST %s?mode=%s", path, mode);
    for (int i = 0; i < requests; i++) {
        bool is_other = i / tokens % 2 > 0;
        snprintf(token, sizeof token, "a-token-for-both-%06d", tokens_before + i % tokens);
        parked[i] = parked_send_token(is_other ? story->other_batond.port : story->batond.port,
                                      token, request);
    }
    for (int i = 0; i < requests; i++) {
        long status = parked_answer(parked[i], PATIENCE_MS);
        while (status == 503) { /* of so many one may be, on a busy machine: it comes again */
            snprintf(token, sizeof token, "a-token-for-both-%06d", tokens_before + i % tokens);
            parked_close(parked[i]);
            parked[i] = parked_send_token(story->batond.port, token, request);
            status = parked_answer(parked[i], PATIENCE_MS);
        }
        assert_true(status == 201 || status == 200);
        fences[i] = http_integer(&parked[i]->client, "fence");
        parked_close(parked[i]);
        for (int j = 0; j < i; j++)
            assert_int_equal(fences[i] == fences[j], i % tokens == j % tokens);
    }
    tokens_before += tokens;
    for (int i = 0; i < tokens; i++) {
        snprintf(request, sizeof request, "DELETE %s?force=true&fence=%lld", path,
                 (long long)fences[i]);
        answers(story->client, request, NULL, 200, NULL);
        assert_int_equal(member_integer(story->client, "broken"), 1);
    }
}

TEST_ON_QUORUM(token_at_two_batonds_at_once_gets_one_fence)
{
    for (int i = 0; i < 100; i++) {
        char path[40];
        snprintf(path, sizeof path, "/locks/both-%d", i);
        acquires_at_both(story, path, "exclusive", 1, 1);
    }
}

/* Others move the version of the name meanwhile, so members refuse what is proposed. */
TEST_ON_QUORUM(tokens_of_one_name_at_two_batonds_at_once_get_one_fence_each)
{
    for (int i = 0; i < 40; i++) {
        acquires_at_both(story, "/locks/crowd", "shared", 3, 1);
        acquires_at_both(story, "/locks/crowd", "shared", 1, 3);
        acquires_at_both(story, "/locks/crowd", "shared", 3, 2);
    }
}

TEST_ON_QUORUM(a_release_by_way_of_another_batond_wakes)
{
    for (int i = 0; i < 5; i++) {
        answers_token(story->client, TOKEN, "POST /locks/woken?owner=x", NULL, 201, NULL);
        struct parked *parked =
            parked_send_token(story->other_batond.port, OTHER, "POST /locks/woken?wait=50s");
        comes_to_queue(story->other, "woken", 1);
        assert_true(parked_waits(parked, 50));
        release_lock(story->client, TOKEN, "woken");
        assert_int_equal(parked_answer(parked, PATIENCE_MS), 201);
        parked_close(parked);
        answers(story->client, "DELETE /locks/woken?force=true", NULL, 200, NULL);
        for (int j = 0; j < QUORUM_MEMBERS; j++)
            redis_process_forget(&story->servers.members[j]); /* the tokens may come again */
    }
}

TEST_ON_QUORUM(an_expiry_wakes)
{
    int64_t begun = clock_ms();
    answers(story->client, "POST /locks/ends?ttl=2s", NULL, 201, NULL);
    answers_token(story->other, OTHER, "POST /locks/ends?wait=50s", NULL, 201, NULL);
    assert_true(clock_ms() - begun >= 1999);
}

TEST_ON_QUORUM(a_wait_ends_and_can_be_cancelled)
{
    answers_token(story->client, TOKEN, "POST /locks/waits", NULL, 201, NULL);
    int64_t begun = clock_ms();
    answers(story->client, "POST /locks/waits?wait=150ms", NULL, 409, "wait_timeout");
    assert_true(clock_ms() - begun >= 149);
    assert_int_equal(json_array_size(member(story->client, "holders")), 1);
    /* By way of the other one, it hears of it when it asks next. */
    struct parked *parked =
        parked_send_token(story->batond.port, OTHER, "POST /locks/waits?wait=50s");
    comes_to_queue(story->client, "waits", 1);
    answers_token(story->other, OTHER, "DELETE /locks/waits", NULL, 409, "not_held");
    assert_int_equal(parked_answer(parked, PATIENCE_MS), 409);
    assert_string_equal(http_text(&parked->client, "code"), "not_held");
    parked_close(parked);
    comes_to_queue(story->client, "waits", 0);
}

TEST_ON_QUORUM(hang_up_leaves_no_hold)
{
    answers_token(story->client, TOKEN, "POST /locks/gone", NULL, 201, NULL);
    struct parked *parked =
        parked_send_token(story->batond.port, OTHER, "POST /locks/gone?wait=50s&ttl=1h");
    comes_to_queue(story->client, "gone", 1);
    parked_close(parked);
    release_lock(story->client, TOKEN, "gone");
    comes_to_queue(story->client, "gone", 0);
    await_held(story, "gone", 0);
    /* Two members have granted it by then, and the others do when they go on. */
    for (int i = 0; i < 3; i++)
        redis_process_freeze(&story->servers.members[i]);
    parked = parked_send_token(story->batond.port, "a-token-that-is-gone-01",
                               "POST /locks/gone?wait=50s&ttl=1h");
    for (int i = 3; i < QUORUM_MEMBERS; i++)
        await_held_by(&story->servers, i, "gone");
    parked_close(parked);
    clock_sleep_ms(50); /* if its end is noticed later, it is taken back all the same */
    for (int i = 0; i < 3; i++)
        redis_process_thaw(&story->servers.members[i]);
    await_all(story);
    comes_to_queue(story->client, "gone", 0);
    await_held(story, "gone", 0);
}

TEST_ON_QUORUM(own_hold_is_watched)
{
    static const char WAITS[] = "a-token-that-waits-here-1";
    int port = story->batond.port;
    answers_token(story->client, TOKEN, "POST /locks/own", NULL, 201, NULL);
    struct parked *wanted = parked_send_token(port, TOKEN, "GET /locks/own/events?wait=50s");
    struct parked *ended =
        parked_send_token(port, TOKEN, "GET /locks/own/events?wait=50s&until=ended");
    assert_true(parked_waits(ended, 100));
    answers_token(story->client, WAITS, "POST /locks/own?wait=1ms&keep=30s", NULL, 409,
                  "wait_timeout");
    assert_int_equal(http_integer(story->client, "position"), 1);
    answers_token(story->client, WAITS, "GET /locks/own", NULL, 200, NULL);
    assert_int_equal(http_integer(story->client, "position"), 1);
    assert_int_equal(parked_answer(wanted, PATIENCE_MS), 200);
    assert_true(json_is_true(member(&wanted->client, "mine")));
    assert_int_equal(http_integer(&wanted->client, "queue_length"), 1);
    answers(story->other, "DELETE /locks/own?force=true", NULL, 200, NULL);
    assert_int_equal(parked_answer(ended, PATIENCE_MS), 200);
    assert_true(json_is_false(member(&ended->client, "mine")));
    release_lock(story->client, WAITS, "own");
    parked_close(wanted);
    parked_close(ended);
}

TEST_ON_QUORUM(a_change_is_reported)
{
    char request[100];
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/told");
    await_settled_at(&story->servers, "told");
    answers(story->other, "GET /locks/told", NULL, 200, NULL);
    int64_t version = http_integer(story->other, "version");
    clock_sleep_ms(50);
    answers(story->client, "GET /locks/told", NULL, 200, NULL);
    assert_int_equal(http_integer(story->client, "version"), version);
    snprintf(request, sizeof request, "GET /locks/told/events?after=%lld&wait=50s",
             (long long)version);
    struct parked *parked = parked_send(story->other_batond.port, NULL, request, NULL);
    assert_true(parked_waits(parked, 100));
    release_lock(story->client, TOKEN, "told");
    assert_int_equal(parked_answer(parked, PATIENCE_MS), 200);
    assert_true(json_is_true(member(&parked->client, "changed")));
    assert_true(http_integer(&parked->client, "version") > version);
    parked_close(parked);
}

/* The first request does not wait, so no member tells this batond of what comes between the two. */
TEST_ON_QUORUM(a_change_after_a_look_without_wait_is_reported)
{
    char request[100];
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/between");
    await_settled_at(&story->servers, "between");
    answers(story->client, "GET /locks/between", NULL, 200, NULL);
    clock_sleep_ms(50);
    answers(story->other, "GET /locks/between/events?wait=0s", NULL, 200, NULL);
    snprintf(request, sizeof request, "GET /locks/between/events?after=%lld&wait=50s",
             (long long)http_integer(story->other, "version"));
    release_lock(story->client, TOKEN, "between");
    struct parked *parked = parked_send(story->other_batond.port, NULL, request, NULL);
    assert_int_equal(parked_answer(parked, PATIENCE_MS), 200);
    assert_true(json_is_true(member(&parked->client, "changed")));
    parked_close(parked);
}

TEST_ON_QUORUM(a_connection_holds)
{
    struct parked *parked = parked_send_token(story->batond.port, TOKEN,
                                              "POST /locks/stream?hold=connection&ttl=6s&wait=10s");
    assert_true(parked_receives(parked, "\"granted\"", PATIENCE_MS));
    assert_true(parked_receives(parked, "\"heartbeat\"", PATIENCE_MS));
    redis_process_kill(&story->servers.members[2]);
    for (int i = 0; i < 2; i++)
        assert_true(parked_receives(parked, "\"heartbeat\"", PATIENCE_MS));
    answers(story->other, "POST /locks/stream", NULL, 409, "locked");
    redis_process_resume(&story->servers.members[2]);
    await_all(story);
    parked_close(parked);
    await_held(story, "stream", 0);
}

/* Members away */

TEST_ON_QUORUM(two_may_be_away)
{
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/before?ttl=60s");
    int64_t fence = http_integer(story->client, "fence");
    await_settled_at(&story->servers, "before");
    redis_process_kill(&story->servers.members[1]);
    redis_process_freeze(&story->servers.members[3]);
    answers_token(story->client, TOKEN, "PUT /locks/before?ttl=60s", NULL, 200, NULL);
    assert_int_equal(http_integer(story->client, "fence"), fence);
    answers(story->other, "POST /locks/before", NULL, 409, "locked");
    release_lock(story->other, TOKEN, "before");
    answers_token(story->client, OTHER, "POST /locks/before?ttl=60s", NULL, 201, NULL);
    assert_true(http_integer(story->client, "fence") > fence);
    answers(story->client, "GET /readyz", NULL, 200, NULL);
    redis_process_thaw(&story->servers.members[3]);
    redis_process_resume(&story->servers.members[1]);
    await_all(story);
    release_lock(story->client, OTHER, "before");
    await_held(story, "before", 0); /* the frozen one, too, had heard of nothing */
}

/* A member that grants it later than the others gives it a greater number, of which nobody has
 * heard. */
TEST_ON_QUORUM(release_reports_the_fence_of_the_grant)
{
    char token[TOKEN_TEXT];
    await_all(story);
    redis_process_freeze(&story->servers.members[3]);
    acquire_lock(story->client, "late-member?ttl=60s", token);
    int64_t fence = http_integer(story->client, "fence");
    clock_sleep_ms(300); /* beyond the room that is left above the numbers of the others */
    redis_process_thaw(&story->servers.members[3]);
    await_held(story, "late-member", QUORUM_MEMBERS);
    for (int i = 0; i < 2; i++)
        redis_process_freeze(&story->servers.members[i]);
    release_lock(story->client, token, "late-member");
    assert_int_equal(http_integer(story->client, "fence"), fence);
    for (int i = 0; i < 2; i++)
        redis_process_thaw(&story->servers.members[i]);
    await_all(story);
}

/* No fence has a majority, and who is away might make one of them the fence. */
TEST_ON_QUORUM(token_at_two_batonds_at_once_gets_one_fence_while_two_are_away)
{
    redis_process_kill(&story->servers.members[1]);
    redis_process_kill(&story->servers.members[3]);
    for (int i = 0; i < 40; i++) {
        char path[40];
        snprintf(path, sizeof path, "/locks/few-%d", i);
        acquires_at_both(story, path, "exclusive", 1, 1);
    }
    redis_process_resume(&story->servers.members[1]);
    redis_process_resume(&story->servers.members[3]);
    await_all(story);
}

TEST_ON_QUORUM(three_away_is_503)
{
    answers_token(story->client, TOKEN, "POST /locks/three?ttl=60s", NULL, 201, NULL);
    for (int i = 0; i < 3; i++)
        redis_process_freeze(&story->servers.members[i]);
    /* What the three may grant lasts longer than the test waits for its end. */
    static const char *const REQUESTS[] = {
        "POST /locks/more?ttl=10m", "POST /locks/more?ttl=10m&wait=50s",
        "PUT /locks/three",         "DELETE /locks/nobodys",
        "GET /locks/three",         "GET /readyz"};
    for (size_t i = 0; i < sizeof REQUESTS / sizeof REQUESTS[0]; i++) {
        if (strncmp(REQUESTS[i], "PUT", 3) == 0 || strncmp(REQUESTS[i], "DEL", 3) == 0)
            answers_token(story->client, TOKEN, REQUESTS[i], NULL, 503, "store_unavailable");
        else
            answers(story->client, REQUESTS[i], NULL, 503, "store_unavailable");
    }
    for (int i = 0; i < 3; i++)
        redis_process_thaw(&story->servers.members[i]);
    await_all(story);
    answers_token(story->client, TOKEN, "PUT /locks/three", NULL, 200, NULL);
    release_lock(story->client, TOKEN, "three");
    answers(story->client, "GET /locks/more", NULL, 200, NULL);
    await_held(story, "more", 0);
    await_held(story, "three", 0);
}

/* Also behind others who wait, who stay in line. */
TEST_ON_QUORUM(waiter_that_comes_while_three_are_away_gets_503)
{
    answers_token(story->client, TOKEN, "POST /locks/line?mode=shared&owner=me", NULL, 201, NULL);
    struct parked *first =
        parked_send_token(story->batond.port, OTHER, "POST /locks/line?wait=50s");
    comes_to_queue(story->client, "line", 1);
    answers(story->client, "GET /locks/line", NULL, 200, NULL); /* asked after what refused it */
    for (int i = 0; i < 3; i++)
        redis_process_freeze(&story->servers.members[i]);
    answers(story->client, "POST /locks/line?wait=50s", NULL, 503, "store_unavailable");
    answers(story->client, "POST /locks/line?wait=50s&owner=me&reentrant", NULL, 503,
            "store_unavailable");
    for (int i = 0; i < 3; i++)
        redis_process_thaw(&story->servers.members[i]);
    await_all(story);
    assert_true(parked_waits(first, 0));
    release_lock(story->client, TOKEN, "line");
    assert_int_equal(parked_answer(first, PATIENCE_MS), 201);
    parked_close(first);
    release_lock(story->client, OTHER, "line");
    await_held(story, "line", 0);
}

/* The member with the greatest number goes, and whoever comes later must know it all the same. */
TEST_ON_QUORUM(fences_grow_without_the_greatest)
{
    int64_t last = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct redis_process *ahead = &story->servers.members[i % QUORUM_MEMBERS];
        answers_token(story->client, TOKEN, "POST /locks/fences?owner=me", NULL, 201, NULL);
        /* This one's numbers are a minute ahead of the others' from here on. */
        answers(story->client, "DELETE /locks/fences?force=true", NULL, 200, NULL);
        await_held(story, "fences", 0);
        int64_t now = http_integer(story->client, "version") + 60000000LL * (i + 1);
        char hex[17];
        union {
            double number;
            unsigned char bytes[8];
        } version = {.number = (double)now};
        for (int j = 0; j < 8; j++)
            snprintf(hex + 2 * j, 3, "%02x", version.bytes[j]);
        static const char SCRIPT[] = /* the version is behind the format and the layout */
            "local v = string.gsub(ARGV[1], '..', function(h) return string.char(tonumber(h, 16)) "
            "end) local record = redis.call('get', KEYS[1]) redis.call('flushall') "
            "redis.call('set', KEYS[1], record:sub(1, 2) .. v .. record:sub(11)) return 1";
        freeReplyObject(redis_process_command(ahead, "EVAL %s 1 baton:{fences} %s", SCRIPT, hex));
        char token[TOKEN_TEXT];
        snprintf(token, sizeof token, "a-token-of-the-fences-%02d", i);
        acquire_at_all(story->client, &story->servers, token, "POST /locks/fences?ttl=60s");
        int64_t fence = http_integer(story->client, "fence");
        assert_true(fence > last);
        redis_process_freeze(ahead);
        release_lock(story->client, token, "fences");
        acquire_lock(story->other, "fences?ttl=60s", token);
        if (http_integer(story->other, "fence") <= fence)
            fail_msg("%d: %lld is not above %lld", i,
                     (long long)http_integer(story->other, "fence"), (long long)fence);
        last = http_integer(story->other, "fence");
        release_lock(story->other, token, "fences");
        redis_process_thaw(ahead);
        await_all(story);
        await_held(story, "fences", 0);
        for (int j = 0; j < QUORUM_MEMBERS; j++) /* the token may come again */
            freeReplyObject(
                redis_process_command(&story->servers.members[j],
                                      "DEL baton:{fences}:released:0 baton:{fences}:released:1"));
    }
}

/* A member comes back empty: who repeats its request has the hold there again, but not after its
 * release. */
TEST_ON_QUORUM(repeat_restores_the_hold_at_an_emptied_member)
{
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/lost?ttl=60s");
    int64_t fence = http_integer(story->client, "fence");
    await_settled_at(&story->servers, "lost");
    redis_process_flush(&story->servers.members[0]);
    redis_process_flush(&story->servers.members[4]);
    answers_token(story->client, TOKEN, "PUT /locks/lost?ttl=60s", NULL, 200, NULL);
    assert_int_equal(http_integer(story->client, "fence"), fence);
    answers_token(story->other, TOKEN, "POST /locks/lost?ttl=60s", NULL, 200, NULL);
    assert_int_equal(http_integer(story->other, "fence"), fence);
    await_held(story, "lost", 5);
    for (int i = 0; i < 3; i++)
        redis_process_forget(&story->servers.members[i]);
    answers_token(story->client, TOKEN, "PUT /locks/lost", NULL, 409, "not_held");
}

/* What fewer than a majority have is no hold: others may have had the lock since. */
TEST_ON_QUORUM(release_of_a_hold_that_a_majority_lost_is_refused)
{
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/few?ttl=60s");
    for (int i = 0; i < 3; i++)
        redis_process_forget(&story->servers.members[i]);
    answers_token(story->other, OTHER, "POST /locks/few?ttl=60s", NULL, 201, NULL);
    answers_token(story->client, TOKEN, "DELETE /locks/few", NULL, 409, "not_held");
    release_lock(story->other, OTHER, "few");
    await_held(story, "few", 0);
}

TEST_ON_QUORUM(hold_that_a_majority_lost_is_granted_anew)
{
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/anew?ttl=60s&owner=me");
    for (int i = 0; i < 3; i++)
        redis_process_forget(&story->servers.members[i]);
    answers_token(story->other, OTHER, "POST /locks/anew?ttl=60s", NULL, 201, NULL);
    int64_t fence = http_integer(story->other, "fence");
    release_lock(story->other, OTHER, "anew");
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/anew?ttl=60s&owner=me");
    assert_true(http_integer(story->client, "fence") > fence);
    release_lock(story->client, TOKEN, "anew");
    await_held(story, "anew", 0);
}

/* An owner is a label, which only a request that re-enters is let in by. */
TEST_ON_QUORUM(same_owner_is_refused_unless_it_reenters)
{
    static const char WAITS[] = "POST /locks/label?wait=50s&owner=me";
    answers_token(story->client, TOKEN, "POST /locks/label?ttl=60s&owner=me", NULL, 201, NULL);
    answers_token(story->other, OTHER, "POST /locks/label?owner=me", NULL, 409, "locked");
    struct parked *waiter = parked_send_token(story->batond.port, OTHER, WAITS);
    comes_to_queue(story->client, "label", 1);
    answers_token(story->client, OTHER, "POST /locks/label?wait=50s&owner=me&mode=shared", NULL,
                  409, "token_in_use");
    assert_non_null(strstr(http_text(story->client, "detail"), "used for an exclusive hold of me"));
    answers(story->other, "POST /locks/label?owner=me&reentrant", NULL, 201, NULL);
    assert_int_equal(http_integer(story->other, "holds"), 2);
    char token[TOKEN_TEXT];
    keep_token(story->other, token);
    release_lock(story->client, token, "label");
    assert_true(parked_waits(waiter, 0));
    release_lock(story->client, TOKEN, "label");
    assert_int_equal(parked_answer(waiter, PATIENCE_MS), 201);
    parked_close(waiter);
    release_lock(story->client, OTHER, "label");
}

/* As a newcomer of that owner would be. */
TEST_ON_QUORUM(owner_that_is_granted_lets_its_waiters_in)
{
    static const char *const ASKED[] = {"owner=me", "owner=you", "owner=me&reentrant"};
    struct parked *waits[3];
    char request[100];
    answers_token(story->client, TOKEN, "POST /locks/own?ttl=60s", NULL, 201, NULL);
    for (int i = 0; i < 3; i++) {
        snprintf(request, sizeof request, "POST /locks/own?ttl=60s&wait=50s&%s", ASKED[i]);
        waits[i] = parked_send(story->batond.port, NULL, request, NULL);
        comes_to_queue(story->client, "own", i + 1);
    }
    release_lock(story->client, TOKEN, "own");
    assert_int_equal(parked_answer(waits[0], PATIENCE_MS), 201);
    assert_int_equal(parked_answer(waits[2], PATIENCE_MS), 201);
    assert_true(parked_waits(waits[1], 0));
    answers(story->client, "DELETE /locks/own?force=true", NULL, 200, NULL);
    assert_int_equal(parked_answer(waits[1], PATIENCE_MS), 201);
    for (int i = 0; i < 3; i++)
        parked_close(waits[i]);
    answers(story->client, "DELETE /locks/own?force=true", NULL, 200, NULL);
}

/* It lets nobody in, so its owner waits behind others. */
TEST_ON_QUORUM(released_hold_that_stays_taken_brings_its_owner_no_place_in_front)
{
    static const char AGAIN[] = "POST /locks/behind?wait=50s&owner=me&reentrant";
    answers_token(story->client, TOKEN, "POST /locks/behind?owner=me&at_least=1h", NULL, 201, NULL);
    release_lock(story->client, TOKEN, "behind");
    struct parked *first =
        parked_send(story->batond.port, NULL, "POST /locks/behind?wait=50s", NULL);
    comes_to_queue(story->client, "behind", 1);
    struct parked *again = parked_send_token(story->batond.port, OTHER, AGAIN);
    comes_to_queue(story->client, "behind", 2);
    for (int i = 0; i < 3; i++) /* asked after what it asked when it came */
        answers(story->client, "GET /locks/behind", NULL, 200, NULL);
    assert_string_equal(member_text(story->client, "waiters.1.owner"), "me");
    parked_close(again);
    parked_close(first);
    comes_to_queue(story->client, "behind", 0);
    answers(story->client, "DELETE /locks/behind?force=true", NULL, 200, NULL);
}

/* Of a token that is exclusive at some members and shared at others, a majority has neither. */
TEST_ON_QUORUM(modes_are_not_counted_together)
{
    static const char AGAIN[] = "POST /locks/modes?ttl=60s&owner=me&mode=shared";
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/modes?ttl=60s&owner=me");
    answers_token(story->client, TOKEN, AGAIN, NULL, 409, "token_in_use");
    assert_non_null(strstr(http_text(story->client, "detail"), "used for an exclusive hold of me"));
    for (int i = 0; i < 3; i++)
        redis_process_forget(&story->servers.members[i]);
    redis_process_freeze(&story->servers.members[2]);
    answers_token(story->client, TOKEN, AGAIN, NULL, 409, "token_in_use");
    redis_process_thaw(&story->servers.members[2]);
    await_all(story);
    await_held(story, "modes", 2);
    answers_token(story->client, TOKEN, AGAIN, NULL, 201, NULL);
    assert_string_equal(http_text(story->client, "mode"), "shared");
    answers(story->other, "POST /locks/modes?mode=shared", NULL, 201, NULL);
}

/* A release that not all members have heard is one, and a late duplicate of the request that it
 * ended does not get the lock. */
TEST_ON_QUORUM(released_token_is_refused_by_members_that_missed_it)
{
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/back?ttl=60s");
    redis_process_forget(&story->servers.members[3]);
    redis_process_forget(&story->servers.members[4]);
    redis_process_freeze(&story->servers.members[0]);
    redis_process_freeze(&story->servers.members[1]); /* of the three that have it */
    await_up(story->client, "3 of 5");
    release_lock(story->client, TOKEN, "back");
    /* Two that have it still, and two that never had, without whom could tell them. */
    process_signal(&story->batond.process, SIGSTOP);
    redis_process_freeze(&story->servers.members[2]);
    redis_process_thaw(&story->servers.members[0]);
    redis_process_thaw(&story->servers.members[1]);
    await_up(story->other, "4 of 5");
    answers_token(story->other, TOKEN, "POST /locks/back?ttl=60s", NULL, 409, "not_held");
    redis_process_thaw(&story->servers.members[2]);
    process_signal(&story->batond.process, SIGCONT);
    answers_token(story->other, TOKEN, "POST /locks/back?ttl=60s", NULL, 409, "not_held");
    await_all(story);
    await_held(story, "back", 0);
}

/* A member has lost everything, and so have the batonds that knew of it: the others remember. */
TEST(a_new_batond_learns_of_a_loss_from_the_others)
{
    struct quorum_servers servers;
    struct batond_process batond;
    quorum_servers_start(&servers);
    const struct batond_options options = {.redis_url = servers.url,
                                           .arguments = LIST("--workers=1", "--quarantine=auto")};
    batond_process_start(&batond, &options);
    struct http_client *client = http_client_new(batond.url);
    await_up(client, "5 of 5");
    answers_token(client, TOKEN, "POST /locks/host?ttl=60s", NULL, 201, NULL);
    batond_close(&batond, client);
    for (int i = 3; i < QUORUM_MEMBERS; i++) /* which never had it */
        freeReplyObject(redis_process_command(&servers.members[i], "DEL baton:{host}"));
    redis_process_flush(&servers.members[0]);

    batond_process_start(&batond, &options);
    client = http_client_new(batond.url);
    await_up(client, "5 of 5");
    if (http_call(client, "POST", "/locks/host", NULL) == 201)
        fail_msg("granted twice");
    batond_close(&batond, client);
    quorum_servers_stop(&servers);
}

static void lose(struct quorum_servers *servers, int from, int to)
{
    for (int i = from; i < to; i++) {
        redis_process_kill(&servers->members[i]);
        redis_process_resume(&servers->members[i]);
    }
}

static void await_quarantines(struct http_client *client, size_t members)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    await_up(client, "5 of 5");
    do {
        assert_true(clock_ms() < deadline);
        answers(client, "GET /quarantine", NULL, 200, NULL);
    } while (json_array_size(member(client, "servers")) < members);
}

/* Three come back empty: what they have forgotten may still be held, and is waited for. */
TEST(members_that_forgot_sit_it_out)
{
    enum { TTL_MS = 2000 * 99 / 100 - 2 }; /* as it is told */
    struct quorum_servers servers;
    struct batond_process batond;
    quorum_servers_start(&servers);
    struct http_client *client = batond_open(&batond, servers.url, LIST("--quarantine=auto"));
    int64_t until = clock_ms() + TTL_MS;
    answers_token(client, TOKEN, "POST /locks/forgotten?ttl=2s", NULL, 201, NULL);
    for (int i = 0; i < 3; i++) {
        redis_process_kill(&servers.members[i]);
        redis_process_resume(&servers.members[i]);
    }
    await_up(client, "5 of 5");
    int quarantined = 0;
    int64_t deadline = until + PATIENCE_MS, first = clock_ms();
    while (http_call(client, "POST", "/locks/forgotten?ttl=2s", NULL) != 201) {
        const char *code = http_text(client, "code");
        assert_true(clock_ms() < deadline);
        quarantined += code && strcmp(code, "quarantined") == 0;
        clock_sleep_ms(50);
    }
    assert_true(clock_ms() >= until);
    assert_true(quarantined > 0 || first > until); /* on a machine that is too slow to show it */
    batond_close(&batond, client);
    quorum_servers_stop(&servers);
}

/* The start */

/* More than half of them are in it, so nothing is granted; the others are asked and have none. */
TEST(a_quarantine_is_ended_at_all_members)
{
    enum { LOST = 3 };
    struct quorum_servers servers;
    struct batond_process batond;
    quorum_servers_start(&servers);
    struct http_client *client = batond_open(&batond, servers.url, LIST("--quarantine=auto"));
    answers_token(client, TOKEN, "POST /locks/forgotten?ttl=30m", NULL, 201, NULL);
    release_lock(client, TOKEN, "forgotten");
    await_up(client, "5 of 5");
    answers(client, "GET /quarantine", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client, "servers")),
                     0); /* none has seemed to lose it */
    lose(&servers, 0, 1);
    await_quarantines(client, 1);
    assert_true(json_is_false(member(client, "quarantined"))); /* the others grant */
    answers(client, "POST /locks/one?ttl=1s", NULL, 201, NULL);
    lose(&servers, 1, LOST);
    await_quarantines(client, LOST);
    assert_true(json_is_true(member(client, "quarantined")));
    answers(client, "POST /locks/forgotten", NULL, 503, "quarantined");
    struct parked *waits = parked_send(batond.port, NULL, "POST /locks/other?wait=50s", NULL);
    assert_true(parked_waits(waits, 300));
    answers_token(client, TOKEN, "POST /locks/other?wait=1ms&keep=10s", NULL, 503, "quarantined");
    answers_token(client, TOKEN, "POST /locks/other?wait=0", NULL, 503, "quarantined");
    answers_token(client, TOKEN, "GET /locks/other", NULL, 200, NULL);
    assert_int_equal(member_integer(client, "position"), 2); /* it is kept */
    release_lock(client, TOKEN, "other");
    answers(client, "DELETE /quarantine?reason=a+test", NULL, 200, NULL);
    assert_int_equal(member_integer(client, "ended"), LOST);
    assert_int_equal(parked_answer(waits, PATIENCE_MS), 201);
    parked_close(waits);
    int64_t until = clock_ms() + PATIENCE_MS; /* its other workers look once a second */
    while (http_call(client, "POST", "/locks/forgotten?ttl=1s", NULL) != 201) {
        assert_true(clock_ms() < until);
        clock_sleep_ms(20);
    }
    batond_close(&batond, client);
    quorum_servers_stop(&servers);
}

TEST_ON_QUORUM(the_same_server_twice_is_refused)
{
    struct batond_process batond;
    char url[256];
    int port = story->servers.members[0].port;
    snprintf(url, sizeof url, "redis+quorum://127.0.0.1:%d,localhost:%d,127.0.0.1:%d", port, port,
             story->servers.members[1].port);
    batond_process_launch(&batond, &(struct batond_options){.redis_url = url});
    assert_true(process_wait(&batond.process, PATIENCE_MS));
    char *output = process_output(&batond.process);
    assert_non_null(strstr(output, "are the same Redis"));
    free(output);
    batond_process_stop(&batond);
}

RUN_TESTS(begin, on_quorum_stop)
