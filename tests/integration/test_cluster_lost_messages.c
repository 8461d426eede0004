/* The primaries of a Cluster do not hear one another for some seconds, and batond hears all of
 * them: what one of them publishes is lost for whoever listens at another one, and nobody is told.
 */
#include "tests/support/fixtures/on_cluster.h"

#include <stdlib.h>

enum { BROKEN_MS = 3000 };

static int start(void **state)
{
    static const char *const FLAGS[] = {"--workers=1", NULL};
    struct on_cluster *all = calloc(1, sizeof *all);
    *state = all;
    on_cluster_open(all, &(struct clustered_options){.is_patient = true}, FLAGS);
    return 0;
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
        waiter[i] = on_cluster_wait(all, 1, name[i], "?wait=50s&ttl=1m");
    }
    clustered_break_links(&all->clustered);
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        clustered_break_links(&all->clustered);
        on_cluster_give(all, 0, name[i], token[i]);
    }
    int64_t begun = clock_ms();
    for (; clock_ms() < begun + BROKEN_MS; clock_sleep_ms(5))
        clustered_break_links(&all->clustered);
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        assert_int_equal(parked_answer(waiter[i], CLOCK_HANG_MS), 201);
        parked_close(waiter[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_is_served_though_the_links_of_the_bus_are_broken),
    };
    return cmocka_run_group_tests(tests, start, on_cluster_stop);
}
