#include "locks/quorum/tally.h"

#include <stddef.h>

enum {
    DRIFT_PART = 100,   /* clocks that drift by more than 1 % are broken */
    DRIFT_LEAST_MS = 2, /* times are cut to milliseconds on the way */
};

unsigned tally_majority(const struct tally *tally)
{
    return tally->members / 2 + 1;
}

unsigned tally_count(const struct tally *tally, enum vote_kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tally->members; i++)
        count += tally->votes[i].kind == kind;
    return count;
}

static bool is_hold(const struct vote *vote)
{
    return vote->kind == VOTE_GRANTED || vote->kind == VOTE_HOLDING;
}

static bool is_refusal(const struct vote *vote)
{
    return vote->kind >= VOTE_LOCKED;
}

struct vote_counts {
    unsigned majority, held, refused, away, open;
};

static struct vote_counts count_votes(const struct tally *tally)
{
    struct vote_counts counts = {.majority = tally_majority(tally)};
    for (unsigned i = 0; i < tally->members; i++) {
        const struct vote *vote = &tally->votes[i];
        counts.held += is_hold(vote);
        counts.refused += is_refusal(vote);
        counts.away += vote->kind == VOTE_AWAY || vote->kind == VOTE_DOUBT;
        counts.open += vote->kind == VOTE_NONE;
    }
    return counts;
}

/* Whether the other members are too few for a majority. */
static bool blocks(const struct tally *tally, unsigned count)
{
    return tally->members - count < tally_majority(tally);
}

enum verdict tally_acquire(const struct tally *tally, bool is_last, unsigned *ret_member)
{
    struct vote_counts counts = count_votes(tally);
    *ret_member = 0;
    for (unsigned i = 1; i < tally->members; i++)
        if (tally->votes[i].kind > tally->votes[*ret_member].kind)
            *ret_member = i;
    if (counts.held >= counts.majority)
        return VERDICT_WON;
    if (blocks(tally, counts.refused))
        return VERDICT_LOST;
    if (blocks(tally, counts.away))
        return VERDICT_UNANSWERED;
    if (!is_last && counts.open > 0)
        return VERDICT_OPEN;
    return counts.held + counts.refused >= counts.majority ? VERDICT_LOST : VERDICT_UNANSWERED;
}

enum verdict tally_renew(const struct tally *tally, bool is_last)
{
    struct vote_counts counts = count_votes(tally);
    if (counts.held >= counts.majority)
        return VERDICT_WON;
    if (blocks(tally, counts.refused))
        return VERDICT_LOST;
    return !is_last && counts.open > 0 && !blocks(tally, counts.away) ? VERDICT_OPEN
                                                                      : VERDICT_UNANSWERED;
}

/* If most report no such hold, it had ended, and others may have got the lock. */
enum verdict tally_release(const struct tally *tally, bool is_last)
{
    struct vote_counts counts = count_votes(tally);
    bool is_answered = counts.held + counts.refused >= counts.majority;
    if (blocks(tally, counts.refused))
        return VERDICT_LOST;
    if (is_answered && counts.held > 0 && !blocks(tally, counts.refused + counts.open))
        return VERDICT_WON;
    if (!is_last && counts.open > 0 && !blocks(tally, counts.away))
        return VERDICT_OPEN;
    if (!is_answered)
        return VERDICT_UNANSWERED;
    return counts.held > 0 ? VERDICT_WON : VERDICT_LOST;
}

/* The greatest number that a majority of the votes reaches; 0 if too few members have the hold. */
static int64_t reached(const struct tally *tally, size_t member_at)
{
    int64_t best = 0;
    for (unsigned i = 0; i < tally->members; i++) {
        const struct vote *vote = &tally->votes[i];
        int64_t number = *(const int64_t *)(const void *)((const char *)vote + member_at);
        unsigned count = 0;
        for (unsigned j = 0; j < tally->members; j++) {
            const char *other = (const char *)&tally->votes[j];
            count += is_hold(&tally->votes[j]) &&
                     *(const int64_t *)(const void *)(other + member_at) >= number;
        }
        if (is_hold(vote) && count >= tally_majority(tally) && number > best)
            best = number;
    }
    return best;
}

int64_t tally_validity(const struct tally *tally, int64_t elapsed_ms)
{
    int64_t ttl_ms = reached(tally, offsetof(struct vote, ttl_ms));
    return ttl_ms - elapsed_ms - (ttl_ms / DRIFT_PART + DRIFT_LEAST_MS);
}

int64_t tally_holds(const struct tally *tally)
{
    return reached(tally, offsetof(struct vote, holds));
}

