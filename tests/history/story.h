/* story.h: what a history says about one name: its holds, and how long each lived for certain and
 * at most, whatever the delays on the way to Redis and back. */
#ifndef BATON_TESTS_HISTORY_STORY_H
#define BATON_TESTS_HISTORY_STORY_H

#include "tests/history/history.h"

enum {
    LATE_US = 5000000,   /* a request without a reply has happened after that, or never will */
    TOLERANCE_US = 2000, /* by so much may Redis's clock and ours come apart during a TTL */
};

#define NO_EVENT SIZE_MAX

/* A hold that some reply proved. A request happens in Redis at one instant between `sent` and
 * `received`; from that follows what is said of the hold here. */
struct hold {
    int64_t fence;
    int token;
    int owner;
    bool reentrant; /* as its request asked for */
    bool shared;
    int limit;
    int permits;
    int64_t at_least; /* 0: none */
    int64_t asked;    /* it was granted no earlier; -1: nobody can have asked for it */
    int64_t begin;    /* it certainly lived from begin until before end; end <= begin: never */
    int64_t end;
    int64_t dead;       /* it had certainly ended by then */
    int64_t expired;    /* the same if nobody ended it: the latest end of its TTL */
    size_t grant;       /* the event of its 201, NO_EVENT where that reply is unknown */
    size_t proof;       /* its proofs of life are story->proofs[proof], ... */
    size_t proof_count; /* ... in order of `sent` */
};

/* A token that may have had a hold that no reply reports. */
struct maybe {
    int token;
    int owner;
    int64_t asked;
    int64_t dead;
};

struct story {
    const struct terms *terms;
    const struct event *events; /* of one name, in order of `sent` */
    size_t count;
    size_t *by_token; /* events by token, then `sent` */
    size_t *proofs;
    struct hold *holds; /* in order of their fences */
    size_t hold_count;
    int64_t *dead_before; /* the greatest `dead` up to each hold */
    int64_t *asked_after; /* the least `asked` from each hold on */
    struct maybe *maybes;
    size_t maybe_count;
};

/* `terms` and `events` outlive the story; they are sorted, and `received` of UNKNOWN ones is when
 * they were last heard of, and LATE_US, unless the client hung up. */
void story_build(struct story *story, const struct terms *terms, const struct event *events,
                 size_t count);
void story_free(struct story *story);

/* The hold with this fence, or NULL. */
const struct hold *story_hold(const struct story *story, int64_t fence);

/* The holds that may have lived at some time from `from` to `to` are all among those from *first
 * until before *last. */
void story_window(const struct story *story, int64_t from, int64_t to, size_t *first, size_t *last);

/* Whether the hold certainly lived all the time that the request took. */
bool hold_spans(const struct hold *hold, const struct event *event);

/* Whether the hold may have lived at some time while the request was under way. */
bool hold_may_meet(const struct hold *hold, const struct event *event);

/* The events of a token are events[by_token[*first]] until before by_token[*last]. */
void story_token(const struct story *story, int token, size_t *first, size_t *last);

/* The latest instant at which the hold's TTL can have ended, for a request that was sent at `sent`:
 * by what was sent before it, of which only what was answered by then had certainly happened. -1
 * where nothing tells. */
int64_t story_latest_expiry(const struct story *story, const struct hold *hold, int64_t sent);

/* The latest time at which the hold, or what its release has left, keeps the name taken. */
int64_t hold_taken_until(const struct hold *hold);

/* Whether something was disturbed while the request was under way. */
bool story_is_disturbed(const struct story *story, const struct event *event);

/* Whether a hold may be granted beside another one, but for a limit. */
static inline bool goes_with(bool reentrant, int owner, bool shared, int other_owner,
                             bool other_shared)
{
    return (reentrant && owner == other_owner) || (shared && other_shared);
}

#endif
