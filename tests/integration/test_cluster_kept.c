/* Where a Redis Cluster has lost nothing, nobody waits for anything. */
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

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

/* Also where the record of the old place comes along, and nobody has heard of the new place. */
static void slots_that_move_in_order_cause_none(void **state)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    bool is_held = true;
    (void)state;
    on_cluster_open(&all, &(struct clustered_options){.no_replicas = true, .is_patient = true},
                    LIST("--workers=2", "--quarantine=auto"));
    on_cluster_name(&all, 0, "in-order-", 0, name);
    on_cluster_acquire(all.client[0], name, "?ttl=10m", token);
    int node = clustered_add(&all.clustered);
    clustered_move(&all.clustered, &(struct slot_move){0, 0, node});
    clustered_move(&all.clustered, &(struct slot_move){on_cluster_slot(name), 0, node});
    clustered_move(&all.clustered, &(struct slot_move){1, 0, 1});
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

static void a_promoted_replica_that_has_all_grants_at_once(void **state)
{
    struct on_cluster all;
    char held[ON_CLUSTER_NAME], other[ON_CLUSTER_NAME], line[ON_CLUSTER_LINE], token[TOKEN_TEXT];
    (void)state;
    on_cluster_open(&all, NULL, LIST("--workers=2", "--quarantine=auto", "--confirm=replicas:1"));
    on_cluster_name(&all, 0, "kept-", 0, held);
    on_cluster_name(&all, 0, "free-", 0, other);
    on_cluster_acquire(all.client[0], held, "?ttl=10m", token);
    clock_sleep_ms(HALF_MS);
    clustered_kill(&all.clustered, 0);
    clustered_await_other(&all.clustered, on_cluster_slot(held), 0);
    on_cluster_answers_again(&all, held);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        answers(all.client[i], on_cluster_request(line, "POST", held, ""), NULL, 409, "locked");
        answers(all.client[i], on_cluster_request(line, "POST", other, ""), NULL, 503,
                "unconfirmed"); /* there is no other replica */
        answers(all.client[i], "GET /readyz?verbose", NULL, 503, NULL);
        assert_null(strstr(all.client[i]->reply.body, "\"quarantine\""));
    }
    on_cluster_close(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_that_move_in_order_cause_none),
        cmocka_unit_test(a_promoted_replica_that_has_all_grants_at_once),
    };
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return cmocka_run_group_tests_name("cluster_kept", tests, NULL, NULL);
}
