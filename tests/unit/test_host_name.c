#include "base/host_name.h"
#include "tests/support/cmocka.h"

static const struct pair {
    const char *one;
    const char *other;
    bool names_equal;
    bool authorities_equal;
} PAIRS[] = {
    {"localhost", "localhost", true, true},
    {"localhost", "LocalHost.", true, true},
    {"a.example.", "A.EXAMPLE", true, true},
    {"a.example.", "a.example.", true, true},
    {"a.example", "b.example", false, false},
    {"a.example..", "a.example", false, false}, /* one dot only */
    {"a.example..", "a.example.", false, false},
    {"a.example", "a.example.com", false, false},
    {".", "", false, false},
    {".", ".", true, true},
    {"", "", true, true},
    {"baton.", "baton", false, false}, /* may be a domain of the public DNS */
    {"baton.", "BATON.", true, true},
    {"baton..", "baton.", false, false},
    {"baton.:80", "baton:80", false, false},
    {"localhost.:80", "localhost:80", false, true},
    {".example.", ".example", true, true},
    {"127.0.0.1.", "127.0.0.1", true, true},
    {"a.example.:80", "a.example:80", false, true},
    {"a.example.:80", "a.example:81", false, false},
    {"a.example.:80", "a.example", false, false},
    {"a.example:80.", "a.example:80", true, false},
    {"[::1]:80", "[::1]:80", true, true},
    {"[::1]", "[::2]", false, false},
    {"[::1]", "[::1]:80", false, false},
};

TEST(final_dot_makes_another_name_of_a_single_label_only)
{
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
        const struct pair *pair = &PAIRS[i];
        struct slice one = slice_of(pair->one), other = slice_of(pair->other);
        if (host_names_equal(one, other) != pair->names_equal ||
            host_names_equal(other, one) != pair->names_equal)
            fail_msg("the names %s and %s", pair->one, pair->other);
        if (host_authorities_equal(one, other) != pair->authorities_equal ||
            host_authorities_equal(other, one) != pair->authorities_equal)
            fail_msg("the authorities %s and %s", pair->one, pair->other);
    }
}
