#include "locks/calls/replies.h"

bool reply_says(const struct value *value, const char *word)
{
    struct slice status;
    return value_text(value_at(value, 0), &status) && slice_equals(status, word);
}

bool reply_holds(const struct locks_reply *reply)
{
    return reply->result == LOCKS_DONE || reply->result == LOCKS_REPEATED;
}

bool reply_read_mode(const struct value *value, enum lock_mode *ret)
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

bool reply_read_owner(const struct value *value, struct slice *ret)
{
    struct slice owner;
    if (!value_text(value, &owner) || !owner_is_valid(owner))
        return false;
    *ret = owner;
    return true;
}

bool reply_read_hold(const struct value *value, struct hold *ret)
{
    return reply_read_fence(value_at(value, 1), &ret->fence) &&
           value_integer(value_at(value, 2), &ret->ttl_ms) &&
           value_integer(value_at(value, 3), &ret->holds) &&
           value_integer(value_at(value, 4), &ret->version) &&
           reply_read_owner(value_at(value, 5), &ret->owner) &&
           reply_read_mode(value_at(value, 6), &ret->mode) &&
           value_integer(value_at(value, 7), &ret->limit);
}

bool reply_read_release(const struct value *value, struct release *ret)
{
    ret->repeated = reply_says(value, "repeated");
    return (ret->repeated || reply_says(value, "released")) &&
           reply_read_fence(value_at(value, 1), &ret->fence) &&
           reply_read_passed(value_at(value, 2), &ret->held_ms) &&
           value_integer(value_at(value, 3), &ret->holds) &&
           reply_read_fence(value_at(value, 4), &ret->version) &&
           (ret->repeated || reply_read_owner(value_at(value, 5), &ret->owner));
}

/* Milliseconds that have passed; 0 if the clock of Redis has gone back meanwhile. */
bool reply_read_passed(const struct value *value, int64_t *ret)
{
    if (!value_integer(value, ret))
        return false;
    if (*ret < 0)
        *ret = 0;
    return true;
}

static bool reply_read_holder(const struct value *value, struct holder *ret)
{
    return reply_read_owner(value_at(value, 0), &ret->owner) &&
           reply_read_mode(value_at(value, 1), &ret->mode) &&
           reply_read_fence(value_at(value, 2), &ret->fence) &&
           value_integer(value_at(value, 3), &ret->ttl_ms) &&
           reply_read_passed(value_at(value, 4), &ret->held_ms) &&
           value_text(value_at(value, 5), &ret->meta);
}

static bool reply_read_waiter(const struct value *value, struct waiter_view *ret)
{
    return reply_read_owner(value_at(value, 0), &ret->owner) &&
           reply_read_mode(value_at(value, 1), &ret->mode) &&
           value_integer(value_at(value, 2), &ret->waited_ms);
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

bool reply_read_view(const struct value *value, struct lock_view *ret)
{
    int64_t mine;
    if (!value_integer(value_at(value, 0), &ret->version) ||
        !value_integer(value_at(value, 1), &ret->hold_count) ||
        !value_integer(value_at(value, 2), &ret->limit) ||
        !value_integer(value_at(value, 3), &ret->queue_length) ||
        !value_integer(value_at(value, 4), &mine))
        return false;
    ret->mine = mine != 0;

    const struct value *last = value_at(value, 5);
    ret->last_release.fence = 0;
    if (value_count(last) > 0 && (!value_integer(value_at(last, 0), &ret->last_release.fence) ||
                                  !value_text(value_at(last, 1), &ret->last_release.reason) ||
                                  !reply_read_passed(value_at(last, 2), &ret->last_release.ago_ms)))
        return false;

    const struct value *holders = value_at(value, 6);
    ret->holder_count = value_count(holders);
    if (ret->holder_count > LOCK_HOLDERS_SHOWN)
        return false;
    for (size_t i = 0; i < ret->holder_count; i++)
        if (!reply_read_holder(value_at(holders, i), &ret->holders[i]))
            return false;
    return reply_read_waiters(value_at(value, 7), ret);
}
