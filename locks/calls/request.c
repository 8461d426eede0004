#include "locks/calls/request.h"

#include "locks/quarantine/guard.h"
#include "locks/scripts/scripts.h"
#include "locks/types/packed.h"

#include <assert.h>

enum {
    MODE_LENGTH = 9, /* "exclusive" */
    /* What request_pack_hold appends at most: the first byte, 6 numbers, 5 texts with a NUL each.
     */
    PACKED_LENGTH = 1 + 6 * PACKED_NUMBER + TOKEN_LONGEST + OWNER_LENGTH + MODE_LENGTH +
                    LOCK_ATTEMPT_LENGTH + LOCK_CLIENT_LENGTH + LOCK_META_LENGTH + 5,
    ARGUMENTS_MOST = 7,  /* of a request that waits */
    ATTEMPT_DIGITS = 16, /* of the attempt's number */
};

/* The script's arguments, with their texts. */
struct request_arguments {
    char packed[PACKED_LENGTH];
    char keep[DECIMAL_TEXT];
    struct slice arguments[ARGUMENTS_MOST];
    size_t count;
};

/* See CONNECTION in scripts/shared/01-formats.lua. */
struct attempt request_attempt(struct locks *locks, bool of_connection)
{
    struct attempt attempt = {.text = ""};
    char *digits = attempt.text;
    if (of_connection)
        digits = stpcpy(stpcpy(digits, "="), locks->texts.worker);
    uint64_t number = locks->next_attempt++;
    for (size_t i = ATTEMPT_DIGITS; i > 0; number >>= 4)
        digits[--i] = "0123456789abcdef"[number & 0xf];
    return attempt;
}

/* Copies the text to `*end`, and moves `*end` behind it. */
static struct slice request_append(char **end, struct slice text)
{
    struct slice copy = {*end, text.length};
    if (text.length > 0)
        memcpy(*end, text.bytes, text.length);
    *end += text.length;
    return copy;
}

size_t request_length(const struct acquire *acquire)
{
    return acquire->name.length + acquire->token.length + acquire->owner.length +
           acquire->client.length + acquire->meta.length;
}

struct acquire request_copy(const struct acquire *acquire, char *bytes)
{
    struct acquire copy = *acquire;
    copy.name = request_append(&bytes, acquire->name);
    copy.token = request_append(&bytes, acquire->token);
    copy.owner = request_append(&bytes, acquire->owner);
    copy.client = request_append(&bytes, acquire->client);
    copy.meta = request_append(&bytes, acquire->meta);
    return copy;
}

int64_t request_lease_ms(const struct acquire *acquire)
{
    int64_t least = acquire->at_least_ms, most = acquire->max_held_ms;
    int64_t lease_ms = acquire->ttl_ms > least ? acquire->ttl_ms : least;
    return most > 0 && most < lease_ms ? most : lease_ms;
}

static bool request_has_terms(const struct acquire *acquire)
{
    return acquire->at_least_ms > 0 || acquire->max_held_ms > 0;
}

static int request_flags(const struct acquire *acquire)
{
    return (acquire->is_reentrant ? REQUEST_REENTRANT : 0) |
           (request_has_terms(acquire) ? REQUEST_WITH_TERMS : 0) |
           (acquire->set ? REQUEST_WITH_SET : 0) |
           (acquire->permits > 1 ? REQUEST_WITH_PERMITS : 0);
}

/* A text as Redis keeps it: a NUL ends it. */
static void request_append_text(char **end, struct slice text)
{
    request_append(end, text);
    *(*end)++ = '\0';
}

/* The format is in acquire.lua; tests/scripts/scripts.c writes it as well. */
static struct slice request_pack_hold(const struct request *request, char packed[PACKED_LENGTH])
{
    const struct acquire *acquire = request->acquire;
    char *end = packed;
    *end++ = (char)((int)request->kind | request_flags(acquire));
    end = packed_put(end, (double)acquire->ttl_ms);
    end = packed_put(end, (double)acquire->limit);
    request_append_text(&end, acquire->token);
    if (acquire->owner_is_made)
        *end++ = OWNER_MADE;
    request_append_text(&end, acquire->owner);
    request_append_text(&end, slice_of(acquire->mode == LOCK_SHARED ? "shared" : "exclusive"));
    request_append_text(&end, slice_of(request->attempt->text));
    request_append(&end, acquire->client);
    request_append_text(&end, acquire->meta);
    if (request_has_terms(acquire))
        end =
            packed_put(packed_put(end, (double)acquire->at_least_ms), (double)acquire->max_held_ms);
    if (acquire->set)
        end = packed_put(end, (double)acquire->set);
    if (acquire->permits > 1)
        end = packed_put(end, (double)acquire->permits);
    assert(end <= packed + PACKED_LENGTH);
    return (struct slice){packed, (size_t)(end - packed)};
}

static void request_pack(const struct locks *locks, const struct request *request,
                         struct request_arguments *ret)
{
    const struct acquire *acquire = request->acquire;
    struct slice *next = ret->arguments;
    *next++ = stamp_placeholder();
    *next++ = request_pack_hold(request, ret->packed);
    if (acquire->wait_ms) {
        *next++ = slice_of(locks->texts.worker);
        *next++ = slice_of(locks->texts.waiter_lease);
        *next++ = slice_of(locks->texts.claim_window);
        *next++ = decimal_text(acquire->keep_ms, ret->keep);
        *next++ = slice_of(locks->texts.max_waiters);
    }
    ret->count = (size_t)(next - ret->arguments);
}

static struct script_call request_call(const struct request *request,
                                       const struct request_arguments *arguments)
{
    return (struct script_call){
        .script = &script_acquire,
        .key = request->key,
        .arguments = arguments->arguments,
        .argument_count = arguments->count,
        .is_wanted = request->is_wanted,
        .done = request->done,
        .context = request->context,
    };
}

