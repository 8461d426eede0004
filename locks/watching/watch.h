/* watch.h: the requests that wait for a name to change, for both engines. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_WATCH_H
#define BATON_LOCKS_WATCHING_WATCH_H

#include "locks/locks.h"

#include <sys/queue.h>

struct watched;

/* What an engine does for the watches of a name. */
struct watched_kind {
    /* Asks Redis for the state of the name; calls watched_seen later. */
    void (*refresh)(struct watched *watched);
    /* The name has one user less. */
    void (*leave)(struct watched *watched);
    /* Whether Redis can be asked now. */
    bool (*can_ask)(const struct watched *watched);
    /* A failed refresh answers every watch. If false, it answers only new watches; the others wait,
     * and the engine refreshes again when Redis is back. */
    bool reports_failures;
};

enum watched_state {
    WATCHED_STALE,            /* Redis may have a later version */
    WATCHED_CURRENT,          /* Redis has reported no later version */
    WATCHED_REFRESHING,       /* a refresh is under way */
    WATCHED_REFRESHING_AGAIN, /* the same, and another follows: its reply may be old by then */
};

/* The watches of a name and its last known version. Each engine has one in its record of a name.
 * One refresh serves all watches. */
struct watched {
    const struct watched_kind *kind;
    void *owner; /* for the engine: the structure that this is a member of */
    struct locks *locks;
    struct slice key; /* of the name; the owner's */
    LIST_HEAD(watch_list, watch) watches;
    unsigned of_holds;       /* watches that have a token */
    struct watch *lingering; /* keeps the name for the next watch; NULL: none */
    uint64_t refreshes;      /* that have begun */
    int64_t version;         /* that was seen last */
    enum watched_state state;
};

/* As locks_watch; the watch becomes a user of the name. Without a token, sends no script if the
 * last known version is current: Redis reports each later one. */
struct watch *watch_begin(struct watched *watched, const struct watch_for *what, int64_t wait_ms,
                          locks_done *done, void *context);

/* Call this if the name may have changed: refreshes it if it has a watch. */
void watched_check(struct watched *watched);

/* The version that was seen last may not be current: the next watch refreshes it, or the refresh
 * that is under way is repeated. */
void watched_doubt(struct watched *watched);

/* The name has this version now: refreshes it unless the version is known. */
void watched_changed(struct watched *watched, int64_t version);

/* Takes the result of a refresh: `view`, or why Redis could not be asked. */
void watched_seen(struct watched *watched, struct locks_reply *reply);

/* Answers all watches of the name with its present state. */
void watched_drain(struct watched *watched);

#endif
