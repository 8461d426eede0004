/* prefix_name.h: a table of the names under a watched prefix: the version that this server has seen
 * of each name, and when its next hold ends. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_PREFIX_NAME_H
#define BATON_LOCKS_WATCHING_PREFIX_NAME_H

#include "base/order.h"
#include "base/slice.h"

#include <sys/queue.h>

enum prefix_name_state {
    NAME_SETTLED,
    NAME_DIRTY,            /* it may have changed: the next round inspects it */
    NAME_INSPECTING,       /* an inspect is under way */
    NAME_INSPECTING_DIRTY, /* the same, but what it sees may be old by then */
};

struct prefix_name {
    struct slice name; /* the first member: as base/tree.h wants */
    STAILQ_ENTRY(prefix_name) others_dirty;
    struct order_place version; /* that was seen last, among the held or the free names; 0: none */
    struct order_place end;     /* no hold of the name ends before this loop time, ms */
    bool held;
    enum prefix_name_state state;
    char bytes[];
};

/* Call prefix_names_init first. */
struct prefix_names {
    void *by_name;     /* of base/tree.h */
    struct order held; /* by version */
    struct order free; /* by version; also the names that were never seen */
    struct order ends; /* of the held names */
    STAILQ_HEAD(dirty_names, prefix_name)
    dirty; /* the name that became dirty first is the first */
    size_t dirty_count;
};

void prefix_names_init(struct prefix_names *table);

/* Adds the name if it is new. */
struct prefix_name *prefix_name_get(struct prefix_names *table, struct slice name);

/* Notes what an inspect or a scan has seen. `end` counts only if the name is held. */
void prefix_name_seen(struct prefix_names *table, struct prefix_name *known, int64_t version,
                      bool held, uint64_t end);

/* The name may have changed. */
void prefix_name_invalidate(struct prefix_names *table, struct prefix_name *known);

/* Takes the name that became dirty first, to inspect it; NULL if no name is dirty. */
struct prefix_name *prefix_name_take_dirty(struct prefix_names *table);

/* The inspect has ended. */
void prefix_name_settle(struct prefix_name *known);

/* When the first hold ends, in loop time; UINT64_MAX if no name is held. */
uint64_t prefix_name_next_end(const struct prefix_names *table);

/* Invalidates the names of which a hold may have ended by `now`, `most` of them at most. Returns
 * false if there are more. */
bool prefix_name_invalidate_ended(struct prefix_names *table, uint64_t now, size_t most);

/* The oldest name that is newer than this version, and the name that follows in the order of
 * versions. NULL: there is none. */
struct prefix_name *prefix_name_after(const struct prefix_names *table, int64_t version);
struct prefix_name *prefix_name_next(const struct prefix_names *table,
                                     const struct prefix_name *known);

/* Does nothing if the name is not settled. */
void prefix_name_forget(struct prefix_names *table, struct prefix_name *known);

/* Forgets the free names of the oldest versions, until `most` are left or the oldest may have
 * changed. Returns the greatest version among them, 0 if there are none. */
int64_t prefix_name_forget_oldest(struct prefix_names *table, size_t most);

/* Forgets `most` names at most, in any state. Returns false if there are more. */
bool prefix_name_forget_some(struct prefix_names *table, size_t most);

#endif
