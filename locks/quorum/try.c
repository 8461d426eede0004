#include "locks/quorum/try.h"

#include "base/table.h"
#include "locks/calls/request.h"
#include "locks/quorum/fence_agreement.h"
#include "locks/quorum/majority.h"
#include "locks/quorum/member_views.h"
#include "locks/quorum/version_agreement.h"
#include "locks/scripts/scripts.h"

#include <stdio.h>
#include <stdlib.h>

_Static_assert((int)TALLY_HOLDERS == (int)LOCK_HOLDERS_SHOWN, "a vote has room for all shown");

struct trying {
    struct broadcast broadcast;
    try_done *done; /* NULL: told, or nobody wants to know */
    void *context;
    bool is_agreeing;              /* on a fence, or on a version */
    bool has_ended;                /* all members were heard */
    bool is_quarantined;           /* a member would have granted, but may have forgotten holds */
    bool is_lost;                  /* what is heard of a grant from now on is taken back */
    int64_t fence;                 /* that the majority has agreed on; 0: not yet */
    int64_t version;               /* that is told with it */
    bool is_agreed[TALLY_MEMBERS]; /* its hold is looked after by fence_agreement.c */
    bool finds[TALLY_MEMBERS];     /* the token has a hold there from before, */
    bool differs[TALLY_MEMBERS];   /* of another mode */
    struct attempt attempt;
    struct tally tally;
    struct tally agreed;                    /* those who have it by `fence` */
    struct lock_view *views[TALLY_MEMBERS]; /* of those who refuse */
    struct hold earlier;                    /* what the token had before, by who told first */
    char earlier_owner[OWNER_LENGTH];
    char error[STORE_ERROR_TEXT];
    struct acquire acquire; /* its slices point to `bytes`; the meta is left out */
    size_t key_length;
    char key[KEY_LENGTH];
    char bytes[];
};

static struct slice key_of(const struct trying *try)
{
    return (struct slice){try->key, try->key_length};
}

static void free_if_over(struct trying *try)
{
    if (!try->has_ended || try->is_agreeing)
        return;
    for (unsigned i = 0; i < TALLY_MEMBERS; i++)
        free(try->views[i]);
    free(try);
}

/* Taking back */

/* For as long as what is there may last: what was found may have been asked for by a request that
 * wanted it for longer, and who has not answered may have found something. */
static int64_t lasts_ms(const struct trying *try, unsigned member)
{
    const struct vote *vote = &try->tally.votes[member];
    int64_t found_ms = try->finds[member] ? vote->ttl_ms : 0;
    if (vote->kind == VOTE_NONE || vote->kind == VOTE_DOUBT)
        found_ms = try->broadcast.locks->majority->longest_ttl_ms;
    return found_ms > try->acquire.ttl_ms ? found_ms : try->acquire.ttl_ms;
}

static void take_back_at(struct trying *try, unsigned member)
{
    struct locks *locks = try->broadcast.locks;
    const struct slice arguments[] = {
        stamp_room(),  try->acquire.token, slice_of(try->attempt.text),
        slice_of("0"), slice_of("gone"),
    };
    errand_add(locks, &locks->majority->errands, member, &script_leave, key_of(try), arguments,
               sizeof arguments / sizeof arguments[0], lasts_ms(try, member));
}

/* Also where the answer is still on its way: what is sent now is read after the question. And of
 * what was found there: an earlier request that has given up may have left it to this one. */
static void take_back(struct trying *try)
{
    if (try->is_lost)
        return;
    try->is_lost = true;
    for (unsigned i = 0; i < try->tally.members; i++) {
        enum vote_kind kind = try->tally.votes[i].kind;
        if (kind == VOTE_NONE || kind == VOTE_DOUBT || kind == VOTE_GRANTED || try->finds[i])
            take_back_at(try, i);
    }
}

/* Telling */

static void tell(struct trying *try, const struct locks_reply *reply)
{
    try_done *done = try->done;
    try->done = NULL;
    if (done)
        done(try->context, reply, &try->tally);
}

static void fail(struct trying *try, const char *why)
{
    take_back(try);
    tell(try,
         &(struct locks_reply){.result = LOCKS_UNAVAILABLE, .error = why, .attempt = try->attempt});
}

