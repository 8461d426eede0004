#include "locks/quorum/acquire_round.h"

#include "base/memory.h"
#include "base/table.h"
#include "locks/calls/request.h"
#include "locks/calls/view_copy.h"
#include "locks/quorum/fence_agreement.h"
#include "locks/quorum/member_views.h"
#include "locks/quorum/state.h"
#include "locks/quorum/version_agreement.h"
#include "locks/quorum/write.h"
#include "locks/scripts/scripts.h"

#include <stdio.h>

_Static_assert((int)TALLY_HOLDERS == (int)LOCK_HOLDERS_SHOWN, "a vote has room for all shown");

struct acquire_round {
    struct broadcast broadcast;
    acquire_round_done *done; /* NULL: called, or abandoned */
    void *context;
    unsigned agreements;           /* under way, on a fence or on a version */
    bool has_ended;                /* all members have answered, or will not */
    bool is_quarantined;           /* a member refused only because of its quarantine */
    bool is_lost;                  /* grants that arrive from now on are taken back */
    int64_t fence;                 /* what the majority has agreed on; 0: nothing yet */
    int64_t version;               /* reported with that fence */
    bool is_agreed[TALLY_MEMBERS]; /* fence_agreement.c handles its hold */
    bool finds[TALLY_MEMBERS];     /* the token had a hold there before */
    struct attempt attempt;
    struct tally tally;
    struct tally agreed;                    /* the members that have it by `fence` */
    struct lock_view *views[TALLY_MEMBERS]; /* of the members that refuse */
    struct hold earlier;                    /* the token's earlier hold, by the first answer */
    char earlier_owner[OWNER_LENGTH];
    struct hold granted; /* the new hold, by the first answer; without its owner */
    char error[STORE_ERROR_TEXT];
    struct acquire acquire; /* its slices point to `bytes`; without meta and client */
    char bytes[];
};

static void free_if_over(struct acquire_round *round)
{
    if (!round->has_ended || round->agreements > 0)
        return;
    for (unsigned i = 0; i < TALLY_MEMBERS; i++)
        free(round->views[i]);
    free(round);
}

/* Taking back */

/* How long the member's hold may last: a hold that was found may have a longer TTL, and a silent
 * member may have found one. */
static int64_t lasts_ms(const struct acquire_round *round, unsigned member)
{
    const struct vote *vote = &round->tally.votes[member];
    int64_t found_ms = round->finds[member] ? vote->ttl_ms : 0;
    if (vote->kind == VOTE_NONE || vote->kind == VOTE_DOUBT)
        found_ms = round->broadcast.locks->quorum->longest_ttl_ms;
    int64_t lease_ms = request_lease_ms(&round->acquire);
    return found_ms > lease_ms ? found_ms : lease_ms;
}

/* Takes back grants, even at members that have not answered: they read this after the question.
 * Also takes back holds that were found: an earlier request that gave up may have left its hold to
 * this one. */
static void take_back(struct acquire_round *round)
{
    if (round->is_lost)
        return;
    round->is_lost = true;
    for (unsigned i = 0; i < round->tally.members; i++) {
        enum vote_kind kind = round->tally.votes[i].kind;
        if (kind == VOTE_NONE || kind == VOTE_DOUBT || kind == VOTE_GRANTED || round->finds[i])
            quorum_take_back_at(round->broadcast.locks, i, broadcast_key(&round->broadcast),
                                round->acquire.token, &round->attempt, lasts_ms(round, i));
    }
}

/* Answering */

static void acquire_round_report(struct acquire_round *round, const struct locks_reply *reply)
{
    acquire_round_done *done = round->done;
    round->done = NULL;
    if (done)
        done(round->context, reply, &round->tally);
}

static void acquire_round_fail(struct acquire_round *round, const char *why)
{
    take_back(round);
    acquire_round_report(round, &(struct locks_reply){.result = LOCKS_UNAVAILABLE,
                                                      .error = why,
                                                      .attempt = round->attempt});
}

/* For a member that the majority did not need: it must know the hold by the same fence. */
static void adopt_fence_at(struct acquire_round *round, unsigned member)
{
    const struct vote *vote = &round->tally.votes[member];
    bool is_hold = vote->kind == VOTE_GRANTED || vote->kind == VOTE_HOLDING;
    if (is_hold && !round->is_agreed[member] && vote->fence != round->fence && !round->is_lost)
        fence_adopt(round->broadcast.locks, member, broadcast_key(&round->broadcast),
                    round->acquire.token, round->fence, vote->fence);
}

