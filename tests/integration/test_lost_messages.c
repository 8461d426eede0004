/* What a server is told through Redis may be lost though all connections stay up: a bus link of a
 * Cluster that breaks for a moment, a proxy. Nobody sleeps beside a free lock then, nobody is
 * passed, and nobody is told of a change late. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/fixtures/proxied.h"

#include <limits.h>
#include <stdio.h>

/* What finds out: half a claim window, or half a lease. The other is so long that it cannot be it.
 */
#define ONE_WORKER "--workers=1"
static const char *const BY_CLAIM[] = {ONE_WORKER, "--claim-window=2s", "--waiter-lease=10m", NULL};
static const char *const BY_LEASE[] = {ONE_WORKER, "--claim-window=60s", "--waiter-lease=2s", NULL};

static int start_by_claim(void **state)
{
    return proxied_start(state, BY_CLAIM);
}

static int start_by_lease(void **state)
{
    return proxied_start(state, BY_LEASE);
}

static void assert_lost(struct proxied *scene, int count)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (scene->proxy.losses < count && clock_ms() < deadline)
        clock_sleep_ms(1);
    assert_int_equal(scene->proxy.losses, count);
    scene->proxy.mode = PROXY_OPEN;
}

/* Takes the lock by the batond whose messages arrive. */
static void take(struct proxied *scene, const char *name, const char *query, char token[TOKEN_TEXT])
{
    char request[120];
    snprintf(request, sizeof request, "POST /locks/%s?%s", name, query);
    answers(scene->other, request, NULL, 201, NULL);
    keep_token(scene->other, token);
}

/* Parks a request at the batond whose messages may be lost. */
static struct parked *park(struct proxied *scene, const char *name, const char *query,
                           const char *token, int64_t length)
{
    char request[120];
    snprintf(request, sizeof request, "POST /locks/%s?%s", name, query);
    struct parked *parked = token ? parked_send_token(scene->batond.port, token, request)
                                  : parked_send(scene->batond.port, NULL, request, NULL);
    comes_to_queue(scene->other, name, length);
    assert_true(parked_waits(parked, 0));
    return parked;
}

static void await(struct parked *parked, long status)
{
    assert_int_equal(parked_answer(parked, CLOCK_HANG_MS), status);
}

/* Of what batond is notified of from the release on, `most` messages that begin so are lost. */
static void assert_grant_comes(struct proxied *scene, const char *name, const char *beginning,
                               int most)
{
    char token[TOKEN_TEXT];
    take(scene, name, "ttl=5m", token);
    struct parked *waiter = park(scene, name, "wait=50s", NULL, 1);
    proxied_lose(scene, beginning, most);
    release_lock(scene->other, token, name);
    await(waiter, 201);
    parked_close(waiter);
}

TEST_WITH(a_lost_grant_is_reported_again, start_by_claim, proxied_stop)
{
    assert_grant_comes(*state, "grant", "g ", 1);
    assert_lost(*state, 1);
}

/* The one who releases ends a short time later, and has nobody to do it for it. */
TEST_ON(struct proxied *scene, a_newcomer_does_not_pass_whose_grant_was_lost, start_by_claim,
        proxied_stop)
{
    char token[TOKEN_TEXT];
    take(scene, "newcomer", "ttl=5m", token);
    struct parked *waiter = park(scene, "newcomer", "wait=50s&ttl=5m", NULL, 1);
    proxied_lose(scene, "g ", 1);
    release_lock(scene->other, token, "newcomer");
    do
        answers(scene->other, "POST /locks/newcomer", NULL, 409, "locked");
    while (parked_waits(waiter, 50));
    await(waiter, 201);
    assert_lost(scene, 1);
    parked_close(waiter);
}

/* Whatever is told, nothing arrives: the server looks by itself. */
TEST_ON(struct proxied *scene, many_lost_grants_are_found_by_heartbeats, start_by_lease,
        proxied_stop)
{
    assert_grant_comes(scene, "many", "", INT_MAX);
    assert_true(scene->proxy.losses > 0);
    scene->proxy.mode = PROXY_OPEN;
}

