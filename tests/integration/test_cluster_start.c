/* What batond is told of a Redis Cluster at its start, and what it says of it. */
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALF_MS = 150, NAMES = 30 };

static void expect_refusal(const char *url, const char *words)
{
    struct batond_process batond;
    batond_process_launch(&batond, &(struct batond_options){.redis_url = url});
    assert_true(process_wait(&batond.process, CLOCK_HANG_MS));
    char *output = process_output(&batond.process);
    if (process_exit_code(&batond.process) != 1 || !strstr(output, words))
        fail_msg("exit code %d, and: %s", process_exit_code(&batond.process), output);
    assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
    free(output);
    batond_process_stop(&batond);
}

/* A node that is away says nothing else. */
TEST(redis_that_is_no_cluster_is_refused_at_the_start)
{
    struct redis_process alone;
    char url[120];
    redis_process_start(&alone, &(struct redis_options){.port = true});
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:1,127.0.0.1:%d,127.0.0.1:2", alone.port);
    expect_refusal(url, "it is not a node of a Redis Cluster");
    redis_process_stop(&alone);
}

/* And the other way round: a node alone does not have all names. */
TEST_ON_CLUSTER(a_node_is_no_redis_of_its_own)
{
    expect_refusal(all->clustered.nodes[0].port_url, "redis+cluster://");
}

/* It is told at once of all that is asked of nodes, some of it only once slots move. */
TEST_ON_CLUSTER(a_user_that_may_not_ask_is_refused_at_the_start)
{
    char url[120];
    redisReply *reply = clustered_ask(&all->clustered, 0,
                                      "ACL SETUSER blind on >word ~* &* +@all -cluster -asking");
    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    snprintf(url, sizeof url, "redis+cluster://blind:word@127.0.0.1:%d",
             all->clustered.nodes[0].port);
    expect_refusal(url, "+cluster|slots +cluster|info +asking");
}

/* Also behind one that is away, and one that is no node. */
TEST_ON_CLUSTER(one_node_that_answers_is_enough)
{
    struct batond_process batond;
    struct redis_process alone;
    char url[120];
    redis_process_start(&alone, &(struct redis_options){.port = true});
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d,127.0.0.1:1,127.0.0.1:%d", alone.port,
             all->clustered.nodes[4].port);
    struct http_client *client = batond_open(&batond, url, NULL);
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    for (int i = 0; i < NAMES; i++) {
        char line[ON_CLUSTER_LINE];
        snprintf(line, sizeof line, "POST /locks/enough-%d", i);
        answers(client, line, NULL, 201, NULL);
    }
    batond_close(&batond, client);
    redis_process_stop(&alone);
}

/* Names are moved to another node: both nodes are asked while they are on their way. */
static void follows_what_moves(struct on_cluster *all)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME];
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        on_cluster_name(all, i, "moves-", i, name);
        answers(all->client[0], on_cluster_request(line, "POST", name, "?ttl=1m"), NULL, 201, NULL);
        struct parked *waits = on_cluster_wait(all, 1, name, "?wait=50s");
        struct slot_move move = on_cluster_plan_move(all, name);
        clustered_begin_move(&all->clustered, &move);
        while (clustered_carry(&all->clustered, &move, 1)) {
        }
        struct parked *breaks =
            parked_send(all->batond[0].port, NULL,
                        on_cluster_request(line, "DELETE", name, "?force=true"), NULL);
        clock_sleep_ms(HALF_MS);
        clustered_end_move(&all->clustered, &move);
        if (parked_answer(breaks, CLOCK_HANG_MS) != 200) { /* where the move took too long for it */
            assert_int_equal(breaks->client.reply.status, 503);
            answers(all->client[0], on_cluster_request(line, "DELETE", name, "?force=true"), NULL,
                    200, NULL);
        }
        assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
        parked_close(breaks);
        parked_close(waits);
    }
}

static void follows_a_failover(struct on_cluster *all)
{
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    on_cluster_name(all, 1, "falls-", 0, name);
    clustered_await_calm(&all->clustered);
    int replica = clustered_replica(&all->clustered, 1);
    clustered_fail_over(&all->clustered, replica);
    assert_int_equal(clustered_await_other(&all->clustered, on_cluster_slot(name), 1), replica);
    on_cluster_answers_again(all, name);
    on_cluster_acquire(all->client[0], name, "?ttl=1m", token);
    on_cluster_give(all, 1, name, token);
}

TEST(a_password_is_that_of_all_nodes)
{
    struct on_cluster all;
    char url[240];
    on_cluster_open(
        &all, &(struct clustered_options){.password = "open-sesame", .is_patient = true}, NULL);
    follows_what_moves(&all);
    follows_a_failover(&all);
    snprintf(url, sizeof url, "redis+cluster://:wrong@127.0.0.1:%d", all.clustered.nodes[0].port);
    expect_refusal(url, "password");
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", all.clustered.nodes[0].port);
    expect_refusal(url, "password");
    on_cluster_close(&all);
}

/* What a node sends elsewhere goes to a port for TLS, too. */
TEST(over_tls_all_nodes_are_verified)
{
    struct on_cluster all = {.client = {NULL}};
    char authority[160];
    clustered_start(&all.clustered, &(struct clustered_options){.tls = true, .is_patient = true});
    snprintf(authority, sizeof authority, "--redis-ca=%s", all.clustered.authority.file);
    on_cluster_start_batonds(&all, LIST(authority));
    follows_what_moves(&all);
    follows_a_failover(&all);
    expect_refusal(all.clustered.url, "certificate");
    on_cluster_close(&all);
}

RUN_TESTS(on_cluster_start, on_cluster_stop)
