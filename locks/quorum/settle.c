#include "locks/quorum/settle.h"

#include "locks/quarantine/fence_floor.h"
#include "locks/quorum/majority.h"
#include "locks/scripts/scripts.h"

#include <stdlib.h>

enum { ROUNDS_MOST = 4 }; /* another hold that is settled at the same time takes one each */

enum standing { STANDING_OUT, STANDING_ASKED, STANDING_IN };

struct settling {
    struct broadcast broadcast;
    settle_done *done;
    void *context;
    struct tally tally;
    int64_t fence; /* that is proposed */
    unsigned rounds;
    enum standing standing[TALLY_MEMBERS];
    size_t key_length;
    size_t token_length;
    char key_and_token[];
};

static struct slice key_of(const struct settling *settling)
{
    return (struct slice){settling->key_and_token, settling->key_length};
}

static struct slice token_of(const struct settling *settling)
{
    return (struct slice){settling->key_and_token + settling->key_length, settling->token_length};
}

static unsigned count(const struct settling *settling, enum standing standing)
{
    unsigned found = 0;
    for (unsigned i = 0; i < settling->tally.members; i++)
        found += settling->standing[i] == standing;
    return found;
}

static bool is_candidate(const struct vote *vote)
{
    return vote->kind == VOTE_GRANTED || vote->kind == VOTE_HOLDING;
}

static void finish(struct settling *settling, int64_t fence)
{
    struct tally tally = settling->tally;
    for (unsigned i = 0; fence && i < tally.members; i++) {
        if (!is_candidate(&tally.votes[i]) || settling->standing[i] == STANDING_IN)
            continue;
        settle_late(settling->broadcast.locks, i, key_of(settling), token_of(settling), fence,
                    tally.votes[i].fence);
        tally.votes[i].kind = VOTE_DOUBT;
    }
    settling->done(settling->context, fence, &tally);
}

static void hear(struct broadcast *broadcast, unsigned member, const struct store_result *result)
{
    struct settling *settling = (struct settling *)broadcast;
    struct vote *vote = &settling->tally.votes[member];
    settling->standing[member] = STANDING_OUT;
    if (result->outcome != STORE_REPLIED)
        return;
    if (reply_says(result->reply, "raised"))
        settling->standing[member] = STANDING_IN;
    else if (reply_says(result->reply, "gone"))
        vote->kind = VOTE_NONE;
    value_integer(value_at(result->reply, 1), &vote->version);
}

static void begin(struct locks *locks, struct slice key, struct slice token,
                  const struct tally *tally, unsigned rounds, settle_done *done, void *context);

/* Where somebody has a number as great by now, another round proposes a greater one. */
static bool can_go_on(const struct settling *settling)
{
    const struct tally *tally = &settling->tally;
    unsigned left = tally_count(tally, VOTE_GRANTED) + tally_count(tally, VOTE_HOLDING);
    return settling->rounds < ROUNDS_MOST && left >= tally_majority(tally) &&
           tally_version(tally) >= settling->fence;
}

static bool decide(struct broadcast *broadcast, bool is_last)
{
    struct settling *settling = (struct settling *)broadcast;
    unsigned majority = tally_majority(&settling->tally);
    unsigned in = count(settling, STANDING_IN);
    if (in >= majority) {
        finish(settling, settling->fence);
        return true;
    }
    if (!is_last && in + count(settling, STANDING_ASKED) >= majority)
        return false;
    if (can_go_on(settling))
        begin(broadcast->locks, key_of(settling), token_of(settling), &settling->tally,
              settling->rounds + 1, settling->done, settling->context);
    else
        finish(settling, 0);
    return true;
}

static void end(struct broadcast *broadcast)
{
    free(broadcast);
}

static void raise_at(struct settling *settling, unsigned member)
{
    char number[NUMBER_TEXT];
    const struct slice arguments[] = {stamp_room(), token_of(settling),
                                      number_text(settling->fence, number)};
    settling->standing[member] = STANDING_ASKED;
    broadcast_send(&settling->broadcast, member, &script_raise, key_of(settling), arguments,
                   sizeof arguments / sizeof arguments[0]);
}

static void begin(struct locks *locks, struct slice key, struct slice token,
                  const struct tally *tally, unsigned rounds, settle_done *done, void *context)
{
    static const struct broadcast_kind KIND = {hear, decide, end};
    struct settling *settling = calloc(1, sizeof *settling + key.length + token.length);
    if (!settling)
        abort();
    settling->done = done;
    settling->context = context;
    settling->tally = *tally;
    settling->fence = tally_proposal(tally, fence_floor_latest(locks->guard));
    settling->rounds = rounds;
    settling->key_length = key.length;
    settling->token_length = token.length;
    memcpy(settling->key_and_token, key.bytes, key.length);
    memcpy(settling->key_and_token + key.length, token.bytes, token.length);
    broadcast_begin(&settling->broadcast, locks, &KIND);
    for (unsigned i = 0; i < tally->members; i++) {
        const struct vote *vote = &tally->votes[i];
        if (is_candidate(vote))
            raise_at(settling, i);
    }
}

void settle(struct locks *locks, struct slice key, struct slice token, const struct tally *tally,
            settle_done *done, void *context)
{
    begin(locks, key, token, tally, 1, done, context);
}

static void said(void *context, const struct store_result *result)
{
    (void)context, (void)result; /* where it was not heard, the next renewal settles it */
}

void settle_late(struct locks *locks, unsigned member, struct slice key, struct slice token,
                 int64_t fence, int64_t known)
{
    char number[NUMBER_TEXT], told[NUMBER_TEXT];
    const struct slice arguments[] = {stamp_room(), token, number_text(fence, number),
                                      number_text(known, told)};
    ask_redis_at(locks, member, &script_raise, key, arguments,
                 sizeof arguments / sizeof arguments[0], said, NULL);
}
