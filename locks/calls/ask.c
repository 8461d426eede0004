#include "locks/calls/ask.h"

#include "locks/calls/engine.h"
#include "locks/calls/replies.h"
#include "locks/calls/state.h"
#include "locks/quarantine/guard.h"

#include <stdio.h>
#include <stdlib.h>

struct asking {
    struct locks *locks;
    bool is_at;   /* that shard has been asked for */
    bool is_once; /* not made again where it came too late */
    unsigned shard;
    bool (*is_wanted)(const void *context); /* NULL: always */
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
        !read_passed(value_at(entry, 2), &ret->held_ms) ||
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
        locks->events.expired(locks->events.context, &expiry);
}

/* What others were told that they have to do by some time: this server looks after it. */
static void mind(struct locks *locks, const struct value *due)
{
    struct slice key;
    int64_t in_ms;
    for (size_t i = 0; i + 1 < value_count(due); i += 2)
        if (value_text(value_at(due, i), &key) && value_integer(value_at(due, i + 1), &in_ms))
            locks->engine->look_after(locks, key, in_ms);
}

static void tell_beside(struct locks *locks, const struct value *expired, const struct value *due)
{
    if (!locks->engine->look_after)
        return;
    for (size_t i = 0; locks->events.expired && i < value_count(expired); i++)
        tell(locks, value_at(expired, i));
    mind(locks, due);
}

void ask_tell_damaged(struct locks *locks, struct slice key, const char *error)
{
    locks->damages++;
    if (locks->events.damaged)
        locks->events.damaged(locks->events.context, key, error);
}

/* What a script has left out that goes through many names: see try in shared/6-name.lua. */
static void tell_all_damaged(struct locks *locks, const struct value *all)
{
    struct slice key, reason;
    for (size_t i = 0; i + 1 < value_count(all); i += 2) {
        char text[STORE_ERROR_TEXT];
        if (!value_text(value_at(all, i), &key) || !value_text(value_at(all, i + 1), &reason))
            continue;
        snprintf(text, sizeof text, "what Redis keeps of it cannot be read (Redis says: %.*s)",
                 (int)reason.length, reason.bytes);
        ask_tell_damaged(locks, key, text);
    }
}

static bool is_to_be_made_again(const struct asking *asking, enum store_outcome outcome,
                                bool is_unfinished)
{
    return ((outcome == STORE_LATE && !asking->is_once) || is_unfinished) &&
           (!asking->is_wanted || asking->is_wanted(asking->context));
}

/* What the script has to tell besides is told; what is left is its reply. */
static const struct value *take_beside(struct locks *locks, const struct value *reply)
{
    if (!reply_says(reply, "beside"))
        return reply;
    tell_all_damaged(locks, value_at(reply, 4));
    tell_beside(locks, value_at(reply, 2), value_at(reply, 3));
    return value_at(reply, 1);
}

static void answered(void *context, const struct store_result *result)
{
    struct asking asking = *(struct asking *)context;
    struct store_result inner = *result;
    inner.reply = take_beside(asking.locks, result->reply);
    bool is_unfinished = reply_says(inner.reply, "unfinished");
    if (result->outcome == STORE_LATE)
        guard_late(asking.locks->guard,
                   asking.is_at ? asking.shard : store_mark(asking.locks->store).shard,
                   result->error);
    if (is_to_be_made_again(&asking, result->outcome, is_unfinished)) {
        *result->again = true;
        return;
    }
    free(context);
    if (result->damaged)
        ask_tell_damaged(asking.locks, *result->damaged, result->error);
    if (is_unfinished) {
        inner.outcome = STORE_REFUSED;
        inner.reply = NULL;
        inner.error = "holds or waiters of this name that have ended are still being removed";
    }
    asking.done(asking.context, &inner);
}

static struct asking *asking_new(struct locks *locks, const struct script_call *call)
{
    struct asking *asking = malloc(sizeof *asking);
    if (!asking)
        abort();
    *asking = (struct asking){
        .locks = locks,
        .is_wanted = call->is_wanted,
        .done = call->done,
        .context = call->context,
    };
    return asking;
}

void ask_redis(struct locks *locks, const struct script_call *call)
{
    store_eval(locks->store, call->script, call->key, call->arguments, call->argument_count,
               answered, asking_new(locks, call));
}

static void ask_at(struct locks *locks, unsigned shard, const struct script_call *call,
                   bool is_once)
{
    struct asking *asking = asking_new(locks, call);
    asking->is_at = true;
    asking->is_once = is_once;
    asking->shard = shard;
    store_eval_at(locks->store, shard, call->script, call->key, call->arguments,
                  call->argument_count, answered, asking);
}

void ask_redis_at(struct locks *locks, unsigned shard, const struct script_call *call)
{
    ask_at(locks, shard, call, false);
}

void ask_redis_at_once(struct locks *locks, unsigned shard, const struct script_call *call)
{
    ask_at(locks, shard, call, true);
}
