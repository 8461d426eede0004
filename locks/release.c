#include "locks/operation.h"
#include "locks/scripts.h"

static bool read_released(const struct value *value, struct locks_reply *ret)
{
    if (reply_says(value, "released"))
        return value_integer(value_at(value, 1), &ret->release.fence) &&
               value_integer(value_at(value, 2), &ret->release.held_ms) &&
               value_integer(value_at(value, 3), &ret->release.holds) &&
               value_integer(value_at(value, 4), &ret->release.version);
    if (reply_says(value, "cancelled")) {
        ret->release.cancelled = true;
        return value_integer(value_at(value, 1), &ret->release.version);
    }
    ret->result = LOCKS_NOT_HELD;
    return reply_says(value, "not_held");
}

void locks_release(struct locks *locks, struct slice name, struct slice token, locks_done *done,
                   void *context)
{
    operation_run(locks, &script_release, name, &token, 1, read_released, done, context);
}
