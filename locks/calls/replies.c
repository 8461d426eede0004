#include "locks/calls/replies.h"

#include "base/utf8.h"
#include "locks/calls/breaking.h"
#include "locks/types/packed.h"

/* A packed reply begins with its word. */
static bool reply_take_word(const struct value *value, struct slice *ret_word,
                            struct slice *ret_rest)
{
    return value_text(value, ret_rest) && packed_take_text(ret_rest, ret_word);
}

bool reply_says(const struct value *value, const char *word)
{
    struct slice status, rest;
    return (reply_take_word(value, &status, &rest) || value_text(value_at(value, 0), &status)) &&
           slice_equals(status, word);
}

bool reply_holds(const struct locks_reply *reply)
{
    return reply->result == LOCKS_DONE || reply->result == LOCKS_REPEATED;
}

static int64_t reply_less(int64_t left_ms, int64_t ms)
{
    return left_ms > ms ? left_ms - ms : 0;
}

void hold_pass(struct hold *hold, int64_t ms)
{
    hold->ttl_ms = reply_less(hold->ttl_ms, ms);
    hold->at_least_ms = reply_less(hold->at_least_ms, ms);
    if (hold->max_held_ms > 0)
        hold->max_held_ms = reply_less(hold->max_held_ms - 1, ms) + 1; /* 0: it has none */
}

static bool reply_read_mode(const struct value *value, enum lock_mode *ret)
{
    struct slice mode;
    if (!value_text(value, &mode))
        return false;
    *ret = slice_equals(mode, "shared") ? LOCK_SHARED : LOCK_EXCLUSIVE;
    return true;
}

bool reply_read_fence(const struct value *value, int64_t *ret)
{
    return value_integer(value, ret) && *ret > 0;
}

static bool reply_read_owner(const struct value *value, struct slice *ret)
{
    struct slice owner;
    if (!value_text(value, &owner) || !owner_is_valid(owner))
        return false;
    *ret = owner;
    return true;
}

static bool reply_is_client(struct slice text)
{
    return text.length <= LOCK_CLIENT_LENGTH && utf8_is_clean(text);
}

/* The same, packed. */

static bool reply_take_fence(struct slice *rest, int64_t *ret)
{
    return packed_take(rest, ret) && *ret > 0;
}

/* Milliseconds since an event; 0 if the clock of Redis has gone back since. */
static bool reply_take_passed(struct slice *rest, int64_t *ret)
{
    if (!packed_take(rest, ret))
        return false;
    if (*ret < 0)
        *ret = 0;
    return true;
}

static bool reply_take_mode(struct slice *rest, enum lock_mode *ret)
{
    struct slice mode;
    if (!packed_take_text(rest, &mode))
        return false;
    *ret = slice_equals(mode, "shared") ? LOCK_SHARED : LOCK_EXCLUSIVE;
    return true;
}

static bool reply_take_owner(struct slice *rest, struct slice *ret)
{
    struct slice owner;
    if (!packed_take_text(rest, &owner) || !owner_is_valid(owner))
        return false;
    *ret = owner;
    return true;
}

/* What remains of at_least and max_held, if the hold has them. */
static bool reply_take_terms(struct slice *rest, struct hold *ret)
{
    ret->at_least_ms = ret->max_held_ms = 0;
    ret->permits = 1;
    if (rest->length > 0 &&
        !(packed_take(rest, &ret->at_least_ms) && packed_take(rest, &ret->max_held_ms)))
        return false;
    if (rest->length > 0 && !packed_take(rest, &ret->permits))
        return false;
    /* Less than 1 ms of max_held comes as 1, of the TTL as 0. */
    ret->is_final = ret->max_held_ms > 0 && ret->max_held_ms <= (ret->ttl_ms > 0 ? ret->ttl_ms : 1);
    return true;
}

bool reply_read_hold(const struct value *value, struct hold *ret)
{
    struct slice word, rest;
    return reply_take_word(value, &word, &rest) && reply_take_fence(&rest, &ret->fence) &&
           packed_take(&rest, &ret->ttl_ms) && packed_take(&rest, &ret->holds) &&
           packed_take(&rest, &ret->version) && packed_take(&rest, &ret->limit) &&
           reply_take_owner(&rest, &ret->owner) && reply_take_mode(&rest, &ret->mode) &&
           reply_take_terms(&rest, ret);
}

