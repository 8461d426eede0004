/* The primaries of a Cluster do not hear one another for some seconds, and batond hears all of
 * them: what one of them publishes is lost for whoever listens at another one, and nobody is told.
 */
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BROKEN_MS = 3000 };

static int start(void **state)
{
    static const char *const FLAGS[] = {"--workers=1", NULL};
    struct on_cluster *all = calloc(1, sizeof *all);
    *state = all;
    on_cluster_open(all, &(struct clustered_options){.is_patient = true}, FLAGS);
    return 0;
}

/* The value of a field of what CLUSTER LINKS says of one link. */
static const char *field(const redisReply *link, const char *name)
{
    for (size_t i = 0; i + 1 < link->elements; i += 2)
        if (strcmp(link->element[i]->str, name) == 0)
            return link->element[i + 1]->str;
    return "";
}

/* Redis makes them again within 100 ms. One that is broken already must not be named. */
static void break_links(struct clustered *clustered)
{
    for (int from = 0; from < CLUSTERED_PRIMARIES; from++) {
        redisReply *links = clustered_ask(clustered, from, "CLUSTER LINKS");
        for (size_t i = 0; i < links->elements; i++)
            if (strcmp(field(links->element[i], "direction"), "to") == 0)
                freeReplyObject(clustered_ask(clustered, from, "DEBUG CLUSTERLINK KILL to %s",
                                              field(links->element[i], "node")));
        freeReplyObject(links);
    }
}

/* One name at each primary, so that at least two of three are published at another one than that
 * which the waiters' batond listens to. */
static void who_waits_is_served_though_the_links_of_the_bus_are_broken(void **state)
{
    struct on_cluster *all = *state;
    char name[CLUSTERED_PRIMARIES][ON_CLUSTER_NAME], token[CLUSTERED_PRIMARIES][TOKEN_TEXT];
    struct parked *waiter[CLUSTERED_PRIMARIES];
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        on_cluster_name(all, i, "lost-", i, name[i]);
        on_cluster_take(all, 0, name[i], token[i]);
        waiter[i] = on_cluster_wait(all, 1, name[i], "?wait=1m&ttl=1m");
    }
    break_links(&all->clustered);
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        break_links(&all->clustered);
        on_cluster_give(all, 0, name[i], token[i]);
    }
    int64_t begun = clock_ms();
    for (; clock_ms() < begun + BROKEN_MS; clock_sleep_ms(5))
        break_links(&all->clustered);
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        assert_int_equal(parked_answer(waiter[i], CLOCK_HANG_MS), 201);
        parked_close(waiter[i]);
    }
}

/* Also if another name, whose primary has not been away, would have been asked about before. */
static void who_waits_asks_again_as_soon_as_its_primary_is_back(void **state)
{
    struct on_cluster *all = *state;
    char name[2][ON_CLUSTER_NAME], token[2][TOKEN_TEXT];
    struct parked *waiter[2];
    for (int i = 0; i < 2; i++) {
        on_cluster_name(all, i, "away-", i, name[i]);
        on_cluster_take(all, 0, name[i], token[i]);
        waiter[i] = on_cluster_wait(all, 1, name[i], "?wait=1m&ttl=1m");
    }
    freeReplyObject(clustered_ask(&all->clustered, 1, "DEL baton:{%s}", name[1]));
    freeReplyObject(clustered_ask(&all->clustered, 1, "CLIENT KILL TYPE normal"));
    assert_int_equal(parked_answer(waiter[1], CLOCK_HANG_MS), 201);
    assert_true(parked_waits(waiter[0], 0));
    on_cluster_give(all, 0, name[0], token[0]);
    assert_int_equal(parked_answer(waiter[0], CLOCK_HANG_MS), 201);
    for (int i = 0; i < 2; i++)
        parked_close(waiter[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_is_served_though_the_links_of_the_bus_are_broken),
        cmocka_unit_test(who_waits_asks_again_as_soon_as_its_primary_is_back),
    };
    return cmocka_run_group_tests(tests, start, on_cluster_stop);
}
