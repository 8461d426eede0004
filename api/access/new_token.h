/* new_token.h: makes the token of a principal, and what the tokens-file has to say of it. */
#ifndef BATON_API_ACCESS_NEW_TOKEN_H
#define BATON_API_ACCESS_NEW_TOKEN_H

#include "base/failure.h"
#include "base/slice.h"

#include <stdio.h>

/* Prints a token of 256 random bits on a line of its own, and on the next the principal's entry for
 * the file, with a rule to be changed. Nothing else keeps the token. Returns 0, or a negative errno
 * with a failure for a name that the file would not take, or where it cannot print. */
int new_token_print(FILE *out, struct slice name, struct failure *failure);

#endif