/* The hold ends sooner than everybody thought, and nobody else waits. */
static void assert_end_is_noticed(struct proxied *scene, const char *name, const char *renewal,
                                  int64_t ttl_ms)
{
    char token[TOKEN_TEXT];
    take(scene, name, "ttl=5m", token);
    struct parked *waiter = park(scene, name, "wait=50s", NULL, 1);
    proxied_lose(scene, "n ", 1);
    int64_t begun = clock_ms();
    answers_token(scene->other, token, renewal, NULL, 200, NULL);
    await(waiter, 201);
    assert_true(clock_ms() - begun >= ttl_ms - 5);
    assert_lost(scene, 1);
    parked_close(waiter);
}

TEST_WITH(a_lost_word_of_an_earlier_end, start_by_claim, proxied_stop)
{
    assert_end_is_noticed(*state, "sooner", "PUT /locks/sooner?ttl=1s", 1000);
}

/* Further ahead than that somebody would mind it. */
TEST_WITH(a_lost_word_of_an_end_that_is_far, start_by_lease, proxied_stop)
{
    assert_end_is_noticed(*state, "far", "PUT /locks/far?ttl=2500ms", 2500);
}

TEST_ON(struct proxied *scene, a_lost_word_of_a_change_is_found_by_heartbeats, start_by_lease,
        proxied_stop)
{
    char token[TOKEN_TEXT], request[120];
    take(scene, "watched", "ttl=5m", token);
    answers(scene->client, "GET /locks/watched", NULL, 200, NULL);
    snprintf(request, sizeof request, "GET /locks/watched/events?wait=50s&after=%lld",
             (long long)http_integer(scene->client, "version"));
    struct parked *watcher = parked_send(scene->batond.port, NULL, request, NULL);
    for (int i = 0; i < 2; i++) /* behind its look */
        answers(scene->client, "GET /locks/watched", NULL, 200, NULL);
    assert_true(parked_waits(watcher, 0));
    proxied_lose(scene, "c ", 1);
    release_lock(scene->other, token, "watched");
    await(watcher, 200);
    assert_lost(scene, 1);
    parked_close(watcher);
}

TEST_ON(struct proxied *scene, lost_word_of_waiter_is_found_by_heartbeats, start_by_lease,
        proxied_stop)
{
    char token[TOKEN_TEXT];
    take(scene, "wanted", "ttl=5m", token);
    struct parked *watcher =
        parked_send_token(scene->batond.port, token, "GET /locks/wanted/events?wait=50s");
    for (int i = 0; i < 2; i++) /* behind its look */
        answers(scene->client, "GET /locks/wanted", NULL, 200, NULL);
    assert_true(parked_waits(watcher, 0));
    proxied_lose(scene, "w ", 1);
    struct parked *waiter =
        parked_send(scene->other_batond.port, NULL, "POST /locks/wanted?wait=50s", NULL);
    await(watcher, 200);
    assert_int_equal(http_integer(&watcher->client, "queue_length"), 1);
    assert_lost(scene, 1);
    parked_close(watcher);
    parked_close(waiter);
}

static const char CANCELLED[] = "token-of-the-cancelled-one";

/* Another one waits there as well, so that the server is known to Redis all the time. */
TEST_ON(struct proxied *scene, a_lost_cancellation_is_found_by_heartbeats, start_by_lease,
        proxied_stop)
{
    char token[TOKEN_TEXT];
    take(scene, "cancelled", "ttl=5m", token);
    struct parked *waiter = park(scene, "cancelled", "wait=50s", CANCELLED, 1);
    struct parked *next = park(scene, "cancelled", "wait=50s", NULL, 2);
    proxied_lose(scene, "x ", 1);
    release_lock(scene->other, CANCELLED, "cancelled");
    await(waiter, 409);
    assert_lost(scene, 1);
    release_lock(scene->other, token, "cancelled");
    await(next, 201);
    parked_close(waiter);
    parked_close(next);
}
