/* Confirmed grants: nobody is told of a hold that too few replicas have. */
#include "tests/support/fixtures/pair.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/fixtures/replicated.h"
#include "tests/support/many.h"

#include <stdio.h>
#include <string.h>

enum {
    WAY_MS = 10,       /* to a replica, and as much back */
    TIMEOUT_MS = 3000, /* as FLAGS have it */
    PATIENCE_MS = CLOCK_HANG_MS,
    LINE = 200,
};

static const char *const FLAGS[] = {"--confirm-timeout=3s", NULL};
static const char TOKEN[] = "a-token-to-be-confirmed-1";

/* The second batond is another server for Redis, so what it waits for comes by a message. */
struct scene {
    struct replicated all;
    struct batond_process far;
    struct http_client *other;
};

static int set(void **state)
{
    static struct scene scene;
    *state = &scene;
    replicated_open(&scene.all, WAY_MS, FLAGS);
    scene.other = batond_open(&scene.far, scene.all.primary.port_url, FLAGS);
    await_workers(scene.other);
    return 0;
}

static int strike(void **state)
{
    struct scene *scene = *state;
    http_client_free(scene->other);
    int code = batond_process_stop(&scene->far);
    replicated_close(&scene->all);
    return code;
}

static void freeze(struct scene *scene)
{
    redis_process_freeze(&scene->all.replicas[0]);
}

static void thaw(struct scene *scene)
{
    redis_process_thaw(&scene->all.replicas[0]);
}

static int settle(void **state)
{
    thaw(*state);
    return 0;
}

static bool has(struct redis_process *redis, const char *name)
{
    return redis_process_integer(redis, "EXISTS baton:{%s}", name) == 1;
}

/* The latest reply of `client` is 503 `unconfirmed`, not too early, and says what a client needs.
 */
static void is_unconfirmed(struct http_client *client, int64_t begun)
{
    int64_t took = clock_ms() - begun;
    assert_string_equal(http_header(client, "Retry-After"), "1");
    assert_non_null(http_text(client, "token"));
    assert_non_null(strstr(http_text(client, "detail"), "2 replicas"));
    if (took < TIMEOUT_MS - 5)
        fail_msg("it took %lld ms", (long long)took);
}

TEST_ON(struct scene *scene, confirmed_grant_is_on_its_replicas, settle, settle)
{
    struct replicated *all = &scene->all;
    static const char *const BY_QUERY[] = {"one", "two", "three"};
    char request[LINE];
    for (size_t i = 0; i < 3; i++) {
        snprintf(request, sizeof request, "POST /locks/%s?confirm=replicas:2", BY_QUERY[i]);
        answers(all->client, request, NULL, 201, NULL);
        assert_true(has(&all->replicas[0], BY_QUERY[i]) && has(&all->replicas[1], BY_QUERY[i]));
    }
    answers(all->client, "POST /locks/body", "{\"confirm\": \"replicas:2\"}", 201, NULL);
    assert_true(has(&all->replicas[0], "body") && has(&all->replicas[1], "body"));
    assert_in_range(http_integer(all->client, "ttl_ms"), 1, 30000 - 2 * WAY_MS);

    /* The other way round: who does not ask for it does not wait for it. */
    freeze(scene);
    answers(all->client, "POST /locks/unasked?confirm=none", NULL, 201, NULL);
    thaw(scene);
}

TEST_ON(struct scene *scene, too_few_replicas_give_the_lock_to_the_next, settle, settle)
{
    struct http_client *client = scene->all.client;
    char token[TOKEN_TEXT];
    freeze(scene);
    int64_t begun = clock_ms();
    answers(client, "POST /locks/short?confirm=replicas:2&ttl=10m", NULL, 503, "unconfirmed");
    is_unconfirmed(client, begun);
    keep_token(client, token);
    becomes_free(scene->other, "short");

    /* One replica is there; and who comes again with its token gets it when the other is back. */
    answers(client, "POST /locks/short?confirm=replicas:1", NULL, 201, NULL);
    answers(client, "DELETE /locks/short?force=true", NULL, 200, NULL);
    thaw(scene);
    answers_token(client, token, "POST /locks/short?confirm=replicas:2", NULL, 201, NULL);
    assert_true(has(&scene->all.replicas[0], "short"));
}

