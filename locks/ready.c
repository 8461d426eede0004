#include "locks/operation.h"
#include "locks/scripts.h"

static bool read_ready(const struct value *value, struct locks_reply *ret)
{
    int64_t one;
    (void)ret;
    return value_integer(value, &one) && one == 1;
}

void locks_ready(struct locks *locks, locks_done *done, void *context)
{
    /* No lock has the empty name: it is free for the script to write beside. */
    operation_run(locks, &script_ready, slice_of(""), NULL, 0, read_ready, done, context);
}

const char *locks_primary(const struct locks *locks)
{
    return store_primary(locks->store);
}
