/* health.h: what a process knows of its own state: whether it is about to leave, and whether its
 * workers' loops turn. */
#ifndef BATON_API_STATS_HEALTH_H
#define BATON_API_STATS_HEALTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    HEALTH_LOOPS = 256,
    HEALTH_LOOKS = 5, /* in vain, one a second: then the loop is stuck */
};

/* One for all workers; zeroed to begin with. */
struct health {
    /* It will stop soon: readiness is denied, so that whoever spreads requests sends them to
     * another, and replies ask for the connection to be closed; all else is served as before. */
    atomic_bool leaving;
    size_t loops; /* constant once the first has begun to turn */
    struct {
        atomic_uint turns;   /* raised by the loop itself */
        atomic_bool stuck;   /* as the main thread has found it */
        unsigned seen, vain; /* the main thread's: the turns, and the looks since they changed */
    } loop[HEALTH_LOOPS];
};

/* A loop says that it turns, about once a second, on its own thread. */
void health_turned(struct health *health, size_t loop);

/* Looks whether it has, since the last time, on the main thread about once a second. Returns
 * whether it has become stuck or is not any more. To count looks rather than time does not take for
 * stuck what was only stopped together with who looks. */
bool health_look(struct health *health, size_t loop);

/* These take NULL, which is well. */
bool health_is_stuck(const struct health *health, size_t loop);
bool health_is_leaving(const struct health *health);

/* What to tell of one that is stuck: its number from 1, and how many there are. */
#define HEALTH_STUCK "worker %zu of %zu is stuck, and so are its clients: restart this batond"

/* How many loops there are, and the first that is stuck, the same number where none is. */
size_t health_loops(const struct health *health);
size_t health_first_stuck(const struct health *health);

#endif
