/* Each name is logged once a minute. */
#include "server/log/seldom.h"
#include "tests/support/cmocka.h"

static void name_is_logged_once_a_minute(void **state)
{
    static struct seldom seldom;
    (void)state;
    assert_true(seldom_note(&seldom, slice_of("a"), 0));
    assert_false(seldom_note(&seldom, slice_of("a"), 0));
    assert_false(seldom_note(&seldom, slice_of("a"), SELDOM_MS - 1));
    assert_true(seldom_note(&seldom, slice_of("b"), 1));
    assert_true(seldom_note(&seldom, slice_of("a"), SELDOM_MS));
    assert_false(seldom_note(&seldom, slice_of("a"), SELDOM_MS + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(name_is_logged_once_a_minute)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
