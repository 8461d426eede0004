/* errand.h: what a member of a quorum is to be told even if it is away now, such as that a hold is
 * taken back. Internal to locks/. */
#ifndef BATON_LOCKS_QUORUM_ERRAND_H
#define BATON_LOCKS_QUORUM_ERRAND_H

#include "redis/store.h"

struct locks;

enum { ERRANDS_MOST = 100000 }; /* at once; what is more is told once, and ends by its TTL */

/* A list; those that are under way are in it, too. */
struct errands {
    struct errand *first;
    unsigned count;
};

void errands_free(struct errands *errands);

/* Has the member run the script, now or when it is up again, until it has replied; not after so
 * many ms, when what it concerns has ended there by itself. All is copied. What is sent by the same
 * connection later comes after it, whenever that is made. */
void errand_add(struct locks *locks, struct errands *errands, unsigned member,
                const struct script *script, struct slice key, const struct slice *arguments,
                size_t argument_count, int64_t useful_ms);

/* The member is up again. */
void errands_go(struct locks *locks, struct errands *errands, unsigned member);

/* Every second or so: what was refused is sent again, and what is of no use any more is gone. */
void errands_try_again(struct locks *locks, struct errands *errands);

/* Whether all that can be told now has been. */
bool errands_are_settled(const struct locks *locks, const struct errands *errands);

#endif