bool tally_is_final(const struct tally *tally)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tally->members; i++)
        count += is_hold(&tally->votes[i]) && tally->votes[i].is_final;
    return count >= tally_majority(tally);
}

bool tally_was_final(const struct tally *tally)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tally->members; i++)
        count += is_hold(&tally->votes[i]) && tally->votes[i].was_final;
    return count >= tally_majority(tally);
}

int64_t tally_version(const struct tally *tally)
{
    int64_t greatest = 0;
    for (unsigned i = 0; i < tally->members; i++)
        if (tally->votes[i].version > greatest)
            greatest = tally->votes[i].version;
    return greatest;
}

int64_t tally_version_of_holds(const struct tally *tally)
{
    return reached(tally, offsetof(struct vote, version));
}

bool tally_knows(const struct tally *tally, int64_t version)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tally->members; i++)
        count += tally->votes[i].version >= version;
    return count >= tally_majority(tally);
}

bool tally_agrees(const struct tally *tally, int64_t *ret_fence)
{
    for (unsigned i = 0; i < tally->members; i++) {
        unsigned same = 0;
        for (unsigned j = 0; j < tally->members; j++)
            same += is_hold(&tally->votes[j]) && tally->votes[j].fence == tally->votes[i].fence;
        if (is_hold(&tally->votes[i]) && same >= tally_majority(tally)) {
            *ret_fence = tally->votes[i].fence;
            return true;
        }
    }
    return false;
}

int64_t tally_above(int64_t number, int64_t now)
{
    return number + (number < now ? TALLY_AHEAD : TALLY_NEAR);
}

int64_t tally_proposal(const struct tally *tally, int64_t now)
{
    int64_t greatest = tally_version(tally);
    for (unsigned i = 0; i < tally->members; i++) {
        const struct vote *vote = &tally->votes[i];
        if (is_hold(vote) && vote->fence > greatest)
            greatest = vote->fence;
    }
    return tally_above(greatest, now);
}

int64_t tally_next_proposal(int64_t refused)
{
    return refused + TALLY_STEP;
}

/* Silent members count as if they had granted it by that fence. */
int64_t tally_found_fence(const struct tally *tally)
{
    struct vote_counts counts = count_votes(tally);
    unsigned most = 0;
    int64_t found = 0;
    for (unsigned i = 0; i < tally->members; i++) {
        unsigned same = 0;
        for (unsigned j = 0; j < tally->members; j++)
            same += tally->votes[j].kind == VOTE_HOLDING &&
                    tally->votes[j].fence == tally->votes[i].fence;
        if (same > most && same + counts.away + counts.open >= counts.majority) {
            most = same;
            found = tally->votes[i].fence;
        }
    }
    return found;
}

static bool names(const struct vote *vote, int64_t holder)
{
    bool is_named = vote->has_more_holds;
    for (unsigned i = 0; i < vote->holder_count; i++)
        is_named |= vote->holders[i] == holder;
    return vote->kind == VOTE_LOCKED && is_named;
}

/* How many refuse because of this holder. */
static unsigned behind(const struct tally *tally, int64_t holder)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tally->members; i++)
        count += names(&tally->votes[i], holder);
    return count;
}

bool tally_is_split(const struct tally *tally)
{
    struct vote_counts counts = count_votes(tally);
    unsigned most = 0;
    for (unsigned i = 0; i < tally->members; i++) {
        const struct vote *vote = &tally->votes[i];
        for (unsigned j = 0; vote->kind == VOTE_LOCKED && j < vote->holder_count; j++) {
            unsigned count = behind(tally, vote->holders[j]);
            most = count > most ? count : most;
        }
    }
    return most > 0 && most + counts.away + counts.open < counts.majority;
}

unsigned tally_missing(const struct tally *tally)
{
    struct vote_counts counts = count_votes(tally);
    return counts.majority > counts.held ? counts.majority - counts.held : 1;
}

int64_t tally_free_in(const struct tally *tally)
{
    unsigned missing = tally_missing(tally);
    int64_t best = -1;
    for (unsigned i = 0; i < tally->members; i++) {
        int64_t ends = tally->votes[i].ends_ms;
        unsigned count = 0;
        for (unsigned j = 0; j < tally->members; j++)
            count += tally->votes[j].kind == VOTE_LOCKED && tally->votes[j].ends_ms >= 0 &&
                     tally->votes[j].ends_ms <= ends;
        if (tally->votes[i].kind == VOTE_LOCKED && ends >= 0 && count >= missing &&
            (best < 0 || ends < best))
            best = ends;
    }
    return best;
}