/* Members that the majority did not need: they are to know the hold by the same fence. */
static void adopt_fence_at(struct trying *try, unsigned member)
{
    const struct vote *vote = &try->tally.votes[member];
    bool is_hold = vote->kind == VOTE_GRANTED || vote->kind == VOTE_HOLDING;
    if (is_hold && !try->is_agreed[member] && vote->fence != try->fence && !try->is_lost)
        fence_adopt(try->broadcast.locks, member, key_of(try), try->acquire.token, try->fence,
                    vote->fence);
}

static void adopt_fence_at_others(struct trying *try)
{
    for (unsigned i = 0; i < try->tally.members; i++)
        adopt_fence_at(try, i);
}

/* What fewer than a majority had before was none for a while, in which others may have had the
 * lock: it is a new one. */
static void tell_won(struct trying *try)
{
    struct tally *tally = &try->agreed;
    bool is_exclusive = tally_excludes(tally);
    unsigned held = tally_count(tally, VOTE_HOLDING);
    bool is_repeated = held >= tally_majority(tally);
    struct locks_reply reply = {
        .result = is_repeated ? LOCKS_REPEATED : LOCKS_DONE,
        .attempt = try->attempt,
        .hold = {.fence = try->fence,
                 .ttl_ms = tally_validity(tally, broadcast_elapsed(&try->broadcast)),
                 .holds = tally_holds(tally),
                 .version = try->version,
                 .owner = held ? try->earlier.owner : try->acquire.owner,
                 .mode = is_exclusive ? LOCK_EXCLUSIVE : LOCK_SHARED}};
    if (reply.hold.ttl_ms <= 0) {
        fail(try, "the members of the quorum took longer to answer than the hold would last");
        return;
    }
    majority_note_ttl(try->broadcast.locks, try->acquire.ttl_ms);
    tell(try, &reply);
}

static const char TOO_FEW[] = "too few members of the quorum answered, so the outcome is unknown "
                              "(batond's log says why)";

static void version_agreed(void *context, bool is_known)
{
    struct trying *try = context;
    try->is_agreeing = false;
    if (try->done && is_known)
        tell_won(try);
    else if (try->done)
        fail(try, TOO_FEW);
    free_if_over(try);
}

/* The hold is known by one fence to those who have it in the tally: whatever was here before is
 * older. Where it was there before, others may have come and gone since. */
static void win(struct trying *try, int64_t fence, const struct tally *tally)
{
    bool is_new = tally_count(tally, VOTE_HOLDING) == 0;
    int64_t version = is_new ? 0 : tally_version(tally);
    try->fence = fence;
    try->version = version > fence ? version : fence;
    try->agreed = *tally;
    adopt_fence_at_others(try);
    if (is_new || tally_knows(tally, version)) {
        tell_won(try);
        return;
    }
    try->is_agreeing = true;
    version_agree_tally(try->broadcast.locks, key_of(try), tally, version, version_agreed, try);
}

static void fence_agreed(void *context, int64_t fence, const struct tally *tally)
{
    struct trying *try = context;
    try->is_agreeing = false;
    if (try->done && fence)
        win(try, fence, tally);
    else if (try->done)
        fail(try, TOO_FEW);
    free_if_over(try);
}

/* One member may not have heard of a hold yet, or know one that is none. */
static void view_refusals(const struct trying *try, unsigned member, struct lock_view *ret)
{
    struct member_views views = {.members = try->tally.members};
    for (unsigned i = 0; i < views.members; i++)
        views.of[i] = try->views[i];
    member_views_merge(&views, ret);
    if (ret->holder_count == 0)
        *ret = *try->views[member];
}

/* What the vote that says best why comes to. Where it says nothing of the sort, nothing is held. */
#define REASONS(X)                                                                                 \
    X(VOTE_NONE, LOCKS_UNAVAILABLE)                                                                \
    X(VOTE_AWAY, LOCKS_UNAVAILABLE)                                                                \
    X(VOTE_DOUBT, LOCKS_UNAVAILABLE)                                                               \
    X(VOTE_GRANTED, LOCKS_UNAVAILABLE)                                                             \
    X(VOTE_HOLDING, LOCKS_UNAVAILABLE)                                                             \
    X(VOTE_LOCKED, LOCKS_LOCKED)                                                                   \
    X(VOTE_LIMIT, LOCKS_LIMIT_MISMATCH)                                                            \
    X(VOTE_UPGRADE, LOCKS_UPGRADE_CONFLICT)                                                        \
    X(VOTE_RELEASED, LOCKS_TOKEN_RELEASED)

