/* Which loops of a process turn, by what is looked at once a second. */
#include "api/stats/health.h"
#include "tests/support/cmocka.h"

enum { LOOPS = 3 };

TEST(a_loop_without_a_turn_is_stuck_after_some_looks)
{
    struct health health = {.loops = LOOPS};
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
TEST(a_turn_begins_the_count_anew)
{
    struct health health = {.loops = 1};
    for (int round = 0; round < 3; round++) {
        for (int look = 1; look < HEALTH_LOOKS; look++)
            assert_false(health_look(&health, 0));
        health_turned(&health, 0);
        assert_false(health_look(&health, 0));
    }
}

TEST(without_health_nothing_is_stuck)
{
    assert_false(health_is_stuck(NULL, 0));
    assert_false(health_is_leaving(NULL));
    assert_int_equal(health_loops(NULL), 0);
}
