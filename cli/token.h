/* token.h: the token of a hold, in a file that only its user can read. Never in an argument. */
#ifndef BATON_CLI_TOKEN_H
#define BATON_CLI_TOKEN_H

#include "base/failure.h"

#include <stdbool.h>

enum { TOKEN_SIZE = 132 }; /* of the longest token, with NUL and what shows that one is longer */

/* Makes a new token of 128 random bits. */
void token_make(char token[TOKEN_SIZE]);

/* Reads a token from a file, or from standard input if the path is "-". Returns 0, or -EINVAL with
 * a failure. */
int token_read(const char *path, char token[TOKEN_SIZE], struct failure *failure);

/* A file to come. It takes the place of an older one only with token_file_put. */
struct token_file {
    const char *path;
    char *draft; /* its path until then */
    int fd;
};

/* Whether a token file may take this place, and may be removed from it: there is a file, or
 * nothing. A link or a device, such as /dev/stdin, is not ours. */
bool token_file_is_replaceable(const char *path);

/* Makes the draft beside the path, or refuses a path that is not replaceable. Returns 0, or a
 * negative errno with a failure. */
int token_file_open(struct token_file *file, const char *path, struct failure *failure);

/* Writes the token and gives the file its name. Returns 0, or a negative errno with a failure. */
int token_file_put(struct token_file *file, const char *token, struct failure *failure);

/* Takes away a draft that was not put. Takes a zeroed one, too. */
void token_file_close(struct token_file *file);

#endif
