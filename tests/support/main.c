/* What a program of tests does that has no main of its own. */
#include "tests/support/cmocka.h"

int main(void)
{
    return tests_run(NULL, NULL);
}
