/* sentinel_set.h: which sentinels count, and the votes of these sentinels. */
#ifndef BATON_REDIS_SENTINEL_SENTINEL_SET_H
#define BATON_REDIS_SENTINEL_SENTINEL_SET_H

#include "redis/sentinel/sentinel_client.h"

/* Replaced sentinels do not count. If they counted for ever, operators could replace the sentinels
 * one by one until the set has no majority any more.
 *
 * A sentinel counts as replaced if it does not answer, no other sentinel has named it for
 * SENTINEL_SET_FORGET_MS, and most of the sentinels that count answer. The answers name every
 * sentinel that the answering sentinel knows, and a sentinel forgets another one only after an
 * operator's SENTINEL RESET. A minority decides nothing, for instance on our side of a partition.
 * A sentinel that answers, or that another sentinel names, counts again at once. */
enum { SENTINEL_SET_FORGET_MS = 60000 };

/* Leaves out replaced sentinels. Call this whenever a sentinel has answered or was lost.
 * `now` is on the loop's clock, in ms. */
void sentinel_set_renew(struct sentinel_client *clients, uint64_t now);

struct sentinel_tally {
    const struct vote *votes[SENTINELS_MOST];
    size_t count;                        /* of `votes` */
    size_t sentinels;                    /* that count */
    bool all_settled;                    /* each of them has answered, or was lost */
    size_t strangers;                    /* sentinels that do not know the name of the primary */
    const struct sentinel_client *worst; /* in trouble; first of all one that needs an operator */
    bool all_need_mending;               /* an operator has to mend each of those in trouble */
};

/* Whether another client counts for the same sentinel. A sentinel with two addresses counts once:
 * with the address at which it answers. `clients` is the first of the list. */
bool sentinel_set_is_twin(const struct sentinel_client *clients,
                          const struct sentinel_client *client);

struct sentinel_tally sentinel_set_tally(const struct sentinel_client *clients);

/* When batond last asked the question to which most sentinels answered with `primary`, on the
 * loop's clock, in ms; 0: most sentinels have not. */
uint64_t sentinel_set_named(const struct sentinel_client *clients, const struct vote *primary);

#endif
