/* watched_prefix.h: the names under a watched prefix. After a scan the table has every name that is
 * held, and every name that has changed since some version. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_WATCHED_PREFIX_H
#define BATON_LOCKS_WATCHING_WATCHED_PREFIX_H

#include "locks/calls/operation.h"
#include "locks/watching/prefix_name.h"

struct watched_prefix;
LIST_HEAD(watched_prefixes, watched_prefix);

/* Called from the loop when a scan has ended; `error` is NULL if it reached the end. */
typedef void watched_prefix_scanned(void *context, struct watched_prefix *watched,
                                    const char *error);

struct watched_prefix {
    LIST_ENTRY(watched_prefix) others;
    struct watched_prefixes *all;
    struct locks *locks;
    struct prefix_names *known;
    watched_prefix_scanned *scanned;
    void *context;
    bool ready;         /* the table has all names that it must have */
    int64_t since;      /* the table has all free names that are newer than this version */
    int64_t forgotten;  /* the greatest version of a free name that the table has forgotten */
    size_t watches;     /* how many watches use it */
    uint64_t idle;      /* since when no watch uses it; loop time, ms */
    bool scanning;      /* a script is under way */
    uint64_t asked;     /* when the script was sent; loop time, ms */
    bool scan_again;    /* what the scan has found so far may have changed */
    bool ended;         /* closed; the end of the scan frees it */
    unsigned position;  /* of the shard that is being scanned */
    int64_t scan_since; /* the scan's first version; 0: only names that are held */
    int64_t began; /* time of the scan by the shard whose clock is behind most, us; 0: unknown */
    size_t prefix_length;
    char prefix[];
};

bool watched_prefix_has(const struct watched_prefix *watched, struct slice name);

/* Copies the prefix and puts it into the list. */
struct watched_prefix *watched_prefix_open(struct watched_prefixes *all, struct locks *locks,
                                           struct prefix_names *known, struct slice prefix,
                                           watched_prefix_scanned *scanned, void *context);
void watched_prefix_close(struct watched_prefix *watched);

/* Keeps the table small: forgets the free names that were seen longest ago. A watch that asks for
 * older changes than the table has causes a scan. */
void watched_prefixes_forget_oldest(const struct watched_prefixes *all, struct prefix_names *known);

/* Whether the table has all names that have changed since this version; 0: all that are held. */
bool watched_prefix_covers(const struct watched_prefix *watched, int64_t since);

/* Scans for the names that are held and the names that have changed since this version. Does
 * nothing while a scan is under way. */
void watched_prefix_scan(struct watched_prefix *watched, int64_t since);

/* Call this if changes may have been missed: scans anew for what has changed since this version. */
void watched_prefix_doubt(struct watched_prefix *watched, int64_t since);

#endif
