/* Redis Cluster: a primary is used only while most of the primaries say that it is one. */
#include "redis/cluster/primary_lease.h"
#include "tests/support/clock.h"
#include "tests/support/clustered.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/store_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { LONGER_MS = PRIMARY_LEASE_MS + 200 };

struct world {
    struct clustered clustered;
    struct store_fixture store;
};

static int set_up_all(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    /* With slots that nobody serves, the others go on. */
    clustered_start(
        &world->clustered,
        &(struct clustered_options){.no_replicas = true, .partial = true, .is_patient = true});
    *state = world;
    return 0;
}

static int tear_down_all(void **state)
{
    struct world *world = *state;
    clustered_stop(&world->clustered);
    free(world);
    return 0;
}

static int set_up(void **state)
{
    struct world *world = *state;
    struct store_fixture *store = &world->store;
    store_fixture_open(store, world->clustered.url);
    assert_int_equal(store_primary_lease_ms(store->store), 0);
    store_require_primary_lease(store->store);
    assert_int_equal(store_primary_lease_ms(store->store), PRIMARY_LEASE_MS);
    store_fixture_await(store, &store->ups, CLUSTERED_PRIMARIES);
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    store_fixture_close(&world->store);
    return 0;
}

/* Which node serves the key, "a" and so on. */
static int node_of(struct world *world, const char *key)
{
    return clustered_primary(&world->clustered, clustered_slot(key));
}

static void await_use(struct store_fixture *store)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (store_fixture_run(store, "return 1", "a", "").outcome != STORE_REPLIED) {
        assert_true(clock_ms() < until);
        store_fixture_idle(store, 10);
    }
}

/* One of three is not most of them; two are, and the third does not know what they would say. */
TEST_WITH(without_a_lease_no_primary_is_used, set_up, tear_down)
{
    struct world *world = *state;
    struct store_fixture *store = &world->store;
    int kept = node_of(world, "a"), one = (kept + 1) % 3, other = (kept + 2) % 3;
    clustered_freeze(&world->clustered, one);
    store_fixture_idle(store, LONGER_MS);
    await_use(store);
    int downs = store->downs;
    clustered_freeze(&world->clustered, other);
    while (!strstr(store->reason, "most of the primaries have not said so"))
        store_fixture_await(store, &store->downs, ++downs);
    struct outcome outcome = store_fixture_run(store, "return 1", "a", "");
    clustered_thaw(&world->clustered, other);
    clustered_thaw(&world->clustered, one);
    assert_int_equal(outcome.outcome, STORE_UNSENT);
    await_use(store);
}

/* Nobody knows what became of the primary while this process stood still: its timers are late, and
 * what it does first may be a call. That is made where the others are heard in time. */
TEST_WITH(process_that_stood_still_asks_the_cluster_first, set_up, tear_down)
{
    struct world *world = *state;
    struct store_fixture *store = &world->store;
    struct outcome outcome;
    int kept = node_of(world, "a"), one = (kept + 1) % 3, other = (kept + 2) % 3;
    clock_sleep_ms(LONGER_MS);
    clustered_freeze(&world->clustered, one);
    clustered_freeze(&world->clustered, other);
    uv_update_time(&store->loop);
    store_fixture_call(store, &outcome, fixture_script("return 1"), "a", "");
    store_fixture_await(store, &store->ended, 1);
    clustered_thaw(&world->clustered, other);
    clustered_thaw(&world->clustered, one);
    assert_int_equal(outcome.outcome, STORE_UNSENT);
    await_use(store);
    clock_sleep_ms(LONGER_MS);
    uv_update_time(&store->loop);
    await_use(store);
}

RUN_TESTS(set_up_all, tear_down_all)
