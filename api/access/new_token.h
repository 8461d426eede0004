/* new_token.h: makes a token for a principal, and its entry for the tokens-file. */
#ifndef BATON_API_ACCESS_NEW_TOKEN_H
#define BATON_API_ACCESS_NEW_TOKEN_H

#include "base/failure.h"
#include "base/slice.h"

#include <stdio.h>

/* Prints a token of 256 random bits on one line, and on the next the principal's entry for the
 * file, with a rule to change. The token is kept nowhere. Returns 0, or a negative errno with a
 * failure if the file would refuse the name or the output fails. */
int new_token_print(FILE *out, struct slice name, struct failure *failure);

#endif
