/* votes.h: picks one of the answers of the sentinels. */
#ifndef BATON_REDIS_SENTINEL_VOTES_H
#define BATON_REDIS_SENTINEL_VOTES_H

#include "redis/address/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SENTINELS_MOST = 24 }; /* batond asks no more */

/* The primary as one sentinel names it. Each failover that a majority has agreed to has a higher
 * epoch than all failovers before. So a sentinel that was cut off, or has slept, shows an older
 * epoch. */
struct vote {
    char host[REDIS_HOST_LONGEST + 1];
    int port;
    uint64_t epoch;
};

bool vote_equals(const struct vote *one, const struct vote *other);

bool vote_names(const struct vote *vote, const char *host, int port);

/* `votes` are the last answers of `count` sentinels. `sentinels` is the number of known sentinels.
 * `all_settled`: no other answer is to come. `current` is the answer in use, or NULL.
 *
 * The highest epoch wins. Among answers with this epoch, the answer of most sentinels wins, and
 * then the answer in use.
 * - The first answer must be that of most known sentinels, or of all sentinels that answer.
 * - A new answer replaces the answer in use if its epoch is higher, or if most known sentinels
 *   agree on it: an operator may have set them up anew. A few sentinels that are behind replace
 *   nothing.
 *
 * Returns one of `votes`, or NULL if no answer wins. */
const struct vote *votes_winner(const struct vote *const *votes, size_t count, size_t sentinels,
                                bool all_settled, const struct vote *current);

#endif
