/* doubt.h: grants whose reply was lost, kept until they have been taken back. Internal to locks/.
 */
#ifndef BATON_LOCKS_DOUBT_H
#define BATON_LOCKS_DOUBT_H

#include "base/slice.h"

#include <stdint.h>

struct attempt;
struct locks;

/* A list of all that are to be taken back; those that Redis is being asked about are in it, too. */
struct doubts {
    struct doubt *first;
};

void doubts_init(struct doubts *doubts);
void doubts_free(struct doubts *doubts);

/* Remembers the grant and asks Redis to take it back: now, and with each doubts_ask until it has.
 * All texts are copied. */
void doubts_add(struct locks *locks, struct slice name, struct slice token,
                const struct attempt *attempt);

/* Asks for all of them that Redis is not being asked about. */
void doubts_ask(struct locks *locks);

#endif
