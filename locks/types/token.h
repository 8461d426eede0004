/* token.h: the secret that names one acquisition attempt from its first request to its release. */
#ifndef BATON_LOCKS_TYPES_TOKEN_H
#define BATON_LOCKS_TYPES_TOKEN_H

#include "base/random.h"
#include "base/slice.h"

enum {
    TOKEN_SHORTEST = 22, /* characters: 128 bits, six to a character */
    TOKEN_LONGEST = 128,
};

/* 22 to 128 characters of [A-Za-z0-9_-]. */
bool token_is_valid(struct slice token);

/* Makes a token from 128 bits of the kernel's randomness. */
void token_make(struct random_pool *randomness, char token[TOKEN_SHORTEST + 1]);

#endif
