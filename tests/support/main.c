/* What a program of tests does that has no main of its own. */
#include "tests/support/cmocka.h"

RUN_TESTS(NULL, NULL)
