/* sentinel_set.h: which of the sentinels count, what they say together, and for how long that
 * holds.
 */
#ifndef BATON_REDIS_SENTINEL_SENTINEL_SET_H
#define BATON_REDIS_SENTINEL_SENTINEL_SET_H

#include "redis/sentinel/sentinel_client.h"

/* Sentinels that were replaced are left out, or they would count for ever among those of which most
 * have to agree, and a set that was renewed bit by bit would have no majority in the end. A
 * sentinel counts as replaced when it does not answer and no other has named it for
 * SENTINEL_SET_FORGET_MS, while most of those that count do answer: what they have answered last
 * names all that they know, and they forget no other unless somebody has them (SENTINEL RESET). A
 * few decide nothing, as those on our side of a partition might be: they go on naming the others,
 * and where they do not, they are not most. One that answers, or is named, counts again at once. */
enum { SENTINEL_SET_FORGET_MS = 60000 };

/* Leaves out those that were replaced. To be called whenever one has answered or been lost. */
void sentinel_set_renew(struct sentinel_client *clients, uint64_t now);

struct sentinel_tally {
    const struct vote *votes[SENTINELS_MOST];
    size_t count;
    size_t sentinels;
    bool all_heard;
    size_t strangers; /* that do not know the name of the primary */
    const struct sentinel_client
        *worst; /* in trouble; of those that somebody has to mend, if there are any */
    bool all_need_mending;
};

/* A sentinel that is known by two addresses counts once: by the one at which it answers. `clients`
 * is the first of the list. */
bool sentinel_set_is_twin(const struct sentinel_client *clients,
                          const struct sentinel_client *client);

struct sentinel_tally sentinel_set_tally(const struct sentinel_client *clients);

/* When most of them have last been asked a question to which they answered with `primary`, or 0
 * where most of them have not. */
uint64_t sentinel_set_named(const struct sentinel_client *clients, const struct vote *primary);

#endif
