/* siphash.h: a hash with a key: without the key, clients cannot choose names that collide. */
#ifndef BATON_BASE_SIPHASH_H
#define BATON_BASE_SIPHASH_H

#include "base/slice.h"

#include <stdint.h>

struct siphash_key {
    uint64_t halves[2]; /* random and secret */
};

/* SipHash-2-4 (Aumasson and Bernstein, SipHash: a fast short-input PRF, INDOCRYPT 2012): for tables
 * whose keys clients choose. */
uint64_t siphash(const struct siphash_key *key, struct slice text);

#endif
