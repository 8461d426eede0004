/* seldom.h: lets the log name each of many names once a minute. */
#ifndef BATON_SERVER_LOG_SELDOM_H
#define BATON_SERVER_LOG_SELDOM_H

#include "base/slice.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SELDOM_NAMES = 256, SELDOM_MS = 60000 };

/* The process has one. Begins zeroed. From any thread. Two names may share a place: then only one
 * of them is logged in a minute, so that the log never has more than SELDOM_NAMES. */
struct seldom {
    atomic_uint_fast64_t named[SELDOM_NAMES]; /* when, in ms plus 1; 0: never */
};

/* Returns whether to log the name now, and notes it. `now_ms` never goes back. */
bool seldom_note(struct seldom *seldom, struct slice name, uint64_t now_ms);

#endif
