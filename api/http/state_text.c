#include "api/http/state_text.h"

#include "base/duration.h"

#include <stdio.h>

enum { MS_PER_SECOND = 1000, OWNER_TEXT = 240, COUNT_TEXT = 56, REST_TEXT = 2 * COUNT_TEXT };

long long state_seconds_left(int64_t ms)
{
    return (ms + MS_PER_SECOND - 1) / MS_PER_SECOND;
}

const char *state_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* In whole seconds, rounded down, so that a holder never counts on too much. */
static long long whole_seconds(int64_t ms)
{
    return ms / MS_PER_SECOND;
}

/* "alice", "alice of ci (shared)" */
static void describe_owner(struct slice stored, enum lock_mode mode, char text[OWNER_TEXT])
{
    struct slice principal, owner;
    owner_split(stored, &principal, &owner);
    bool is_of_principal = principal.length > 0;
    snprintf(text, OWNER_TEXT, "%.*s%s%.*s%s", (int)owner.length, owner.bytes,
             is_of_principal ? " of " : "", (int)principal.length,
             is_of_principal ? principal.bytes : "", mode == LOCK_SHARED ? " (shared)" : "");
}

/* ", and 2 more"; "" if there are none. */
static void describe_others(int64_t count, char text[COUNT_TEXT])
{
    text[0] = '\0';
    if (count > 1)
        snprintf(text, COUNT_TEXT, ", and %lld more", (long long)count - 1);
}

/* ", 2 waiting"; "" without waiters. */
static void describe_waiters(const struct lock_view *view, char text[COUNT_TEXT])
{
    text[0] = '\0';
    if (view->queue_length > 0)
        snprintf(text, COUNT_TEXT, ", %lld waiting", (long long)view->queue_length);
}

/* "3 of 5 taken" */
static void describe_taken(const struct lock_view *view, int64_t limit, char text[COUNT_TEXT])
{
    int64_t taken = view->hold_count + view->extra_permits;
    snprintf(text, COUNT_TEXT, "%lld of %lld taken", (long long)taken, (long long)limit);
}

void state_text_holders(const struct lock_view *view, int64_t count, char text[STATE_TEXT])
{
    char owner[OWNER_TEXT], others[COUNT_TEXT];
    describe_owner(view->holders[0].owner, view->holders[0].mode, owner);
    describe_others(count, others);
    snprintf(text, STATE_TEXT, "%s%s", owner, others);
}

/* ", 2 waiting; 3 of 5 taken"; "" without waiters and limit. */
static void describe_rest(const struct lock_view *view, char text[REST_TEXT])
{
    char waiters[COUNT_TEXT], taken[COUNT_TEXT] = "";
    describe_waiters(view, waiters);
    if (view->limit > 0)
        describe_taken(view, view->limit, taken);
    snprintf(text, REST_TEXT, "%s%s%s", waiters, taken[0] ? "; " : "", taken);
}

void state_text(const struct lock_view *view, char text[STATE_TEXT])
{
    const struct holder *first = &view->holders[0];
    char owner[OWNER_TEXT], taken[STATE_TEXT], others[COUNT_TEXT], rest[REST_TEXT];
    describe_others(view->hold_count, others);
    describe_rest(view, rest);
    if (view->holder_count == 0) {
        snprintf(text, STATE_TEXT, "%s%s", view->hold_count > 0 ? "held" : "free", rest);
        return;
    }
    describe_owner(first->owner, first->mode, owner);
    state_text_taken(first->ttl_ms, taken);
    if (first->released)
        snprintf(text, STATE_TEXT, "released by %s%s%s%s", owner, taken, others, rest);
    else
        snprintf(text, STATE_TEXT, "held by %s for %lld s, %lld s left%s%s", owner,
                 whole_seconds(first->held_ms), state_seconds_left(first->ttl_ms), others, rest);
}

void state_text_hold(const struct hold *hold, char text[STATE_TEXT])
{
    char owner[OWNER_TEXT];
    describe_owner(hold->owner, hold->mode, owner);
    snprintf(text, STATE_TEXT, "held by %s, %lld s left%s", owner, whole_seconds(hold->ttl_ms),
             hold->is_final ? ", not renewable" : "");
}

/* Adds `before`, a text that may be absent, and `after`. */
static void state_add(char text[STATE_TEXT], const char *before, struct slice added,
                      const char *after)
{
    size_t length = strlen(text);
    if (added.length > 0)
        snprintf(text + length, STATE_TEXT - length, "%s%.*s%s", before, (int)added.length,
                 added.bytes, after);
}

void state_text_end(const struct hold_end *end, char text[STATE_TEXT])
{
    char ago[DURATION_SPOKEN];
    bool is_broken = slice_equals(end->reason, "forced");
    duration_speak(end->ago_ms, ago);
    snprintf(text, STATE_TEXT, "%s %s ago",
             is_broken                               ? "was broken"
             : slice_equals(end->reason, "released") ? "was released"
                                                     : "expired",
             ago);
    state_add(text, " by ", end->breaker.principal, "");
    state_add(text, " from ", end->breaker.client, "");
    state_add(text, " (\"", end->breaker.reason, "\")");
}

void state_text_taken(int64_t free_in_ms, char text[STATE_TEXT])
{
    text[0] = '\0';
    if (free_in_ms > 0)
        snprintf(text, STATE_TEXT, ", taken for %lld s more", state_seconds_left(free_in_ms));
}

void state_text_semaphore(const struct lock_view *view, int64_t limit, int64_t permits,
                          char text[STATE_TEXT])
{
    char waiters[COUNT_TEXT], wanted[COUNT_TEXT] = "", taken[COUNT_TEXT];
    describe_taken(view, limit, taken);
    describe_waiters(view, waiters);
    if (permits > 1)
        snprintf(wanted, sizeof wanted, " and %lld wanted", (long long)permits);
    snprintf(text, STATE_TEXT, "%s%s, the next ends in %lld s at the latest%s", taken, wanted,
             state_seconds_left(view->holders[0].ttl_ms), waiters);
}

void state_text_use(const struct lock_view *view, char text[STATE_TEXT])
{
    const struct holder *holder = &view->holders[0];
    char owner[OWNER_TEXT], limit[COUNT_TEXT] = "", permits[COUNT_TEXT] = "";
    if (view->holder_count == 0) {
        strcpy(text, "another request");
        return;
    }
    describe_owner(holder->owner, LOCK_EXCLUSIVE, owner);
    if (view->limit > 0)
        snprintf(limit, sizeof limit, " with limit=%lld", (long long)view->limit);
    if (holder->permits > 1)
        snprintf(permits, sizeof permits, " and permits=%lld", (long long)holder->permits);
    static const char *const REENTRY[] = {", without reentrant", "", ", with reentrant=true"};
    snprintf(text, STATE_TEXT, "%s hold of %s%s%s%s%s",
             holder->mode == LOCK_SHARED ? "a shared" : "an exclusive", owner, limit, permits,
             view->is_other_set ? ", with other names" : "", REENTRY[view->reentry + 1]);
}

void state_text_release(const struct release *release, char text[STATE_TEXT])
{
    char others[COUNT_TEXT + sizeof " of this owner left"] = "", taken[STATE_TEXT];
    state_text_taken(release->free_in_ms, taken);
    if (release->holds > 0)
        snprintf(others, sizeof others, "; %lld hold%s of this owner left",
                 (long long)release->holds, state_plural(release->holds));
    if (release->cancelled)
        strcpy(text, "left the queue");
    else
        snprintf(text, STATE_TEXT, "released after %lld s%s%s", whole_seconds(release->held_ms),
                 taken, others);
}
