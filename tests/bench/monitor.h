/* monitor.h: every command that Redis runs, as MONITOR tells it. */
#ifndef BATON_TESTS_BENCH_MONITOR_H
#define BATON_TESTS_BENCH_MONITOR_H

#include "tests/bench/plain.h"

#include <stdbool.h>

enum { MONITOR_NAME = 24 };

struct monitor_line {
    char name[MONITOR_NAME]; /* of the command, in lower case */
    const char *text;        /* all of it, until the next line is read */
    redisReply *reply;
};

redisContext *monitor_open(const char *redis);

/* The next line: waits for it, or, unless `wait`, returns false where none has been read yet. Frees
 * what the line held before; a zeroed one will do. */
bool monitor_next(redisContext *monitor, struct monitor_line *line, bool wait);

#endif
