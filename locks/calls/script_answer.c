#include "locks/calls/script_answer.h"

#include "base/memory.h"
#include "locks/calls/engine.h"
#include "locks/calls/replies.h"
#include "locks/calls/state.h"
#include "locks/quarantine/guard.h"

#include <stdio.h>

/* One hold, or the number of further holds that expired at once: see shared/06-holds.lua. */
static bool script_answer_read_expiry(const struct value *entry, struct expiry *ret,
                                      struct slice *ret_key)
{
    if (reply_read_expiry(entry, ret, ret_key))
        return true;
    return value_text(value_at(entry, 0), ret_key) &&
           value_integer(value_at(entry, 1), &ret->count) && ret->count > 0;
}

static void script_answer_report_expired(const struct locks *locks, const struct value *entry)
{
    struct slice prefix = locks->options.key_prefix, key;
    char name[NAME_LENGTH];
    struct expiry expiry = {.fence = -1, .held_ms = -1};
    if (!script_answer_read_expiry(entry, &expiry, &key))
        return;
    expiry.name = (struct slice){name, name_from_key(prefix, key, name)};
    if (expiry.name.length > 0)
        locks->options.events.expired(locks->options.events.context, &expiry);
}

/* `due` has names, each with the time by which another worker must act on it: this worker
 * supervises them. */
static void script_answer_report(struct locks *locks, const struct value *expired,
                                 const struct value *due)
{
    struct slice key;
    int64_t in_ms;
    if (!locks->engine->supervise)
        return;
    for (size_t i = 0; locks->options.events.expired && i < value_count(expired); i++)
        script_answer_report_expired(locks, value_at(expired, i));
    for (size_t i = 0; i + 1 < value_count(due); i += 2)
        if (value_text(value_at(due, i), &key) && value_integer(value_at(due, i + 1), &in_ms))
            locks->engine->supervise(locks, key, in_ms);
}

void script_answer_report_damaged(struct locks *locks, struct slice key, const char *error)
{
    locks->damages++;
    if (locks->options.events.damaged)
        locks->options.events.damaged(locks->options.events.context, key, error);
}

/* The names that a script for many names left out: see try in shared/10-name.lua. */
static void script_answer_report_skipped(struct locks *locks, const struct value *all)
{
    struct slice key, reason;
    for (size_t i = 0; i + 1 < value_count(all); i += 2) {
        char text[STORE_ERROR_TEXT];
        if (!value_text(value_at(all, i), &key) || !value_text(value_at(all, i + 1), &reason))
            continue;
        snprintf(text, sizeof text, STORE_UNREADABLE " (Redis says: %.*s)", (int)reason.length,
                 reason.bytes);
        script_answer_report_damaged(locks, key, text);
    }
}

/* Reports what the script found beside its reply. Returns the reply alone. */
static const struct value *script_answer_take_beside(struct locks *locks, const struct value *reply)
{
    if (!reply_says(reply, "beside"))
        return reply;
    script_answer_report_skipped(locks, value_at(reply, 4));
    script_answer_report(locks, value_at(reply, 2), value_at(reply, 3));
    return value_at(reply, 1);
}

bool script_answer_take(void *context, unsigned shard, struct store_result *result)
{
    struct locks *locks = context;
    result->reply = script_answer_take_beside(locks, result->reply);
    if (result->outcome == STORE_LATE)
        guard_late(locks->guard, shard, result->error);
    if (result->damaged)
        script_answer_report_damaged(locks, *result->damaged, result->error);
    if (!reply_says(result->reply, "unfinished"))
        return false;
    *result = (struct store_result){
        .outcome = STORE_REFUSED,
        .error = "Redis is still removing holds or waiters of this name that have ended",
    };
    return true;
}
