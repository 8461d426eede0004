/* How soon another primary is used, which Sentinel names, and how soon one is left that most of
 * them, or most primaries of a Cluster, do not answer for. */
#include "redis/cluster/primary_lease.h"
#include "redis/sentinel/sentinel.h"
#include "tests/support/clock.h"
#include "tests/support/clustered.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/store_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/watched.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";

enum { SLACK_MS = 500 };

/* How long it takes to be connected by way of these. */
static int64_t connects(const char *url)
{
    struct store_fixture store;
    int64_t begun = clock_ms();
    store_fixture_open_up(&store, url);
    int64_t took = clock_ms() - begun;
    store_fixture_close(&store);
    print_message("connected after %d ms\n", (int)took);
    return took;
}

TEST(a_dead_or_frozen_sentinel_is_not_waited_for)
{
    struct watched *watched = *state;
    char url[200];
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/mymaster", free_port(),
             watched->sentinels[2].port);
    assert_true(connects(url) <= 900);
    process_signal(&watched->sentinels[0].process, SIGSTOP); /* two of three are most of them */
    assert_true(connects(watched->url) <= 500);
    process_signal(&watched->sentinels[0].process, SIGCONT);
}

/* Runs a script every 10 ms until one has run on another server. Returns how long none did. */
static int64_t stall_until_switched(struct store_fixture *store)
{
    int64_t last = clock_ms(), longest = 0, limit = last + CLOCK_HANG_MS;
    uint64_t switches = store_figures(store->store).switches;
    while (clock_ms() < limit) {
        struct outcome outcome = store_fixture_run(store, COUNT, "stall", "");
        assert_true(outcome.took_ms <= REDIS_TIMEOUT_MS + SLACK_MS);
        if (outcome.outcome == STORE_REPLIED) {
            longest = clock_ms() - last > longest ? clock_ms() - last : longest;
            last = clock_ms();
            if (store_figures(store->store).switches > switches)
                return longest;
        }
        store_fixture_idle(store, 10);
    }
    fail_msg("the store does not follow: %s", store_trouble(store->store));
    return -1;
}

TEST(another_primary_is_followed)
{
    struct watched *watched = *state;
    struct store_fixture store;
    store_fixture_open_up(&store, watched->url);
    int old = watched_primary(watched, 0);
    watched_fail_over(watched);
    int64_t planned = stall_until_switched(&store);
    print_message("SENTINEL FAILOVER: no script ran for %d ms\n", (int)planned);
    assert_true(planned <= 4000);
    watched_await_other(watched, old);
    watched_await_replica(watched, old);

    old = watched_primary(watched, 0);
    redis_process_kill(&watched->servers[old]);
    int64_t killed = stall_until_switched(&store);
    print_message("SIGKILL: no script ran for %d ms\n", (int)killed);
    assert_true(killed <= 15000);
    store_fixture_close(&store);
    watched_await_other(watched, old);
    watched_resume(watched, old);
    watched_await_replica(watched, old);
}

/* It was asked for some time before, and no longer than a lease ago. */
TEST(a_primary_without_a_lease_of_sentinels_is_left)
{
    struct watched *watched = *state;
    struct store_fixture store;
    store_fixture_open(&store, watched->url);
    store_require_primary_lease(store.store);
    store_fixture_await(&store, &store.ups, 1);
    process_signal(&watched->sentinels[2].process, SIGSTOP);
    store_fixture_idle(&store, SENTINEL_PRIMARY_LEASE_MS + SLACK_MS);
    store_fixture_await(&store, &store.ups, store.downs + 1); /* if it was lost once meanwhile */
    int64_t begun = clock_ms();
    process_signal(&watched->sentinels[1].process, SIGSTOP);
    store_fixture_await(&store, &store.downs, store.downs + 1);
    int64_t took = clock_ms() - begun;
    process_signal(&watched->sentinels[2].process, SIGCONT);
    process_signal(&watched->sentinels[1].process, SIGCONT);
    print_message("left after %d ms\n", (int)took);
    assert_in_range(took, 1000, SENTINEL_PRIMARY_LEASE_MS + SLACK_MS);
    store_fixture_close(&store);
}

TEST(a_primary_without_a_lease_of_primaries_is_left)
{
    struct clustered clustered = {0};
    struct store_fixture store;
    clustered_start(&clustered, &(struct clustered_options){.no_replicas = true, .partial = true});
    store_fixture_open(&store, clustered.url);
    store_require_primary_lease(store.store);
    store_fixture_await(&store, &store.ups, CLUSTERED_PRIMARIES);
    clustered_freeze(&clustered, 1);
    store_fixture_idle(&store, PRIMARY_LEASE_MS + SLACK_MS);
    int downs = store.downs;
    clustered_freeze(&clustered, 2);
    int64_t begun = clock_ms();
    while (!strstr(store.reason, "most of the primaries have not said so"))
        store_fixture_await(&store, &store.downs, ++downs);
    int64_t took = clock_ms() - begun;
    clustered_thaw(&clustered, 2);
    clustered_thaw(&clustered, 1);
    print_message("left after %d ms\n", (int)took);
    assert_in_range(took, 1000, PRIMARY_LEASE_MS + SLACK_MS);
    store_fixture_close(&store);
    clustered_stop(&clustered);
}

RUN_TESTS(watched_set_up, watched_tear_down)
