/* Whether a majority of the members could store a grant. */
#include "locks/calls/rights.h"
#include "locks/quorum/state.h"
#include "locks/quorum/write.h"
#include "locks/scripts/scripts.h"

static void observe_ready(struct broadcast *broadcast, unsigned member,
                          const struct store_result *result)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    struct locks *locks = broadcast->locks;
    if (result->outcome == STORE_REPLIED || result->error)
        rights_note(locks, result->error);
    write->tally.votes[member].kind = result->outcome == STORE_REPLIED ? VOTE_HOLDING : VOTE_AWAY;
}

static bool decide_ready(struct broadcast *broadcast, bool is_last)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    enum verdict verdict = tally_renew(&write->tally, is_last);
    if (verdict == VERDICT_OPEN)
        return false;
    if (verdict == VERDICT_WON)
        quorum_write_report(write, &(struct locks_reply){.result = LOCKS_DONE});
    else
        quorum_write_report(
            write, &(struct locks_reply){.result = LOCKS_UNAVAILABLE,
                                         .error = rights_missing(broadcast->locks,
                                                                 "too few members of the quorum "
                                                                 "answer")});
    return true;
}

void quorum_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context)
{
    (void)replicas;
    static const struct broadcast_kind KIND = {observe_ready, decide_ready, quorum_write_end};
    struct quorum_write *write =
        quorum_write_begin(locks, slice_of(""), slice_of(NULL), &KIND, done, context);
    const struct slice arguments[] = {stamp_placeholder()};
    broadcast_send_all(&write->broadcast, &script_ready, arguments, 1);
}
