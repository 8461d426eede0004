#include "locks/quorum/ballot.h"

#include <stddef.h>

enum {
    DRIFT_PART = 100,   /* clocks that run apart by more than 1 % are broken, */
    DRIFT_LEAST_MS = 2, /* and times are cut to milliseconds on the way */
};

unsigned ballot_majority(const struct ballot *ballot)
{
    return ballot->members / 2 + 1;
}

unsigned ballot_count(const struct ballot *ballot, enum vote_kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ballot->members; i++)
        count += ballot->votes[i].kind == kind;
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

struct tally {
    unsigned majority, held, refused, away, open;
};

static struct tally tally(const struct ballot *ballot)
{
    struct tally tally = {.majority = ballot_majority(ballot)};
    for (unsigned i = 0; i < ballot->members; i++) {
        const struct vote *vote = &ballot->votes[i];
        tally.held += is_hold(vote);
        tally.refused += is_refusal(vote);
        tally.away += vote->kind == VOTE_AWAY || vote->kind == VOTE_DOUBT;
        tally.open += vote->kind == VOTE_NONE;
    }
    return tally;
}

/* So many that the others are no majority. */
static bool blocks(const struct ballot *ballot, unsigned count)
{
    return ballot->members - count < ballot_majority(ballot);
}

enum verdict ballot_acquire(const struct ballot *ballot, bool is_last, unsigned *ret_member)
{
    struct tally votes = tally(ballot);
    *ret_member = 0;
    for (unsigned i = 1; i < ballot->members; i++)
        if (ballot->votes[i].kind > ballot->votes[*ret_member].kind)
            *ret_member = i;
    if (votes.held >= votes.majority)
        return VERDICT_WON;
    if (blocks(ballot, votes.refused))
        return VERDICT_LOST;
    if (blocks(ballot, votes.away))
        return VERDICT_UNANSWERED;
    if (!is_last && votes.open > 0)
        return VERDICT_OPEN;
    return votes.held + votes.refused >= votes.majority ? VERDICT_LOST : VERDICT_UNANSWERED;
}

enum verdict ballot_renew(const struct ballot *ballot, bool is_last)
{
    struct tally votes = tally(ballot);
    if (votes.held >= votes.majority)
        return VERDICT_WON;
    if (blocks(ballot, votes.refused))
        return VERDICT_LOST;
    return !is_last && votes.open > 0 && !blocks(ballot, votes.away) ? VERDICT_OPEN
                                                                     : VERDICT_UNANSWERED;
}

/* Where most have said that there is no such hold, it had ended, and others may have got the lock.
 */
enum verdict ballot_release(const struct ballot *ballot, bool is_last)
{
    struct tally votes = tally(ballot);
    bool is_answered = votes.held + votes.refused >= votes.majority;
    if (blocks(ballot, votes.refused))
        return VERDICT_LOST;
    if (is_answered && votes.held > 0 && !blocks(ballot, votes.refused + votes.open))
        return VERDICT_WON;
    if (!is_last && votes.open > 0 && !blocks(ballot, votes.away))
        return VERDICT_OPEN;
    if (!is_answered)
        return VERDICT_UNANSWERED;
    return votes.held > 0 ? VERDICT_WON : VERDICT_LOST;
}

/* Of what is known of the holds, the greatest number that a majority reaches; 0 where there are too
 * few. */
static int64_t reached(const struct ballot *ballot, size_t member_at)
{
    int64_t best = 0;
    for (unsigned i = 0; i < ballot->members; i++) {
        const struct vote *vote = &ballot->votes[i];
        int64_t number = *(const int64_t *)(const void *)((const char *)vote + member_at);
        unsigned count = 0;
        for (unsigned j = 0; j < ballot->members; j++) {
            const char *other = (const char *)&ballot->votes[j];
            count += is_hold(&ballot->votes[j]) &&
                     *(const int64_t *)(const void *)(other + member_at) >= number;
        }
        if (is_hold(vote) && count >= ballot_majority(ballot) && number > best)
            best = number;
    }
    return best;
}

int64_t ballot_validity(const struct ballot *ballot, int64_t elapsed_ms)
{
    int64_t ttl_ms = reached(ballot, offsetof(struct vote, ttl_ms));
    return ttl_ms - elapsed_ms - (ttl_ms / DRIFT_PART + DRIFT_LEAST_MS);
}