static void adopt_fence_at_others(struct acquire_round *round)
{
    for (unsigned i = 0; i < round->tally.members; i++)
        adopt_fence_at(round, i);
}

/* A hold that fewer than a majority had counts as new: others may have had the lock meanwhile. It
 * has no limit and no permits, which a quorum refuses. */
static void report_won(struct acquire_round *round)
{
    const struct tally *tally = &round->agreed;
    unsigned held = tally_count(tally, VOTE_HOLDING);
    bool is_repeated = held >= tally_majority(tally);
    const struct hold *reported = held ? &round->earlier : &round->granted;
    struct locks_reply reply = {
        .result = is_repeated ? LOCKS_REPEATED : LOCKS_DONE,
        .attempt = round->attempt,
        .hold = {.fence = round->fence,
                 .ttl_ms = tally_validity(tally, broadcast_elapsed(&round->broadcast)),
                 .holds = tally_holds(tally),
                 .version = round->version,
                 .owner = held ? round->earlier.owner : round->acquire.owner,
                 .mode = round->acquire.mode,
                 .at_least_ms = reported->at_least_ms,
                 .max_held_ms = reported->max_held_ms,
                 .is_final = tally_is_final(tally)}};
    if (reply.hold.ttl_ms <= 0) {
        acquire_round_fail(
            round, "the members of the quorum took longer to answer than the hold would last");
        return;
    }
    quorum_note_ttl(round->broadcast.locks, request_lease_ms(&round->acquire));
    acquire_round_report(round, &reply);
}

static void version_agreed(void *context, bool is_known)
{
    struct acquire_round *round = context;
    round->agreements--;
    if (round->done && is_known)
        report_won(round);
    else if (round->done)
        acquire_round_fail(round, QUORUM_TOO_FEW);
    free_if_over(round);
}

/* All members that hold in the tally know the hold by this fence; older numbers are past. If the
 * token held before, other holds may have come and gone since. */
static void win(struct acquire_round *round, int64_t fence, const struct tally *tally)
{
    bool is_new = tally_count(tally, VOTE_HOLDING) == 0;
    int64_t version = is_new ? tally_version_of_holds(tally) : tally_version(tally);
    round->fence = fence;
    round->version = version > fence ? version : fence;
    round->agreed = *tally;
    adopt_fence_at_others(round);
    if (is_new || tally_knows(tally, version)) {
        report_won(round);
        return;
    }
    round->agreements++;
    version_agree_tally(round->broadcast.locks, broadcast_key(&round->broadcast), tally, version,
                        version_agreed, round);
}

static void acquire_round_fence_agreed(void *context, int64_t fence, const struct tally *tally)
{
    struct acquire_round *round = context;
    if (round->done && fence)
        win(round, fence, tally);
    else if (round->done)
        acquire_round_fail(round, QUORUM_TOO_FEW);
    round->agreements--;
    free_if_over(round);
}

/* Merges the views, since one member may not know a hold yet, or know one that has no majority. */
static void view_refusals(const struct acquire_round *round, unsigned member, struct lock_view *ret)
{
    struct member_views views = {.members = round->tally.members};
    for (unsigned i = 0; i < views.members; i++)
        views.of[i] = round->views[i];
    member_views_merge(&views, ret);
    if (ret->holder_count == 0)
        *ret = *round->views[member];
}

/* The result for the vote with the best reason. A vote without a reason means that nothing is
 * held. */
#define REASONS(X)                                                                                 \
    X(VOTE_NONE, LOCKS_UNAVAILABLE)                                                                \
    X(VOTE_AWAY, LOCKS_UNAVAILABLE)                                                                \
    X(VOTE_DOUBT, LOCKS_UNAVAILABLE)                                                               \
    X(VOTE_GRANTED, LOCKS_UNAVAILABLE)                                                             \
    X(VOTE_HOLDING, LOCKS_UNAVAILABLE)                                                             \
    X(VOTE_LOCKED, LOCKS_LOCKED)                                                                   \
    X(VOTE_UPGRADE, LOCKS_UPGRADE_CONFLICT)                                                        \
    X(VOTE_IN_USE, LOCKS_TOKEN_IN_USE)                                                             \
    X(VOTE_RELEASED, LOCKS_TOKEN_RELEASED)

