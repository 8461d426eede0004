/* breaking.h: the script that breaks holds: its arguments, its reply, and what it notes of the
 * caller. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_BREAKING_H
#define BATON_LOCKS_CALLS_BREAKING_H

#include "base/decimal.h"
#include "locks/locks.h"

enum {
    BREAKING_ARGUMENTS = 2,
    BREAKER_TEXT = OWNER_REALM_LENGTH + LOCK_CLIENT_LENGTH + LOCK_REASON_LENGTH + 2,
};

/* The arguments behind the stamp, with the texts that they point to. */
struct breaking {
    char fence[DECIMAL_TEXT];
    char breaker[BREAKER_TEXT];
    struct slice arguments[BREAKING_ARGUMENTS];
};

void breaking_write(int64_t fence, const struct breaker *breaker, struct breaking *ret);

/* Reads the script's reply: an operation_reader. */
bool breaking_read(const struct value *value, struct locks_reply *ret);

/* Splits the reason of a hold's end into its word and, if the hold was broken, its breaker. */
void breaking_split(struct slice *reason, struct breaker *ret);

#endif
