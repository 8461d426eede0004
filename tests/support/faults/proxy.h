/* proxy.h: stands between batond and Redis, and loses or changes what passes. */
#ifndef BATON_TESTS_SUPPORT_FAULTS_PROXY_H
#define BATON_TESTS_SUPPORT_FAULTS_PROXY_H

#include "tests/support/temp_dir.h"

#include <pthread.h>
#include <stdatomic.h>

#define PROXY_MARK "doubtful"

enum proxy_mode {
    PROXY_OPEN,          /* passes everything on */
    PROXY_CLOSED,        /* hangs up on everybody at once */
    PROXY_LOSES_REPLY,   /* drops the reply to the first command with PROXY_MARK, then is closed */
    PROXY_LOSES_COMMAND, /* drops that command itself, then is closed */
    PROXY_HOLDS_BACK, /* hangs up instead of passing that command on, and has it still; then open */
    PROXY_DELIVERS, /* passes on what it held back, as a network may after a partition; then open */
    PROXY_LOSES_MESSAGES, /* passes on all but what is published and begins with `mark` */
};

/* It runs on a thread of its own. */
struct proxy {
    char url[120];              /* what batond takes for Redis */
    _Atomic(const char *) mark; /* PROXY_MARK, unless a test sets another one */
    _Atomic(enum proxy_mode) mode;
    atomic_int losses; /* how often a mode that loses something has */
    atomic_int most;   /* messages that are lost, before the mode is open again */
    char redis_socket[100];
    struct temp_dir dir;
    int listener;
    int stop[2];
    pthread_t thread;
};

/* Starts open, in front of the Unix socket of a Redis. */
void proxy_start(struct proxy *proxy, const char *redis_socket);

void proxy_stop(struct proxy *proxy);

#endif
