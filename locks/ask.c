#include "locks/ask.h"

#include "locks/operation.h"

#include <stdlib.h>

struct asking {
    struct locks *locks;
    store_done *done;
    void *context;
};

/* One hold, or of a crowd how many more there were: see shared/2-holds.lua. */
static bool read_expiry(const struct value *entry, struct expiry *ret)
{
    struct slice mode;
    if (value_count(entry) == 2)
        return value_integer(value_at(entry, 1), &ret->count) && ret->count > 0;
    ret->count = 1;
    if (!read_fence(value_at(entry, 1), &ret->fence) ||
        !value_integer(value_at(entry, 2), &ret->held_ms) ||
        !read_owner(value_at(entry, 3), &ret->owner) || !value_text(value_at(entry, 4), &mode))
        return false;
    ret->mode = slice_equals(mode, "shared") ? LOCK_SHARED : LOCK_EXCLUSIVE;
    return true;
}

static void tell(const struct locks *locks, const struct value *entry)
{
    struct slice prefix = {locks->key_prefix, locks->key_prefix_length}, key;
    char name[NAME_LENGTH];
    struct expiry expiry = {.fence = -1, .held_ms = -1};
    if (!value_text(value_at(entry, 0), &key) || !read_expiry(entry, &expiry))
        return;
    expiry.name = (struct slice){name, name_from_key(prefix, key, name)};
    if (expiry.name.length > 0)
        locks->expired(locks->expired_context, &expiry);
}

static void answered(void *context, const struct store_result *result)
{
    struct asking asking = *(struct asking *)context;
    struct store_result inner = *result;
    free(context);
    if (reply_says(result->reply, "expired")) {
        const struct value *all = value_at(result->reply, 2);
        inner.reply = value_at(result->reply, 1);
        for (size_t i = 0; asking.locks->expired && i < value_count(all); i++)
            tell(asking.locks, value_at(all, i));
    }
    asking.done(asking.context, &inner);
}

void ask_redis(struct locks *locks, const struct script *script, struct slice key,
               const struct slice *arguments, size_t argument_count, store_done *done,
               void *context)
{
    struct asking *asking = malloc(sizeof *asking);
    if (!asking)
        abort();
    *asking = (struct asking){locks, done, context};
    store_eval(locks->store, script, key, arguments, argument_count, answered, asking);
}
