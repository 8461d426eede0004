#include "locks/majority.h"
#include "locks/operation.h"
#include "locks/scripts.h"

static bool read_inspected(const struct value *value, struct locks_reply *ret)
{
    return read_view(value, &ret->view);
}

void locks_inspect(struct locks *locks, struct slice name, struct slice token, locks_done *done,
                   void *context)
{
    if (locks->majority)
        majority_inspect(locks, name, token, done, context);
    else
        operation_run(locks, &script_inspect, name, &token, 1, read_inspected, done, context);
}
