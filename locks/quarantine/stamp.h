/* stamp.h: the first argument of every script: until when Redis may still run it, and whether and
 * with which fences it may grant. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_STAMP_H
#define BATON_LOCKS_QUARANTINE_STAMP_H

#include "base/slice.h"
#include "redis/types/events.h"

enum { STAMP_EPOCH_LENGTH = 16, STAMP_TAG_SIZE = 8 };

/* Numbers as Lua has them, in microseconds: see scripts/shared/02-call.lua. */
struct stamp {
    double retention;
    double latest; /* on Redis' clock, as the others */
    double opens;
    double floor;
    double level;
    char epoch[STAMP_EPOCH_LENGTH]; /* all 0: the script does not look at the epoch */
    char tag[STAMP_TAG_SIZE];
};

/* A placeholder argument: the stamp is written there when the script is sent. */
struct slice stamp_placeholder(void);

void stamp_write(const struct stamp *stamp, char bytes[STORE_STAMP_LENGTH]);

#endif
