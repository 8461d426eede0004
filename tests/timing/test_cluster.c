/* How soon things happen in a Redis Cluster. */
#include "tests/support/fixtures/on_cluster.h"
#include "tests/support/quantile.h"

enum {
    ROUNDS = 9,
    SOON_MS = 50,
    SECOND_MS = 1000,
    LEASE_MS = 10000,
    BROKEN_MS = 3000,
    LATE_MS = 800, /* what a Redis that is found dead or back may add */
};

/* Whichever primary serves the name. */
TEST_ON_CLUSTER(a_waiter_at_another_batond_is_woken_at_once)
{
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    int64_t took[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        on_cluster_name(all, i % CLUSTERED_PRIMARIES, "woken-", i, name);
        on_cluster_take(all, i % 2, name, token);
        struct parked *waits = on_cluster_wait(all, 1 - i % 2, name, "?wait=50s");
        int64_t begun = clock_ms();
        on_cluster_give(all, i % 2, name, token);
        assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
        took[i] = clock_ms() - begun;
        parked_close(waits);
    }
    assert_in_range(quantile(took, ROUNDS, 50), 0, SOON_MS);
    assert_in_range(took[ROUNDS - 1], 0, SECOND_MS); /* a message that is lost takes longer */
}

TEST_ON_CLUSTER(an_expiry_hands_over_at_once)
{
    enum { TTL_MS = 300 };
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    int64_t took[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        on_cluster_name(all, i % CLUSTERED_PRIMARIES, "ends-", i, name);
        on_cluster_take(all, 0, name, token);
        struct parked *waits = on_cluster_wait(all, 1, name, "?wait=50s");
        answers_token(all->client[0], token, on_cluster_request(line, "PUT", name, "?ttl=300ms"),
                      NULL, 200, NULL);
        int64_t begun = clock_ms();
        assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
        took[i] = clock_ms() - begun - TTL_MS;
        parked_close(waits);
    }
    assert_true(quantile(took, ROUNDS, 50) <= SOON_MS);
}

/* Also if another name, whose primary has not been away, would have been asked about before. */
TEST_ON_CLUSTER(a_waiter_asks_again_as_soon_as_its_primary_is_back)
{
    char name[2][ON_CLUSTER_NAME], token[2][TOKEN_TEXT];
    struct parked *waiter[2];
    for (int i = 0; i < 2; i++) {
        on_cluster_name(all, i, "away-", i, name[i]);
        on_cluster_take(all, 0, name[i], token[i]);
        waiter[i] = on_cluster_wait(all, 1, name[i], "?wait=50s");
    }
    freeReplyObject(clustered_ask(&all->clustered, 1, "DEL baton:{%s}", name[1]));
    freeReplyObject(clustered_ask(&all->clustered, 1, "CLIENT KILL TYPE normal"));
    assert_int_equal(parked_answer(waiter[1], LATE_MS), 201);
    assert_true(parked_waits(waiter[0], 0));
    for (int i = 0; i < 2; i++)
        parked_close(waiter[i]);
}

/* A lost message costs half a lease. */
TEST_ON_CLUSTER(a_waiter_is_served_within_half_a_lease_though_messages_are_lost)
{
    char name[CLUSTERED_PRIMARIES][ON_CLUSTER_NAME], token[CLUSTERED_PRIMARIES][TOKEN_TEXT];
    struct parked *waiter[CLUSTERED_PRIMARIES];
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        on_cluster_name(all, i, "lost-", i, name[i]);
        on_cluster_take(all, 0, name[i], token[i]);
        waiter[i] = on_cluster_wait(all, 1, name[i], "?wait=50s&ttl=1m");
    }
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        clustered_break_links(&all->clustered);
        on_cluster_give(all, 0, name[i], token[i]);
    }
    int64_t begun = clock_ms();
    for (; clock_ms() < begun + BROKEN_MS; clock_sleep_ms(5))
        clustered_break_links(&all->clustered);
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        assert_int_equal(parked_answer(waiter[i], CLOCK_HANG_MS), 201);
        assert_in_range(clock_ms() - begun, 0, LEASE_MS / 2 + LATE_MS);
        parked_close(waiter[i]);
    }
}

TEST_ON_CLUSTER(without_its_primary_a_name_is_503_within_a_second)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME];
    on_cluster_name(all, 1, "gone-", 0, name);
    clustered_freeze(&all->clustered, 1);
    for (int i = 0; i < 3; i++) {
        int64_t begun = clock_ms();
        answers(all->client[0], on_cluster_request(line, "POST", name, ""), NULL, 503,
                "store_unavailable");
        assert_in_range(clock_ms() - begun, 0, SECOND_MS);
    }
    clustered_thaw(&all->clustered, 1);
    on_cluster_answers_again(all, name);
}

RUN_TESTS(on_cluster_start, on_cluster_stop)
