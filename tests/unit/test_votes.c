#include "redis/sentinel/votes.h"
#include "tests/support/cmocka.h"

#include <string.h>

/* Votes are written as "A1": the server A, with the epoch 1. */
static const struct vote *read_vote(const char *text, struct vote *ret)
{
    *ret = (struct vote){.port = 6379, .epoch = (uint64_t)(text[1] - '0')};
    ret->host[0] = text[0];
    return ret;
}

static const struct counted {
    const char *votes[5];
    size_t sentinels;
    bool all_settled;
    const char *current;
    const char *winner;
} COUNTED[] = {
    {{NULL}, 3, true, NULL, NULL},
    /* the first one */
    {{"A1"}, 3, false, NULL, NULL},
    {{"A1"}, 3, true, NULL, "A1"},
    {{"A1", "A1"}, 3, false, NULL, "A1"},
    {{"A1", "A1"}, 4, false, NULL, NULL},
    {{"A1"}, 1, false, NULL, "A1"},
    {{"A1", "B2"}, 3, false, NULL, NULL},
    {{"A1", "B2"}, 3, true, NULL, "B2"},
    {{"B2", "A1"}, 2, true, NULL, "B2"},
    {{"A1", "B1", "B1"}, 3, true, NULL, "B1"},
    /* what is in use */
    {{"A1", "A1", "A1"}, 3, true, "A1", "A1"},
    {{"A1"}, 3, true, "A1", "A1"},
    {{NULL}, 3, true, "A1", NULL},
    /* a switch */
    {{"A1", "B2", "A1"}, 3, true, "A1", "B2"},
    {{"B2"}, 3, false, "A1", "B2"},
    /* who is behind */
    {{"A1"}, 3, true, "B2", NULL},
    {{"A1", "A1"}, 5, true, "B2", NULL},
    {{"A1", "B2"}, 3, true, "B2", "B2"},
    {{"A1", "A1", "B2"}, 3, true, "B2", "B2"},
    /* set up anew, with epochs from 0 on */
    {{"A0", "A0"}, 3, true, "B2", "A0"},
    {{"B0", "B0"}, 3, true, "B2", "B0"},
    /* of the same epoch */
    {{"A2"}, 3, true, "B2", NULL},
    {{"A2", "B2"}, 3, true, "B2", "B2"},
    {{"A2", "A2"}, 3, true, "B2", "A2"},
    {{"A2", "B2"}, 2, true, "B2", "B2"},
};

static void count(const struct counted *counted)
{
    struct vote votes[5], current, winner;
    const struct vote *cast[5];
    size_t number = 0;
    for (; number < 5 && counted->votes[number]; number++)
        cast[number] = read_vote(counted->votes[number], &votes[number]);
    const struct vote *found =
        votes_winner(cast, number, counted->sentinels, counted->all_settled,
                     counted->current ? read_vote(counted->current, &current) : NULL);
    bool is_right = counted->winner
                        ? found && read_vote(counted->winner, &winner)->epoch == found->epoch &&
                              vote_names(found, winner.host, winner.port)
                        : !found;
    if (!is_right)
        fail_msg("row %d: %s", (int)(counted - COUNTED), found ? found->host : "none");
}

TEST(votes_are_counted)
{
    for (size_t i = 0; i < LENGTH(COUNTED); i++)
        count(&COUNTED[i]);
}
