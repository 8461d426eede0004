#include "server/log/damages.h"

#include "base/siphash.h"

bool damages_note(struct damages *damages, struct slice key)
{
    static const struct siphash_key SEED = {0};
    uint64_t hash = siphash(&SEED, key) | 1;
    for (size_t i = 0; i < DAMAGES_LOGGED; i++) {
        uint_fast64_t there = 0; /* threads that note the same key meet in the same place */
        if (atomic_compare_exchange_strong(&damages->logged[i], &there, hash))
            return true;
        if (there == hash)
            return false;
    }
    return false;
}
