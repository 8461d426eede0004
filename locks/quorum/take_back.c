#include "locks/calls/redelivery.h"
#include "locks/quorum/state.h"
#include "locks/quorum/write.h"
#include "locks/scripts/scripts.h"

void quorum_take_back_at(struct locks *locks, unsigned member, struct slice key, struct slice token,
                         const struct attempt *attempt, int64_t useful_ms)
{
    const struct slice arguments[] = {stamp_placeholder(), token, slice_of(attempt->text),
                                      slice_of("0"), slice_of("gone")};
    const struct script_call call = {
        .script = &script_leave,
        .key = key,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
    };
    redelivery_add_at(locks, member, &call, useful_ms);
}

void quorum_take_back(struct locks *locks, struct slice name, struct slice token,
                      const struct attempt *attempt, int64_t keep_ms)
{
    (void)keep_ms; /* this process keeps places, not the members */
    char key[KEY_LENGTH];
    for (unsigned i = 0; i < store_shard_count(locks->store); i++)
        quorum_take_back_at(locks, i, operation_key(locks, name, key), token, attempt,
                            locks->quorum->longest_ttl_ms);
}
