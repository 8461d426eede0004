/* A quorum whose members know different things of a name. */
#include "tests/support/faults/wire_delay.h"
#include "tests/support/fixtures/on_quorum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TOKEN[] = "a-token-of-the-members-01";

static int begin(void **state)
{
    return on_quorum_start(state, 1, LIST("--workers=1"));
}

/* The scripts that a member has run. */
static long scripts_run(struct on_quorum *story, int member)
{
    redisReply *reply = redis_process_command(&story->servers.members[member], "INFO commandstats");
    const char *found = strstr(reply->str, "cmdstat_fcall:calls=");
    long calls = found ? strtol(found + strlen("cmdstat_fcall:calls="), NULL, 10) : 0;
    freeReplyObject(reply);
    return calls;
}

/* A member that the test before has frozen is connected again after a pause. */
static int all_are_up(void **state)
{
    struct on_quorum *story = *state;
    await_up(story->client, "5 of 5");
    return 0;
}

/* Of three shared holds a majority has the last, and each member where that is has another one that
 * ends first. */
TEST_ON(struct on_quorum *story, a_writer_waits_for_a_change_of_shared_holds, all_are_up, NULL)
{
    static const char *const READERS[] = {"a-token-of-the-readers-01", "a-token-of-the-readers-02",
                                          "a-token-of-the-readers-03"};
    char request[80];
    for (int i = 0; i < 3; i++) {
        snprintf(request, sizeof request, "POST /locks/read?mode=shared&ttl=%ds", 40 + i);
        acquire_at_all(story->client, &story->servers, READERS[i], request);
        for (int j = 3 + i; j < QUORUM_MEMBERS; j++)
            redis_process_forget(&story->servers.members[j]);
    }
    for (int i = 0; i < 2; i++)
        redis_process_forget(&story->servers.members[i]);
    struct parked *writer =
        parked_send(story->batond.port, NULL, "POST /locks/read?wait=50s", NULL);
    comes_to_queue(story->client, "read", 1);
    assert_true(parked_waits(writer, 500));
    int64_t begun = clock_ms();
    long before = scripts_run(story, 4);
    assert_true(parked_waits(writer, 2000));
    long asked = scripts_run(story, 4) - before;
    int64_t took = clock_ms() - begun;
    if (asked > took / 125) /* the looks at its epoch are among them */
        fail_msg("asked %ld times in %lld ms", asked, (long long)took);
    release_lock(story->client, READERS[2], "read");
    assert_int_equal(parked_answer(writer, PATIENCE_MS), 201);
    parked_close(writer);
}

/* A batond that reaches two of the members by a long way. */
struct apart {
    struct batond_process batond;
    struct http_client *client;
    struct wire_delay wires[2];
};

static void open_apart(struct apart *apart, struct on_quorum *story, int one, int other)
{
    char url[256] = "redis+quorum://";
    const int far[] = {one, other};
    size_t length = strlen(url);
    for (int i = 0; i < QUORUM_MEMBERS; i++) {
        int port = story->servers.members[i].port;
        for (int j = 0; j < 2; j++) {
            if (i != far[j])
                continue;
            wire_delay_start(&apart->wires[j], port, 0);
            port = apart->wires[j].port;
        }
        length += (size_t)snprintf(url + length, sizeof url - length, "%s127.0.0.1:%d",
                                   i ? "," : "", port);
    }
    apart->client = batond_open(&apart->batond, url, LIST("--workers=2"));
    await_up(apart->client, "5 of 5");
}

/* What the two that are apart answer does not arrive before they are let go. */
static void hold(struct apart *apart)
{
    for (int i = 0; i < 2; i++)
        apart->wires[i].holds = true;
}

static void stop_holding(struct apart *apart)
{
    for (int i = 0; i < 2; i++)
        apart->wires[i].holds = false;
}

static void close_apart(struct apart *apart)
{
    stop_holding(apart);
    batond_close(&apart->batond, apart->client);
    for (int i = 0; i < 2; i++)
        wire_delay_stop(&apart->wires[i]);
}

enum { AWAY_MS = 100000 }; /* what is sent meanwhile never arrives */

/* Two members have it for some seconds more, and three get it anew, of which two lose it again
 * before its fence is agreed on: then those seconds are all that a majority has. */
