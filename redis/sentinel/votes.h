/* votes.h: which of the sentinels' answers about the primary counts. */
#ifndef BATON_REDIS_SENTINEL_VOTES_H
#define BATON_REDIS_SENTINEL_VOTES_H

#include "redis/address/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SENTINELS_MOST = 24 }; /* that are asked */

/* What one sentinel says. Each failover that a majority of them has agreed to has a higher epoch
 * than those before, so a sentinel that was cut off, or has slept, gives itself away. */
struct vote {
    char host[REDIS_HOST_LONGEST + 1];
    int port;
    uint64_t epoch;
};

bool vote_equals(const struct vote *one, const struct vote *other);

bool vote_names(const struct vote *vote, const char *host, int port);

/* `sentinels` is how many are known, `count` of which have answered last; `all_heard` says that no
 * answer of the others is to be waited for. `current` is the answer in use, or NULL.
 *
 * The highest epoch wins, and of the same epoch what most say, and then what is in use. It has to
 * be new, though: what is in use gives way to a higher epoch, or to what most of the known
 * sentinels agree on (they may have been set up anew), and never to a few that are behind. The
 * first answer has to be that of most of the known sentinels, or of all that can be heard.
 *
 * Returns one of `votes`, or NULL where none counts. */
const struct vote *votes_winner(const struct vote *const *votes, size_t count, size_t sentinels,
                                bool all_heard, const struct vote *current);

#endif
