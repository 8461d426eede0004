/* known.h: a table of the names under watched prefixes: the version that this server has seen of
 * each name, and when its next hold ends. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_KNOWN_H
#define BATON_LOCKS_WATCHING_KNOWN_H

#include "base/slice.h"

#include <stdint.h>

struct known {
    struct slice name;  /* the first member: as base/tree.h wants */
    struct known *next; /* of the same list, in the order in which they were last seen */
    struct known *previous;
    struct known *next_touched;
    struct known *newer; /* in the order of versions; only names that were seen */
    struct known *older;
    int64_t version; /* that was seen last; 0: the name was never seen */
    bool held;
    bool touched;   /* the name may have changed since: the next round inspects it */
    bool looking;   /* an inspect is under way; its reply frees a forgotten entry */
    bool forgotten; /* no longer in the table */
    size_t place;   /* index in the heap, from 1 on; 0: not in the heap */
    uint64_t end;   /* no hold of the name ends before this loop time, ms */
    char bytes[];
};

struct known_list {
    struct known *first;
    struct known *last;
    size_t count;
};

/* A zeroed table is empty. */
struct known_table {
    void *by_name; /* of base/tree.h */
    struct known_list held;
    struct known_list free; /* also the names that were never seen */
    void *by_version;       /* of tsearch(3) */
    struct known *newest;
    struct known *first_touched;
    struct known *last_touched;
    size_t touched_count;
    struct known **heap; /* the held names by `end`; indexes from 1 on */
    size_t heap_count;
    size_t heap_room;
};

/* Adds the name if it is new. */
struct known *known_get(struct known_table *table, struct slice name);

/* Notes what an inspect or a scan has seen. `end` counts only if the name is held. */
void known_seen(struct known_table *table, struct known *known, int64_t version, bool held,
                uint64_t end);

void known_touch(struct known_table *table, struct known *known);

/* Takes the name that was touched first; NULL if no name is touched. */
struct known *known_take_touched(struct known_table *table);

/* When the first hold ends, in loop time; UINT64_MAX if no name is held. */
uint64_t known_next_end(const struct known_table *table);

/* Touches the names of which a hold may have ended by `now`, `most` of them at most. Returns false
 * if there are more. */
bool known_touch_ended(struct known_table *table, uint64_t now, size_t most);

/* The oldest name that is newer than this version; `newer` leads on from there. NULL: there is
 * none. Takes logarithmic time. */
struct known *known_after(const struct known_table *table, int64_t version);

/* Call this only for a name that is not touched. */
void known_forget(struct known_table *table, struct known *known);

void known_forget_all(struct known_table *table);

#endif
