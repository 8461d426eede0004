#include "redis/sentinel/votes.h"

#include "base/host_name.h"

#include <string.h>

bool vote_names(const struct vote *vote, const char *host, int port)
{
    return vote->port == port && host_names_equal(slice_of(vote->host), slice_of(host));
}

static bool same_place(const struct vote *one, const struct vote *other)
{
    return vote_names(one, other->host, other->port);
}

bool vote_equals(const struct vote *one, const struct vote *other)
{
    return one->epoch == other->epoch && same_place(one, other);
}

static size_t agreeing(const struct vote *const *votes, size_t count, const struct vote *vote)
{
    size_t number = 0;
    for (size_t i = 0; i < count; i++)
        number += vote_equals(votes[i], vote);
    return number;
}

static const struct vote *best(const struct vote *const *votes, size_t count,
                               const struct vote *current)
{
    const struct vote *found = votes[0];
    for (size_t i = 1; i < count; i++) {
        const struct vote *other = votes[i];
        size_t for_found = agreeing(votes, count, found), for_other = agreeing(votes, count, other);
        bool is_current = current && same_place(other, current);
        if (other->epoch != found->epoch ? other->epoch > found->epoch
            : for_other != for_found     ? for_other > for_found
                                         : is_current)
            found = other;
    }
    return found;
}

const struct vote *votes_winner(const struct vote *const *votes, size_t count, size_t sentinels,
                                bool all_settled, const struct vote *current)
{
    if (count == 0)
        return NULL;
    const struct vote *winner = best(votes, count, current);
    bool most = agreeing(votes, count, winner) * 2 > sentinels;
    if (!current)
        return most || all_settled ? winner : NULL;
    bool is_behind = winner->epoch < current->epoch;
    bool is_same = vote_equals(winner, current);
    return most || is_same || (!is_behind && winner->epoch > current->epoch) ? winner : NULL;
}
