#include "locks/waiting/leave.h"

#include "base/table.h"
#include "locks/calls/operation.h"
#include "locks/calls/redelivery.h"
#include "locks/scripts/scripts.h"

#define LEAVINGS(X)                                                                                \
    X(LEAVE_GONE, "gone")                                                                          \
    X(LEAVE_DRAIN, "drain")                                                                        \
    X(LEAVE_STALE, "stale")

void leave_queue(struct locks *locks, struct slice key, struct slice token,
                 const struct attempt *attempt, enum leaving how, int64_t keep_ms)
{
    static const char *const WORDS[] = {LEAVINGS(TABLE_ROW)};
    TABLE_IS_COMPLETE(LEAVINGS, LEAVE_KINDS);
    char keep[DECIMAL_TEXT];
    const struct slice arguments[] = {
        stamp_placeholder(),
        token,
        slice_of(attempt->text),
        decimal_text(keep_ms, keep),
        slice_of(WORDS[how]),
        slice_of(locks->texts.waiter_lease),
        slice_of(locks->texts.claim_window),
    };
    const struct script_call call = {
        .script = &script_leave,
        .key = key,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
    };
    redelivery_add(locks, &call, REDELIVERY_FOR_EVER);
}
