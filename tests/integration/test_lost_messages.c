/* What a server is told through Redis may be lost though all connections stay up: a bus link of a
 * Cluster that breaks for a moment, a proxy. Nobody sleeps beside a free lock then, nobody is
 * passed, and nobody is told of a change late. */
#include "tests/support/faults/proxy.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/fixtures/service.h"

#include <limits.h>
#include <stdio.h>

enum { LEASE_MS = 10000, CLAIM_MS = 2000, LATE_MS = 600 }; /* LATE_MS: on a busy machine */

/* A batond that reaches Redis through a proxy, and another that reaches it directly. */
struct scene {
    struct redis_process redis;
    struct proxy proxy;
    struct batond_process batond, other_batond;
    struct http_client *client, *other;
};

static int set(void **state)
{
    static struct scene scene;
    static const char *const ONE[] = {"--workers=1", NULL};
    *state = &scene;
    redis_process_start(&scene.redis, NULL);
    proxy_start(&scene.proxy, scene.redis.socket);
    batond_process_start(&scene.batond,
                         &(struct batond_options){.redis_url = scene.proxy.url, .arguments = ONE});
    batond_process_start(&scene.other_batond,
                         &(struct batond_options){.redis_url = scene.redis.url, .arguments = ONE});
    scene.client = http_client_new(scene.batond.url);
    scene.other = http_client_new(scene.other_batond.url);
    return 0;
}

static int strike(void **state)
{
    struct scene *scene = *state;
    http_client_free(scene->client);
    http_client_free(scene->other);
    int code = batond_process_stop(&scene->batond) | batond_process_stop(&scene->other_batond);
    proxy_stop(&scene->proxy);
    redis_process_stop(&scene->redis);
    return code;
}

/* From now on these messages to `batond` are lost, so many of them. */
static void lose(struct scene *scene, const char *beginning, int most)
{
    scene->proxy.losses = 0;
    scene->proxy.most = most;
    scene->proxy.mark = beginning;
    scene->proxy.mode = PROXY_LOSES_MESSAGES;
}

static void assert_lost(struct scene *scene, int count)
{
    int64_t deadline = clock_ms() + 5000;
    while (scene->proxy.losses < count && clock_ms() < deadline)
        clock_sleep_ms(1);
    assert_int_equal(scene->proxy.losses, count);
    scene->proxy.mode = PROXY_OPEN;
}

/* Takes the lock by the batond whose messages arrive. */
static void take(struct scene *scene, const char *name, const char *query, char token[TOKEN_TEXT])
{
    char request[120];
    snprintf(request, sizeof request, "POST /locks/%s?%s", name, query);
    answers(scene->other, request, NULL, 201, NULL);
    keep_token(scene->other, token);
}

static void give(struct scene *scene, const char *name, const char *token)
{
    char request[120];
    snprintf(request, sizeof request, "DELETE /locks/%s", name);
    answers_token(scene->other, token, request, NULL, 200, NULL);
}

static bool is_queued(struct http_client *client, const char *name, int64_t length)
{
    char path[120];
    snprintf(path, sizeof path, "/locks/%s", name);
    http_call(client, "GET", path, NULL);
    return http_integer(client, "queue_length") == length;
}

/* Parks a request at the batond whose messages may be lost. */
static struct parked *park(struct scene *scene, const char *name, const char *query,
                           const char *token, int64_t length)
{
    char request[120];
    snprintf(request, sizeof request, "POST /locks/%s?%s", name, query);
    struct parked *parked = token ? parked_send_token(scene->batond.port, token, request)
                                  : parked_send(scene->batond.port, NULL, request, NULL);
    int64_t deadline = clock_ms() + 5000;
    while (!is_queued(scene->other, name, length) && clock_ms() < deadline)
        clock_sleep_ms(2);
    assert_true(parked_waits(parked, 0));
    return parked;
}

/* Waits for the answer and says how long that took. */
static int64_t await(struct parked *parked, long status, const char *what)
{
    int64_t begun = clock_ms();
    assert_int_equal(parked_answer(parked, 60000), status);
    int64_t took = clock_ms() - begun;
    print_message("%s: %lld ms\n", what, (long long)took);
    return took;
}

static void a_lost_grant_is_told_again(void **state)
{
    struct scene *scene = *state;
    char token[TOKEN_TEXT];
    take(scene, "grant", "ttl=5m", token);
    struct parked *waiter = park(scene, "grant", "wait=40s", NULL, 1);
    lose(scene, "g ", 1);
    give(scene, "grant", token);
    assert_in_range(await(waiter, 201, "lost grant"), 0, CLAIM_MS / 2 + LATE_MS);
    assert_lost(scene, 1);
    parked_close(waiter);
}

