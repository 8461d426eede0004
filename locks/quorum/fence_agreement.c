#include "locks/quorum/fence_agreement.h"

#include "base/memory.h"
#include "locks/quarantine/guard.h"
#include "locks/quorum/state.h"
#include "locks/scripts/scripts.h"

enum {
    ROUNDS_MOST = 4
}; /* another hold whose fence is agreed on at the same time takes one each */

enum standing { STANDING_OUT, STANDING_ASKED, STANDING_IN };

struct fence_agreement {
    struct broadcast broadcast;
    fence_agree_done *done;
    void *context;
    struct tally tally;
    int64_t fence; /* that is proposed */
    unsigned rounds;
    enum standing standing[TALLY_MEMBERS];
    size_t token_length;
    char token[];
};

static struct slice fence_agreement_token(const struct fence_agreement *agreement)
{
    return (struct slice){agreement->token, agreement->token_length};
}

static unsigned count(const struct fence_agreement *agreement, enum standing standing)
{
    unsigned found = 0;
    for (unsigned i = 0; i < agreement->tally.members; i++)
        found += agreement->standing[i] == standing;
    return found;
}

static bool is_candidate(const struct vote *vote)
{
    return vote->kind == VOTE_GRANTED || vote->kind == VOTE_HOLDING;
}

static void fence_agreement_finish(struct fence_agreement *agreement, int64_t fence)
{
    struct tally tally = agreement->tally;
    for (unsigned i = 0; fence && i < tally.members; i++) {
        if (!is_candidate(&tally.votes[i]) || agreement->standing[i] == STANDING_IN)
            continue;
        fence_adopt(agreement->broadcast.locks, i, broadcast_key(&agreement->broadcast),
                    fence_agreement_token(agreement), fence, tally.votes[i].fence);
        tally.votes[i].kind = VOTE_DOUBT;
    }
    agreement->done(agreement->context, fence, &tally);
}

static void fence_agreement_hear(struct broadcast *broadcast, unsigned member,
                                 const struct store_result *result)
{
    struct fence_agreement *agreement = (struct fence_agreement *)broadcast;
    struct vote *vote = &agreement->tally.votes[member];
    agreement->standing[member] = STANDING_OUT;
    if (result->outcome != STORE_REPLIED)
        return;
    if (reply_says(result->reply, "raised"))
        agreement->standing[member] = STANDING_IN;
    else if (reply_says(result->reply, "gone"))
        vote->kind = VOTE_NONE;
    value_integer(value_at(result->reply, 1), &vote->version);
}

static void fence_agreement_begin(struct locks *locks, struct slice key, struct slice token,
                                  const struct tally *tally, unsigned rounds,
                                  fence_agree_done *done, void *context);

/* If a member knows a number as great by now, another round proposes a greater one. */
static bool fence_agreement_can_go_on(const struct fence_agreement *agreement)
{
    const struct tally *tally = &agreement->tally;
    unsigned left = tally_count(tally, VOTE_GRANTED) + tally_count(tally, VOTE_HOLDING);
    return agreement->rounds < ROUNDS_MOST && left >= tally_majority(tally) &&
           tally_version(tally) >= agreement->fence;
}

static bool fence_agreement_decide(struct broadcast *broadcast, bool is_last)
{
    struct fence_agreement *agreement = (struct fence_agreement *)broadcast;
    unsigned majority = tally_majority(&agreement->tally);
    unsigned in = count(agreement, STANDING_IN);
    if (in >= majority) {
        fence_agreement_finish(agreement, agreement->fence);
        return true;
    }
    if (!is_last && in + count(agreement, STANDING_ASKED) >= majority)
        return false;
    if (fence_agreement_can_go_on(agreement))
        fence_agreement_begin(broadcast->locks, broadcast_key(&agreement->broadcast),
                              fence_agreement_token(agreement), &agreement->tally,
                              agreement->rounds + 1, agreement->done, agreement->context);
    else
        fence_agreement_finish(agreement, 0);
    return true;
}

static void raise_at(struct fence_agreement *agreement, unsigned member)
{
    char number[NUMBER_TEXT];
    const struct slice arguments[] = {stamp_placeholder(), fence_agreement_token(agreement),
                                      number_text(agreement->fence, number)};
    agreement->standing[member] = STANDING_ASKED;
    broadcast_send(&agreement->broadcast, member, &script_raise, arguments,
                   sizeof arguments / sizeof arguments[0]);
}

static void fence_agreement_begin(struct locks *locks, struct slice key, struct slice token,
                                  const struct tally *tally, unsigned rounds,
                                  fence_agree_done *done, void *context)
{
    static const struct broadcast_kind KIND = {fence_agreement_hear, fence_agreement_decide, NULL};
    struct fence_agreement *agreement = memory_checked(calloc(1, sizeof *agreement + token.length));
    agreement->done = done;
    agreement->context = context;
    agreement->tally = *tally;
    agreement->fence = tally_proposal(tally, guard_latest_number(locks->guard));
    agreement->rounds = rounds;
    agreement->token_length = token.length;
    memcpy(agreement->token, token.bytes, token.length);
    broadcast_begin(&agreement->broadcast, &locks->quorum->broadcasts, key, &KIND);
    for (unsigned i = 0; i < tally->members; i++) {
        const struct vote *vote = &tally->votes[i];
        if (is_candidate(vote))
            raise_at(agreement, i);
    }
}

void fence_agree(struct locks *locks, struct slice key, struct slice token,
                 const struct tally *tally, fence_agree_done *done, void *context)
{
    fence_agreement_begin(locks, key, token, tally, 1, done, context);
}

static void said(void *context, const struct store_result *result)
{
    (void)context, (void)result; /* if the member did not hear it, the next renewal repairs that */
}

void fence_adopt(struct locks *locks, unsigned member, struct slice key, struct slice token,
                 int64_t fence, int64_t known)
{
    char number[NUMBER_TEXT], told[NUMBER_TEXT];
    const struct slice arguments[] = {stamp_placeholder(), token, number_text(fence, number),
                                      number_text(known, told)};
    const struct script_call call = {
        .script = &script_raise,
        .key = key,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = said,
    };
    script_call_send_at(locks, member, &call);
}
