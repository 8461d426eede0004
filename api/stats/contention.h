/* contention.h: the locks with the most waiters and the longest holds: "why does everything wait?"
 */
#ifndef BATON_API_STATS_CONTENTION_H
#define BATON_API_STATS_CONTENTION_H

#include "api/stats/lock_event.h"
#include "base/heavy_hitters.h"

enum {
    CONTENTION_PARTS = 256,             /* workers, at most */
    CONTENTION_WINDOW_MS = 3600 * 1000, /* a view covers this window and the one before */
};

/* The figures of one worker; written on its thread, read from any. */
struct contention_part;

/* The process has one. Begins zeroed. */
struct contention {
    size_t count;
    struct contention_part *parts[CONTENTION_PARTS];
};

/* Makes `count` parts. Call it before any worker starts. */
void contention_open(struct contention *contention, size_t count);

/* Call it after all workers have ended. */
void contention_close(struct contention *contention);

/* Adds an event of a worker. */
void contention_add(struct contention_part *part, const struct lock_event *event);

/* A name with waiters now. */
struct contention_waiting {
    uint64_t waiters;
    uint64_t since_ms; /* ms for which it has had waiters without a break */
    size_t length;
    char name[NAME_LENGTH];
};

/* The lists of names in a view. */
enum contention_list {
    CONTENTION_MOST_WAITERS,  /* at a time, at one worker */
    CONTENTION_LONGEST_WAITS, /* ms */
    CONTENTION_LONGEST_HOLDS, /* ms */
    CONTENTION_MOST_WAITS,
    CONTENTION_MOST_EXPIRATIONS,
    CONTENTION_LISTS
};

/* Each list has the greatest first. */
struct contention_view {
    struct contention_waiting *waiting;
    size_t waiting_count;
    uint64_t window_ms; /* how far back the lists go */
    struct {
        struct ranked *all;
        size_t count;
    } lists[CONTENTION_LISTS];
};

/* Sums up all parts; a NULL contention gives an empty view. `waiting` has only names that `wants`
 * accepts. From any worker's thread. It locks each part repeatedly for some 100 us, so a name that
 * gets its waiter meanwhile may be missing. */
struct contention_view contention_view(const struct contention *contention,
                                       bool (*wants)(void *context, struct slice name),
                                       void *context);
void contention_view_free(struct contention_view *view);

#endif
