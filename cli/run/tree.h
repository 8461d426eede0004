/* tree.h: all descendants of the calling process, which must be a subreaper. Uses only libc. */
#ifndef BATON_CLI_RUN_TREE_H
#define BATON_CLI_RUN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TREE_NAMES = 384 };

struct tree {
    int children; /* the children of the calling process, from /proc: kept open, so that a look
                   * needs no other file */
    pid_t *pids;  /* found by the latest look */
    size_t count, room;
    int killed;               /* how many were killed */
    unsigned char *is_killed; /* a bit for each pid that was killed: it makes no more children */
};

/* Opens the list of the children of the calling process, which needs CONFIG_PROC_CHILDREN and a
 * /proc of this namespace. Returns 0, or a negative errno. */
int tree_open(struct tree *tree);

void tree_close(struct tree *tree);

/* Sends a signal to each descendant that /proc shows. A process may hide its children until it is
 * dead: then the calling process inherits them. Returns how many got it. */
int tree_signal(struct tree *tree, int signal);

/* Reaps what has ended. If that includes `*pid`, sets *ret_status, and `*pid` to 0. Returns how
 * many it reaped, or -1 if no child is left. */
int tree_reap(pid_t *pid, int *ret_status);

/* Kills and reaps until a look finds nothing new. Returns whether children are left. */
bool tree_kill(struct tree *tree, pid_t *pid, int *ret_status);

/* Writes the names, as "4711 (sleep), 4712 (cat) and 3 more". Returns whether any is alive. */
bool tree_name(const struct tree *tree, char names[TREE_NAMES]);

#endif
