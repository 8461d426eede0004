#include "locks/operation.h"
#include "locks/scripts.h"

static bool read_renewed(const struct value *value, struct locks_reply *ret)
{
    if (reply_says(value, "renewed"))
        return read_hold(value, &ret->hold);
    ret->result = LOCKS_NOT_HELD;
    return reply_says(value, "not_held");
}

static void renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                  struct slice by, locks_done *done, void *context)
{
    char text[NUMBER_TEXT];
    const struct slice arguments[] = {token, ttl_ms ? number_text(ttl_ms, text) : slice_of(""), by};
    operation_run(locks, &script_renew, name, arguments, by.length > 0 ? 3 : 2, read_renewed, done,
                  context);
}

void locks_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                 locks_done *done, void *context)
{
    renew(locks, name, token, ttl_ms, slice_of(NULL), done, context);
}

void operation_prolong(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                       locks_done *done, void *context)
{
    renew(locks, name, token, ttl_ms, slice_of("server"), done, context);
}
