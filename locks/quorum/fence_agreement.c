#include "locks/quorum/fence_agreement.h"

#include "base/memory.h"
#include "locks/quarantine/guard.h"
#include "locks/quorum/state.h"
#include "locks/scripts/scripts.h"

enum { ROUNDS_MOST = 8 };

/* Each member takes the number that is proposed first, and reports it to later requests. So all
 * requests with one token find the same result: the number that a majority has taken. If each
 * member has taken one, and no majority the same, that stays so, and all requests see it. Then they
 * propose the greatest of these numbers again. If too many members refuse it, they propose the next
 * one, which follows from it and so is the same for all requests. */
static const char *const RAISE_FIRST = NULL, *const RAISE_AGAIN = "again",
                         *const RAISE_AGREED = "agreed";

enum standing {
    STANDING_OUT,
    STANDING_ASKED,
    STANDING_UNRAISED, /* it has issued a number as great or greater for something else */
    STANDING_RAISED,   /* its fence was proposed, by this request or another */
};

struct fence_agreement {
    struct broadcast broadcast;
    fence_agree_done *done;
    void *context;
    struct tally tally; /* with the last fence that each member reported */
    int64_t fence;      /* the proposal */
    const char *step;   /* see raise.lua */
    bool is_for_all;    /* all members were asked, even those not known to hold */
    unsigned rounds;
    enum standing standing[TALLY_MEMBERS];
    size_t token_length;
    char token[];
};

static struct slice fence_agreement_token(const struct fence_agreement *agreement)
{
    return (struct slice){agreement->token, agreement->token_length};
}

static bool is_candidate(const struct vote *vote)
{
    return vote->kind == VOTE_GRANTED || vote->kind == VOTE_HOLDING;
}

static bool has_taken(const struct fence_agreement *agreement, unsigned member, int64_t fence)
{
    return agreement->standing[member] == STANDING_RAISED &&
           agreement->tally.votes[member].fence == fence;
}

/* How many members have taken this fence, of those that hold or of all. */
static unsigned takers(const struct fence_agreement *agreement, int64_t fence, bool of_all)
{
    unsigned count = 0;
    for (unsigned i = 0; i < agreement->tally.members; i++)
        count +=
            has_taken(agreement, i, fence) && (of_all || is_candidate(&agreement->tally.votes[i]));
    return count;
}

/* The fence that a majority has taken; 0: there is none. */
static int64_t fence_agreement_agreed(const struct fence_agreement *agreement, bool of_all)
{
    const struct tally *tally = &agreement->tally;
    for (unsigned i = 0; i < tally->members; i++)
        if (takers(agreement, tally->votes[i].fence, of_all) >= tally_majority(tally))
            return tally->votes[i].fence;
    return 0;
}

/* Reports the agreed fence to members that have, or may have, another one. */
static void fence_agreement_finish(struct fence_agreement *agreement, int64_t fence)
{
    struct tally tally = agreement->tally;
    for (unsigned i = 0; fence && i < tally.members; i++) {
        struct vote *vote = &tally.votes[i];
        bool is_asked = agreement->standing[i] == STANDING_ASKED;
        bool may_differ = is_candidate(vote) || agreement->standing[i] == STANDING_RAISED ||
                          (is_asked && agreement->fence != fence);
        if (has_taken(agreement, i, fence) || !may_differ)
            continue;
        fence_adopt(agreement->broadcast.locks, i, broadcast_key(&agreement->broadcast),
                    fence_agreement_token(agreement), fence,
                    is_asked && agreement->fence > fence ? agreement->fence : vote->fence);
        if (is_candidate(vote))
            vote->kind = VOTE_DOUBT;
    }
    agreement->done(agreement->context, fence, &tally);
}

static void fence_agreement_observe(struct broadcast *broadcast, unsigned member,
                                    const struct store_result *result)
{
    struct fence_agreement *agreement = (struct fence_agreement *)broadcast;
    struct vote *vote = &agreement->tally.votes[member];
    agreement->standing[member] = STANDING_OUT;
    if (result->outcome != STORE_REPLIED)
        return;
    value_integer(value_at(result->reply, 1), &vote->version);
    if (!value_integer(value_at(result->reply, 2), &vote->fence)) {
        vote->kind = is_candidate(vote) ? VOTE_NONE : vote->kind;
        return;
    }
    bool is_higher = reply_says(result->reply, "higher");
    agreement->standing[member] = is_higher ? STANDING_UNRAISED : STANDING_RAISED;
}

static void fence_agreement_begin(struct locks *locks, struct slice key,
                                  const struct fence_agreement *plan, struct slice token);

static unsigned standing_count(const struct fence_agreement *agreement, enum standing standing)
{
    unsigned count = 0;
    for (unsigned i = 0; i < agreement->tally.members; i++)
        count += agreement->standing[i] == standing;
    return count;
}

static int64_t fence_agreement_greatest(const struct fence_agreement *agreement)
{
    int64_t greatest = 0;
    for (unsigned i = 0; i < agreement->tally.members; i++)
        if (agreement->standing[i] == STANDING_RAISED && agreement->tally.votes[i].fence > greatest)
            greatest = agreement->tally.votes[i].fence;
    return greatest;
}

