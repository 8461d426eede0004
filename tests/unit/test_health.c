/* Which loops of a process turn, by what is looked at once a second. */
#include "api/stats/health.h"
#include "tests/support/cmocka.h"

enum { LOOPS = 3 };

static void a_loop_without_a_turn_is_stuck_after_some_looks(void **state)
{
    struct health health = {.loops = LOOPS};
    (void)state;
    for (int look = 1; look < HEALTH_LOOKS; look++)
        for (size_t i = 0; i < LOOPS; i++) {
            if (i != 1)
                health_turned(&health, i);
            assert_false(health_look(&health, i));
        }
    assert_int_equal(health_first_stuck(&health), LOOPS);
    assert_true(health_look(&health, 1));
    assert_true(health_is_stuck(&health, 1));
    assert_int_equal(health_first_stuck(&health), 1);
    assert_false(health_look(&health, 1)); /* no news */
    assert_false(health_is_stuck(&health, 0));
    health_turned(&health, 1);
    assert_true(health_look(&health, 1));
    assert_false(health_is_stuck(&health, 1));
    assert_int_equal(health_first_stuck(&health), LOOPS);
}

/* As when the main thread was stopped with it, for however long: one look follows. */
static void a_turn_begins_the_count_anew(void **state)
{
    struct health health = {.loops = 1};
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int look = 1; look < HEALTH_LOOKS; look++)
            assert_false(health_look(&health, 0));
        health_turned(&health, 0);
        assert_false(health_look(&health, 0));
    }
}

static void without_health_nothing_is_stuck(void **state)
{
    (void)state;
    assert_false(health_is_stuck(NULL, 0));
    assert_false(health_is_leaving(NULL));
    assert_int_equal(health_loops(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_without_a_turn_is_stuck_after_some_looks),
        cmocka_unit_test(a_turn_begins_the_count_anew),
        cmocka_unit_test(without_health_nothing_is_stuck),
    };
    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