static void acquire_round_lose(struct acquire_round *round, unsigned member)
{
    static const enum locks_result RESULTS[] = {REASONS(TABLE_ROW)};
    TABLE_IS_COMPLETE(REASONS, VOTE_KINDS);
    struct locks_reply reply = {.result = RESULTS[round->tally.votes[member].kind],
                                .attempt = round->attempt};
    if (reply.result == LOCKS_TOKEN_IN_USE)
        reply.view = *round->views[member];
    else if (round->views[member])
        view_refusals(round, member, &reply.view);
    take_back(round);
    acquire_round_report(round, &reply);
}

static void unanswered(struct acquire_round *round)
{
    if (round->is_quarantined) {
        take_back(round);
        acquire_round_report(
            round, &(struct locks_reply){.result = LOCKS_QUARANTINED, .attempt = round->attempt});
        return;
    }
    const char *why = "this batond could ask too few members of the quorum, so nothing was granted "
                      "(the log of batond says why)";
    acquire_round_fail(round, round->error[0] ? round->error : why);
}

/* A member's answer */

/* Leaves out the holds of the request's own owner if it is reentrant: they let it in. */
static void note_holders(const struct acquire_round *round, struct vote *vote,
                         const struct lock_view *view)
{
    const struct acquire *acquire = &round->acquire;
    vote->has_more_holds = view->hold_count > (int64_t)view->holder_count;
    for (size_t i = 0; i < view->holder_count; i++) {
        const struct holder *holder = &view->holders[i];
        if (acquire->is_reentrant && !holder->released && slice_same(holder->owner, acquire->owner))
            continue;
        vote->holders[vote->holder_count++] = holder->fence;
        vote->ends_ms = holder->ttl_ms; /* in the order in which they end */
    }
}

static void note_refusal(struct acquire_round *round, unsigned member,
                         const struct locks_reply *reply)
{
    static const enum vote_kind KINDS[] = {
        [LOCKS_LOCKED] = VOTE_LOCKED,
        [LOCKS_UPGRADE_CONFLICT] = VOTE_UPGRADE,
        [LOCKS_TOKEN_IN_USE] = VOTE_IN_USE,
        [LOCKS_TOKEN_RELEASED] = VOTE_RELEASED,
    };
    struct vote *vote = &round->tally.votes[member];
    size_t known = sizeof KINDS / sizeof KINDS[0];
    round->is_quarantined |= reply->result == LOCKS_QUARANTINED;
    vote->kind = reply->result < known ? KINDS[reply->result] : VOTE_NONE;
    if (vote->kind == VOTE_NONE)
        vote->kind = VOTE_AWAY;
    if (vote->kind == VOTE_LOCKED || vote->kind == VOTE_IN_USE)
        round->views[member] = view_copy(&reply->view);
    if (vote->kind != VOTE_LOCKED)
        return;
    vote->version = reply->view.version;
    note_holders(round, vote, &reply->view);
}

static void note_hold(struct acquire_round *round, unsigned member, const struct locks_reply *reply)
{
    bool is_new = reply->result == LOCKS_DONE;
    round->tally.votes[member] = (struct vote){.kind = is_new ? VOTE_GRANTED : VOTE_HOLDING,
                                               .fence = reply->hold.fence,
                                               .ttl_ms = reply->hold.ttl_ms,
                                               .holds = reply->hold.holds,
                                               .is_final = reply->hold.is_final,
                                               .version = reply->hold.version,
                                               .ends_ms = reply->hold.ttl_ms};
    round->finds[member] = !is_new;
    if (is_new && !round->granted.fence)
        round->granted = reply->hold;
    if (is_new || round->earlier.owner.bytes)
        return;
    round->earlier = reply->hold;
    owner_keep(&round->earlier.owner, round->earlier_owner);
}

