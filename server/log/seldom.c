#include "server/log/seldom.h"

#include "base/siphash.h"

bool seldom_note(struct seldom *seldom, struct slice name, uint64_t now_ms)
{
    static const struct siphash_key SEED = {0};
    atomic_uint_fast64_t *place = &seldom->named[siphash(&SEED, name) % SELDOM_NAMES];
    uint_fast64_t last = atomic_load(place);
    if (last > 0 && now_ms + 1 < last + SELDOM_MS)
        return false;
    return atomic_compare_exchange_strong(place, &last, now_ms + 1);
}
