/* line.h: a long line to Redis: what passes takes its time, in both directions, so that there is
 * time between what a server does and what Redis has done. */
#ifndef BATON_TESTS_CHAOS_LINE_H
#define BATON_TESTS_CHAOS_LINE_H

#include "tests/support/temp_dir.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { LINE_ATTEMPTS = 1 << 16 };

/* It runs on a thread of its own. */
struct line {
    char url[120];       /* what batond takes for Redis */
    atomic_int delay_ms; /* each way; applies to what comes from now on */
    atomic_int cut_ms;   /* set to more than 0: it breaks after so long, and is 0 again */
    atomic_int loses; /* of so many messages of grants one is lost; 0: none. None is lost twice. */
    atomic_int lost;  /* so many were */
    unsigned heard;
    bool has_lost[LINE_ATTEMPTS]; /* by attempt */
    char redis_socket[100];
    struct temp_dir dir;
    int listener;
    int stop[2];
    pthread_t thread;
};

/* Starts without delay, in front of the Unix socket of a Redis. */
void line_start(struct line *line, const char *redis_socket);

/* Takes a zeroed one, too. */
void line_stop(struct line *line);

#endif
