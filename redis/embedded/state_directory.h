/* state_directory.h: the directory in which a private redis-server keeps its data. */
#ifndef BATON_REDIS_EMBEDDED_STATE_DIRECTORY_H
#define BATON_REDIS_EMBEDDED_STATE_DIRECTORY_H

#include "base/failure.h"

#include <limits.h>
#include <stdbool.h>

/* The name of the file in it that a batond locks. */
#define STATE_DIRECTORY_LOCK "lock"

/* Makes the directory (mode 0700, parents too) unless it exists. `ret_path` is its absolute
 * path. Returns 0 or a negative errno with a failure that says how to mend it: -EPERM if a user
 * other than root and the present user may write in it, since that user could add locks or replace
 * redis.sock. If it is of an earlier start, and open to its group, this takes all rights of the
 * group away and sets *ret_closed. */
int state_directory_open(const char *path, char ret_path[PATH_MAX], bool *ret_closed,
                         struct failure *failure);

/* Whether its file system is almost full. */
bool state_directory_is_full(const char *path);

/* Whether the current directory takes a file: 0, or the errno that says why not, such as ENOSPC.
 * May be called between fork and exec. */
int state_directory_try_to_write(void);

#endif
