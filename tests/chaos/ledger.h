/* ledger.h: what clients were told that they hold and for how long they counted on it, and what was
 * wrong with that. */
#ifndef BATON_TESTS_CHAOS_LEDGER_H
#define BATON_TESTS_CHAOS_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEDGER_NAMES = 16 }; /* from 0 on */

/* A grant that a client was told of. Times are microseconds of the monotonic clock. */
struct claim {
    int name;
    int client;
    int64_t fence;
    int64_t sent;  /* when it was asked for */
    int64_t told;  /* from then on the client counts on it, */
    int64_t until; /* until its TTL ends, counted from when it, or the last renewal, was asked for;
                    * or until it asks for the release, or is told that it has no hold */
    bool lost;     /* told so before that TTL had ended */
};

/* Zeroed to begin with; of one thread. */
struct ledger {
    struct claim *claims;
    size_t count, room;
};

struct verdict {
    size_t grants;
    size_t lost;
    size_t doubles;     /* grants of a name that another client counted on at that time */
    size_t backward;    /* fences not greater than one that was told before it was asked for */
    size_t twins;       /* fences of a name that were given out twice */
    int64_t longest_us; /* between two grants, of any name */
    int64_t longest_of_name_us; /* and of the same one */
    struct claim first_double[2];
};

/* Valid until the next one is added. */
struct claim *ledger_add(struct ledger *ledger, const struct claim *claim);

/* Moves the claims of `from` to `to`. */
void ledger_take(struct ledger *to, struct ledger *from);

/* Sorts the claims by when they were told, and judges. */
void ledger_judge(struct ledger *ledger, struct verdict *ret);

void ledger_free(struct ledger *ledger);

#endif