TEST_ON(struct on_quorum *story, reply_has_the_ttl_of_the_members_that_agreed, all_are_up, NULL)
{
    struct apart apart;
    open_apart(&apart, story, 3, 4);
    acquire_at_all(apart.client, &story->servers, TOKEN, "POST /locks/apart?ttl=20s");
    await_settled_at(&story->servers, "apart");
    for (int i = 2; i < QUORUM_MEMBERS; i++)
        redis_process_forget(&story->servers.members[i]);
    hold(&apart);
    struct parked *parked =
        parked_send_token(apart.batond.port, TOKEN, "POST /locks/apart?ttl=60s");
    await_held_at(&story->servers, "apart", 5);
    for (int i = 3; i < QUORUM_MEMBERS; i++)
        redis_process_forget(&story->servers.members[i]);
    stop_holding(&apart);
    if (parked_answer(parked, PATIENCE_MS) != 201)
        fail_msg("%s", parked->text);
    assert_in_range(http_integer(&parked->client, "ttl_ms"), 1, 20000);
    parked_close(parked);
    close_apart(&apart);
}

/* A request at which the two that are not apart have granted, and that waits for those that are. If
 * this process stood still for as long as it waits, it has given up: then all begins anew. */
static struct parked *send_until_held(struct on_quorum *story, struct apart *apart,
                                      const char *token, const char *request)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    struct parked *parked = parked_send_token(apart->batond.port, token, request);
    while (quorum_servers_held(&story->servers, "long") != QUORUM_MEMBERS) {
        if (clock_ms() > deadline)
            fail_msg("not granted by those that lack it");
        if (parked_waits(parked, 5))
            continue;
        parked_close(parked);
        stop_holding(apart);
        await_up(apart->client, "5 of 5");
        hold(apart);
        parked = parked_send_token(apart->batond.port, token, request);
    }
    return parked;
}

/* Two requests with a token were told of what it has at two members, and neither gets a majority.
 * Those two do not hear of that before they are back, and the second request was for a hold that
 * would have ended by then. */
TEST_ON(struct on_quorum *story, hold_found_by_two_requests_at_a_minority_is_taken_back, all_are_up,
        NULL)
{
    static const char TWICE[] = "a-token-that-comes-twice-2";
    struct apart apart;
    open_apart(&apart, story, 0, 1);
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/long?ttl=60s");
    for (int i = 3; i < QUORUM_MEMBERS; i++)
        redis_process_integer(&story->servers.members[i], "DEL baton:{long}");
    hold(&apart);
    struct parked *first =
        send_until_held(story, &apart, TWICE, "POST /locks/long?ttl=60s&owner=me");
    struct parked *second =
        parked_send_token(apart.batond.port, TWICE, "POST /locks/long?ttl=100ms&owner=me");
    clock_sleep_ms(100); /* it has been asked for, too */
    for (int i = 3; i < QUORUM_MEMBERS; i++)
        redis_process_freeze(&story->servers.members[i]);
    stop_holding(&apart);
    assert_int_equal(parked_answer(first, PATIENCE_MS), 409);
    assert_int_equal(parked_answer(second, PATIENCE_MS), 409);
    clock_sleep_ms(2500);
    for (int i = 3; i < QUORUM_MEMBERS; i++)
        redis_process_thaw(&story->servers.members[i]);
    await_held_at(&story->servers, "long", 3);
    parked_close(first);
    parked_close(second);
    close_apart(&apart);
}

/* Of one request, where those that have granted it go before they hear of that: for as
 * long as they are away they have it, and no longer. */