void request_send(struct locks *locks, const struct request *request)
{
    struct request_arguments arguments;
    request_pack(locks, request, &arguments);
    const struct script_call call = request_call(request, &arguments);
    store_eval(locks->store, &call);
    explicit_bzero(arguments.packed, sizeof arguments.packed);
}

void request_send_at(struct locks *locks, unsigned shard, const struct request *request)
{
    struct request_arguments arguments;
    guard_raise(locks->guard, shard, request_lease_ms(request->acquire));
    request_pack(locks, request, &arguments);
    struct script_call call = request_call(request, &arguments);
    call.is_once = true;
    store_eval_at(locks->store, shard, &call);
    explicit_bzero(arguments.packed, sizeof arguments.packed);
}

/* Sets the rest of a hold that is the owner's only one, from the request. */
static void request_complete_hold(const struct acquire *acquire, int64_t fence, struct hold *ret)
{
    int64_t lease_ms = request_lease_ms(acquire);
    *ret = (struct hold){
        .fence = fence,
        .ttl_ms = lease_ms,
        .holds = 1,
        .version = fence,
        .owner = acquire->owner,
        .mode = acquire->mode,
        .limit = acquire->limit,
        .permits = acquire->permits,
        .at_least_ms = acquire->at_least_ms,
        .max_held_ms = acquire->max_held_ms,
        .is_final = acquire->max_held_ms == lease_ms,
    };
}

/* For a new hold the script replies only what the request does not say, mostly just the fence. */
static bool request_read_granted(const struct value *value, const struct acquire *acquire,
                                 struct locks_reply *ret)
{
    int64_t fence, holds = 1;
    if (!reply_read_fence(value, &fence) &&
        !(reply_says(value, "granted") && reply_read_fence(value_at(value, 1), &fence) &&
          value_integer(value_at(value, 2), &holds)))
        return false;
    request_complete_hold(acquire, fence, &ret->hold);
    ret->hold.holds = holds;
    return true;
}

/* The first word of the answer says how the request ended. */
static bool request_read_ended(const struct value *value, struct locks_reply *ret)
{
    if (reply_says(value, "claimed"))
        return reply_read_hold(value, &ret->hold);
    if (reply_says(value, "holding")) {
        ret->result = LOCKS_REPEATED;
        return reply_read_hold(value, &ret->hold);
    }
    if (reply_says(value, "locked")) {
        ret->result = LOCKS_LOCKED;
        return reply_read_view(value_at(value, 1), &ret->view);
    }
    if (reply_says(value, "timeout")) {
        ret->result = LOCKS_TIMEOUT;
        return reply_read_view(value_at(value, 1), &ret->view);
    }
    if (reply_says(value, "token_in_use")) {
        ret->result = LOCKS_TOKEN_IN_USE;
        return reply_read_use(value, &ret->view);
    }
    if (reply_says(value, "too_many_waiters")) {
        ret->result = LOCKS_TOO_MANY_WAITERS;
        return value_integer(value_at(value, 1), &ret->view.queue_length);
    }
    if (reply_says(value, "quarantined")) {
        ret->result = LOCKS_QUARANTINED;
        return reply_read_opening(value, &ret->view);
    }
    if (reply_says(value, "superseded")) {
        ret->result = LOCKS_SUPERSEDED;
        return true;
    }
    if (reply_says(value, "upgrade_conflict")) {
        ret->result = LOCKS_UPGRADE_CONFLICT;
        return true;
    }
    ret->result = LOCKS_TOKEN_RELEASED;
    return reply_says(value, "released");
}

static bool request_read_answer(const struct value *value, const struct acquire *acquire,
                                struct request_answer *ret)
{
    if (acquire->wait_ms > 0 && reply_says(value, "waiting")) {
        ret->waits = true;
        return value_integer(value_at(value, 1), &ret->next_ms);
    }
    return request_read_granted(value, acquire, &ret->reply) ||
           request_read_ended(value, &ret->reply);
}

/* It comes after the rest of the reply. */
static int64_t request_read_other_limit(const struct value *value)
{
    int64_t limit;
    size_t last = reply_says(value, "granted") ? 3 : 2;
    bool may_have = last == 3 || reply_says(value, "waiting") || reply_says(value, "locked");
    return may_have && value_integer(value_at(value, last), &limit) ? limit : -1;
}

void request_note_limits(const struct locks *locks, const struct acquire *acquire,
                         const struct request_answer *answer)
{
    const struct locks_events *events = &locks->options.events;
    if (answer->other_limit >= 0 && events->limits_differ)
        events->limits_differ(events->context, acquire->name, acquire->limit, answer->other_limit);
}

void request_read(const struct store_result *result, const struct acquire *acquire,
                  const struct attempt *attempt, struct request_answer *ret)
{
    *ret =
        (struct request_answer){.next_ms = -1, .other_limit = -1, .reply = {.attempt = *attempt}};
    if (result->outcome == STORE_REPLIED && request_read_answer(result->reply, acquire, ret)) {
        if (acquire->mode == LOCK_SHARED)
            ret->other_limit = request_read_other_limit(result->reply);
        return;
    }
    *ret = (struct request_answer){
        .next_ms = -1, .other_limit = -1, .reply = operation_unanswered(result)};
    ret->reply.attempt = *attempt;
}

/* An unreadable reply hides the outcome, as a lost one does. */
bool request_is_in_doubt(const struct store_result *result, const struct request_answer *answer)
{
    bool unread = result->outcome == STORE_REPLIED && answer->reply.result == LOCKS_DAMAGED;
    return result->outcome == STORE_IN_DOUBT || unread;
}
