#include "server/log/damages.h"

#include "base/siphash.h"

bool damages_note(struct damages *damages, struct slice key)
{
    static const struct siphash_key SEED = {0};
    uint64_t hash = siphash(&SEED, key) | 1;
    size_t count = atomic_load(&damages->count);
    for (size_t i = 0; i < count && i < DAMAGES_TOLD; i++)
        if (atomic_load(&damages->told[i]) == hash)
            return false;
    size_t place = count < DAMAGES_TOLD ? atomic_fetch_add(&damages->count, 1) : DAMAGES_TOLD;
    if (place >= DAMAGES_TOLD)
        return false;
    atomic_store(&damages->told[place], hash);
    return true;
}