/* A repeated end has no owner. */
static bool reply_read_end(const struct value *value, struct release *ret, struct slice *ret_rest)
{
    struct slice word, *rest = ret_rest;
    if (!reply_take_word(value, &word, rest))
        return false;
    ret->repeated = slice_equals(word, "repeated");
    return (ret->repeated || slice_equals(word, "released")) &&
           reply_take_fence(rest, &ret->fence) && reply_take_passed(rest, &ret->held_ms) &&
           packed_take(rest, &ret->holds) && reply_take_fence(rest, &ret->version) &&
           (ret->repeated ? packed_take_text(rest, &word) : reply_take_owner(rest, &ret->owner));
}

bool reply_read_release(const struct value *value, struct release *ret)
{
    struct slice rest;
    ret->free_in_ms = 0;
    return reply_read_end(value, ret, &rest) &&
           (rest.length != PACKED_NUMBER || packed_take(&rest, &ret->free_in_ms));
}

bool reply_read_next(const struct value *value, struct slice *ret_attempt, struct hold *ret)
{
    struct slice rest;
    struct release release;
    *ret = (struct hold){.holds = 1, .mode = LOCK_EXCLUSIVE};
    if (!reply_read_end(value, &release, &rest) || release.repeated || rest.length == PACKED_NUMBER)
        return false;
    ret->fence = ret->version = release.version;
    return packed_take_text(&rest, ret_attempt) && reply_take_owner(&rest, &ret->owner) &&
           packed_take(&rest, &ret->ttl_ms) && reply_take_terms(&rest, ret);
}

/* A mode that ends with WITH_MORE says that more follows the meta: see scripts/shared/11-view.lua.
 */
static bool reply_take_any_mode(struct slice *rest, enum lock_mode *ret, bool *ret_more)
{
    static const char WITH_MORE = '+';
    struct slice mode;
    if (!packed_take_text(rest, &mode))
        return false;
    *ret_more = mode.length > 0 && mode.bytes[mode.length - 1] == WITH_MORE;
    mode.length -= *ret_more;
    *ret = slice_equals(mode, "shared") ? LOCK_SHARED : LOCK_EXCLUSIVE;
    return true;
}

static bool reply_take_more(struct slice *rest, struct holder *ret)
{
    int64_t released;
    if (!packed_take(rest, &ret->permits) || !packed_take(rest, &released))
        return false;
    ret->released = released != 0;
    return packed_take(rest, &ret->at_least_ms) && packed_take(rest, &ret->max_held_ms);
}

/* The client's address, then its JSON object. */
static bool reply_take_client(struct slice *rest, struct slice *ret_client, struct slice *ret_meta)
{
    struct slice text;
    if (!packed_take_text(rest, &text))
        return false;
    const char *object = text.length > 0 ? memchr(text.bytes, '{', text.length) : NULL;
    size_t length = object ? (size_t)(object - text.bytes) : text.length;
    *ret_client = (struct slice){text.bytes, length};
    *ret_meta = (struct slice){text.bytes + length, text.length - length};
    return reply_is_client(*ret_client);
}

static bool reply_take_holder(struct slice *rest, struct holder *ret)
{
    bool has_more;
    ret->released = false;
    ret->at_least_ms = ret->max_held_ms = 0;
    ret->permits = 1;
    return reply_take_fence(rest, &ret->fence) && packed_take(rest, &ret->ttl_ms) &&
           reply_take_passed(rest, &ret->held_ms) && packed_take(rest, &ret->since_us) &&
           reply_take_owner(rest, &ret->owner) &&
           reply_take_any_mode(rest, &ret->mode, &has_more) &&
           reply_take_client(rest, &ret->client, &ret->meta) &&
           (!has_more || reply_take_more(rest, ret));
}

/* The key is the rest. */
bool reply_read_expiry(const struct value *value, struct expiry *ret, struct slice *ret_key)
{
    if (!value_text(value, ret_key) || !reply_take_fence(ret_key, &ret->fence) ||
        !reply_take_passed(ret_key, &ret->held_ms) || !reply_take_owner(ret_key, &ret->owner) ||
        !reply_take_mode(ret_key, &ret->mode))
        return false;
    ret->count = 1;
    return true;
}

static bool reply_read_waiter(const struct value *value, struct waiter_view *ret)
{
    return reply_read_owner(value_at(value, 0), &ret->owner) &&
           reply_read_mode(value_at(value, 1), &ret->mode) &&
           value_integer(value_at(value, 2), &ret->waited_ms) &&
           value_integer(value_at(value, 3), &ret->since_us) &&
           value_text(value_at(value, 4), &ret->client) && reply_is_client(ret->client);
}

