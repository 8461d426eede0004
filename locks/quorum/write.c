#include "locks/quorum/write.h"

#include "base/memory.h"
#include "locks/calls/redelivery.h"
#include "locks/calls/replies.h"
#include "locks/calls/view_copy.h"
#include "locks/quorum/state.h"
#include "locks/scripts/scripts.h"

struct quorum_write *quorum_write_begin(struct locks *locks, struct slice name, struct slice token,
                                        const struct broadcast_kind *kind, locks_done *done,
                                        void *context)
{
    char key[KEY_LENGTH];
    struct quorum_write *write = memory_checked(calloc(1, sizeof *write));
    write->users = 1;
    write->done = done;
    write->context = context;
    write->tally.members = store_shard_count(locks->store);
    write->token_length = token.length;
    if (token.length > 0)
        memcpy(write->token, token.bytes, token.length);
    broadcast_begin(&write->broadcast, &locks->quorum->broadcasts, operation_key(locks, name, key),
                    kind);
    return write;
}

void quorum_write_leave(struct quorum_write *write)
{
    if (--write->users > 0)
        return;
    free(write->ended);
    free(write);
}

void quorum_write_end(struct broadcast *broadcast)
{
    quorum_write_leave((struct quorum_write *)broadcast);
}

struct slice quorum_write_token(const struct quorum_write *write)
{
    return (struct slice){write->token, write->token_length};
}

void quorum_write_report(struct quorum_write *write, const struct locks_reply *reply)
{
    write->done(write->context, reply);
}

void quorum_write_fail(struct quorum_write *write)
{
    quorum_write_report(
        write, &(struct locks_reply){.result = LOCKS_UNAVAILABLE, .error = QUORUM_TOO_FEW});
}

/* A member that was down for a while reports "expired" for a hold that the others report as
 * broken. */
bool quorum_write_observe_end(struct quorum_write *write, const struct value *reply)
{
    struct lock_view view = {0};
    if (!reply_read_not_held(reply, &view))
        return false;
    const struct hold_end *end = &view.last_release;
    if (end->fence > 0 && !write->broadcast.is_decided &&
        (!write->ended || slice_equals(end->reason, "forced"))) {
        free(write->ended);
        write->ended = view_copy(&view);
    }
    return true;
}

void quorum_write_report_not_held(struct quorum_write *write)
{
    struct locks_reply reply = {.result = LOCKS_NOT_HELD};
    if (write->ended)
        reply.view = *write->ended;
    quorum_write_report(write, &reply);
}
