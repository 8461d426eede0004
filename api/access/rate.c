#include "api/access/rate.h"

enum { SECOND_NS = 1000000000 };

struct rate rate_count(_Atomic int64_t *over_ns, int64_t per_second, int64_t now_ns, bool must_pass)
{
    const int64_t each_ns = SECOND_NS / per_second, latest_ns = now_ns + SECOND_NS;
    int64_t before = atomic_load_explicit(over_ns, memory_order_relaxed), after;
    struct rate rate;
    do {
        after = (before > now_ns ? before : now_ns) + each_ns;
        rate.admitted = after <= latest_ns || must_pass;
        if (!rate.admitted)
            return (struct rate){false, 0};
        after = after < latest_ns ? after : latest_ns;
        rate.left = (latest_ns - after) / each_ns;
    } while (!atomic_compare_exchange_weak_explicit(over_ns, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed));
    return rate;
}

void rate_charge(_Atomic int64_t *over_ns, int64_t per_second, int64_t now_ns, int64_t requests)
{
    const int64_t cost_ns = SECOND_NS / per_second * requests;
    const int64_t latest_ns = now_ns + SECOND_NS + cost_ns;
    int64_t before = atomic_load_explicit(over_ns, memory_order_relaxed), after;
    do {
        after = (before > now_ns ? before : now_ns) + cost_ns;
        after = after < latest_ns ? after : latest_ns;
    } while (!atomic_compare_exchange_weak_explicit(over_ns, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed));
}
