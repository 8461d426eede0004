#include "locks/quarantine/guard.h"
#include "locks/quorum/fence_agreement.h"
#include "locks/quorum/state.h"
#include "locks/quorum/version_agreement.h"
#include "locks/quorum/write.h"
#include "locks/scripts/scripts.h"

static void observe_renewed(struct broadcast *broadcast, unsigned member,
                            const struct store_result *result)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    struct vote *vote = &write->tally.votes[member];
    struct hold hold;
    bool was_final = reply_says(result->reply, "final");
    if (result->outcome != STORE_REPLIED) {
        vote->kind = broadcast_silence(result);
    } else if (!(was_final || reply_says(result->reply, "renewed")) ||
               !reply_read_hold(result->reply, &hold)) {
        vote->kind = quorum_write_observe_end(write, result->reply) ? VOTE_LOCKED : VOTE_DOUBT;
    } else {
        *vote = (struct vote){.kind = VOTE_HOLDING,
                              .fence = hold.fence,
                              .ttl_ms = hold.ttl_ms,
                              .holds = hold.holds,
                              .is_final = hold.is_final,
                              .was_final = was_final,
                              .version = hold.version};
        guard_raise(broadcast->locks->guard, member,
                    hold.ttl_ms); /* with ttl_ms 0 the caller did not know it */
        if (write->hold.owner.bytes)
            return;
        write->hold = hold;
        owner_keep(&write->hold.owner, write->owner);
    }
}

/* Counts the members that have the hold by the reported fence. */
static void report_renewed(struct quorum_write *write)
{
    struct locks_reply reply = {.result = LOCKS_DONE, .hold = write->hold};
    int64_t elapsed = broadcast_elapsed(&write->broadcast);
    if (tally_was_final(&write->agreed))
        reply.result = LOCKS_MAX_HELD;
    reply.hold.is_final = tally_is_final(&write->agreed);
    reply.hold.holds = tally_holds(&write->agreed);
    reply.hold.ttl_ms = tally_validity(&write->agreed, elapsed);
    quorum_note_ttl(write->broadcast.locks, reply.hold.ttl_ms + elapsed);
    if (reply.hold.ttl_ms > 0)
        quorum_write_report(write, &reply);
    else
        quorum_write_fail(write);
}

static void renewed_version_agreed(void *context, bool is_known)
{
    struct quorum_write *write = context;
    if (is_known)
        report_renewed(write);
    else
        quorum_write_fail(write);
    quorum_write_leave(write);
}

static void renew_as(struct quorum_write *write, int64_t fence, const struct tally *tally)
{
    int64_t version = tally_version(tally);
    write->agreed = *tally;
    write->hold.fence = fence;
    write->hold.version = version > fence ? version : fence;
    if (tally_knows(tally, version)) {
        report_renewed(write);
        return;
    }
    write->users++;
    version_agree_tally(write->broadcast.locks, broadcast_key(&write->broadcast), tally, version,
                        renewed_version_agreed, write);
}

static void quorum_write_fence_agreed(void *context, int64_t fence, const struct tally *tally)
{
    struct quorum_write *write = context;
    if (fence)
        renew_as(write, fence, tally);
    else
        quorum_write_fail(write);
    quorum_write_leave(write);
}

static bool decide_renewed(struct broadcast *broadcast, bool is_last)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    int64_t fence = 0;
    enum verdict verdict = tally_renew(&write->tally, is_last);
    bool agrees = tally_agrees(&write->tally, &fence);
    if (verdict == VERDICT_OPEN || (verdict == VERDICT_WON && !agrees && !is_last))
        return false;
    if (verdict == VERDICT_LOST) {
        quorum_write_report_not_held(write);
    } else if (verdict == VERDICT_UNANSWERED) {
        quorum_write_fail(write);
    } else if (agrees) {
        renew_as(write, fence, &write->tally);
    } else { /* members that had its fence were lost: the others agree anew */
        write->users++;
        fence_agree(broadcast->locks, broadcast_key(&write->broadcast), quorum_write_token(write),
                    &write->tally, quorum_write_fence_agreed, write);
    }
    return true;
}

/* Ignores `replicas`: a majority of the members is the confirmation. */
void quorum_renew(struct locks *locks, const struct renewal *renewal, locks_done *done,
                  void *context)
{
    static const struct broadcast_kind KIND = {observe_renewed, decide_renewed, quorum_write_end};
    struct quorum_write *write =
        quorum_write_begin(locks, renewal->name, renewal->token, &KIND, done, context);
    struct renewal_arguments arguments;
    int64_t least_ms = renewal->at_least_ms, ttl_ms = renewal->ttl_ms;
    int64_t lease_ms = ttl_ms > least_ms ? ttl_ms : least_ms;
    for (unsigned i = 0; lease_ms && i < store_shard_count(locks->store); i++)
        guard_raise(locks->guard, i, lease_ms);
    renewal_pack(renewal, &arguments);
    broadcast_send_all(&write->broadcast, &script_renew, arguments.all, arguments.count);
}