int64_t ballot_holds(const struct ballot *ballot)
{
    return reached(ballot, offsetof(struct vote, holds));
}

bool ballot_excludes(struct ballot *ballot)
{
    unsigned exclusive = 0;
    for (unsigned i = 0; i < ballot->members; i++)
        exclusive += is_hold(&ballot->votes[i]) && ballot->votes[i].is_exclusive;
    if (exclusive < ballot_majority(ballot))
        return false;
    for (unsigned i = 0; i < ballot->members; i++)
        if (is_hold(&ballot->votes[i]) && !ballot->votes[i].is_exclusive)
            ballot->votes[i].kind = VOTE_LOCKED;
    return true;
}

int64_t ballot_version(const struct ballot *ballot)
{
    int64_t greatest = 0;
    for (unsigned i = 0; i < ballot->members; i++)
        if (ballot->votes[i].version > greatest)
            greatest = ballot->votes[i].version;
    return greatest;
}

bool ballot_knows(const struct ballot *ballot, int64_t version)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ballot->members; i++)
        count += ballot->votes[i].version >= version;
    return count >= ballot_majority(ballot);
}

bool ballot_agrees(const struct ballot *ballot, int64_t *ret_fence)
{
    for (unsigned i = 0; i < ballot->members; i++) {
        unsigned same = 0;
        for (unsigned j = 0; j < ballot->members; j++)
            same += is_hold(&ballot->votes[j]) && ballot->votes[j].fence == ballot->votes[i].fence;
        if (is_hold(&ballot->votes[i]) && same >= ballot_majority(ballot)) {
            *ret_fence = ballot->votes[i].fence;
            return true;
        }
    }
    return false;
}

int64_t ballot_above(int64_t number, int64_t now)
{
    return number + (number < now ? BALLOT_AHEAD : BALLOT_NEAR);
}

int64_t ballot_proposal(const struct ballot *ballot, int64_t now)
{
    int64_t greatest = ballot_version(ballot);
    for (unsigned i = 0; i < ballot->members; i++) {
        const struct vote *vote = &ballot->votes[i];
        if (is_hold(vote) && vote->fence > greatest)
            greatest = vote->fence;
    }
    return ballot_above(greatest, now);
}

static bool names(const struct vote *vote, uint64_t holder)
{
    bool is_named = vote->is_crowd;
    for (unsigned i = 0; i < vote->holder_count; i++)
        is_named |= vote->holders[i] == holder;
    return vote->kind == VOTE_LOCKED && is_named;
}

/* How many refuse because of this one. */
static unsigned behind(const struct ballot *ballot, uint64_t holder)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ballot->members; i++)
        count += names(&ballot->votes[i], holder);
    return count;
}

bool ballot_is_split(const struct ballot *ballot)
{
    struct tally votes = tally(ballot);
    unsigned most = 0;
    for (unsigned i = 0; i < ballot->members; i++) {
        const struct vote *vote = &ballot->votes[i];
        for (unsigned j = 0; vote->kind == VOTE_LOCKED && j < vote->holder_count; j++) {
            unsigned count = behind(ballot, vote->holders[j]);
            most = count > most ? count : most;
        }
    }
    return most > 0 && most + votes.away + votes.open < votes.majority;
}

unsigned ballot_missing(const struct ballot *ballot)
{
    struct tally votes = tally(ballot);
    return votes.majority > votes.held ? votes.majority - votes.held : 1;
}

int64_t ballot_free_in(const struct ballot *ballot)
{
    unsigned missing = ballot_missing(ballot);
    int64_t best = -1;
    for (unsigned i = 0; i < ballot->members; i++) {
        int64_t ends = ballot->votes[i].ends_ms;
        unsigned count = 0;
        for (unsigned j = 0; j < ballot->members; j++)
            count += ballot->votes[j].kind == VOTE_LOCKED && ballot->votes[j].ends_ms >= 0 &&
                     ballot->votes[j].ends_ms <= ends;
        if (ballot->votes[i].kind == VOTE_LOCKED && ends >= 0 && count >= missing &&
            (best < 0 || ends < best))
            best = ends;
    }
    return best;
}
