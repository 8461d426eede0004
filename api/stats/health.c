#include "api/stats/health.h"

void health_turned(struct health *health, size_t loop)
{
    atomic_fetch_add_explicit(&health->loop[loop].turns, 1, memory_order_relaxed);
}

bool health_look(struct health *health, size_t loop)
{
    unsigned turns = atomic_load_explicit(&health->loop[loop].turns, memory_order_relaxed);
    bool turned = turns != health->loop[loop].seen;
    health->loop[loop].seen = turns;
    health->loop[loop].vain = turned ? 0 : health->loop[loop].vain + 1;
    bool stuck = health->loop[loop].vain >= HEALTH_LOOKS;
    return atomic_exchange_explicit(&health->loop[loop].stuck, stuck, memory_order_relaxed) !=
           stuck;
}

bool health_is_stuck(const struct health *health, size_t loop)
{
    return health && atomic_load_explicit(&health->loop[loop].stuck, memory_order_relaxed);
}

bool health_is_leaving(const struct health *health)
{
    return health && atomic_load_explicit(&health->leaving, memory_order_relaxed);
}

size_t health_loops(const struct health *health)
{
    return health ? health->loops : 0;
}

size_t health_first_stuck(const struct health *health)
{
    size_t i = 0, count = health_loops(health);
    while (i < count && !health_is_stuck(health, i))
        i++;
    return i;
}
