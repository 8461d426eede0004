/* A member that is down keeps its hold, which has no majority, until it ends. If the member got the
 * break later, it might end a later grant. */
#include "locks/calls/breaking.h"
#include "locks/calls/view_copy.h"
#include "locks/quorum/state.h"
#include "locks/quorum/version_agreement.h"
#include "locks/quorum/write.h"
#include "locks/scripts/scripts.h"

#include <stdlib.h>

static void observe_broken(struct broadcast *broadcast, unsigned member,
                           const struct store_result *result)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    struct vote *vote = &write->tally.votes[member];
    struct locks_reply reply = {.result = LOCKS_DONE};
    vote->kind = broadcast_silence(result);
    if (result->outcome != STORE_REPLIED || !breaking_read(result->reply, &reply))
        return;
    vote->kind = VOTE_HOLDING;
    vote->version = reply.broken.version;
    if (broadcast->is_decided || reply.broken.count <= write->broken)
        return;
    write->broken = reply.broken.count;
    free(write->ended);
    write->ended = view_copy(&reply.view);
}

static void broken_version_agreed(void *context, bool is_known)
{
    struct quorum_write *write = context;
    struct locks_reply reply = {.result = LOCKS_DONE,
                                .broken = {.count = write->broken, .version = write->version}};
    if (write->ended)
        reply.view = *write->ended;
    if (is_known)
        quorum_write_report(write, &reply);
    else
        quorum_write_fail(write);
    quorum_write_leave(write);
}

/* Each member numbers the break differently; the greatest number is the version. */
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

void quorum_break(struct locks *locks, struct slice name, int64_t fence,
                  const struct breaker *breaker, locks_done *done, void *context)
{
    static const struct broadcast_kind KIND = {observe_broken, decide_broken, quorum_write_end};
    struct quorum_write *write =
        quorum_write_begin(locks, name, slice_of(NULL), &KIND, done, context);
    struct breaking breaking;
    breaking_write(fence, breaker, &breaking);
    const struct slice arguments[] = {stamp_placeholder(), breaking.arguments[0],
                                      breaking.arguments[1]};
    broadcast_send_all(&write->broadcast, &script_break, arguments, 1 + BREAKING_ARGUMENTS);
}
