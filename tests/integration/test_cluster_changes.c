/* Nodes of a Redis Cluster that come, go, fall and return while batond works on it. */
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 30 };

/* Of names at all primaries, some at the one that falls. */
static void hold_some(struct on_cluster *all, const char *begin, char tokens[HELD][TOKEN_TEXT])
{
    char name[ON_CLUSTER_NAME];
    for (int i = 0; i < HELD; i++) {
        snprintf(name, sizeof name, "%s%d", begin, i);
        on_cluster_acquire(all->client[i % 2], name, "?ttl=10m&confirm=replicas:1", tokens[i]);
    }
}

static void expect_held(struct on_cluster *all, const char *begin, char tokens[HELD][TOKEN_TEXT])
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME];
    for (int i = 0; i < HELD; i++) {
        snprintf(name, sizeof name, "%s%d", begin, i);
        answers_token(all->client[i % 2], tokens[i], on_cluster_request(line, "GET", name, ""),
                      NULL, 200, NULL);
        assert_true(json_is_true(member(all->client[i % 2], "mine")));
        answers_token(all->client[i % 2], tokens[i],
                      on_cluster_request(line, "PUT", name, "?ttl=10m"), NULL, 200, NULL);
    }
}

/* Of each primary its own replica must have it. */
TEST_ON_CLUSTER(grants_are_confirmed_by_the_replica_of_the_slot)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    int replica = clustered_replica(&all->clustered, 2);
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        on_cluster_name(all, i, "sure-", i, name);
        answers(all->client[0], on_cluster_request(line, "POST", name, "?confirm=replicas:1"), NULL,
                201, NULL);
    }
    clustered_freeze(&all->clustered, replica); /* shorter than it takes to be dead */
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        bool is_its = i == 2;
        on_cluster_name(all, i, "unsure-", i, name);
        answers(all->client[0], on_cluster_request(line, "POST", name, "?confirm=replicas:1"), NULL,
                is_its ? 503 : 201, is_its ? "unconfirmed" : NULL);
    }
    clustered_thaw(&all->clustered, replica);
    clustered_await_calm(&all->clustered);
    on_cluster_name(all, 2, "sure-again-", 0, name);
    on_cluster_acquire(all->client[0], name, "?confirm=replicas:1", token);
}

/* A primary that batond has never heard of. */
TEST_ON_CLUSTER(a_node_comes_and_goes)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    int node = clustered_add(&all->clustered);
    on_cluster_name(all, 2, "visits-", 0, name);
    answers(all->client[0], on_cluster_request(line, "POST", name, "?ttl=1m"), NULL, 201, NULL);
    keep_token(all->client[0], token);
    struct slot_move move = {on_cluster_slot(name), 2, node};
    clustered_move(&all->clustered, &move);
    on_cluster_answers_again(all, name);
    answers_token(all->client[0], token, on_cluster_request(line, "PUT", name, "?ttl=1m"), NULL,
                  200, NULL);
    struct parked *waits = on_cluster_wait(all, 1, name, "?wait=50s&ttl=1m");
    answers(all->client[0], "GET /locks?prefix=visits-", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(all->client[0], "locks")), 1);
    answers_token(all->client[0], token, on_cluster_request(line, "DELETE", name, ""), NULL, 200,
                  NULL);
    assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
    keep_token(&waits->client, token);
    parked_close(waits);
    on_cluster_move_back(all, move);
    clustered_await_calm(&all->clustered);
    clustered_remove(&all->clustered, node);
    on_cluster_answers_again(all, name);
    answers_token(all->client[1], token, on_cluster_request(line, "DELETE", name, ""), NULL, 200,
                  NULL);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        assert_true(comes_to_answer(all->client[i], "/readyz", 200, CLOCK_HANG_MS));
        assert_true(comes_to_answer(all->client[i], "/locks?prefix=visits-", 200, CLOCK_HANG_MS));
        assert_true(comes_to_answer(all->client[i], "/events?prefix=visits-", 200, CLOCK_HANG_MS));
    }
}

