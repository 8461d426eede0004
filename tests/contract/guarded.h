/* guarded.h: requests that a batond with a tokens-file refuses. */
#ifndef BATON_TESTS_CONTRACT_GUARDED_H
#define BATON_TESTS_CONTRACT_GUARDED_H

#include <stddef.h>

struct guarded_case {
    char reply[64];    /* as in cases.h */
    char request[512]; /* as in cases.h */
};

enum { GUARDED_MOST = 64 };

/* A tokens-file of a principal that may do nothing. */
void guarded_write_file(const char *path);

/* For each operation that is not for everybody: a request of nobody, one of the principal that may
 * do nothing, and where it changes something, one of a page of another site. Returns how many there
 * are. */
size_t guarded_cases(struct guarded_case cases[GUARDED_MOST]);

#endif