static void acquire_round_observe(struct broadcast *broadcast, unsigned member,
                                  const struct store_result *result)
{
    struct acquire_round *round = (struct acquire_round *)broadcast;
    struct vote *vote = &round->tally.votes[member];
    struct request_answer answer;
    request_read(result, &round->acquire, &round->attempt, &answer);
    vote->ends_ms = -1;
    if (reply_holds(&answer.reply)) {
        note_hold(round, member, &answer.reply);
    } else if (answer.reply.result != LOCKS_DAMAGED && answer.reply.result != LOCKS_UNAVAILABLE) {
        note_refusal(round, member, &answer.reply);
    } else {
        vote->kind = request_is_in_doubt(result, &answer) ? VOTE_DOUBT : VOTE_AWAY;
        if ((result->outcome == STORE_REFUSED && result->error) || result->damaged)
            snprintf(round->error, sizeof round->error, "%s", result->error);
    }
    if (round->fence)
        adopt_fence_at(round, member);
}

static bool acquire_round_decide(struct broadcast *broadcast, bool is_last)
{
    struct acquire_round *round = (struct acquire_round *)broadcast;
    unsigned member;
    int64_t fence = 0;
    enum verdict verdict = tally_acquire(&round->tally, is_last, &member);
    /* If the token held before, another request may be agreeing on a fence for it: then all members
     * must answer, and take this fence. */
    bool is_new = tally_count(&round->tally, VOTE_HOLDING) == 0;
    bool agrees = is_new && tally_agrees(&round->tally, &fence);
    if (verdict == VERDICT_OPEN || (verdict == VERDICT_WON && !is_new && !is_last))
        return false;
    if (!round->done) {
        take_back(round);
    } else if (verdict == VERDICT_LOST) {
        acquire_round_lose(round, member);
    } else if (verdict == VERDICT_UNANSWERED) {
        unanswered(round);
    } else if (agrees) {
        win(round, fence, &round->tally);
    } else {
        round->agreements++;
        for (unsigned i = 0; i < round->tally.members; i++)
            round->is_agreed[i] = round->tally.votes[i].kind >= VOTE_GRANTED;
        fence_agree(broadcast->locks, broadcast_key(&round->broadcast), round->acquire.token,
                    &round->tally, acquire_round_fence_agreed, round);
    }
    return true;
}

static void acquire_round_end(struct broadcast *broadcast)
{
    struct acquire_round *round = (struct acquire_round *)broadcast;
    round->has_ended = true;
    free_if_over(round);
}

/* A member that must first remove what has ended is asked again, until this round is decided or
 * taken back. */
static bool acquire_round_is_wanted(const void *context)
{
    const struct broadcast *broadcast = ((const struct broadcast_member *)context)->broadcast;
    return !broadcast->is_decided && ((const struct acquire_round *)broadcast)->done;
}

struct acquire_round *acquire_round_begin(struct locks *locks, const struct acquire *acquire,
                                          acquire_round_done *done, void *context)
{
    static const struct broadcast_kind KIND = {acquire_round_observe, acquire_round_decide,
                                               acquire_round_end};
    char key[KEY_LENGTH];
    struct acquire kept = *acquire, sent = *acquire;
    kept.meta = kept.client = slice_of(NULL);
    sent.wait_ms = 0;
    struct acquire_round *round = memory_checked(calloc(1, sizeof *round + request_length(&kept)));
    round->done = done;
    round->context = context;
    round->attempt = request_attempt(locks, acquire->of_connection);
    round->acquire = request_copy(&kept, round->bytes);
    round->acquire.wait_ms = 0;
    round->tally.members = store_shard_count(locks->store);
    broadcast_begin(&round->broadcast, &locks->quorum->broadcasts,
                    operation_key(locks, acquire->name, key), &KIND);
    /* REQUEST_FIRST even for a new token: if the question comes late, its hold may have been
     * released. */
    for (unsigned i = 0; i < round->tally.members; i++) {
        round->broadcast.open++;
        const struct request request = {
            .key = broadcast_key(&round->broadcast),
            .acquire = &sent,
            .attempt = &round->attempt,
            .kind = REQUEST_FIRST,
            .is_wanted = acquire_round_is_wanted,
            .done = broadcast_answered,
            .context = &round->broadcast.members[i],
        };
        request_send_at(locks, i, &request);
    }
    return round;
}

void acquire_round_abandon(struct acquire_round *round)
{
    round->done = NULL;
    take_back(round);
}
