/* tokens_file.h: reads the file that says who may make requests, and checks all of it. */
#ifndef BATON_API_ACCESS_TOKENS_FILE_H
#define BATON_API_ACCESS_TOKENS_FILE_H

#include "api/principals/principals.h"
#include "base/failure.h"

enum {
    TOKENS_FILE_LONGEST = 1 << 20, /* bytes */
    TOKENS_FILE_PRINCIPALS = 1000, /* at most; so that looking at all their tokens stays cheap */
    TOKENS_FILE_TOKENS = 8,        /* of each */
    TOKENS_FILE_RULES = 1000,      /* of each */
};

struct tokens_file_options {
    const char *path;
    bool certificates; /* there are client certificates too: a principal may do without a token */
    /* Those that were in force until now, whose accounts go on; may be NULL. */
    struct principals *before;
};

/* Reads the file, which has to belong to root or to whom the process runs as, and to be closed to
 * all but its owner and, for reading, its group. Returns 0, or a negative errno with a failure that
 * names the place in the file and says what is expected there. Blocks. */
int tokens_file_read(const struct tokens_file_options *options, struct principals **ret,
                     struct failure *failure);

/* The same for a text that was read already; `options->path` only stands in the failure. */
int tokens_file_parse(const struct tokens_file_options *options, struct slice text,
                      struct principals **ret, struct failure *failure);

#endif