static void lose(struct trying *try, unsigned member)
{
    static const enum locks_result RESULTS[] = {REASONS(TABLE_ROW)};
    TABLE_IS_COMPLETE(REASONS, VOTE_KINDS);
    struct locks_reply reply = {.result = RESULTS[try->tally.votes[member].kind],
                                .attempt = try->attempt};
    if (try->views[member])
        view_refusals(try, member, &reply.view);
    take_back(try);
    tell(try, &reply);
}

static void unanswered(struct trying *try)
{
    if (try->is_quarantined) {
        take_back(try);
        tell(try, &(struct locks_reply){.result = LOCKS_QUARANTINED, .attempt = try->attempt});
        return;
    }
    const char *why = "too few members of the quorum could be asked, so nothing was granted "
                      "(batond's log says why)";
    fail(try, try->error[0] ? try->error : why);
}

/* What a member says */

/* Who it is that holds, as far as it matters whether two members speak of the same. */
static uint64_t identify(struct slice owner)
{
    uint64_t hash = 14695981039346656037U;
    for (size_t i = 0; i < owner.length; i++)
        hash = (hash ^ (unsigned char)owner.bytes[i]) * 1099511628211U;
    return hash;
}

/* The holds of its own owner would let it in. */
static void note_holders(const struct trying *try, struct vote *vote, const struct lock_view *view)
{
    uint64_t own = identify(try->acquire.owner);
    vote->is_crowd = view->hold_count > (int64_t)view->holder_count;
    for (size_t i = 0; i < view->holder_count; i++) {
        uint64_t holder = identify(view->holders[i].owner);
        if (holder == own)
            continue;
        vote->holders[vote->holder_count++] = holder;
        vote->ends_ms = view->holders[i].ttl_ms; /* in the order in which they end */
    }
}

static void note_refusal(struct trying *try, unsigned member, const struct locks_reply *reply)
{
    static const enum vote_kind KINDS[] = {
        [LOCKS_LOCKED] = VOTE_LOCKED,
        [LOCKS_LIMIT_MISMATCH] = VOTE_LIMIT,
        [LOCKS_UPGRADE_CONFLICT] = VOTE_UPGRADE,
        [LOCKS_TOKEN_RELEASED] = VOTE_RELEASED,
    };
    struct vote *vote = &try->tally.votes[member];
    size_t known = sizeof KINDS / sizeof KINDS[0];
    try->is_quarantined |= reply->result == LOCKS_QUARANTINED;
    vote->kind = reply->result < known ? KINDS[reply->result] : VOTE_NONE;
    if (vote->kind == VOTE_NONE)
        vote->kind = VOTE_AWAY;
    if (vote->kind != VOTE_LOCKED && vote->kind != VOTE_LIMIT)
        return;
    try->views[member] = view_copy(&reply->view);
    vote->version = reply->view.version;
    note_holders(try, vote, &reply->view);
}

static void note_hold(struct trying *try, unsigned member, const struct locks_reply *reply)
{
    bool is_new = reply->result == LOCKS_DONE;
    try->tally.votes[member] = (struct vote){.kind = is_new ? VOTE_GRANTED : VOTE_HOLDING,
                                             .fence = reply->hold.fence,
                                             .ttl_ms = reply->hold.ttl_ms,
                                             .holds = reply->hold.holds,
                                             .is_exclusive = reply->hold.mode == LOCK_EXCLUSIVE,
                                             .version = reply->hold.version,
                                             .ends_ms = reply->hold.ttl_ms};
    try->finds[member] = !is_new;
    try->differs[member] = !is_new && reply->hold.mode != try->acquire.mode;
    if (is_new || try->earlier.owner.bytes)
        return;
    try->earlier = reply->hold;
    memcpy(try->earlier_owner, reply->hold.owner.bytes, reply->hold.owner.length);
    try->earlier.owner.bytes = try->earlier_owner;
}

/* A shared hold here and an exclusive one there are no majority of either: what the token has in
 * another mode counts where a majority has it so, and stands in the way elsewhere. */