TEST_ON(struct scene *scene, unconfirmed_grant_is_not_reported, settle, settle)
{
    size_t offset = 0;
    char line[512];
    freeze(scene);
    answers(scene->all.client, "POST /locks/untold?confirm=replicas:2", NULL, 503, "unconfirmed");
    becomes_free(scene->other, "untold");
    thaw(scene);
    answers(scene->all.client, "POST /locks/untold?confirm=replicas:2", NULL, 201, NULL);
    int64_t fence = http_integer(scene->all.client, "fence");
    assert_true(process_wait_line(&scene->all.batond.process, "\"lock\":\"untold\",\"owner\"",
                                  &offset, line, sizeof line, PATIENCE_MS));
    while (!strstr(line, "\"msg\":\"lock "))
        assert_true(process_wait_line(&scene->all.batond.process, "\"lock\":\"untold\"", &offset,
                                      line, sizeof line, PATIENCE_MS));
    char reported[40];
    snprintf(reported, sizeof reported, "\"fence\":%lld,", (long long)fence);
    assert_non_null(strstr(line, "lock granted")); /* the first line of the lock is that of 201 */
    assert_non_null(strstr(line, reported));
}

/* What waits for `name` behind a hold that is about to be released by way of `releaser`. */
static void the_next_one_gets_it(struct scene *scene, struct http_client *releaser,
                                 const char *name)
{
    struct replicated *all = &scene->all;
    char request[LINE];
    snprintf(request, sizeof request, "POST /locks/%s?ttl=10m", name);
    answers_token(all->client, TOKEN, request, NULL, 201, NULL);
    snprintf(request, sizeof request, "POST /locks/%s?wait=50s&confirm=replicas:2", name);
    struct parked *first = parked_send(all->batond.port, NULL, request, NULL);
    while (hold_count(scene->other, name) != 1 || http_integer(scene->other, "queue_length") != 1)
        clock_sleep_ms(5);
    snprintf(request, sizeof request, "POST /locks/%s?wait=50s", name);
    struct parked *second = parked_send(all->batond.port, NULL, request, NULL);
    while (hold_count(scene->other, name) != 1 || http_integer(scene->other, "queue_length") != 2)
        clock_sleep_ms(5);
    freeze(scene);
    snprintf(request, sizeof request, "DELETE /locks/%s", name);
    int64_t begun = clock_ms();
    answers_token(releaser, TOKEN, request, NULL, 200, NULL);
    assert_true(parked_waits(second, TIMEOUT_MS / 2) || clock_ms() - begun >= TIMEOUT_MS - 5);
    assert_int_equal(parked_answer(first, PATIENCE_MS), 503);
    assert_string_equal(http_text(&first->client, "code"), "unconfirmed");
    assert_true(clock_ms() - begun >= TIMEOUT_MS - 5);
    assert_int_equal(parked_answer(second, PATIENCE_MS), 201);
    thaw(scene);
    parked_close(first);
    parked_close(second);
}

TEST_ON(struct scene *scene, waiter_is_answered_when_replicas_have_its_grant, settle, settle)
{
    struct replicated *all = &scene->all;
    struct http_client *const releasers[] = {all->client, scene->other};
    static const char *const NAMES[] = {"near", "far"};
    char request[LINE];
    for (int i = 0; i < 2; i++) {
        snprintf(request, sizeof request, "POST /locks/%s", NAMES[i]);
        answers_token(all->client, TOKEN, request, NULL, 201, NULL);
        snprintf(request, sizeof request, "POST /locks/%s?wait=50s&ttl=10m&confirm=replicas:2",
                 NAMES[i]);
        struct parked *waits = parked_send(all->batond.port, NULL, request, NULL);
        while (hold_count(scene->other, NAMES[i]) != 1 ||
               http_integer(scene->other, "queue_length") != 1)
            clock_sleep_ms(5);
        snprintf(request, sizeof request, "DELETE /locks/%s", NAMES[i]);
        answers_token(releasers[i], TOKEN, request, NULL, 200, NULL);
        assert_int_equal(parked_answer(waits, PATIENCE_MS), 201);
        /* Its TTL is that of the hold it has now, and longer than any before. */
        for (int j = 0; j < REPLICAS; j++)
            assert_true(redis_process_integer(&all->replicas[j], "PTTL baton:{%s}", NAMES[i]) >
                        3600000 + 500000);
        parked_close(waits);
    }
}

