/* beat.h: the work that a lock protects, for the oracle: each process of a tree writes the time
 * into a page that all share, again and again, for as long as it lives. */
#ifndef BATON_TESTS_CLI_BEAT_H
#define BATON_TESTS_CLI_BEAT_H

#include <stdatomic.h>
#include <stdint.h>

enum beat_tree {
    BEAT_PLAIN,
    BEAT_SETSID,
    BEAT_DOUBLE_FORK,
    BEAT_IGNORES_TERM,
    BEAT_FORKS,
    BEAT_TREES
};

extern const char *const beat_trees[BEAT_TREES];

/* Times are ns by CLOCK_BOOTTIME; 0: none yet. */
struct beat_page {
    struct {
        _Atomic int64_t first, last;
        atomic_int processes; /* that have begun */
    } runs[2];
    atomic_bool is_over; /* all processes end */
};

/* Maps the page that the file keeps, and makes it if need be. Ends the program if it cannot. */
struct beat_page *beat_map(const char *path);

/* What `PROGRAM --beat PAGE RUN TREE` does: the first run beats until the page is over, the second
 * once. */
int beat_main(const char *path, int run, enum beat_tree tree);

#endif
