/* run.h: names and tokens that no other run of the tool uses. */
#ifndef BATON_TESTS_BENCH_RUN_H
#define BATON_TESTS_BENCH_RUN_H

#include <stddef.h>
#include <stdint.h>

enum { RUN_TOKEN = 32, RUN_TARGET = 128 };

struct run {
    uint32_t id;
    unsigned next; /* number of the next token */
};

void run_begin(struct run *run);

/* The token of that number. */
void run_token(const struct run *run, unsigned number, char token[RUN_TOKEN]);

/* The number of the token of this run that comes first in the text; -1 if there is none. */
int64_t run_find_token(const struct run *run, const char *text);

/* "/locks/NAME" of the name of that number, with `query` behind it; that may be "". */
void run_target(const struct run *run, size_t number, const char *query, char target[RUN_TARGET]);

#endif
