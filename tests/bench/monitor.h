/* monitor.h: every command that Redis runs, as MONITOR tells it. */
#ifndef BATON_TESTS_BENCH_MONITOR_H
#define BATON_TESTS_BENCH_MONITOR_H

#include "tests/bench/plain.h"

#include <stdbool.h>

enum { MONITOR_NAME = 24, MONITOR_NAMES = 32 };

struct monitor_line {
    bool inside;             /* run by a script, not sent by a client */
    char name[MONITOR_NAME]; /* of the command, in lower case */
    const char *text;        /* all of it, until the next line is read */
    redisReply *reply;
};

/* How often each command was seen. Zeroed at first. */
struct tally {
    struct tally_row {
        char name[MONITOR_NAME];
        long count;
    } rows[MONITOR_NAMES];
    long total;
};

redisContext *monitor_open(const char *redis);

/* The next line: waits for it, or, unless `wait`, returns false where none has been read yet. Frees
 * what the line held before; a zeroed one will do. */
bool monitor_next(redisContext *monitor, struct monitor_line *line, bool wait);

void tally_add(struct tally *tally, const char *name, long count);

/* Writes "3.00 evalsha, 1.00 publish": each count divided by `rounds`. */
void tally_describe(const struct tally *tally, double rounds, char *text, size_t size);

#endif
