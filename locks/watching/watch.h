/* watch.h: the requests that wait for a name to change, whichever engine serves them. Internal to
 * locks/. */
#ifndef BATON_LOCKS_WATCHING_WATCH_H
#define BATON_LOCKS_WATCHING_WATCH_H

#include "locks/locks.h"

#include <sys/queue.h>

struct watched;

/* What an engine does for the watches of a name. */
struct watched_kind {
    /* Asks Redis for the name, later calls watched_seen. */
    void (*look)(struct watched *watched);
    /* The name has one user less. */
    void (*leave)(struct watched *watched);
    bool (*can_ask)(const struct watched *watched);
    /* A look that has failed answers every watch; else only those that have never been looked at:
     * the engine looks again when Redis is back. */
    bool tells_failures;
};

/* The watches of a name, and what was seen of it last: a member of what the engine keeps of a name.
 * One look serves all watches. */
struct watched {
    const struct watched_kind *kind;
    void *owner; /* for the engine: the structure that this is a member of */
    struct locks *locks;
    struct slice key; /* of the name; the owner's */
    LIST_HEAD(watch_list, watch) watches;
    struct watch *lingering; /* keeps the name for the next watch; NULL: none */
    uint64_t looks;          /* that have begun */
    int64_t version;         /* that was seen last */
    bool is_current;         /* as far as Redis has told, it is the latest */
    bool is_looking;
    bool look_again;
};

/* As locks_watch, for a name of which the watch becomes a user. Without a look if the version that
 * was seen last is current: the watch hears of each later one. */
struct watch *watch_begin(struct watched *watched, struct slice token, int64_t after,
                          int64_t wait_ms, locks_done *done, void *context);

/* The name may have changed: looks at it, if anybody watches it. */
void watched_check(struct watched *watched);

/* The name has this version now: looks at it, unless that is known. */
void watched_changed(struct watched *watched, int64_t version);

/* The result of a look: `view`, or why Redis could not be asked. */
void watched_seen(struct watched *watched, struct locks_reply *reply);

/* Answers all watches of the name with its present state. */
void watched_drain(struct watched *watched);

#endif
