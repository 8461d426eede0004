/* Which sentinels count: those that were replaced do not, those that are only away do. */
#include "redis/sentinel/sentinel_set.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { NOW = 1000000, LONG_AGO = NOW - SENTINEL_SET_FORGET_MS, LATELY = LONG_AGO + 1, MOST = 8 };

/* A sentinel is written as its id (- for none), whether it answers (+) or not, and when it was last
 * named by another: lately (l) or long ago. In upper case it counts, or is to count, afterwards. */
static const struct story {
    const char *sentinels[MOST];
} STORIES[] = {
    /* all are well, whether they are named or not */
    {{"A+l", "B+l", "C+l"}},
    {{"A+ ", "B+ ", "C+ "}},
    {{"A+ "}},
    /* one is away: the others go on naming it */
    {{"A+l", "B+l", "C-l"}},
    /* one was replaced by another */
    {{"A+l", "B+l", "c- ", "D+l"}},
    {{"A+l", "B+l", "C+l", "d- ", "e- "}},
    /* two are away, and a few that are left decide nothing, even where they name nobody */
    {{"A+l", "B- ", "C- "}},
    {{"A+l", "B+l", "C- ", "D- "}},
    {{"A- ", "B- ", "C- "}},
    /* it is known by a name in the URL, where it never answered, and by its address */
    {{"A+l", "B+l", "-- ", "C-l", "D+l"}},
    /* it is known by a name, where it has answered, and the others name its address */
    {{"A+l", "B+l", "C- ", "c-l"}},
    /* it has moved; then that one is away, too */
    {{"A+l", "B+l", "c- ", "C+l"}},
};

static void read_client(const char *text, struct sentinel_client *client)
{
    *client = (struct sentinel_client){.mentioned = text[2] == 'l' ? LATELY : LONG_AGO,
                                       .is_settled = true};
    if (text[0] != '-')
        snprintf(client->id, sizeof client->id, "%c", text[0] | 0x20);
    client->has_vote = text[1] == '+';
    if (!client->has_vote)
        snprintf(client->trouble.text, sizeof client->trouble.text, "it is away");
}

static size_t list(const struct story *story, struct sentinel_client *clients)
{
    size_t count = 0;
    for (; count < MOST && story->sentinels[count]; count++) {
        read_client(story->sentinels[count], &clients[count]);
        if (count > 0)
            clients[count - 1].next = &clients[count];
    }
    return count;
}

TEST(those_that_were_replaced_do_not_count)
{
    for (size_t i = 0; i < LENGTH(STORIES); i++) {
        struct sentinel_client clients[MOST];
        size_t count = list(&STORIES[i], clients), expected = 0;
        for (size_t j = 0; j < count; j++)
            expected += STORIES[i].sentinels[j][0] >= 'A' && STORIES[i].sentinels[j][0] <= 'Z';
        sentinel_set_renew(clients, NOW);
        struct sentinel_tally tally = sentinel_set_tally(clients);
        if (tally.sentinels != expected)
            fail_msg("story %zu: %zu count", i, tally.sentinels);
    }
}

/* A set may be renewed bit by bit until none of the first is left. */
TEST(a_set_that_is_renewed_keeps_its_majority)
{
    static const struct story RENEWED = {{"a- ", "b- ", "c- ", "d+l", "e+l", "f+l"}};
    struct sentinel_client clients[MOST];
    const struct vote primary = {.host = "p", .port = 1};
    size_t count = list(&RENEWED, clients);
    for (size_t i = 0; i < count; i++) {
        clients[i].vote = primary;
        clients[i].voted = NOW;
    }
    clients[0].voted = clients[1].voted = clients[2].voted = 0;
    sentinel_set_renew(clients, NOW);
    assert_int_equal(sentinel_set_tally(clients).sentinels,
                     6); /* at once it would be anybody's guess */
    assert_int_equal(sentinel_set_named(clients, &primary), 0);
    clients[0].is_left_out = true; /* it had been replaced before */
    sentinel_set_renew(clients, NOW);
    assert_int_equal(sentinel_set_tally(clients).sentinels, 3);
    assert_int_equal(sentinel_set_named(clients, &primary), NOW);
    assert_true(clients[1].is_left_out && clients[2].is_left_out);
}

/* The one that it moved to counts also when that is away, and the old one is forgotten. */
TEST(one_that_has_moved_counts_once)
{
    static const struct story MOVED = {{"a+l", "b+l", "c- ", "c+l"}};
    struct sentinel_client clients[MOST];
    list(&MOVED, clients);
    sentinel_set_renew(clients, NOW);
    assert_true(clients[2].is_left_out);
    snprintf(clients[3].trouble.text, sizeof clients[3].trouble.text, "it is away");
    clients[3].has_vote = false;
    sentinel_set_renew(clients, NOW);
    assert_int_equal(sentinel_set_tally(clients).sentinels, 3);
    assert_false(clients[3].is_left_out);
}
