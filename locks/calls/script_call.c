#include "locks/calls/script_call.h"

#include "base/memory.h"
#include "locks/calls/engine.h"
#include "locks/calls/replies.h"
#include "locks/calls/state.h"
#include "locks/quarantine/guard.h"

#include <stdio.h>

struct pending_call {
    struct locks *locks;
    bool has_shard;
    bool is_once; /* a call that came too late is not made again */
    unsigned shard;
    bool (*is_wanted)(const void *context); /* NULL: always */
    store_done *done;
    void *context;
};

/* One hold, or the number of further holds that expired at once: see shared/5-holds.lua. */
static bool script_call_read_expiry(const struct value *entry, struct expiry *ret,
                                    struct slice *ret_key)
{
    if (reply_read_expiry(entry, ret, ret_key))
        return true;
    return value_text(value_at(entry, 0), ret_key) &&
           value_integer(value_at(entry, 1), &ret->count) && ret->count > 0;
}

static void script_call_report_expired(const struct locks *locks, const struct value *entry)
{
    struct slice prefix = locks->options.key_prefix, key;
    char name[NAME_LENGTH];
    struct expiry expiry = {.fence = -1, .held_ms = -1};
    if (!script_call_read_expiry(entry, &expiry, &key))
        return;
    expiry.name = (struct slice){name, name_from_key(prefix, key, name)};
    if (expiry.name.length > 0)
        locks->options.events.expired(locks->options.events.context, &expiry);
}

/* `due` has names, each with the time by which another worker must act on it: this worker
 * supervises them. */
static void script_call_report(struct locks *locks, const struct value *expired,
                               const struct value *due)
{
    struct slice key;
    int64_t in_ms;
    if (!locks->engine->supervise)
        return;
    for (size_t i = 0; locks->options.events.expired && i < value_count(expired); i++)
        script_call_report_expired(locks, value_at(expired, i));
    for (size_t i = 0; i + 1 < value_count(due); i += 2)
        if (value_text(value_at(due, i), &key) && value_integer(value_at(due, i + 1), &in_ms))
            locks->engine->supervise(locks, key, in_ms);
}

void script_call_report_damaged(struct locks *locks, struct slice key, const char *error)
{
    locks->damages++;
    if (locks->options.events.damaged)
        locks->options.events.damaged(locks->options.events.context, key, error);
}

/* The names that a script for many names left out: see try in shared/9-name.lua. */
static void script_call_report_skipped(struct locks *locks, const struct value *all)
{
    struct slice key, reason;
    for (size_t i = 0; i + 1 < value_count(all); i += 2) {
        char text[STORE_ERROR_TEXT];
        if (!value_text(value_at(all, i), &key) || !value_text(value_at(all, i + 1), &reason))
            continue;
        snprintf(text, sizeof text, STORE_UNREADABLE " (Redis says: %.*s)", (int)reason.length,
                 reason.bytes);
        script_call_report_damaged(locks, key, text);
    }
}

/* Reports what the script found beside its reply. Returns the reply alone. */
static const struct value *script_call_take_beside(struct locks *locks, const struct value *reply)
{
    if (!reply_says(reply, "beside"))
        return reply;
    script_call_report_skipped(locks, value_at(reply, 4));
    script_call_report(locks, value_at(reply, 2), value_at(reply, 3));
    return value_at(reply, 1);
}

static void script_call_answered(void *context, const struct store_result *result)
{
    const struct pending_call call = *(struct pending_call *)context;
    struct store_result inner = *result;
    inner.reply = script_call_take_beside(call.locks, result->reply);
    bool is_late = result->outcome == STORE_LATE;
    bool is_unfinished = reply_says(inner.reply, "unfinished");
    if (is_late)
        guard_late(call.locks->guard,
                   call.has_shard ? call.shard : store_mark(call.locks->store).shard,
                   result->error);
    if (((is_late && !call.is_once) || is_unfinished) &&
        (!call.is_wanted || call.is_wanted(call.context))) {
        *result->again = true;
        return;
    }
    free(context);
    if (result->damaged)
        script_call_report_damaged(call.locks, *result->damaged, result->error);
    if (is_unfinished) {
        inner.outcome = STORE_REFUSED;
        inner.reply = NULL;
        inner.error = "Redis is still removing holds or waiters of this name that have ended";
    }
    call.done(call.context, &inner);
}

static struct pending_call *script_call_begin(struct locks *locks, const struct script_call *call)
{
    struct pending_call *pending = memory_checked(malloc(sizeof *pending));
    *pending = (struct pending_call){
        .locks = locks,
        .is_wanted = call->is_wanted,
        .done = call->done,
        .context = call->context,
    };
    return pending;
}

static struct script_call script_call_with(const struct script_call *call,
                                           struct pending_call *pending)
{
    struct script_call sent = *call;
    sent.done = script_call_answered;
    sent.context = pending;
    return sent;
}

void script_call_send(struct locks *locks, const struct script_call *call)
{
    const struct script_call sent = script_call_with(call, script_call_begin(locks, call));
    store_eval(locks->store, &sent);
}

static void script_call_begin_at(struct locks *locks, unsigned shard,
                                 const struct script_call *call, bool is_once)
{
    struct pending_call *pending = script_call_begin(locks, call);
    pending->has_shard = true;
    pending->is_once = is_once;
    pending->shard = shard;
    const struct script_call sent = script_call_with(call, pending);
    store_eval_at(locks->store, shard, &sent);
}

void script_call_send_at(struct locks *locks, unsigned shard, const struct script_call *call)
{
    script_call_begin_at(locks, shard, call, false);
}

void script_call_send_at_once(struct locks *locks, unsigned shard, const struct script_call *call)
{
    script_call_begin_at(locks, shard, call, true);
}
