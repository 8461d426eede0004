/* file.h: reads a small file that a setting names, as a whole. */
#ifndef BATON_BASE_FILE_H
#define BATON_BASE_FILE_H

#include "base/failure.h"

#include <stdbool.h>
#include <stddef.h>

struct file_options {
    const char *setting; /* for messages: "tokens-file" */
    const char *path;
    size_t longest;
    /* Root or the user of this process must own it; its group may read it; others have no access.
     */
    bool is_private;
};

/* Returns 0 and sets *ret to its bytes without a byte order mark, NUL-terminated, for free(3); or
 * -EINVAL with a failure that says how to mend it. `ret_length` may be NULL: then a file with a NUL
 * in it is refused. */
int file_read(const struct file_options *options, char **ret, size_t *ret_length,
              struct failure *failure);

#endif