TEST_ON(struct scene *scene, waiter_without_confirmation_leaves_the_lock_to_the_next, settle,
        settle)
{
    the_next_one_gets_it(scene, scene->all.client, "direct"); /* claimed by the release itself */
    the_next_one_gets_it(scene, scene->other, "message");     /* told by a message */
}

/* How soon is measured in tests/timing/test_confirm.c. */
TEST_ON(struct scene *scene, hang_up_before_confirmation_leaves_the_lock_to_the_next, settle,
        settle)
{
    struct replicated *all = &scene->all;
    freeze(scene);
    struct parked *gone = parked_send(all->batond.port, NULL,
                                      "POST /locks/gone?wait=50s&ttl=10m&confirm=replicas:2", NULL);
    while (hold_count(scene->other, "gone") != 1 && parked_waits(gone, 2))
        ;
    parked_close(gone);
    answers(scene->other, "POST /locks/gone?wait=50s", NULL, 201, NULL);
}

TEST_ON(struct scene *scene, a_repeated_acquire_is_confirmed_and_takes_nothing_back, settle, settle)
{
    struct http_client *client = scene->all.client;
    answers_token(client, TOKEN, "POST /locks/again?ttl=10m", NULL, 201, NULL);
    int64_t fence = http_integer(client, "fence");
    freeze(scene);
    answers_token(client, TOKEN, "POST /locks/again?confirm=replicas:2", NULL, 503, "unconfirmed");
    clock_sleep_ms(100); /* a take-back that should not be is likelier to be seen */
    answers_token(client, TOKEN, "GET /locks/again", NULL, 200, NULL);
    assert_true(json_is_true(member(client, "mine")));
    thaw(scene);
    answers_token(client, TOKEN, "POST /locks/again?confirm=replicas:2", NULL, 200, NULL);
    assert_int_equal(http_integer(client, "fence"), fence);
}

TEST_ON(struct scene *scene, several_names_are_confirmed_together, settle, settle)
{
    struct replicated *all = &scene->all;
    static const char BODY[] = "{\"names\": [\"set1\", \"set2\", \"set3\"], \"ttl_ms\": 600000, "
                               "\"confirm\": \"replicas:2\"}";
    static const char *const NAMES[] = {"set1", "set2", "set3"};
    freeze(scene);
    int64_t begun = clock_ms();
    answers(all->client, "POST /locks", BODY, 503, "unconfirmed");
    is_unconfirmed(all->client, begun);
    for (int i = 0; i < 3; i++)
        becomes_free(scene->other, NAMES[i]);
    thaw(scene);
    answers(all->client, "POST /locks", BODY, 201, NULL);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < REPLICAS; j++)
            assert_true(redis_process_integer(&all->replicas[j], "PTTL baton:{%s}", NAMES[i]) >
                        3600000 + 500000);

    /* Each that was told of as granted is told of as taken back. */
    logs_times(&all->batond, "\"lock granted\",\"lock\":\"set", 6);
    logs_times(&all->batond, "\"lock taken back\"", 3);
}

/* What was granted by one connection is confirmed once another one has renewed it. */
TEST_ON(struct scene *scene, several_names_outlive_a_connection, settle, settle)
{
    struct replicated *all = &scene->all;
    static const char BODY[] = "{\"names\": [\"k1\", \"k2\", \"k3\"], \"wait_ms\": 20000, "
                               "\"confirm\": \"replicas:2\"}";
    answers_token(scene->other, TOKEN, "POST /locks/k2", NULL, 201, NULL);
    struct parked *waits = parked_send(all->batond.port, NULL, "POST /locks", BODY);
    while (hold_count(scene->other, "k2") != 1 || http_integer(scene->other, "queue_length") != 1)
        clock_sleep_ms(5);
    assert_int_equal(hold_count(scene->other, "k1"), 1);
    redis_process_integer(&all->primary, "CLIENT KILL TYPE normal");
    assert_true(comes_to_answer(scene->other, "/readyz", 200, PATIENCE_MS));
    release_lock(scene->other, TOKEN, "k2");
    assert_int_equal(parked_answer(waits, PATIENCE_MS), 201);
    for (int j = 0; j < REPLICAS; j++)
        assert_true(has(&all->replicas[j], "k1") && has(&all->replicas[j], "k3"));
    parked_close(waits);
    assert_true(comes_to_answer(all->client, "/readyz", 200, PATIENCE_MS));
}

