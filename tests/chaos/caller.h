/* caller.h: a client as most are: it keeps its connection, sends one request after the other, and
 * repeats none. */
#ifndef BATON_TESTS_CHAOS_CALLER_H
#define BATON_TESTS_CHAOS_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CALLER_REPLY = 16384 };

/* Zeroed to begin with, but for its port on 127.0.0.1. */
struct caller {
    int port;
    int fd;      /* 0: not connected */
    bool closes; /* the latest reply has said that it is the last on its connection */
    int64_t took_us;
    size_t length;
    char reply[CALLER_REPLY]; /* the latest, as it came; as much of it as came */
};

/* Sends "METHOD TARGET" with one more header (NULL: none), on a new connection where there is none
 * or the latest reply was the last on it. Returns the status; 0 where no whole reply came. */
int caller_ask(struct caller *caller, const char *request, const char *header);

void caller_hang_up(struct caller *caller);

#endif
