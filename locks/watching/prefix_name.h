/* prefix_name.h: a table of the names under a watched prefix: the version that this server has seen
 * of each name, and when its next hold ends. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_PREFIX_NAME_H
#define BATON_LOCKS_WATCHING_PREFIX_NAME_H

#include "base/order.h"
#include "base/slice.h"

#include <sys/queue.h>

struct prefix_name {
    struct slice name; /* the first member: as base/tree.h wants */
    STAILQ_ENTRY(prefix_name) others_touched;
    struct order_place version; /* that was seen last, among the held or the free names; 0: none */
    struct order_place end;     /* no hold of the name ends before this loop time, ms */
    bool held;
    bool touched;   /* the name may have changed since: the next round inspects it */
    bool looking;   /* an inspect is under way; its reply frees a forgotten entry */
    bool forgotten; /* no longer in the table */
    char bytes[];
};

/* Call prefix_names_init first. */
struct prefix_names {
    void *by_name;     /* of base/tree.h */
    struct order held; /* by version */
    struct order free; /* by version; also the names that were never seen */
    struct order ends; /* of the held names */
    STAILQ_HEAD(touched_names, prefix_name)
    touched; /* the name that was touched first is the first */
    size_t touched_count;
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

/* The oldest name that is newer than this version, and the name that follows in the order of
 * versions. NULL: there is none. */
struct prefix_name *prefix_name_after(const struct prefix_names *table, int64_t version);
struct prefix_name *prefix_name_next(const struct prefix_names *table,
                                     const struct prefix_name *known);

/* Call this only for a name that is not touched. */
void prefix_name_forget(struct prefix_names *table, struct prefix_name *known);

/* Forgets the free names of the oldest versions, until `most` are left or the oldest may have
 * changed. Returns the greatest version among them, 0 if there are none. */
int64_t prefix_name_forget_oldest(struct prefix_names *table, size_t most);

/* Forgets `most` names at most. Returns false if there are more. */
bool prefix_name_forget_some(struct prefix_names *table, size_t most);

#endif
