#include "locks/operation.h"
#include "locks/scripts.h"

static bool read_renewed(const struct value *value, struct locks_reply *ret)
{
    if (reply_says(value, "renewed"))
        return read_hold(value, &ret->hold);
    ret->result = LOCKS_NOT_HELD;
    return reply_says(value, "not_held");
}

void locks_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                 locks_done *done, void *context)
{
    char text[NUMBER_TEXT];
    const struct slice arguments[] = {token, ttl_ms ? number_text(ttl_ms, text) : slice_of("")};
    operation_run(locks, &script_renew, name, arguments, 2, read_renewed, done, context);
}