TEST_ON(struct scene *scene, a_renewal_counts_when_replicas_have_it, settle, settle)
{
    struct replicated *all = &scene->all;
    answers_token(all->client, TOKEN, "POST /locks/renewed?ttl=1m", NULL, 201, NULL);
    answers_token(all->client, TOKEN, "PUT /locks/renewed?ttl=10m&confirm=replicas:2", NULL, 200,
                  NULL);
    for (int j = 0; j < REPLICAS; j++)
        assert_true(redis_process_integer(&all->replicas[j], "PTTL baton:{renewed}") >
                    3600000 + 500000);
    freeze(scene);
    answers_token(all->client, TOKEN, "PUT /locks/renewed?confirm=replicas:2", NULL, 503,
                  "unconfirmed");
    answers_token(all->client, TOKEN, "PUT /locks",
                  "{\"names\": [\"renewed\"], \"confirm\": \"replicas:2\"}", 503, "unconfirmed");
    answers_token(all->client, TOKEN, "GET /locks/renewed", NULL, 200, NULL);
    assert_true(json_is_true(member(all->client, "mine")));
    thaw(scene);
    answers_token(all->client, TOKEN, "PUT /locks",
                  "{\"names\": [\"renewed\"], \"confirm\": \"replicas:2\"}", 200, NULL);
}

TEST_ON(struct scene *scene, a_connection_holds_what_replicas_have, settle, settle)
{
    struct replicated *all = &scene->all;
    static const char REQUEST[] = "POST /locks/stream?hold=connection&ttl=4s&confirm=replicas:2";
    freeze(scene);
    answers(all->client, REQUEST, NULL, 503, "unconfirmed");
    becomes_free(scene->other, "stream");
    thaw(scene);
    struct parked *stream = parked_send(all->batond.port, NULL, REQUEST, NULL);
    assert_true(parked_receives(stream, "\"granted\"", PATIENCE_MS));
    assert_true(parked_receives(stream, "\"heartbeat\"", PATIENCE_MS));
    freeze(scene);
    assert_true(parked_receives(stream, "\"lost\"", PATIENCE_MS));
    thaw(scene);
    parked_close(stream);
}

TEST_ON(struct scene *scene, others_do_not_wait_for_replicas, settle, settle)
{
    enum { CROWD = 16 };
    struct replicated *all = &scene->all;
    struct parked *crowd[CROWD];
    char request[LINE];
    freeze(scene);
    for (int i = 0; i < CROWD; i++) {
        snprintf(request, sizeof request, "POST /locks/pending-%d?confirm=replicas:2&wait=10s", i);
        crowd[i] = parked_send(all->batond.port, NULL, request, NULL);
    }
    while (hold_count(scene->other, "pending-0") != 1 && parked_waits(crowd[0], 1))
        ;
    answers(all->client, "POST /locks/beside?confirm=replicas:1", NULL, 201, NULL);
    answers(all->client, "POST /locks/aside", NULL, 201, NULL);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(parked_answer(crowd[i], PATIENCE_MS), 503);
        parked_close(crowd[i]);
    }
}

TEST_ON(struct scene *scene, a_wrong_confirm_is_refused, settle, settle)
{
    static const char *const WRONG[] = {"replicas:0",  "replicas:9", "replicas:", "replicas:12",
                                        "replicas:1x", "all",        "",          "1"};
    char request[LINE];
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        snprintf(request, sizeof request, "POST /locks/wrong?confirm=%s", WRONG[i]);
        answers(scene->all.client, request, NULL, 400, "invalid_parameter");
        assert_string_equal(http_text(scene->all.client, "parameter"), "confirm");
        snprintf(request, sizeof request, "{\"confirm\": \"%s\"}", WRONG[i]);
        answers(scene->all.client, "POST /locks/wrong", request, 400, "invalid_parameter");
    }
    answers(scene->all.client, "POST /locks/wrong", "{\"confirm\": 1}", 400, "invalid_parameter");
    answers(scene->all.client, "DELETE /locks/wrong?confirm=none", NULL, 400, "invalid_parameter");
    assert_int_equal(hold_count(scene->other, "wrong"), 0);
}

RUN_TESTS(set, strike)
