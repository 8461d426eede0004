/* Whoever is given the slots of a node of a Redis Cluster that is lost has none of its holds: they
 * are granted to nobody while they may still be held. */
#include "tests/support/fixtures/on_cluster.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { LOOKS_MS = 2200 }; /* each batond looks once a second */

/* Whether the witness takes that node for dead. */
static bool is_dead_to(struct clustered *clustered, int node, int witness)
{
    redisReply *nodes = clustered_ask(clustered, witness, "CLUSTER NODES");
    char *line = strstr(nodes->str, clustered->ids[node]);
    if (line)
        *strchrnul(line, '\n') = '\0';
    bool is_dead = line && strstr(line, "fail ");
    freeReplyObject(nodes);
    return is_dead;
}

/* Until all the others do. */
static void await_dead(struct clustered *clustered, int node)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    for (int witness = 0; witness < clustered->count; witness++)
        while (witness != node && !is_dead_to(clustered, node, witness)) {
            assert_true(clock_ms() < until);
            clock_sleep_ms(20);
        }
}

/* It has lost nothing itself, but has none of the holds that it should have. */
TEST(node_given_the_slots_of_a_lost_one_grants_nothing)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    on_cluster_open(&all, &(struct clustered_options){.partial = true, .no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&all, 0, "gone-", 0, name);
    int slot = on_cluster_slot(name);
    on_cluster_acquire(all.client[0], name, "?ttl=10m", token);
    on_cluster_await_known(&all, 9L * 60 * 1000);
    clustered_kill(&all.clustered, 0);
    await_dead(&all.clustered, 0);
    for (int node = 1; node < CLUSTERED_PRIMARIES; node++)
        freeReplyObject(clustered_ask(&all.clustered, node, "CLUSTER SETSLOT %d NODE %s", slot,
                                      all.clustered.ids[1]));
    freeReplyObject(clustered_ask(&all.clustered, 1, "CLUSTER BUMPEPOCH"));
    on_cluster_answers_again(&all, name);
    clock_sleep_ms(LOOKS_MS); /* it lasts */
    on_cluster_stays_quarantined(&all, name, 1);
    on_cluster_close(&all);
}

/* Nor does who is new: of it nothing is known but whose slots it was given. */
TEST(a_new_primary_in_place_of_one_that_is_lost_grants_nothing)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    on_cluster_open(&all, &(struct clustered_options){.partial = true, .no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&all, 0, "gone-", 0, name);
    int slot = on_cluster_slot(name), node = clustered_add(&all.clustered);
    on_cluster_acquire(all.client[0], name, "?ttl=10m", token);
    on_cluster_await_known(&all, 9L * 60 * 1000);
    clustered_kill(&all.clustered, 0);
    await_dead(&all.clustered, 0);
    for (int i = 1; i <= node; i++)
        freeReplyObject(clustered_ask(&all.clustered, i, "CLUSTER SETSLOT %d NODE %s", slot,
                                      all.clustered.ids[node]));
    freeReplyObject(clustered_ask(&all.clustered, node, "CLUSTER BUMPEPOCH"));
    on_cluster_stays_quarantined(&all, name, 50);
    on_cluster_close(&all);
}

/* The first to meet the new one knows nothing of the lost one: what the others know counts when
 * they come, though somebody has made an epoch there. */
TEST(batond_that_remembers_counts_though_another_was_first)
{
    struct on_cluster all;
    struct batond_process late;
    char target[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    on_cluster_open(&all, &(struct clustered_options){.partial = true, .no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&all, 0, "gone-", 0, name);
    snprintf(target, sizeof target, "/locks/%s?ttl=100ms", name);
    int slot = on_cluster_slot(name), node = clustered_add(&all.clustered);
    on_cluster_acquire(all.client[0], name, "?ttl=10m", token);
    on_cluster_await_known(&all, 9L * 60 * 1000);
    clustered_kill(&all.clustered, 0);
    await_dead(&all.clustered, 0);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        process_signal(&all.batond[i].process, SIGSTOP);
    for (int i = 1; i <= node; i++)
        freeReplyObject(clustered_ask(&all.clustered, i, "CLUSTER SETSLOT %d NODE %s", slot,
                                      all.clustered.ids[node]));
    freeReplyObject(clustered_ask(&all.clustered, node, "CLUSTER BUMPEPOCH"));
    struct http_client *client = batond_open(&late, all.clustered.url, LIST("--quarantine=auto"));
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (http_call(client, "POST", target, NULL) != 201 && clock_ms() < until)
        clock_sleep_ms(20);
    assert_int_equal(client->reply.status, 201);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        process_signal(&all.batond[i].process, SIGCONT);
    until = clock_ms() + CLOCK_HANG_MS;
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        while (!on_cluster_quarantines(all.client[i], target)) {
            assert_int_not_equal(all.client[i]->reply.status, 201);
            assert_true(clock_ms() < until);
            clock_sleep_ms(20);
        }
    while (!on_cluster_quarantines(client, target)) {
        assert_true(clock_ms() < until);
        clock_sleep_ms(20);
    }
    batond_close(&late, client);
    on_cluster_close(&all);
}
