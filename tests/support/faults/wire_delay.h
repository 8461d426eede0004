/* wire_delay.h: a long way between two programs: what is sent arrives some milliseconds later, or
 * not at all if the sender dies meanwhile. */
#ifndef BATON_TESTS_SUPPORT_FAULTS_WIRE_DELAY_H
#define BATON_TESTS_SUPPORT_FAULTS_WIRE_DELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* Takes away some of what passes, and returns how much is left. */
typedef size_t wire_cut(void *context, char *bytes, size_t length);

/* It runs on a thread of its own. */
struct wire_delay {
    int port;            /* to connect to on 127.0.0.1 */
    atomic_int target;   /* the port that new connections lead to */
    atomic_int ms;       /* of each way */
    atomic_bool holds;   /* no answer arrives before this is false again */
    atomic_int break_ms; /* set to more than 0: it breaks after so long, and is 0 again */
    wire_cut *cut;       /* NULL: all passes */
    void *context;
    int listener;
    int stop[2];
    pthread_t thread;
};

void wire_delay_start(struct wire_delay *wire, int target, int ms);
void wire_delay_start_cutting(struct wire_delay *wire, int target, wire_cut *cut, void *context);

/* Takes a zeroed one, too. */
void wire_delay_stop(struct wire_delay *wire);

#endif
