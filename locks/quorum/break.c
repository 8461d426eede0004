/* A member that is away keeps its hold, which is no majority, until it ends. If the member were
 * told of the break later, it might end what was granted since. */
#include "locks/quorum/state.h"
#include "locks/quorum/version_agreement.h"
#include "locks/quorum/write.h"
#include "locks/scripts/scripts.h"

static void hear_broken(struct broadcast *broadcast, unsigned member,
                        const struct store_result *result)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    struct vote *vote = &write->tally.votes[member];
    int64_t count;
    vote->kind = broadcast_silence(result);
    if (result->outcome != STORE_REPLIED || !value_integer(value_at(result->reply, 0), &count) ||
        !value_integer(value_at(result->reply, 1), &vote->version))
        return;
    vote->kind = VOTE_HOLDING;
    if (!broadcast->is_decided && count > write->broken)
        write->broken = count;
}

static void broken_version_agreed(void *context, bool is_known)
{
    struct quorum_write *write = context;
    if (is_known)
        quorum_write_tell(write, &(struct locks_reply){.result = LOCKS_DONE,
                                                       .broken = {.count = write->broken,
                                                                  .version = write->version}});
    else
        quorum_write_fail(write);
    quorum_write_leave(write);
}

/* Each member has given it another number, of which the greatest is told. */
static bool decide_broken(struct broadcast *broadcast, bool is_last)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    if (!is_last)
        return false;
    if (tally_renew(&write->tally, true) != VERDICT_WON) {
        quorum_write_fail(write);
        return true;
    }
    write->version = tally_version(&write->tally);
    write->users++;
    version_agree_tally(broadcast->locks, broadcast_key(&write->broadcast), &write->tally,
                        write->version, broken_version_agreed, write);
    return true;
}

void quorum_break(struct locks *locks, struct slice name, locks_done *done, void *context)
{
    static const struct broadcast_kind KIND = {hear_broken, decide_broken, quorum_write_end};
    struct quorum_write *write =
        quorum_write_begin(locks, name, slice_of(NULL), &KIND, done, context);
    const struct slice arguments[] = {stamp_placeholder()};
    broadcast_send_all(&write->broadcast, &script_break, arguments, 1);
}
