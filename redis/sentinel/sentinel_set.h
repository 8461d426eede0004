/* sentinel_set.h: which sentinels count, what they say together, and how long that holds. */
#ifndef BATON_REDIS_SENTINEL_SENTINEL_SET_H
#define BATON_REDIS_SENTINEL_SENTINEL_SET_H

#include "redis/sentinel/sentinel_client.h"

/* Replaced sentinels do not count. Otherwise they would count for ever among those of which most
 * have to agree, and a set that was renewed one by one would have no majority in the end. A
 * sentinel counts as replaced if it does not answer and no other has named it for
 * SENTINEL_SET_FORGET_MS, while most of those that count do answer. Their last answers name
 * every sentinel that they know, and they forget none unless an operator tells them to (SENTINEL
 * RESET). A minority decides nothing, for instance on our side of a partition. A sentinel that
 * answers, or that another one names, counts again at once. */
enum { SENTINEL_SET_FORGET_MS = 60000 };

/* Leaves out replaced sentinels. Call this whenever a sentinel has answered or was lost. */
void sentinel_set_renew(struct sentinel_client *clients, uint64_t now);

struct sentinel_tally {
    const struct vote *votes[SENTINELS_MOST];
    size_t count;
    size_t sentinels;
    bool all_heard;
    size_t strangers; /* sentinels that do not know the name of the primary */
    const struct sentinel_client
        *worst; /* in trouble; of those that somebody has to mend, if there are any */
    bool all_need_mending;
};

/* A sentinel with two addresses counts once: with the address at which it answers. `clients` is
 * the first of the list. */
bool sentinel_set_is_twin(const struct sentinel_client *clients,
                          const struct sentinel_client *client);

struct sentinel_tally sentinel_set_tally(const struct sentinel_client *clients);

/* When most sentinels were last asked a question that they answered with `primary`, or 0 if most
 * have not. */
uint64_t sentinel_set_named(const struct sentinel_client *clients, const struct vote *primary);

#endif
