/* Each name is logged once a minute. */
#include "server/log/seldom.h"
#include "tests/support/cmocka.h"

TEST(name_is_logged_once_a_minute)
{
    static struct seldom seldom;
    assert_true(seldom_note(&seldom, slice_of("a"), 0));
    assert_false(seldom_note(&seldom, slice_of("a"), 0));
    assert_false(seldom_note(&seldom, slice_of("a"), SELDOM_MS - 1));
    assert_true(seldom_note(&seldom, slice_of("b"), 1));
    assert_true(seldom_note(&seldom, slice_of("a"), SELDOM_MS));
    assert_false(seldom_note(&seldom, slice_of("a"), SELDOM_MS + 1));
}
