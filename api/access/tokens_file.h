/* tokens_file.h: reads and checks the file of principals, their tokens and rules. */
#ifndef BATON_API_ACCESS_TOKENS_FILE_H
#define BATON_API_ACCESS_TOKENS_FILE_H

#include "api/principals/principals.h"
#include "base/failure.h"

enum {
    TOKENS_FILE_LONGEST = 1 << 20, /* bytes */
    TOKENS_FILE_PRINCIPALS = 1000, /* at most; each request compares all their tokens */
    TOKENS_FILE_TOKENS = 8,        /* of each */
    TOKENS_FILE_RULES = 1000,      /* of each */
};

struct tokens_file_options {
    const char *path;
    bool certificates; /* clients may have certificates, so a principal needs no token */
    /* Those in force until now, from which the accounts are taken; may be NULL. */
    struct principals *before;
};

/* Reads the file. Its owner must be root or the user of the process; only the owner may write it,
 * and only the owner and the group may read it. Returns 0, or a negative errno with a failure that
 * names the place in the file and says what is expected there. Blocks. */
int tokens_file_read(const struct tokens_file_options *options, struct principals **ret,
                     struct failure *failure);

/* The same for a text; `options->path` is for the failure only. */
int tokens_file_parse(const struct tokens_file_options *options, struct slice text,
                      struct principals **ret, struct failure *failure);

#endif
