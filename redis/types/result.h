/* result.h: what came of a script that was sent to Redis. */
#ifndef BATON_REDIS_TYPES_RESULT_H
#define BATON_REDIS_TYPES_RESULT_H

#include "base/slice.h"
#include "redis/types/value.h"

#include <stdbool.h>

enum { STORE_ERROR_TEXT = 384 }; /* room for any `error`, NUL included */

/* The start of the error for a damaged record; behind it stands why, in parentheses. */
#define STORE_UNREADABLE "the record in Redis cannot be read"

enum store_outcome {
    STORE_REPLIED,  /* the script ran to its end: `reply` is what it returned */
    STORE_REFUSED,  /* Redis answered with an error and changed nothing: `error` says what that
                     * means, what to do, and what the reply was */
    STORE_UNSENT,   /* there was no usable connection: nothing happened */
    STORE_LATE,     /* the script says that it came too late (LATE in its `error`), and has done
                     * nothing */
    STORE_IN_DOUBT, /* the connection was lost before the reply, or the script failed in a way that
                     * may have come after a write: it may have run or not */
};

struct store_result {
    enum store_outcome outcome;
    const struct value *reply; /* with STORE_REPLIED, else NULL; valid during the callback */
    const char *error;         /* a line for a log, else NULL; valid during the callback */
    /* With STORE_IN_DOUBT: the key under which something is stored that the script cannot read, so
     * that it would fail again; else NULL. Valid during the callback. */
    const struct slice *damaged;
    /* With STORE_REFUSED: another release of batond has written what is stored under the key, so
     * that the function would refuse it again. */
    bool is_foreign;
};

typedef void store_done(void *context, const struct store_result *result);

#endif
