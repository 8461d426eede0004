/* gather.h: the script calls of one turn of the loop that go to Redis as one command. */
#ifndef BATON_REDIS_WIRE_GATHER_H
#define BATON_REDIS_WIRE_GATHER_H

#include "redis/wire/call.h"

#include <stdbool.h>

/* One command costs Redis less than several: see locks/scripts/many.lua. Zeroed it is empty. */
struct gather {
    struct call_queue calls;
    unsigned count;
    size_t length; /* of all, in bytes */
};

/* Whether this call may go with others: it concerns one name, and was not refused as a part of a
 * command. */
bool gather_may_take(const struct call *call);

/* Whether the call goes with those that were gathered: none of them is of the same name, and there
 * is room. */
bool gather_has_room(const struct gather *gather, const struct call *call);

void gather_add(struct gather *gather, struct call *call);

/* Takes all calls out, as one to send: the only one, or a command whose parts they are. Returns
 * NULL if there is none. */
struct call *gather_take(struct gather *gather);

#endif
