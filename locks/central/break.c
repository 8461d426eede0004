#include "locks/calls/operation.h"
#include "locks/central/central.h"
#include "locks/scripts/scripts.h"

static bool break_read(const struct value *value, struct locks_reply *ret)
{
    ret->broken.cleared = value_count(value) > 2;
    return value_integer(value_at(value, 0), &ret->broken.count) &&
           value_integer(value_at(value, 1), &ret->broken.version);
}

void central_break(struct locks *locks, struct slice name, locks_done *done, void *context)
{
    operation_run(locks, &script_break, name, NULL, 0, break_read, done, context);
}