/* By who was there before it; who comes later asks all primaries anyway. */
TEST_ON_CLUSTER(a_node_that_comes_is_watched)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME];
    int node = clustered_add(&all->clustered);
    on_cluster_name(all, 2, "settles-", 0, name);
    struct slot_move move = {on_cluster_slot(name), 2, node};
    answers(all->client[1], "GET /events?prefix=settles-", NULL, 200, NULL);
    int64_t version = http_integer(all->client[1], "version");
    clustered_move(&all->clustered, &move);
    on_cluster_answers_again(all, name);
    for (bool is_taken = false, is_reported = false;
         !is_reported;) { /* the move may be told of, too */
        snprintf(line, sizeof line, "GET /events?prefix=settles-&wait=50s&after=%lld",
                 (long long)version);
        struct parked *watches = parked_send(all->batond[1].port, NULL, line, NULL);
        if (!is_taken && parked_waits(watches, 1000)) {
            answers(all->client[0], on_cluster_request(line, "POST", name, "?ttl=1m"), NULL, 201,
                    NULL);
            is_taken = true;
        }
        assert_int_equal(parked_answer(watches, CLOCK_HANG_MS), 200);
        is_reported = is_taken && strstr(watches->client.reply.body, name);
        version = http_integer(&watches->client, "version");
        parked_close(watches);
    }
    on_cluster_move_back(all, move);
    clustered_await_calm(&all->clustered);
    clustered_remove(&all->clustered, node);
    on_cluster_answers_again(all, name);
}

/* From now on a node that does not answer is soon taken for dead. */
static int some_fall(void **state)
{
    struct on_cluster *all = *state;
    for (int node = 0; node < all->clustered.count; node++)
        if (all->clustered.nodes[node].process.pid != 0)
            freeReplyObject(clustered_ask(&all->clustered, node,
                                          "CONFIG SET cluster-node-timeout %d", CLUSTERED_DOWN_MS));
    return 0;
}

TEST_ON(struct on_cluster *all, a_primary_that_steps_down_is_left, some_fall, NULL)
{
    char name[ON_CLUSTER_NAME], tokens[HELD][TOKEN_TEXT], token[TOKEN_TEXT], line[ON_CLUSTER_LINE];
    hold_some(all, "steps-", tokens);
    on_cluster_name(all, 1, "stepping-", 0, name);
    int slot = on_cluster_slot(name);
    on_cluster_acquire(all->client[0], name, "?ttl=1m", token);
    struct parked *waits = on_cluster_wait(all, 1, name, "?wait=50s");
    int replica = clustered_replica(&all->clustered, 1);
    clustered_fail_over(&all->clustered, replica);
    clustered_await_other(&all->clustered, slot, 1);
    on_cluster_answers_again(all, name);
    expect_held(all, "steps-", tokens);
    answers_token(all->client[0], token, on_cluster_request(line, "DELETE", name, ""), NULL, 200,
                  NULL);
    assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
    parked_close(waits);
    clustered_await_calm(&all->clustered);
    clustered_fail_over(&all->clustered, 1);
    clustered_await_other(&all->clustered, slot, replica);
    on_cluster_answers_again(all, name);
    expect_held(all, "steps-", tokens);
}

TEST_ON(struct on_cluster *all, a_killed_primary_is_replaced, some_fall, NULL)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], tokens[HELD][TOKEN_TEXT], token[TOKEN_TEXT];
    hold_some(all, "survives-", tokens);
    on_cluster_name(all, 0, "falls-", 0, name);
    int slot = on_cluster_slot(name);
    int64_t fence = on_cluster_acquire(all->client[0], name, "?ttl=1m&confirm=replicas:1", token);
    struct parked *waits = on_cluster_wait(all, 0, name, "?wait=50s");
    clustered_kill(&all->clustered, 0);
    answers(all->client[0], on_cluster_request(line, "GET", name, ""), NULL, 503,
            "store_unavailable");
    clustered_await_other(&all->clustered, slot, 0);
    on_cluster_answers_again(all, name);
    expect_held(all, "survives-", tokens);
    answers_token(all->client[1], token, on_cluster_request(line, "DELETE", name, ""), NULL, 200,
                  NULL);
    if (parked_answer(waits, CLOCK_HANG_MS) == 201)
        assert_true(http_integer(&waits->client, "fence") > fence);
    else
        assert_int_equal(waits->client.reply.status, 503);
    parked_close(waits);
    clustered_resume(&all->clustered, 0);
    clustered_await_calm(&all->clustered);
    on_cluster_answers_again(all, name);
    expect_held(all, "survives-", tokens);
}