/* The one who releases ends a short time later, and has nobody to do it for it. */
static void a_newcomer_does_not_pass_whose_grant_was_lost(void **state)
{
    struct scene *scene = *state;
    char token[TOKEN_TEXT];
    take(scene, "newcomer", "ttl=20s", token);
    struct parked *waiter = park(scene, "newcomer", "wait=40s&ttl=20s", NULL, 1);
    lose(scene, "g ", 1);
    give(scene, "newcomer", token);
    int64_t until = clock_ms() + 4000;
    int refused = 0;
    for (; clock_ms() < until; clock_sleep_ms(50), refused++)
        answers(scene->other, "POST /locks/newcomer", NULL, 409, "locked");
    assert_true(refused > 20);
    assert_in_range(await(waiter, 201, "lost grant, with newcomers"), 0, LATE_MS);
    assert_lost(scene, 1);
    parked_close(waiter);
}

/* Whatever is told, nothing arrives: the server looks by itself. */
static void many_lost_grants_are_found_by_vouching(void **state)
{
    struct scene *scene = *state;
    char token[TOKEN_TEXT];
    take(scene, "many", "ttl=5m", token);
    struct parked *waiter = park(scene, "many", "wait=40s", NULL, 1);
    lose(scene, "", INT_MAX);
    give(scene, "many", token);
    assert_in_range(await(waiter, 201, "all messages lost"), 0, LEASE_MS / 2 + LATE_MS);
    assert_true(scene->proxy.losses > 0);
    scene->proxy.mode = PROXY_OPEN;
    parked_close(waiter);
}

/* The hold ends sooner than everybody thought, and nobody else waits. */
static void a_lost_word_of_an_earlier_end(void **state)
{
    struct scene *scene = *state;
    char token[TOKEN_TEXT];
    take(scene, "sooner", "ttl=5m", token);
    struct parked *waiter = park(scene, "sooner", "wait=40s", NULL, 1);
    lose(scene, "n ", 1);
    answers_token(scene->other, token, "PUT /locks/sooner?ttl=1s", NULL, 200, NULL);
    assert_in_range(await(waiter, 201, "lost word of an earlier end"), 500, 1000 + LATE_MS);
    assert_lost(scene, 1);
    parked_close(waiter);
}

/* Further ahead than that somebody would mind it. */
static void a_lost_word_of_an_end_that_is_far(void **state)
{
    struct scene *scene = *state;
    char token[TOKEN_TEXT];
    take(scene, "far", "ttl=5m", token);
    struct parked *waiter = park(scene, "far", "wait=40s", NULL, 1);
    lose(scene, "n ", 1);
    answers_token(scene->other, token, "PUT /locks/far?ttl=8s", NULL, 200, NULL);
    assert_in_range(await(waiter, 201, "lost word of an end that is far"), 7000, 8000 + LATE_MS);
    assert_lost(scene, 1);
    parked_close(waiter);
}

static void a_lost_word_of_a_change_is_found_by_vouching(void **state)
{
    struct scene *scene = *state;
    char token[TOKEN_TEXT], request[120];
    take(scene, "watched", "ttl=5m", token);
    answers(scene->client, "GET /locks/watched", NULL, 200, NULL);
    snprintf(request, sizeof request, "GET /locks/watched/events?wait=40s&after=%lld",
             (long long)http_integer(scene->client, "version"));
    struct parked *watcher = parked_send(scene->batond.port, NULL, request, NULL);
    assert_true(parked_waits(watcher, 300));
    lose(scene, "c ", 1);
    give(scene, "watched", token);
    assert_in_range(await(watcher, 200, "lost word of a change"), 0, LEASE_MS / 2 + LATE_MS);
    assert_lost(scene, 1);
    parked_close(watcher);
}

static const char CANCELLED[] = "token-of-the-cancelled-one";

/* Another one waits there as well, so that the server is known to Redis all the time. */
static void a_lost_cancellation_is_found_by_vouching(void **state)
{
    struct scene *scene = *state;
    char token[TOKEN_TEXT];
    take(scene, "cancelled", "ttl=5m", token);
    struct parked *waiter = park(scene, "cancelled", "wait=40s", CANCELLED, 1);
    struct parked *next = park(scene, "cancelled", "wait=40s", NULL, 2);
    lose(scene, "x ", 1);
    answers_token(scene->other, CANCELLED, "DELETE /locks/cancelled", NULL, 200, NULL);
    assert_in_range(await(waiter, 409, "lost cancellation"), 0, LEASE_MS / 2 + LATE_MS);
    assert_lost(scene, 1);
    give(scene, "cancelled", token);
    assert_in_range(await(next, 201, "the next"), 0, LATE_MS);
    parked_close(waiter);
    parked_close(next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_grant_is_told_again),
        cmocka_unit_test(a_newcomer_does_not_pass_whose_grant_was_lost),
        cmocka_unit_test(many_lost_grants_are_found_by_vouching),
        cmocka_unit_test(a_lost_word_of_an_earlier_end),
        cmocka_unit_test(a_lost_word_of_an_end_that_is_far),
        cmocka_unit_test(a_lost_word_of_a_change_is_found_by_vouching),
        cmocka_unit_test(a_lost_cancellation_is_found_by_vouching),
    };
    return cmocka_run_group_tests(tests, set, strike);
}
