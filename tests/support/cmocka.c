#include "tests/support/cmocka.h"

enum { MOST = 64 };

static struct CMUnitTest tests[MOST];
static int lines[MOST];
static size_t count;

void tests_add(struct CMUnitTest test, int line)
{
    size_t at = count++;
    if (count > MOST)
        abort();
    for (; at > 0 && lines[at - 1] > line; at--) {
        tests[at] = tests[at - 1];
        lines[at] = lines[at - 1];
    }
    tests[at] = test;
    lines[at] = line;
}

int tests_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return _cmocka_run_group_tests("tests", tests, count, setup, teardown);
}