/* Of batonds: how many are subscribed to anything at this node. */
static int count_listeners(struct on_cluster *all, int node)
{
    int count = 0;
    redisReply *reply = clustered_ask(&all->clustered, node, "CLIENT LIST TYPE pubsub");
    for (const char *at = reply->str; (at = strchr(at, '\n')); at++)
        count++;
    freeReplyObject(reply);
    return count;
}

/* Whoever loses its node goes to the next one. */
static void have_all_listen_at(struct on_cluster *all, int node)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (count_listeners(all, node) < ON_CLUSTER_BATONDS) {
        assert_true(clock_ms() < until);
        for (int other = 0; other < CLUSTERED_PRIMARIES; other++)
            if (other != node)
                freeReplyObject(clustered_ask(&all->clustered, other, "CLIENT KILL TYPE pubsub"));
        clock_sleep_ms(600);
    }
}

/* It runs on and answers, but no message of the others reaches it any more. */
TEST(a_node_that_has_left_is_not_listened_to)
{
    struct on_cluster all;
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    on_cluster_open(&all, NULL, LIST("--workers=1"));
    have_all_listen_at(&all, 0);
    clustered_fail_over(&all.clustered, clustered_replica(&all.clustered, 0));
    clustered_await_calm(&all.clustered);
    freeReplyObject(clustered_ask(&all.clustered, 0, "CLUSTER RESET"));
    for (int node = 1; node < all.clustered.count; node++)
        freeReplyObject(
            clustered_ask(&all.clustered, node, "CLUSTER FORGET %s", all.clustered.ids[0]));
    on_cluster_name(&all, 1, "heard-", 0, name);
    on_cluster_acquire(all.client[0], name, "?ttl=10m", token);
    struct parked *waits = on_cluster_wait(&all, 1, name, "?wait=50s");
    answers_token(all.client[0], token, on_cluster_request(line, "DELETE", name, ""), NULL, 200,
                  NULL);
    assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
    parked_close(waits);
    on_cluster_close(&all);
}

static void is_reported(const struct batond_process *batond, int code, const char *words)
{
    struct batond_process check;
    batond_process_launch(
        &check, &(struct batond_options){
                    .arguments = LIST("--check", "--listen", batond->url + strlen("http://"))});
    assert_true(process_wait(&check.process, CLOCK_HANG_MS));
    char *output = process_output(&check.process);
    if (process_exit_code(&check.process) != code || !strstr(output, words))
        fail_msg("exit code %d, and: %s", process_exit_code(&check.process), output);
    free(output);
    batond_process_stop(&check);
}

/* Without one third, the names of the others are served if the Cluster is set up for that. */
TEST(without_a_third_the_others_are_served)
{
    struct on_cluster all;
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME];
    on_cluster_open(&all, &(struct clustered_options){.partial = true, .no_replicas = true},
                    LIST("--workers=1"));
    is_reported(&all.batond[0], 0, "ready");
    on_cluster_name(&all, 1, "gone-", 0, name);
    char served[ON_CLUSTER_NAME];
    on_cluster_name(&all, 0, "there-", 0, served);
    clustered_kill(&all.clustered, 1);
    assert_true(comes_to_answer(all.client[0], "/readyz", 503, CLOCK_HANG_MS));
    is_reported(&all.batond[0], 1, "not ready");
    clock_sleep_ms(3 * CLUSTERED_DOWN_MS); /* until the others know */
    answers(all.client[0], "GET /readyz?verbose", NULL, 503, "store_unavailable");
    assert_non_null(strstr(http_text(all.client[0], "detail"), "2 of 3 primaries connected"));
    assert_non_null(strstr(http_text(all.client[0], "detail"), "cannot connect to Redis at"));
    for (int i = 0; i < 3; i++) {
        answers(all.client[0], on_cluster_request(line, "POST", served, "?ttl=1m"), NULL, 201,
                NULL);
        answers(all.client[1], on_cluster_request(line, "DELETE", served, "?force=true"), NULL, 200,
                NULL);
        answers(all.client[0], on_cluster_request(line, "POST", name, ""), NULL, 503,
                "store_unavailable");
    }
    clustered_resume(&all.clustered, 1);
    assert_true(comes_to_answer(all.client[0], "/readyz", 200, CLOCK_HANG_MS));
    answers(all.client[0], on_cluster_request(line, "POST", name, ""), NULL, 201, NULL);
    on_cluster_close(&all);
}

RUN_TESTS(on_cluster_start, on_cluster_stop)
