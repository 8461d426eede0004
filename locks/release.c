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
    const struct slice arguments[] = {token, slice_of("")};
    operation_run(locks, &script_release, name, arguments, 2, read_released, done, context);
}

void locks_take_back(struct locks *locks, struct slice name, struct slice token,
                     const struct attempt *attempt, int64_t keep_ms)
{
    (void)keep_ms;
    doubts_add(locks, name, token, attempt);
}

void locks_store_is_up(struct locks *locks)
{
    doubts_ask(locks);
}

void locks_try_again(struct locks *locks)
{
    if (store_is_up(locks->store))
        doubts_ask(locks);
}

bool locks_are_settled(const struct locks *locks)
{
    return !locks->doubts.first;
}
