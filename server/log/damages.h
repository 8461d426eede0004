/* damages.h: remembers the damaged keys of Redis that the log has named, to name each once. */
#ifndef BATON_SERVER_LOG_DAMAGES_H
#define BATON_SERVER_LOG_DAMAGES_H

#include "base/slice.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { DAMAGES_LOGGED = 256 }; /* keys at most; baton_damaged_total still counts the rest */

/* The process has one. Begins zeroed. From any thread. */
struct damages {
    atomic_uint_fast64_t logged[DAMAGES_LOGGED]; /* hashes of keys, then zeros */
};

/* Returns whether to log the key: it is new, and fewer than DAMAGES_LOGGED keys were logged. */
bool damages_note(struct damages *damages, struct slice key);

#endif
