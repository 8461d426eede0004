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

/* A name of node 0 is held, as both batonds know, when that node dies. Returns the node that is to
 * have its slot: one that was there, or a new one. */
static int lose_a_hold(struct on_cluster *all, char name[ON_CLUSTER_NAME], bool is_new)
{
    char token[TOKEN_TEXT];
    on_cluster_open(all, &(struct clustered_options){.partial = true, .no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(all, 0, "gone-", 0, name);
    int heir = is_new ? clustered_add(&all->clustered) : 1;
    on_cluster_acquire(all->client[0], name, "?ttl=10m", token);
    on_cluster_await_known(all, 9L * 60 * 1000);
    clustered_kill(&all->clustered, 0);
    await_dead(&all->clustered, 0);
    return heir;
}

static void give_slot(struct on_cluster *all, const char *name, int heir)
{
    for (int node = 1; node < all->clustered.count; node++)
        freeReplyObject(clustered_ask(&all->clustered, node, "CLUSTER SETSLOT %d NODE %s",
                                      on_cluster_slot(name), all->clustered.ids[heir]));
    freeReplyObject(clustered_ask(&all->clustered, heir, "CLUSTER BUMPEPOCH"));
}

/* It has lost nothing itself, but has none of the holds that it should have. */
TEST(node_given_the_slots_of_a_lost_one_grants_nothing)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME];
    int heir = lose_a_hold(&all, name, false);
    give_slot(&all, name, heir);
    on_cluster_answers_again(&all, name);
    clock_sleep_ms(LOOKS_MS); /* it lasts */
    on_cluster_stays_quarantined(&all, name, 1);
    on_cluster_close(&all);
}

/* Nor does who is new: of it nothing is known but whose slots it was given. */
TEST(a_new_primary_in_place_of_one_that_is_lost_grants_nothing)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME];
    int heir = lose_a_hold(&all, name, true);
    give_slot(&all, name, heir);
    on_cluster_stays_quarantined(&all, name, 50);
    on_cluster_close(&all);
}

/* The first to meet the new one knows nothing of the lost one: what the others know counts when
 * they come, though somebody has made an epoch there. */
TEST(batond_that_remembers_counts_though_another_was_first)
{
    struct on_cluster all;
    struct batond_process late;
    char target[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME];
    int heir = lose_a_hold(&all, name, true);
    snprintf(target, sizeof target, "/locks/%s?ttl=100ms", name);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        process_signal(&all.batond[i].process, SIGSTOP);
    give_slot(&all, name, heir);
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
