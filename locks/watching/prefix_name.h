/* prefix_name.h: a table of the names under watched prefixes: the version that this server has seen
 * of each name, and when its next hold ends. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_PREFIX_NAME_H
#define BATON_LOCKS_WATCHING_PREFIX_NAME_H

#include "base/slice.h"

#include <stdint.h>
#include <sys/queue.h>

struct prefix_name {
    struct slice name;               /* the first member: as base/tree.h wants */
    TAILQ_ENTRY(prefix_name) others; /* held or free too, in the order in which they were seen */
    STAILQ_ENTRY(prefix_name) others_touched;
    struct prefix_name *newer; /* in the order of versions; only names that were seen */
    struct prefix_name *older;
    int64_t version; /* that was seen last; 0: the name was never seen */
    bool held;
    bool touched;   /* the name may have changed since: the next round inspects it */
    bool looking;   /* an inspect is under way; its reply frees a forgotten entry */
    bool forgotten; /* no longer in the table */
    size_t place;   /* index in the heap, from 1 on; 0: not in the heap */
    uint64_t end;   /* no hold of the name ends before this loop time, ms */
    char bytes[];
};

struct prefix_name_list {
    TAILQ_HEAD(prefix_name_queue, prefix_name) names;
    size_t count;
};

/* Call prefix_names_init first. */
struct prefix_names {
    void *by_name; /* of base/tree.h */
    struct prefix_name_list held;
    struct prefix_name_list free; /* also the names that were never seen */
    void *by_version;             /* of tsearch(3) */
    struct prefix_name *newest;
    STAILQ_HEAD(touched_names, prefix_name)
    touched; /* the name that was touched first is the first */
    size_t touched_count;
    struct prefix_name **heap; /* the held names by `end`; indexes from 1 on */
    size_t heap_count;
    size_t heap_room;
};

void prefix_names_init(struct prefix_names *table);

/* Adds the name if it is new. */
struct prefix_name *prefix_name_get(struct prefix_names *table, struct slice name);

/* Notes what an inspect or a scan has seen. `end` counts only if the name is held. */
void prefix_name_seen(struct prefix_names *table, struct prefix_name *known, int64_t version,
                      bool held, uint64_t end);

void prefix_name_touch(struct prefix_names *table, struct prefix_name *known);

/* Takes the name that was touched first; NULL if no name is touched. */
struct prefix_name *prefix_name_take_touched(struct prefix_names *table);

/* When the first hold ends, in loop time; UINT64_MAX if no name is held. */
uint64_t prefix_name_next_end(const struct prefix_names *table);

/* Touches the names of which a hold may have ended by `now`, `most` of them at most. Returns false
 * if there are more. */
bool prefix_name_touch_ended(struct prefix_names *table, uint64_t now, size_t most);

/* The oldest name that is newer than this version; `newer` leads on from there. NULL: there is
 * none. Takes logarithmic time. */
struct prefix_name *prefix_name_after(const struct prefix_names *table, int64_t version);

/* Call this only for a name that is not touched. */
void prefix_name_forget(struct prefix_names *table, struct prefix_name *known);

void prefix_name_forget_all(struct prefix_names *table);

#endif
