/* tree.h: all descendants of the calling process, which must be a subreaper. libc alone. */
#ifndef BATON_CLI_RUN_TREE_H
#define BATON_CLI_RUN_TREE_H

#include <stdbool.h>

/* Whether /proc is there, and shows this process by the pid that it has for itself. */
bool tree_is_visible(void);

/* Sends a signal to each descendant that /proc shows. Those that they fork meanwhile are missed:
 * call it again. Returns how many they are. */
int tree_signal(int signal);

/* Kills and reaps all of them, and returns when there is none. */
void tree_end(void);

#endif
