/* tree.h: all descendants of the calling process, which must be a subreaper. libc alone. */
#ifndef BATON_CLI_RUN_TREE_H
#define BATON_CLI_RUN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TREE_NAMES = 384 };

struct tree {
    int children; /* of the calling process, as /proc lists them: it stays open, so that a look at
                     them needs no other file */
    pid_t *pids;  /* of the latest look */
    size_t count, room;
    int killed;               /* how many */
    unsigned char *is_killed; /* a bit for each pid: it has its last children */
};

/* Opens the list of the children of the calling process, which needs CONFIG_PROC_CHILDREN and a
 * /proc of this namespace. Returns 0, or a negative errno. */
int tree_open(struct tree *tree);

void tree_close(struct tree *tree);

/* Sends a signal to each descendant that /proc shows. A process may hide its children, until it is
 * dead: then they are those of the calling process. Returns how many took it. */
int tree_signal(struct tree *tree, int signal);

/* Reaps what has ended. If `*pid` was among it, sets *ret_status, and `*pid` to 0. Returns how many
 * it reaped, or -1 if there is no child any more. */
int tree_reap(pid_t *pid, int *ret_status);

/* Kills and reaps, until a look finds nothing that the looks before have not. Returns whether there
 * still are children. */
bool tree_kill(struct tree *tree, pid_t *pid, int *ret_status);

/* Writes who they are: "4711 (sleep), 4712 (cat) and 3 more". Returns whether any is alive. */
bool tree_name(const struct tree *tree, char names[TREE_NAMES]);

#endif
