/* votes.h: picks the answer that counts among those of the sentinels. */
#ifndef BATON_REDIS_SENTINEL_VOTES_H
#define BATON_REDIS_SENTINEL_VOTES_H

#include "redis/address/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SENTINELS_MOST = 24 }; /* that are asked */

/* The primary as one sentinel names it. Each failover that a majority has agreed to has a higher
 * epoch than those before, so a sentinel that was cut off, or has slept, shows an older one. */
struct vote {
    char host[REDIS_HOST_LONGEST + 1];
    int port;
    uint64_t epoch;
};

bool vote_equals(const struct vote *one, const struct vote *other);

bool vote_names(const struct vote *vote, const char *host, int port);

/* `sentinels` is the number of known sentinels; `count` of them have answered last. `all_heard`:
 * no other answer is still to come. `current` is the answer in use, or NULL.
 *
 * The highest epoch wins; with equal epochs the answer of most sentinels, and then the one in
 * use. A new answer replaces the one in use if its epoch is higher, or if most of the known
 * sentinels agree on it (an operator may have set them up anew), but never if only a few that
 * are behind give it. The first answer has to be that of most known sentinels, or of all that
 * can be heard.
 *
 * Returns one of `votes`, or NULL if none counts. */
const struct vote *votes_winner(const struct vote *const *votes, size_t count, size_t sentinels,
                                bool all_heard, const struct vote *current);

#endif
