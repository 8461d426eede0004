/* stamp.h: the first argument of every script: when it may run, and what it may do. Internal to
 * locks/. */
#ifndef BATON_LOCKS_TYPES_STAMP_H
#define BATON_LOCKS_TYPES_STAMP_H

#include "base/slice.h"
#include "redis/types/events.h"

/* Numbers as Lua has them, in microseconds: see scripts/shared/1-state.lua. */
struct stamp {
    double retention;
    double latest; /* on Redis' clock, as the others */
    double opens;
    double floor;
    double level;
};

/* Room for it, as an argument: it is written when the script is sent. */
struct slice stamp_room(void);

void stamp_write(const struct stamp *stamp, char bytes[STORE_STAMP_LENGTH]);

#endif
