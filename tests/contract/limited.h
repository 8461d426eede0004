/* limited.h: requests that a batond with limits refuses. */
#ifndef BATON_TESTS_CONTRACT_LIMITED_H
#define BATON_TESTS_CONTRACT_LIMITED_H

#include <stdbool.h>
#include <stddef.h>

struct limited_case {
    char reply[64];    /* as in cases.h */
    char request[256]; /* as in cases.h */
    bool waits;        /* it is refused for those who wait, not for its rate */
};

enum { LIMITED_MOST = 64 };

/* For each operation that may be refused so. Returns how many there are. */
size_t limited_cases(struct limited_case cases[LIMITED_MOST]);

#endif
