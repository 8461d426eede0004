/* How far names are from one another. */
#include "base/spelling.h"
#include "tests/support/cmocka.h"

#include <string.h>

TEST(slips_are_counted)
{
    static const struct {
        const char *one, *other;
        unsigned distance;
    } PAIRS[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"listen", "listen", 0},
        {"liten", "listen", 1},
        {"lisxten", "listen", 1},
        {"lisken", "listen", 1},
        {"lsiten", "listen", 1},
        {"url", "ulr", 1},
        {"drains", "drain", 1},
        {"max_ttl", "max-ttl", 1},
        {"kitten", "sitting", 3},
        {"ca", "abc", 3},
        {"redis-ulr", "redis-user", 2},
    };
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        assert_int_equal(spelling_distance(PAIRS[i].one, PAIRS[i].other), PAIRS[i].distance);
        assert_int_equal(spelling_distance(PAIRS[i].other, PAIRS[i].one), PAIRS[i].distance);
    }
}

TEST(a_name_is_no_slip_of_itself_and_a_short_one_may_have_one)
{
    assert_int_equal(spelling_slips("listen", "listen"), SPELLING_FAR);
    assert_int_equal(spelling_slips("lsitem", "listen"), 2);
    assert_int_equal(spelling_slips("lsitemx", "listen"), SPELLING_FAR);
    assert_int_equal(spelling_slips("dain", "drain"), 1);
    assert_int_equal(spelling_slips("dai", "drain"), SPELLING_FAR);
}

TEST(a_text_too_long_for_a_name_is_far_from_all)
{
    char text[SPELLING_LONGEST + 2];
    memset(text, 'a', sizeof text);
    text[SPELLING_LONGEST + 1] = '\0';
    assert_int_equal(spelling_distance(text, text), SPELLING_FAR);
    text[SPELLING_LONGEST] = '\0';
    assert_int_equal(spelling_distance(text, text), 0);
}