static void weigh_those_that_differ(struct trying *try)
{
    unsigned count = 0;
    for (unsigned i = 0; i < try->tally.members; i++)
        count += try->differs[i];
    for (unsigned i = 0; i < try->tally.members; i++)
        if (try->differs[i])
            try->tally.votes[i].kind =
                count >= tally_majority(&try->tally) ? VOTE_HOLDING : VOTE_LOCKED;
}

static void hear(struct broadcast *broadcast, unsigned member, const struct store_result *result)
{
    struct trying *try = (struct trying *)broadcast;
    struct vote *vote = &try->tally.votes[member];
    struct request_answer answer;
    request_read(result, &try->acquire, &try->attempt, &answer);
    vote->ends_ms = -1;
    if (reply_holds(&answer.reply)) {
        note_hold(try, member, &answer.reply);
    } else if (!result->damaged && answer.reply.result != LOCKS_UNAVAILABLE) {
        note_refusal(try, member, &answer.reply);
    } else {
        vote->kind = request_is_in_doubt(result, &answer) ? VOTE_DOUBT : VOTE_AWAY;
        if ((result->outcome == STORE_REFUSED && result->error) || result->damaged)
            snprintf(try->error, sizeof try->error, "%s", result->error);
    }
    weigh_those_that_differ(try);
    if (try->fence)
        adopt_fence_at(try, member);
}

static bool decide(struct broadcast *broadcast, bool is_last)
{
    struct trying *try = (struct trying *)broadcast;
    unsigned member;
    int64_t fence = 0;
    enum verdict verdict = tally_acquire(&try->tally, is_last, &member);
    bool agrees = tally_agrees(&try->tally, &fence);
    /* Of a hold that was there before, those who have not answered may make up the majority. */
    bool may_agree = !agrees && !is_last && tally_count(&try->tally, VOTE_HOLDING) > 0;
    if (verdict == VERDICT_OPEN || (verdict == VERDICT_WON && may_agree))
        return false;
    if (!try->done) {
        take_back(try);
    } else if (verdict == VERDICT_LOST) {
        lose(try, member);
    } else if (verdict == VERDICT_UNANSWERED) {
        unanswered(try);
    } else if (agrees) {
        win(try, fence, &try->tally);
    } else {
        try->is_agreeing = true;
        for (unsigned i = 0; i < try->tally.members; i++)
            try->is_agreed[i] = try->tally.votes[i].kind >= VOTE_GRANTED;
        fence_agree(broadcast->locks, key_of(try), try->acquire.token, &try->tally, fence_agreed,
                    try);
    }
    return true;
}

static void end(struct broadcast *broadcast)
{
    struct trying *try = (struct trying *)broadcast;
    try->has_ended = true;
    free_if_over(try);
}

/* A member that has first to remove what has ended is asked again, until this has been taken back
 * or decided. */
static bool is_wanted(const void *context)
{
    const struct broadcast *broadcast = ((const struct broadcast_member *)context)->broadcast;
    return !broadcast->is_decided && ((const struct trying *)broadcast)->done;
}

struct trying *try_begin(struct locks *locks, const struct acquire *acquire, try_done *done,
                         void *context)
{
    static const struct broadcast_kind KIND = {hear, decide, end};
    static const struct ask_events EVENTS = {is_wanted, broadcast_answered};
    struct acquire kept = *acquire, sent = *acquire;
    kept.meta = slice_of(NULL);
    sent.wait_ms = 0;
    struct trying *try = calloc(1, sizeof *try + request_length(&kept));
    if (!try)
        abort();
    try->done = done;
    try->context = context;
    try->attempt = request_attempt(locks, acquire->of_connection);
    try->acquire = request_copy(&kept, try->bytes);
    try->acquire.wait_ms = 0;
    try->key_length = operation_key(locks, acquire->name, try->key).length;
    try->tally.members = store_part_count(locks->store);
    broadcast_begin(&try->broadcast, locks, &KIND);
    /* Also of a new token: where the question comes late, its hold may have been released. */
    for (unsigned i = 0; i < try->tally.members; i++) {
        try->broadcast.open++;
        request_send_at(locks, i, key_of(try), &sent, &try->attempt, REQUEST_FIRST, &EVENTS,
                        &try->broadcast.members[i]);
    }
    return try;
}

void try_abandon(struct trying *try)
{
    try->done = NULL;
    take_back(try);
}
