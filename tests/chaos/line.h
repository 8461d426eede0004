/* line.h: a long line to Redis: what passes takes its time, in both directions, so that there is
 * time between what a server does and what Redis has done; and some messages of grants are lost. */
#ifndef BATON_TESTS_CHAOS_LINE_H
#define BATON_TESTS_CHAOS_LINE_H

#include "tests/support/faults/wire_delay.h"

#include <stdbool.h>

enum { LINE_ATTEMPTS = 1 << 16 };

struct line {
    struct wire_delay wire;
    char url[48];     /* what batond takes for Redis */
    atomic_int loses; /* of so many messages of grants one is lost; 0: none. None is lost twice. */
    atomic_int lost;  /* so many were */
    unsigned received;
    bool has_lost[LINE_ATTEMPTS]; /* by attempt */
};

/* Starts without delay, in front of a Redis at that port. Takes a zeroed one. */
void line_start(struct line *line, int redis_port);

#endif