/* Makes the next round's proposal. Returns false if there is none. */
static bool fence_agreement_revise(struct fence_agreement *next, bool is_split)
{
    bool is_refused = standing_count(next, STANDING_UNRAISED) > 0;
    int64_t agreed = fence_agreement_agreed(next, true), greatest = fence_agreement_greatest(next);
    if (agreed) {
        next->fence = agreed;
        next->step = RAISE_AGREED;
    } else if (next->step == RAISE_AGAIN) {
        next->fence = greatest > next->fence ? greatest : tally_next_proposal(next->fence);
    } else if (is_refused) {
        next->fence =
            tally_proposal(&next->tally, guard_latest_number(next->broadcast.locks->guard));
    } else if (is_split && next->is_for_all) {
        next->fence = greatest;
        next->step = RAISE_AGAIN;
    }
    next->is_for_all |= is_split;
    next->rounds++;
    return is_refused || is_split;
}

/* Begins another round. Asks all members if other requests have proposed fences. */
static bool fence_agreement_go_on(const struct fence_agreement *agreement, bool is_split)
{
    const struct tally *tally = &agreement->tally;
    unsigned left = tally_count(tally, VOTE_GRANTED) + tally_count(tally, VOTE_HOLDING);
    struct fence_agreement next = *agreement;
    if (agreement->rounds == ROUNDS_MOST || store_is_closing(agreement->broadcast.locks->store) ||
        left < tally_majority(tally) || !fence_agreement_revise(&next, is_split))
        return false;
    fence_agreement_begin(agreement->broadcast.locks, broadcast_key(&agreement->broadcast), &next,
                          fence_agreement_token(agreement));
    return true;
}

static bool fence_agreement_decide(struct broadcast *broadcast, bool is_last)
{
    struct fence_agreement *agreement = (struct fence_agreement *)broadcast;
    const struct tally *tally = &agreement->tally;
    int64_t fence = fence_agreement_agreed(agreement, false);
    unsigned hopes = takers(agreement, agreement->fence, true);
    bool is_split = false;
    for (unsigned i = 0; i < tally->members; i++) {
        enum standing standing = agreement->standing[i];
        hopes += standing == STANDING_ASKED;
        is_split |= standing == STANDING_RAISED && tally->votes[i].fence != agreement->fence;
    }
    if (fence) {
        fence_agreement_finish(agreement, fence);
        return true;
    }
    if (!is_last && (is_split || hopes >= tally_majority(tally)))
        return false;
    if (!fence_agreement_go_on(agreement, is_split))
        fence_agreement_finish(agreement, 0);
    return true;
}

static size_t raise_arguments(struct slice token, const int64_t numbers[2], const char *step,
                              char texts[2][DECIMAL_TEXT], struct slice arguments[5])
{
    arguments[0] = stamp_placeholder();
    arguments[1] = token;
    arguments[2] = decimal_text(numbers[0], texts[0]);
    arguments[3] = decimal_text(numbers[1], texts[1]);
    arguments[4] = slice_of(step);
    return step ? 5 : 4;
}

static void raise_at(struct fence_agreement *agreement, unsigned member)
{
    char texts[2][DECIMAL_TEXT];
    struct slice arguments[5];
    const int64_t numbers[] = {agreement->fence, agreement->tally.votes[member].fence};
    size_t count = raise_arguments(fence_agreement_token(agreement), numbers, agreement->step,
                                   texts, arguments);
    agreement->standing[member] = STANDING_ASKED;
    broadcast_send(&agreement->broadcast, member, &script_raise, arguments, count);
}

/* `plan` has the proposal, and the votes so far. */
static void fence_agreement_begin(struct locks *locks, struct slice key,
                                  const struct fence_agreement *plan, struct slice token)
{
    static const struct broadcast_kind KIND = {fence_agreement_observe, fence_agreement_decide,
                                               NULL};
    struct fence_agreement *agreement = memory_checked(calloc(1, sizeof *agreement + token.length));
    *agreement = *plan;
    memset(agreement->standing, 0, sizeof agreement->standing);
    agreement->token_length = token.length;
    memcpy(agreement->token, token.bytes, token.length);
    broadcast_begin(&agreement->broadcast, &locks->quorum->broadcasts, key, &KIND);
    for (unsigned i = 0; i < plan->tally.members; i++)
        if (plan->is_for_all || is_candidate(&plan->tally.votes[i]))
            raise_at(agreement, i);
}

void fence_agree(struct locks *locks, struct slice key, struct slice token,
                 const struct tally *tally, fence_agree_done *done, void *context)
{
    int64_t found = tally_found_fence(tally);
    struct fence_agreement plan = {
        .done = done,
        .context = context,
        .tally = *tally,
        .fence = found ? found : tally_proposal(tally, guard_latest_number(locks->guard)),
        .step = RAISE_FIRST,
        .is_for_all = tally_count(tally, VOTE_HOLDING) > 0,
        .rounds = 1,
    };
    if (store_is_closing(locks->store)) { /* a closing store takes no calls */
        done(context, 0, tally);
        return;
    }
    fence_agreement_begin(locks, key, &plan, token);
}

/* If the call gets lost, the next renewal repairs that. */
void fence_adopt(struct locks *locks, unsigned member, struct slice key, struct slice token,
                 int64_t fence, int64_t known)
{
    char texts[2][DECIMAL_TEXT];
    struct slice arguments[5];
    const int64_t numbers[] = {fence, known};
    const struct script_call call = {
        .script = &script_raise,
        .key = key,
        .arguments = arguments,
        .argument_count = raise_arguments(token, numbers, RAISE_AGREED, texts, arguments),
    };
    if (store_shard_is_up(locks->store, member))
        store_eval_at(locks->store, member, &call);
}
