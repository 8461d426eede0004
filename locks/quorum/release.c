#include "locks/calls/redelivery.h"
#include "locks/quorum/state.h"
#include "locks/quorum/waiters.h"
#include "locks/quorum/write.h"
#include "locks/scripts/scripts.h"

enum { RELEASE_ARGUMENTS = 5 };

/* The fourth makes the member remember the token even if it held nothing: see release.lua. Returns
 * the number of arguments. */
static size_t release_arguments(const struct quorum_write *write,
                                struct slice arguments[RELEASE_ARGUMENTS])
{
    arguments[0] = stamp_placeholder();
    arguments[1] = quorum_write_token(write);
    arguments[2] = slice_of(write->broadcast.locks->texts.worker);
    arguments[3] = slice_of(write->attempt.text[0] ? "" : "1");
    arguments[4] = slice_of(write->attempt.text);
    return write->attempt.text[0] ? 5 : 4;
}

static void release_at(const struct quorum_write *write, unsigned member)
{
    struct locks *locks = write->broadcast.locks;
    struct slice arguments[RELEASE_ARGUMENTS];
    const struct script_call call = {
        .script = &script_release,
        .key = broadcast_key(&write->broadcast),
        .arguments = arguments,
        .argument_count = release_arguments(write, arguments),
    };
    redelivery_add_at(locks, member, &call, locks->quorum->longest_ttl_ms);
}

static void observe_released(struct broadcast *broadcast, unsigned member,
                             const struct store_result *result)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    struct vote *vote = &write->tally.votes[member];
    struct release *release = &write->releases[member];
    if (result->outcome != STORE_REPLIED) {
        vote->kind = broadcast_silence(result);
        release_at(write, member);
    } else if (reply_read_release(result->reply, release)) {
        vote->kind = VOTE_HOLDING;
        owner_keep(&release->owner, write->owner);
        release->version = 0; /* see report_released */
    } else {
        vote->kind = VOTE_LOCKED; /* the token has no hold there */
        quorum_write_observe_end(write, result->reply);
    }
}

/* How many members report an end with this fence. */
static unsigned released_count(const struct quorum_write *write, int64_t fence)
{
    unsigned count = 0;
    for (unsigned i = 0; i < write->tally.members; i++)
        count += write->tally.votes[i].kind == VOTE_HOLDING && write->releases[i].fence == fence;
    return count;
}

/* The end of a hold is better than a repetition; of two, the one whose fence more members report: a
 * member that granted later than the others may have another number. */
static bool released_is_better(const struct quorum_write *write, const struct release *one,
                               const struct release *other)
{
    unsigned of_one = released_count(write, one->fence),
             of_other = released_count(write, other->fence);
    if (one->repeated != other->repeated)
        return !one->repeated;
    return of_one > of_other || (of_one == of_other && one->fence > other->fence);
}

/* Members number the end differently, so no majority knows a version of it, and the reply has none.
 * The name is certainly free only once it is free at every member. */
static void report_released(struct quorum_write *write)
{
    struct locks_reply reply = {.result = LOCKS_DONE};
    struct release *best = &reply.release;
    int64_t free_in_ms = 0;
    best->repeated = true;
    for (unsigned i = 0; i < write->tally.members; i++) {
        const struct release *release = &write->releases[i];
        if (write->tally.votes[i].kind != VOTE_HOLDING)
            continue;
        if (released_is_better(write, release, best))
            *best = *release;
        if (release->free_in_ms > free_in_ms)
            free_in_ms = release->free_in_ms;
    }
    best->free_in_ms = free_in_ms;
    quorum_write_report(write, &reply);
}

static bool decide_released(struct broadcast *broadcast, bool is_last)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    enum verdict verdict = tally_release(&write->tally, is_last);
    if (verdict == VERDICT_OPEN)
        return false;
    if (verdict == VERDICT_WON)
        report_released(write);
    else if (write->was_waiting)
        quorum_write_report(
            write, &(struct locks_reply){.result = LOCKS_DONE, .release = {.cancelled = true}});
    else if (verdict == VERDICT_LOST)
        quorum_write_report_not_held(write);
    else
        quorum_write_fail(write);
    return true;
}

/* Cancels a request of this worker that waits with this token. A waiter of another worker notices
 * the release when it asks next. */
void quorum_release(struct locks *locks, struct slice name, struct slice token,
                    const struct attempt *attempt, locks_done *done, void *context)
{
    static const struct broadcast_kind KIND = {observe_released, decide_released, quorum_write_end};
    struct quorum_write *write = quorum_write_begin(locks, name, token, &KIND, done, context);
    struct slice arguments[RELEASE_ARGUMENTS];
    if (attempt)
        write->attempt = *attempt;
    broadcast_send_all(&write->broadcast, &script_release, arguments,
                       release_arguments(write, arguments));
    write->was_waiting = !attempt && quorum_waiters_cancel(locks, broadcast_key(&write->broadcast),
                                                           quorum_write_token(write));
}
