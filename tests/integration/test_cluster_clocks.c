/* Nodes of a Redis Cluster whose clocks differ: a jump is that of its node, numbers grow, and a
 * promoted replica ends nothing before its time. */
#include "tests/support/faults/jumping_clock.h"
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <string.h>

enum { LONG_MS = 8000, SHORT_MS = 100, LASTS_MS = 2500, STRANGE = 1 };

/* A Cluster of which one node has a clock of its own, and two batonds on it. */
struct stage {
    struct on_cluster all;
    struct jumping_clock clock; /* of the strange node */
};

/* Starts the Cluster alone: start the batonds with on_cluster_start_batonds. The clock of the node
 * `strange` is so far ahead, or behind. Without replicas it serves what is left, and no node that
 * is slow is taken for dead. */
static void stage_open(struct stage *stage, int strange, double seconds, bool no_replicas)
{
    struct clustered_options options = {
        .partial = no_replicas, .no_replicas = no_replicas, .is_patient = no_replicas};
    jumping_clock_open(&stage->clock);
    jumping_clock_set(&stage->clock, seconds);
    options.environment[strange] = stage->clock.environment;
    clustered_start(&stage->all.clustered, &options);
}

static void stage_close(struct stage *stage)
{
    on_cluster_close(&stage->all);
    jumping_clock_close(&stage->clock);
}

/* Takes it, and returns the fence. Until `ret_ends` it is held for certain: that long after it was
 * asked for. */
static int64_t hold(struct stage *stage, const char *name, int ttl_ms, int64_t *ret_ends)
{
    char query[32], token[TOKEN_TEXT];
    snprintf(query, sizeof query, "?ttl=%dms", ttl_ms);
    *ret_ends = clock_ms() + ttl_ms;
    return on_cluster_acquire(stage->all.client[0], name, query, token);
}

/* Asks for it, and fails the test where that is granted before `ends`. */
static long ask_for(struct http_client *client, const char *name, int64_t ends)
{
    char target[ON_CLUSTER_LINE];
    snprintf(target, sizeof target, "/locks/%s?ttl=100ms", name);
    long status = http_call(client, "POST", target, NULL);
    if (status == 201 && clock_ms() < ends)
        fail_msg("granted %lld ms too early", (long long)(ends - clock_ms()));
    return status;
}

/* From now until `ends` nobody gets it, and then everybody does, by a greater fence. Returns
 * whether anybody was told of a quarantine. */
static bool is_granted_from(struct stage *stage, const char *name, int64_t ends, int64_t fence)
{
    int64_t until = ends + CLOCK_HANG_MS;
    bool is_reported = clock_ms() > ends; /* by a machine that is too slow to show it */
    for (int i = 0; i < ON_CLUSTER_BATONDS;) {
        struct http_client *client = stage->all.client[i];
        int64_t begun = clock_ms();
        long status = ask_for(client, name, ends);
        const char *code = http_text(client, "code");
        is_reported |= status == 503 && code && strcmp(code, "quarantined") == 0;
        if (status == 201 && http_integer(client, "fence") <= fence)
            fail_msg("a fence of %lld after %lld", (long long)http_integer(client, "fence"),
                     (long long)fence);
        if (begun >= until)
            fail_msg("not granted: %s", client->reply.body);
        if (status == 201)
            fence = http_integer(client, "fence");
        if (status == 201 || begun < ends)
            i = begun < ends ? (i + 1) % ON_CLUSTER_BATONDS : i + 1;
        clock_sleep_ms(SHORT_MS / 10);
    }
    return is_reported;
}

/* A clock that jumps is that of its node, whoever has answered last. */
TEST(a_jump_is_held_against_nobody_else)
{
    struct stage stage = {0};
    char jumps[ON_CLUSTER_NAME], stays[ON_CLUSTER_NAME], line[ON_CLUSTER_LINE], token[TOKEN_TEXT];
    stage_open(&stage, STRANGE, 0, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&stage.all, STRANGE, "jumps-", 0, jumps);
    on_cluster_name(&stage.all, 0, "stays-", 0, stays);
    on_cluster_acquire(stage.all.client[0], jumps, "?ttl=5m", token);
    on_cluster_acquire(stage.all.client[0], stays, "?ttl=5m", token);
    on_cluster_await_looks(&stage.all, 0, ON_CLUSTER_BATONDS);
    on_cluster_await_looks(&stage.all, STRANGE, ON_CLUSTER_BATONDS);
    jumping_clock_set(&stage.clock, 3600);
    on_cluster_answers_again(&stage.all, stays);
    answers(stage.all.client[0], on_cluster_request(line, "POST", jumps, "?wait=0s"), NULL, 503,
            NULL);
    for (int i = 1; i < 20; i++) {
        on_cluster_name(&stage.all, 0, "stays-", i, stays);
        on_cluster_acquire(stage.all.client[0], stays, "", token);
        clock_sleep_ms(SHORT_MS);
    }
    on_cluster_stays_quarantined(&stage.all, jumps, 1);
    stage_close(&stage);
}

/* A slot of a node that is lost with all that it had, and whose clock was ahead, goes to one that
 * numbers by its own. */
TEST(numbers_grow_where_the_clock_is_behind)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME];
    int64_t ends;
    stage_open(&stage, STRANGE, 3600, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&stage.all, STRANGE, "numbered-", 0, name);
    int slot = on_cluster_slot(name);
    int64_t fence = hold(&stage, name, LONG_MS, &ends);
    on_cluster_await_looks(&stage.all, STRANGE, ON_CLUSTER_BATONDS); /* both know */
    clustered_kill(&stage.all.clustered, STRANGE);
    clock_sleep_ms(3L * CLUSTERED_DOWN_MS);
    for (int node = 0; node < CLUSTERED_PRIMARIES; node += 2)
        freeReplyObject(clustered_ask(&stage.all.clustered, node, "CLUSTER SETSLOT %d NODE %s",
                                      slot, stage.all.clustered.ids[0]));
    freeReplyObject(clustered_ask(&stage.all.clustered, 0, "CLUSTER BUMPEPOCH"));
    assert_true(is_granted_from(&stage, name, ends, fence));
    stage_close(&stage);
}

/* It has all that was granted, but ends it before its time. */
TEST(a_promoted_replica_whose_clock_is_ahead_grants_nothing_early)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    stage_open(&stage, CLUSTERED_PRIMARIES, 3600, false); /* the replica of the first */
    on_cluster_start_batonds(&stage.all,
                             LIST("--workers=1", "--quarantine=auto", "--confirm=replicas:1"));
    on_cluster_name(&stage.all, 0, "promoted-", 0, name);
    on_cluster_acquire(stage.all.client[0], name, "?ttl=10m", token);
    on_cluster_await_known(&stage.all, 9L * 60 * 1000);
    clustered_kill(&stage.all.clustered, 0);
    clustered_await_other(&stage.all.clustered, on_cluster_slot(name), 0);
    int64_t until = clock_ms() + LASTS_MS;
    char target[ON_CLUSTER_LINE];
    snprintf(target, sizeof target, "/locks/%s?confirm=none", name);
    bool is_reported = false;
    while (clock_ms() < until || (!is_reported && clock_ms() < until + CLOCK_HANG_MS)) {
        struct http_client *client = stage.all.client[clock_ms() % 2];
        assert_int_not_equal(http_call(client, "POST", target, NULL), 201);
        const char *code = http_text(client, "code");
        is_reported |= code && strcmp(code, "quarantined") == 0;
        clock_sleep_ms(SHORT_MS);
    }
    assert_true(is_reported);
    stage_close(&stage);
}
