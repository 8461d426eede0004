/* health.h: the state of the process: whether it is about to stop, and whether its loops turn. */
#ifndef BATON_API_STATS_HEALTH_H
#define BATON_API_STATS_HEALTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    HEALTH_LOOPS = 256,
    HEALTH_LOOKS = 5, /* checks without a turn, one a second, before a loop counts as stuck */
};

/* The process has one. Begins zeroed. */
struct health {
    /* The process stops soon: readiness is denied, so that load balancers send requests elsewhere,
     * and replies close their connection. Requests are served as before. */
    atomic_bool leaving;
    size_t loops; /* constant once a worker runs */
    struct {
        atomic_uint turns;   /* raised by the loop itself */
        atomic_bool stuck;   /* set by the main thread */
        unsigned seen, vain; /* the main thread's: last turns, and checks since they changed */
    } loop[HEALTH_LOOPS];
};

/* Each loop calls this about once a second, on its own thread. */
void health_turned(struct health *health, size_t loop);

/* Checks whether the loop has turned since the last check; call it on the main thread about once a
 * second. Returns whether the loop became stuck or recovered. This counts checks rather than time,
 * so that a loop that was stopped together with the main thread does not seem stuck. */
bool health_look(struct health *health, size_t loop);

/* These take NULL, which means healthy. */
bool health_is_stuck(const struct health *health, size_t loop);
bool health_is_leaving(const struct health *health);

/* Message for a stuck loop: its number from 1, and how many there are. */
#define HEALTH_STUCK                                                                               \
    "Worker %zu of %zu is stuck, and its clients get no answers. Restart this batond."

/* The number of loops, and the index of the first stuck one; that number if none is stuck. */
size_t health_loops(const struct health *health);
size_t health_first_stuck(const struct health *health);

#endif
