/* What the primary of a Redis Cluster granted last, the replica that takes its place may not have:
 * it is granted to nobody while it may still be held. */
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <string.h>

enum {
    TTL_MS = 5000,
    LEAD_MS = 4000, /* a quarantine is at least that much longer */
};

/* Nobody is granted what the primary may have granted before `ends`, from its death on. */
static void grants_begin_at(struct on_cluster *all, const char *const names[2], int64_t ends,
                            int64_t fence)
{
    char target[ON_CLUSTER_LINE];
    bool is_reported = false;
    int64_t until = ends + CLOCK_HANG_MS;
    for (int i = 0; i < 2 * ON_CLUSTER_BATONDS;) {
        struct http_client *client = all->client[i % ON_CLUSTER_BATONDS];
        snprintf(target, sizeof target, "/locks/%s?ttl=100ms", names[i / ON_CLUSTER_BATONDS]);
        int64_t begun = clock_ms();
        long status = http_call(client, "POST", target, NULL);
        const char *code = http_text(client, "code");
        is_reported |= status == 503 && code && strcmp(code, "quarantined") == 0;
        if (status == 201 && clock_ms() < ends)
            fail_msg("%s is granted %lld ms too early", target, (long long)(ends - clock_ms()));
        if (status == 201 && i / ON_CLUSTER_BATONDS == 0)
            assert_true(http_integer(client, "fence") > fence);
        assert_true(status == 201 || status == 503 || status == 409);
        assert_true(begun < until);
        if (begun < ends)
            i = (i + 1) % (2 * ON_CLUSTER_BATONDS);
        else if (status == 201)
            i++;
        clock_sleep_ms(10);
    }
    /* On a machine that is so slow that nobody was promoted before, it may be over. */
    assert_true(is_reported || clock_ms() > ends + LEAD_MS);
}

/* What the old one granted last, the promoted one may not have. Nobody else is meant. */
TEST(a_promoted_replica_grants_nothing_for_a_while)
{
    struct on_cluster all;
    char held[ON_CLUSTER_NAME], other[ON_CLUSTER_NAME], elsewhere[ON_CLUSTER_NAME];
    char token[TOKEN_TEXT], line[ON_CLUSTER_LINE];
    on_cluster_open(&all, NULL, LIST("--workers=2", "--quarantine=auto"));
    on_cluster_name(&all, 0, "falls-", 0, held);
    on_cluster_name(&all, 0, "other-", 0, other);
    on_cluster_name(&all, 1, "elsewhere-", 0, elsewhere);
    /* Its time has to be told to the replica also where it is noted before Redis can be asked. */
    freeReplyObject(clustered_ask(&all.clustered, 0, "CLIENT KILL TYPE normal"));
    int64_t ends = clock_ms() + TTL_MS; /* at least */
    int64_t fence = on_cluster_acquire(all.client[0], held, "?ttl=5s", token);
    on_cluster_await_replica(&all, 0, held);
    clustered_kill(&all.clustered, 0);
    grants_begin_at(&all, (const char *const[]){held, other}, ends, fence);
    answers(all.client[1], on_cluster_request(line, "POST", elsewhere, ""), NULL, 201, NULL);
    on_cluster_close(&all);
}

/* It was a primary before, of which batond knows what was true then. */
TEST(primary_that_takes_its_place_again_grants_nothing_for_a_while)
{
    struct on_cluster all;
    char held[ON_CLUSTER_NAME], other[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    on_cluster_open(&all, NULL, LIST("--workers=2", "--quarantine=auto"));
    on_cluster_name(&all, 0, "falls-", 0, held);
    on_cluster_name(&all, 0, "other-", 0, other);
    int replica = clustered_replica(&all.clustered, 0);
    clustered_fail_over(&all.clustered, replica);
    clustered_await_calm(&all.clustered);
    on_cluster_answers_again(&all, held);
    on_cluster_await_looks(&all, replica, 4); /* nobody held anything */
    int64_t ends = clock_ms() + TTL_MS;       /* at least */
    int64_t fence = on_cluster_acquire(all.client[0], held, "?ttl=5s", token);
    on_cluster_await_replica(&all, replica, held);
    clustered_kill(&all.clustered, replica);
    grants_begin_at(&all, (const char *const[]){held, other}, ends, fence);
    on_cluster_close(&all);
}
