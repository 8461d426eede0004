/* damages.h: which keys of Redis the log has named already because they cannot be read. */
#ifndef BATON_SERVER_LOG_DAMAGES_H
#define BATON_SERVER_LOG_DAMAGES_H

#include "base/slice.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { DAMAGES_TOLD = 256 }; /* keys at most; baton_damaged_total counts on */

/* One for all workers; zeroed to begin with. From any thread. */
struct damages {
    atomic_size_t count;
    atomic_uint_fast64_t told[DAMAGES_TOLD]; /* hashes; 0: being written */
};

/* Whether the log is to name the key: not if it has, and not if it has named as many as it may. */
bool damages_note(struct damages *damages, struct slice key);

#endif
