#include "locks/calls/operation.h"
#include "locks/central/central.h"
#include "locks/scripts/scripts.h"

#include <stdio.h>

static bool inspect_read(const struct value *value, struct locks_reply *ret)
{
    return reply_read_view(value, &ret->view);
}

void central_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                     locks_done *done, void *context)
{
    char most[24] = "";
    if (waiters != LOCK_WAITERS_SHOWN)
        snprintf(most, sizeof most, "%zu", waiters);
    const struct slice arguments[] = {token, slice_of(most)};
    operation_run(locks, &script_inspect, name, arguments, 2, inspect_read, done, context);
}
