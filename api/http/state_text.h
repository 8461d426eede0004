/* state_text.h: holds and locks in words, for people: "held by alice for 3 s, 27 s left". */
#ifndef BATON_API_HTTP_STATE_TEXT_H
#define BATON_API_HTTP_STATE_TEXT_H

#include "locks/locks.h"

enum { STATE_TEXT = 512 }; /* bytes for each of these, NUL included; longer text is cut */

/* A lock: "free", or the hold that ends first and how many more there are; then the waiters, and
 * how much of its limit is taken. */
void state_text(const struct lock_view *view, char text[STATE_TEXT]);

/* A hold, for its owner. */
void state_text_hold(const struct hold *hold, char text[STATE_TEXT]);

/* An owner, and how many more there are: "alice (shared), and 2 more". */
void state_text_holders(const struct lock_view *view, int64_t count, char text[STATE_TEXT]);

/* A release. */
void state_text_release(const struct release *release, char text[STATE_TEXT]);

/* How a hold ended: "was broken 3 s ago by ops from 10.0.0.7 (\"site closed\")". */
void state_text_end(const struct hold_end *end, char text[STATE_TEXT]);

/* How much longer a released name stays taken: ", taken for 12 s more"; "" for 0. */
void state_text_taken(int64_t free_in_ms, char text[STATE_TEXT]);

/* A lock with shared holds, for a request with this limit and `permits` (0: one): "5 of 5 taken,
 * the next ends in 12 s at the latest". */
void state_text_semaphore(const struct lock_view *view, int64_t limit, int64_t permits,
                          char text[STATE_TEXT]);

/* What a token was used for, by the view of LOCKS_TOKEN_IN_USE: "a shared hold of bob". */
void state_text_use(const struct lock_view *view, char text[STATE_TEXT]);

/* A time in whole seconds, rounded up, so that it is over by then. */
long long state_seconds_left(int64_t ms);

/* "s"; "" for 1. */
const char *state_plural(int64_t count);

#endif
