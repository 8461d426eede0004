/* health.h: what the workers of a process show of its state: whether it is about to leave. */
#ifndef BATON_API_HEALTH_H
#define BATON_API_HEALTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The same for all workers; written by the main thread. */
struct health {
    /* It will stop soon: readiness is denied, so that whoever spreads requests sends them to
     * another, and replies ask for the connection to be closed; all else is served as before. */
    atomic_bool leaving;
};

/* Takes NULL, which is not leaving. */
static inline bool health_is_leaving(const struct health *health)
{
    return health && atomic_load_explicit(&health->leaving, memory_order_relaxed);
}

#endif
