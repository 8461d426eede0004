#include "tests/bench/run.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void run_begin(struct run *run)
{
    *run = (struct run){0};
    if (getrandom(&run->id, sizeof run->id, 0) != sizeof run->id)
        err(2, "getrandom");
}

void run_token(const struct run *run, unsigned number, char token[RUN_TOKEN])
{
    snprintf(token, RUN_TOKEN, "load-%08x-%010u", run->id, number);
}

int64_t run_find_token(const struct run *run, const char *text)
{
    char start[RUN_TOKEN];
    int length = snprintf(start, sizeof start, "load-%08x-", run->id);
    const char *found = strstr(text, start);
    return found ? strtoll(found + length, NULL, 10) : -1;
}

void run_target(const struct run *run, size_t number, const char *query, char target[RUN_TARGET])
{
    int length = snprintf(target, RUN_TARGET, "/locks/bench-%08x-%zu%s", run->id, number, query);
    if (length >= RUN_TARGET)
        errx(2, "too long: %s", query);
}
