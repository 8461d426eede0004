/* replies.h: reads from Redis' replies what several scripts write alike: holds, releases, views.
 * Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_REPLIES_H
#define BATON_LOCKS_CALLS_REPLIES_H

#include "locks/locks.h"

/* Whether the reply to an acquire or renewal has a hold. */
bool reply_holds(const struct locks_reply *reply);

/* Subtracts `ms` that have passed since Redis reported the hold. */
void hold_pass(struct hold *hold, int64_t ms);

/* Whether the reply begins with this word: in element 0, or in front of a packed text. */
bool reply_says(const struct value *value, const char *word);

/* The error for a record that a script could read, but batond cannot. */
#define REPLY_UNREADABLE STORE_UNREADABLE " (a text or a number in it is malformed)"

/* Each reads one value that scripts/shared/10-name.lua, 11-view.lua or release.lua write. Holds,
 * releases and views are packed. False: something is missing, of another kind, or a text that Baton
 * never accepts. Other programs can write to Redis, and must not overflow a buffer here. */
bool reply_read_fence(const struct value *value, int64_t *ret);
bool reply_read_hold(const struct value *value, struct hold *ret);
bool reply_read_release(const struct value *value, struct release *ret);

/* Reads from a release the attempt and the hold of the next waiter. Returns false if the script has
 * not claimed the grant for it. */
bool reply_read_next(const struct value *value, struct slice *ret_attempt, struct hold *ret);
bool reply_read_expiry(const struct value *value, struct expiry *ret, struct slice *ret_key);
bool reply_read_opening(const struct value *value, struct lock_view *ret);
/* That a token has no hold, and how its hold ended, if known. */
bool reply_read_not_held(const struct value *value, struct lock_view *ret);
bool reply_read_use(const struct value *value, struct lock_view *ret);
bool reply_read_view(const struct value *value, struct lock_view *ret);

/* The holders of a view without its head. */
bool reply_read_holders(const struct value *value, struct lock_view *ret);

/* The version of a view, even if the rest cannot be read. */
bool reply_read_view_version(const struct value *value, int64_t *ret);

#endif
