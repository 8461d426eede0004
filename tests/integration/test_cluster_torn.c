/* A primary of a Redis Cluster dies while slots move to it or away from it, or just after, although
 * all that it has granted was confirmed by its replica. */
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <string.h>

enum { AGAIN_MS = 20, LASTS_MS = 1300 };

static void open_all(struct on_cluster *all, bool partial)
{
    on_cluster_open(all, &(struct clustered_options){.partial = partial},
                    LIST("--workers=1", "--quarantine=auto", "--confirm=replicas:1"));
}

/* A promoted replica has none of its own, so that nothing would be confirmed: it gets that of the
 * third primary. */
static void replace(struct on_cluster *all, int slot, int dead)
{
    int promoted = dead, replica = clustered_replica(&all->clustered, 2);
    for (int64_t until = clock_ms() + CLOCK_HANG_MS; promoted == dead; clock_sleep_ms(AGAIN_MS)) {
        assert_true(clock_ms() < until);
        promoted = clustered_view(&all->clustered, 2, slot);
        promoted = promoted < 0 ? dead : promoted;
    }
    for (int64_t until = clock_ms() + CLOCK_HANG_MS;
         clustered_view(&all->clustered, replica, slot) != promoted; clock_sleep_ms(AGAIN_MS))
        assert_true(clock_ms() < until);
    freeReplyObject(clustered_ask(&all->clustered, replica, "CLUSTER REPLICATE %s",
                                  all->clustered.ids[promoted]));
}

/* It is held all the time: nobody gets it, and whoever asks is told why. */
static void is_not_granted(struct on_cluster *all, const char *name)
{
    char target[ON_CLUSTER_LINE];
    int64_t begun = clock_ms(), reported[ON_CLUSTER_BATONDS] = {0};
    snprintf(target, sizeof target, "/locks/%s?ttl=100ms", name);
    for (int i = 0; clock_ms() < reported[0] + LASTS_MS || clock_ms() < reported[1] + LASTS_MS ||
                    reported[0] == 0 || reported[1] == 0;
         i = 1 - i) {
        long status = http_call(all->client[i], "POST", target, NULL);
        const char *code = http_text(all->client[i], "code");
        if (status == 503 && code && strcmp(code, "quarantined") == 0 && reported[i] == 0)
            reported[i] = clock_ms();
        if (status == 201)
            fail_msg("granted again");
        if (clock_ms() > begun + CLOCK_HANG_MS)
            fail_msg("%s", all->client[i]->reply.body);
        clock_sleep_ms(AGAIN_MS);
    }
}

/* The hold is at the node that its slot goes to. The promoted replica knows of no move, and has the
 * name for free. */
TEST(hold_on_its_way_is_not_granted_again)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    open_all(&all, true);
    on_cluster_name(&all, 0, "torn-", 0, name);
    on_cluster_acquire(all.client[0], name, "?ttl=5m", token);
    struct slot_move move = {on_cluster_slot(name), 0, 1};
    clustered_begin_move(&all.clustered, &move);
    while (clustered_carry(&all.clustered, &move, 1)) {
    }
    clustered_kill(&all.clustered, 0);
    replace(&all, move.slot, 0);
    is_not_granted(&all, name);
    on_cluster_close(&all);
}

/* The same by hand, at once: nobody has had the time to see that slots were on their way. */
TEST(nor_where_its_primary_steps_down)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    open_all(&all, false);
    on_cluster_name(&all, 0, "steps-", 0, name);
    on_cluster_acquire(all.client[0], name, "?ttl=5m", token);
    struct slot_move move = {on_cluster_slot(name), 0, 1};
    clustered_begin_move(&all.clustered, &move);
    while (clustered_carry(&all.clustered, &move, 1)) {
    }
    clustered_fail_over(&all.clustered, clustered_replica(&all.clustered, 0));
    is_not_granted(&all, name);
    on_cluster_close(&all);
}

/* What has come by a move, nobody has confirmed. */
TEST(hold_that_has_just_moved_may_be_lost)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], free_name[ON_CLUSTER_NAME], line[ON_CLUSTER_LINE];
    char token[TOKEN_TEXT];
    open_all(&all, false);
    int replica = clustered_replica(&all.clustered, 1);
    on_cluster_name(&all, 0, "comes-", 0, name);
    on_cluster_name(&all, 1, "stays-", 0, free_name); /* the other one may be there after all */
    on_cluster_acquire(all.client[0], name, "?ttl=5m", token);
    struct slot_move move = {on_cluster_slot(name), 0, 1};
    clustered_freeze(&all.clustered, replica);
    clustered_move(&all.clustered, &move);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) /* now both know */
        answers(all.client[i], on_cluster_request(line, "POST", name, ""), NULL, 409, "locked");
    clustered_kill(&all.clustered, 1);
    clustered_thaw(&all.clustered, replica);
    replace(&all, move.slot, 1);
    is_not_granted(&all, free_name);
    on_cluster_close(&all);
}
