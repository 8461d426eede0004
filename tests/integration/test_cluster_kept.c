/* Where a Redis Cluster has lost nothing, nobody waits for anything. */
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS_MS = 2500, HALF_MS = 150 }; /* each batond looks once a second */

/* Whether a node was so slow that a batond gave its connection up. Then a quarantine is right: what
 * comes from a primary that is away may have been lost there. */
static bool has_given_one_up(const struct on_cluster *all)
{
    bool has = false;
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        char *output = process_output(&all->batond[i].process);
        has |= strstr(output, "did not answer within") || strstr(output, "cannot connect to Redis");
        free(output);
    }
    return has;
}

/* Whether they all hear that it is held, and none is in quarantine. */
static bool is_held_for_all(struct on_cluster *all, const char *name)
{
    char target[ON_CLUSTER_LINE];
    bool is_held = true;
    snprintf(target, sizeof target, "/locks/%s?owner=other", name);
    for (int i = 0; is_held && i < ON_CLUSTER_BATONDS; i++) {
        is_held = http_call(all->client[i], "POST", target, NULL) == 409 &&
                  http_call(all->client[i], "GET", "/readyz?verbose", NULL) == 200 &&
                  !strstr(all->client[i]->reply.body, "\"quarantine\"");
        if (!is_held && !has_given_one_up(all))
            fail_msg("%ld: %s", all->client[i]->reply.status, all->client[i]->reply.body);
    }
    return is_held;
}

static int first_slot(int primary)
{
    return primary * CLUSTERED_SLOTS / CLUSTERED_PRIMARIES;
}

/* To a node that is new, and to one whose first slot stays the same. The first slot of a node goes,
 * too, and with it the epoch. */
TEST(slots_that_move_in_order_cause_none)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    bool is_held = true;
    on_cluster_open(&all, &(struct clustered_options){.no_replicas = true, .is_patient = true},
                    LIST("--workers=2", "--quarantine=auto"));
    on_cluster_name(&all, 0, "in-order-", 0, name);
    on_cluster_acquire(all.client[0], name, "?ttl=10m", token);
    int node = clustered_add(&all.clustered);
    clustered_move(&all.clustered, &(struct slot_move){on_cluster_slot(name), 0, node});
    clustered_move(&all.clustered, &(struct slot_move){first_slot(1), 1, 0});
    clustered_move(&all.clustered, &(struct slot_move){first_slot(2), 2, 0});
    on_cluster_answers_again(&all, name);
    for (int64_t until = clock_ms() + LOOKS_MS; is_held && clock_ms() < until;
         clock_sleep_ms(HALF_MS))
        is_held = is_held_for_all(&all, name);
    if (is_held) {
        on_cluster_give(&all, 1, name, token);
        on_cluster_take(&all, 0, name, token);
        on_cluster_give(&all, 0, name, token);
        on_cluster_take(&all, 1, name, token);
    } else {
        print_message("a node was given up, since the machine is too busy\n");
    }
    on_cluster_close(&all);
}
