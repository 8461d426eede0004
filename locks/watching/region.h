/* region.h: all names under a prefix that is being watched: once it has been scanned, each that is
 * held and each that has changed since some version is in the table. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_REGION_H
#define BATON_LOCKS_WATCHING_REGION_H

#include "locks/calls/operation.h"
#include "locks/watching/known.h"

struct region;

/* What a region tells, from the loop: it has been scanned to the end (`error` NULL), or not. */
typedef void region_scanned(void *context, struct region *region, const char *error);

struct region {
    struct region *next;
    struct region **place; /* what points to this one */
    struct region **list;  /* the first of all */
    struct locks *locks;
    struct known_table *known;
    region_scanned *scanned;
    void *context;
    bool ready;         /* the table has what it is to have */
    int64_t since;      /* of free names, all versions after this one */
    int64_t forgotten;  /* the greatest version of a free name that the table has forgotten */
    size_t watches;     /* of it */
    uint64_t idle;      /* since when it has none; loop time */
    bool scanning;      /* a script is under way */
    uint64_t asked;     /* when it was sent; loop time */
    bool scan_again;    /* all that was found so far may have changed */
    bool ended;         /* to be freed when the scan ends */
    unsigned position;  /* of the shard that is being scanned */
    int64_t scan_since; /* 0: what is held; later the time when the scan began, */
    int64_t began;      /* by the clock of the shard that is most behind; 0: not known yet */
    size_t prefix_length;
    char prefix[];
};

bool region_has(const struct region *region, struct slice name);

/* Copies the prefix and puts the region into the list. */
struct region *region_open(struct region **list, struct locks *locks, struct known_table *known,
                           struct slice prefix, region_scanned *scanned, void *context);
void region_close(struct region *region);

/* Forgets free names beyond the number that is to be remembered, those first that were seen longest
 * ago: whoever asks for older changes than what is left has them scanned. */
void regions_forget_oldest(struct region *list, struct known_table *known);

/* Whether it has all that has changed since; 0: all that is held. */
bool region_covers(const struct region *region, int64_t since);

/* Looks for all that is held, and all that has changed since. Where it is being scanned already,
 * nothing happens. */
void region_scan(struct region *region, int64_t since);

/* The table was not told of all changes: scans anew, for what has changed since. */
void region_doubt(struct region *region, int64_t since);

#endif
