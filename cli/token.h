/* token.h: the token of a hold, in a file that only its user can read; never in an argument. */
#ifndef BATON_CLI_TOKEN_H
#define BATON_CLI_TOKEN_H

#include "base/failure.h"

#include <stdbool.h>

enum { TOKEN_SIZE = 132 }; /* the longest token, a NUL, and a byte that shows a longer one */

/* Makes a new token of 128 random bits. */
void token_make(char token[TOKEN_SIZE]);

/* Reads a token from a file, or from standard input if the path is "-". Returns 0, or -EINVAL with
 * a failure. */
int token_read(const char *path, char token[TOKEN_SIZE], struct failure *failure);

/* A new token file. It replaces an older one only at token_file_put. */
struct token_file {
    const char *path;
    char *draft; /* the path of the new file until then */
    int fd;
};

/* Whether a token file may be put here, and removed again: there is a regular file, or nothing. A
 * link or a device, such as /dev/stdin, is not ours. */
bool token_file_is_replaceable(const char *path);

/* Makes the draft beside the path, or refuses a path that is not replaceable. Returns 0, or a
 * negative errno with a failure. */
int token_file_open(struct token_file *file, const char *path, struct failure *failure);

/* Writes the token and moves the file to its path. Returns 0, or a negative errno with a
 * failure. */
int token_file_put(struct token_file *file, const char *token, struct failure *failure);

/* Removes a draft that was not put. Takes a zeroed struct, too. */
void token_file_close(struct token_file *file);

#endif
