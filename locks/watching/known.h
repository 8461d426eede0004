/* known.h: the names that are watched by their prefix: how far each has come, and when its next
 * hold ends. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_KNOWN_H
#define BATON_LOCKS_WATCHING_KNOWN_H

#include "base/slice.h"

#include <stdint.h>

struct known {
    struct slice name;  /* the first member: as base/tree.h wants */
    struct known *next; /* in the order in which they were last seen */
    struct known *previous;
    struct known *next_touched;
    struct known *newer; /* in the order of versions, once it has been seen */
    struct known *older;
    int64_t version; /* when it was last seen; 0: it never was */
    bool held;
    bool touched;   /* it may have changed since, and is to be looked at */
    bool looking;   /* Redis is being asked; whoever does frees it if it is forgotten by then */
    bool forgotten; /* not in the table any more */
    size_t place;   /* in the heap, from 1 on; 0: not in it */
    uint64_t end;   /* no hold of it ends before this loop time; ms */
    char bytes[];
};

struct known_list {
    struct known *first;
    struct known *last;
    size_t count;
};

/* Zeroed it is empty. */
struct known_table {
    void *by_name; /* of base/tree.h */
    struct known_list held;
    struct known_list free; /* and those never seen */
    void *by_version;       /* of tsearch(3) */
    struct known *newest;
    struct known *first_touched;
    struct known *last_touched;
    size_t touched_count;
    struct known **heap; /* of those held, by `end`, from 1 on */
    size_t heap_count;
    size_t heap_room;
};

/* Adds it if it is new. */
struct known *known_get(struct known_table *table, struct slice name);

/* What has been seen of it; `end` counts only where it is held. */
void known_seen(struct known_table *table, struct known *known, int64_t version, bool held,
                uint64_t end);

void known_touch(struct known_table *table, struct known *known);

/* The one that was touched first, and then is no longer; NULL where there is none. */
struct known *known_take_touched(struct known_table *table);

/* When the first hold ends; UINT64_MAX where there is none. */
uint64_t known_next_end(const struct known_table *table);

/* Touches those of which a hold may have ended by `now`, at most so many. False: there are more. */
bool known_touch_ended(struct known_table *table, uint64_t now, size_t most);

/* The first of those seen that is newer than this version, in a time that does not grow with how
 * many there are (but for its logarithm); from there on `newer` leads to all others. NULL: none. */
struct known *known_after(const struct known_table *table, int64_t version);

/* Must not be touched. */
void known_forget(struct known_table *table, struct known *known);

void known_forget_all(struct known_table *table);

#endif