/* The waiters are the last element of a view; it may be missing. */
static bool reply_read_waiters(const struct value *value, struct lock_view *ret)
{
    size_t count = value_count(value);
    bool is_long = count > LOCK_WAITERS_SHOWN;
    if (count > LOCK_WAITERS_MOST)
        return false;
    ret->waiter_count = is_long ? LOCK_WAITERS_SHOWN : count;
    ret->all_waiters = is_long ? value : NULL;
    for (size_t i = 0; i < ret->waiter_count; i++)
        if (!reply_read_waiter(value_at(value, i), &ret->waiters[i]))
            return false;
    return true;
}

bool locks_waiter(const struct lock_view *view, size_t position, struct waiter_view *ret)
{
    if (position >= view->waiter_count)
        return reply_read_waiter(value_at(view->all_waiters, position), ret);
    *ret = view->waiters[position];
    return true;
}

bool reply_read_opening(const struct value *value, struct lock_view *ret)
{
    struct slice reason;
    if (!value_integer(value_at(value, 1), &ret->opens_ms) ||
        !value_text(value_at(value, 2), &reason))
        return false;
    ret->opens_reason = quarantine_reason_of(reason);
    return true;
}

/* How the last hold ended. Its owner is empty if an earlier release of Baton noted the end, or if
 * the owner cannot be read: one bad hold must not damage the name for good. */
static bool reply_take_last_end(struct slice *rest, struct lock_view *ret)
{
    if (!packed_take(rest, &ret->last_release.fence) ||
        !reply_take_passed(rest, &ret->last_release.ago_ms) ||
        !packed_take_text(rest, &ret->last_release.reason) ||
        !packed_take_text(rest, &ret->last_release.owner))
        return false;
    breaking_split(&ret->last_release.reason, &ret->last_release.breaker);
    if (!owner_is_valid(ret->last_release.owner))
        ret->last_release.owner.length = 0;
    return true;
}

bool reply_read_not_held(const struct value *value, struct lock_view *ret)
{
    struct slice end;
    bool has_end = value_text(value_at(value, 1), &end);
    return reply_says(value, "not_held") && (!has_end || reply_take_last_end(&end, ret));
}

bool reply_read_use(const struct value *value, struct lock_view *ret)
{
    struct holder *holder = &ret->holders[0];
    int64_t is_other_set, reentry;
    if (!reply_read_mode(value_at(value, 1), &holder->mode) ||
        !value_integer(value_at(value, 2), &ret->limit) ||
        !reply_read_owner(value_at(value, 3), &holder->owner) ||
        !value_integer(value_at(value, 4), &is_other_set) ||
        !value_integer(value_at(value, 5), &holder->permits) ||
        !value_integer(value_at(value, 6), &reentry) || reentry < -1 || reentry > 1)
        return false;
    ret->holder_count = 1;
    ret->is_other_set = is_other_set != 0;
    ret->reentry = (int)reentry;
    return true;
}

static bool reply_take_view_head(struct slice *rest, struct lock_view *ret)
{
    int64_t standing; /* 1: it holds; less than 0: it waits */
    if (!packed_take(rest, &ret->version) || !packed_take(rest, &ret->hold_count) ||
        !packed_take(rest, &ret->extra_permits) || !packed_take(rest, &ret->limit) ||
        !packed_take(rest, &ret->queue_length) || !packed_take(rest, &standing) ||
        !reply_take_last_end(rest, ret))
        return false;
    ret->mine = standing > 0;
    ret->position = standing < 0 ? -standing : 0;
    return true;
}

/* The text of the name in a view: alone, or before the waiters. */
static bool reply_read_name(const struct value *value, struct slice *ret)
{
    return value_text(value, ret) || value_text(value_at(value, 0), ret);
}

bool reply_read_view_version(const struct value *value, int64_t *ret)
{
    struct slice rest;
    return reply_read_name(value, &rest) && packed_take(&rest, ret);
}

static bool reply_take_holders(struct slice rest, struct lock_view *ret)
{
    for (ret->holder_count = 0; rest.length > 0; ret->holder_count++)
        if (ret->holder_count == LOCK_HOLDERS_SHOWN ||
            !reply_take_holder(&rest, &ret->holders[ret->holder_count]))
            return false;
    return true;
}

bool reply_read_holders(const struct value *value, struct lock_view *ret)
{
    struct slice text;
    return value_text(value, &text) && reply_take_holders(text, ret);
}

bool reply_read_view(const struct value *value, struct lock_view *ret)
{
    struct slice rest;
    return reply_read_name(value, &rest) && reply_take_view_head(&rest, ret) &&
           reply_take_holders(rest, ret) && reply_read_waiters(value_at(value, 1), ret);
}
