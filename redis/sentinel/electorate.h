/* electorate.h: which of the sentinels count, what they say together, and for how long that holds.
 */
#ifndef BATON_REDIS_ELECTORATE_H
#define BATON_REDIS_ELECTORATE_H

#include "redis/sentinel/scout.h"

/* Sentinels that were replaced are left out, or they would count for ever among those of which most
 * have to agree, and a set that was renewed bit by bit would have no majority in the end. A
 * sentinel counts as replaced when it does not answer and no other has named it for
 * ELECTORATE_FORGET_MS, while most of those that count do answer: what they have answered last
 * names all that they know, and they forget no other unless somebody has them (SENTINEL RESET). A
 * few decide nothing, as those on our side of a partition might be: they go on naming the others,
 * and where they do not, they are not most. One that answers, or is named, counts again at once. */
enum { ELECTORATE_FORGET_MS = 60000 };

/* Leaves out those that were replaced. To be called whenever one has answered or been lost. */
void electorate_renew(struct scout *scouts, uint64_t now);

struct hearing {
    const struct vote *votes[SENTINELS_MOST];
    size_t count;
    size_t sentinels;
    bool all_heard;
    size_t strangers; /* that do not know the name of the primary */
    const struct scout
        *worst; /* in trouble; of those that somebody has to mend, if there are any */
    bool all_need_mending;
};

/* A sentinel that is known by two addresses counts once: by the one at which it answers. `scouts`
 * is the first of the list. */
bool electorate_is_twin(const struct scout *scouts, const struct scout *scout);

struct hearing electorate_hear(const struct scout *scouts);

/* When most of them have last been asked a question to which they answered with `primary`, or 0
 * where most of them have not. */
uint64_t electorate_named(const struct scout *scouts, const struct vote *primary);

#endif