TEST_ON(struct on_quorum *story, grant_of_a_minority_is_taken_back_when_it_returns, all_are_up,
        NULL)
{
    struct apart apart;
    open_apart(&apart, story, 3, 4);
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/gone?ttl=10m");
    for (int i = 3; i < QUORUM_MEMBERS; i++)
        redis_process_forget(&story->servers.members[i]);
    for (int i = 0; i < 3; i++) /* what would refuse it */
        redis_process_freeze(&story->servers.members[i]);
    hold(&apart);
    struct parked *parked = parked_send_token(apart.batond.port, "a-token-that-is-left-01",
                                              "POST /locks/gone?ttl=10m&owner=me");
    for (int i = 3; i < QUORUM_MEMBERS; i++)
        await_held_by(&story->servers, i, "gone");
    for (int i = 0; i < 2; i++)
        apart.wires[i].ms = AWAY_MS;
    for (int i = 0; i < 3; i++)
        redis_process_thaw(&story->servers.members[i]);
    long status = parked_answer(parked, PATIENCE_MS);
    assert_true(status == 409 || status == 503);
    await_up(apart.client, "3 of 5");
    assert_int_equal(quorum_servers_held(&story->servers, "gone"), 5);
    for (int i = 0; i < 2; i++)
        apart.wires[i].ms = 0;
    stop_holding(&apart);
    await_held_at(&story->servers, "gone", 3);
    parked_close(parked);
    close_apart(&apart);
    release_lock(story->client, TOKEN, "gone");
    await_held_at(&story->servers, "gone", 0);
}

/* Three have it shared, and two, who answer first, exclusive from before. */
TEST_ON(struct on_quorum *story, token_counts_for_what_a_majority_has_it_for, all_are_up, NULL)
{
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/mixed?ttl=60s&owner=me");
    for (int i = 0; i < 3; i++)
        redis_process_forget(&story->servers.members[i]);
    answers_token(story->client, TOKEN, "POST /locks/mixed?ttl=60s&owner=me&mode=shared", NULL, 201,
                  NULL);
    assert_string_equal(http_text(story->client, "mode"), "shared");
    answers(story->client, "POST /locks/mixed?ttl=60s&mode=shared", NULL, 201, NULL);
    for (int i = 0; i < 3; i++)
        redis_process_freeze(&story->servers.members[i]);
    struct parked *parked =
        parked_send_token(story->batond.port, TOKEN, "POST /locks/mixed?ttl=60s&owner=me");
    bool is_asked = parked_waits(parked, 100);
    for (int i = 0; i < 3; i++)
        redis_process_thaw(&story->servers.members[i]);
    assert_true(is_asked);
    assert_int_equal(parked_answer(parked, PATIENCE_MS), 409);
    assert_string_equal(http_text(&parked->client, "code"), "token_in_use");
    parked_close(parked);
    answers_token(story->client, TOKEN, "POST /locks/mixed?ttl=60s&owner=me&mode=shared", NULL, 200,
                  NULL);
    assert_string_equal(http_text(story->client, "mode"), "shared");
}

/* Until all members have this key. */
static void await_key_at_all(struct on_quorum *story, const char *key)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    for (int i = 0; i < QUORUM_MEMBERS; i++)
        while (redis_process_integer(&story->servers.members[i], "EXISTS %s", key) == 0) {
            if (clock_ms() > deadline)
                fail_msg("member %d does not have %s", i, key);
            clock_sleep_ms(5);
        }
}

enum { BEFORE_END_MS = 30000 }; /* of a wait of 50 s, at whose end batond looks in any case */

/* From the version that is there now. */
static struct parked *watch_reported(struct on_quorum *story)
{
    char request[80];
    answers(story->client, "GET /locks/told", NULL, 200, NULL);
    snprintf(request, sizeof request, "GET /locks/told/events?wait=50s&after=%lld",
             (long long)http_integer(story->client, "version"));
    return parked_send(story->batond.port, NULL, request, NULL);
}

/* No member knows any more that batond watches the name, so none sends a message. */
TEST_ON(struct on_quorum *story, change_without_any_message_reaches_watcher, all_are_up, NULL)
{
    static const char SERVERS[] = "baton:{told}:servers";
    acquire_at_all(story->client, &story->servers, TOKEN, "POST /locks/told?ttl=10m");
    await_settled_at(&story->servers, "told");
    struct parked *watcher = watch_reported(story);
    await_key_at_all(story, SERVERS);
    while (!parked_waits(watcher, 0)) { /* a member that was late has got the hold just now */
        parked_close(watcher);
        watcher = watch_reported(story);
    }
    for (int i = 0; i < QUORUM_MEMBERS; i++)
        redis_process_integer(&story->servers.members[i], "DEL %s", SERVERS);
    release_lock(story->client, TOKEN, "told");
    assert_int_equal(parked_answer(watcher, BEFORE_END_MS), 200);
    assert_true(json_is_true(member(&watcher->client, "changed")));
    parked_close(watcher);
}

RUN_TESTS(begin, on_quorum_stop)
