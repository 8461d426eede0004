/* What the answers of a quorum's members mean together. */
#include "locks/quorum/tally.h"
#include "tests/support/cmocka.h"

#include <string.h>

/* A tally from a word: a letter for each member. */
static struct tally tally_of(const char *letters)
{
    static const char KINDS[] = ".ad+hlmur"; /* in the order of enum vote_kind */
    struct tally tally = {.members = (unsigned)strlen(letters)};
    for (unsigned i = 0; i < tally.members; i++) {
        tally.votes[i].kind = (enum vote_kind)(strchr(KINDS, letters[i]) - KINDS);
        tally.votes[i].ends_ms = -1;
    }
    return tally;
}

static const struct {
    const char *votes;
    bool is_last;
    enum verdict acquire, renew, release;
} VERDICTS[] = {
    /* nobody, and all */
    {".....", false, VERDICT_OPEN, VERDICT_OPEN, VERDICT_OPEN},
    {".....", true, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    {"hhhhh", true, VERDICT_WON, VERDICT_WON, VERDICT_WON},
    {"lllll", true, VERDICT_LOST, VERDICT_LOST, VERDICT_LOST},
    {"aaaaa", true, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    {"ddddd", true, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    /* half is not enough, one more is */
    {"++...", false, VERDICT_OPEN, VERDICT_OPEN, VERDICT_OPEN},
    {"+++..", false, VERDICT_WON, VERDICT_WON, VERDICT_WON},
    {"++h..", false, VERDICT_WON, VERDICT_WON, VERDICT_WON},
    {"hh...", true, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    {"++aa+", true, VERDICT_WON, VERDICT_WON, VERDICT_WON},
    {"++ddd", true, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    {"++", true, VERDICT_WON, VERDICT_WON, VERDICT_WON},
    {"+", true, VERDICT_WON, VERDICT_WON, VERDICT_WON},
    {"++.", false, VERDICT_WON, VERDICT_WON, VERDICT_WON},
    {"+..", false, VERDICT_OPEN, VERDICT_OPEN, VERDICT_OPEN},
    {"++++aaaaa", true, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    {"+++++aaaa", true, VERDICT_WON, VERDICT_WON, VERDICT_WON},
    /* the others are no majority any more; what is released must have been held by one, for all
       that is known */
    {"lll..", false, VERDICT_LOST, VERDICT_LOST, VERDICT_LOST},
    {"lll..", true, VERDICT_LOST, VERDICT_LOST, VERDICT_LOST},
    {"ll...", false, VERDICT_OPEN, VERDICT_OPEN, VERDICT_OPEN},
    {"aaa..", false, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    {"aa...", false, VERDICT_OPEN, VERDICT_OPEN, VERDICT_OPEN},
    {"hll..", false, VERDICT_OPEN, VERDICT_OPEN, VERDICT_OPEN},
    {"hhl..", false, VERDICT_OPEN, VERDICT_OPEN, VERDICT_OPEN},
    {"hhl.a", false, VERDICT_OPEN, VERDICT_OPEN, VERDICT_WON},
    {"hll..", true, VERDICT_LOST, VERDICT_UNANSWERED, VERDICT_WON},
    {"hhlll", true, VERDICT_LOST, VERDICT_LOST, VERDICT_LOST},
    {"hlaaa", true, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    /* split between two, or with one away: refused, but a renewal may live on where nobody says */
    {"++llu", true, VERDICT_LOST, VERDICT_LOST, VERDICT_LOST},
    {"++lla", true, VERDICT_LOST, VERDICT_UNANSWERED, VERDICT_WON},
    {"+laaa", true, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    {"llaa.", true, VERDICT_UNANSWERED, VERDICT_UNANSWERED, VERDICT_UNANSWERED},
    {"lllaa", true, VERDICT_LOST, VERDICT_LOST, VERDICT_LOST},
};

TEST(verdicts_need_a_majority)
{
    for (size_t i = 0; i < LENGTH(VERDICTS); i++) {
        struct tally tally = tally_of(VERDICTS[i].votes);
        bool is_last = VERDICTS[i].is_last;
        unsigned member;
        enum verdict acquire = tally_acquire(&tally, is_last, &member);
        enum verdict renew = tally_renew(&tally, is_last);
        enum verdict release = tally_release(&tally, is_last);
        if (acquire != VERDICTS[i].acquire || renew != VERDICTS[i].renew ||
            release != VERDICTS[i].release)
            fail_msg("%s%s: %d %d %d", VERDICTS[i].votes, is_last ? " at last" : "", acquire, renew,
                     release);
    }
}

TEST(the_gravest_reason_is_reported)
{
    unsigned member;
    struct tally tally = tally_of("+lrlu");
    assert_int_equal(tally_acquire(&tally, true, &member), VERDICT_LOST);
    assert_int_equal(member, 2);
    tally = tally_of("+alla");
    assert_int_equal(tally_acquire(&tally, true, &member), VERDICT_LOST);
    assert_int_equal(member, 2);
}

TEST(validity_is_what_a_majority_has_left)
{
    struct tally tally = tally_of("+++++");
    for (unsigned i = 0; i < 5; i++)
        tally.votes[i].ttl_ms = 10000;
    assert_int_equal(tally_validity(&tally, 0), 10000 - 102);
    assert_int_equal(tally_validity(&tally, 500), 10000 - 500 - 102);
    tally.votes[0].ttl_ms = tally.votes[1].ttl_ms = 1000; /* three are still there */
    assert_int_equal(tally_validity(&tally, 0), 10000 - 102);
    tally.votes[2].ttl_ms = 4000;
    assert_int_equal(tally_validity(&tally, 0), 4000 - 42);
    tally.votes[3].kind = VOTE_DOUBT;
    assert_int_equal(tally_validity(&tally, 0), 1000 - 12);
    tally.votes[4].kind = VOTE_AWAY;
    assert_int_equal(tally_validity(&tally, 0), 1000 - 12);
    tally.votes[0].kind = VOTE_LOCKED;
    assert_true(tally_validity(&tally, 0) <= 0);
    tally = tally_of("+++");
    for (unsigned i = 0; i < 3; i++)
        tally.votes[i].ttl_ms = 100;
    assert_true(tally_validity(&tally, 97) <= 0);
}

static void set_fences(struct tally *tally, const int64_t *fences, const int64_t *versions)
{
    for (unsigned i = 0; i < tally->members; i++) {
        tally->votes[i].fence = fences[i];
        tally->votes[i].version = versions[i];
    }
}

TEST(a_fence_is_agreed_on_by_a_majority_of_holds)
{
    int64_t fence = 7;
    struct tally tally = tally_of("hhhll");
    set_fences(&tally, (int64_t[]){50, 50, 40, 50, 50}, (int64_t[]){50, 50, 40, 50, 50});
    assert_false(tally_agrees(&tally, &fence));
    assert_int_equal(fence, 7);
    tally.votes[2].fence = 50;
    assert_true(tally_agrees(&tally, &fence));
    assert_int_equal(fence, 50);
}

TEST(a_fence_is_proposed_above_all_that_is_known)
{
    struct tally tally = tally_of("+++ad");
    set_fences(&tally, (int64_t[]){10, 30, 20, 0, 0}, (int64_t[]){10, 30, 20, 0, 0});
    assert_int_equal(tally_proposal(&tally, 31), 30 + TALLY_AHEAD);
    assert_int_equal(tally_proposal(&tally, 30), 30 + TALLY_NEAR);
    tally = tally_of("+++l.");
    set_fences(&tally, (int64_t[]){10, 30, 20, 0, 0}, (int64_t[]){10, 30, 20, 90, 0});
    assert_int_equal(tally_proposal(&tally, 1000), 90 + TALLY_AHEAD); /* somebody else's */
    tally = tally_of("hh+..");
    set_fences(&tally, (int64_t[]){40, 40, 20, 0, 0}, (int64_t[]){45, 60, 20, 0, 0});
    assert_int_equal(tally_proposal(&tally, 1000),
                     60 + TALLY_AHEAD); /* others were granted since */
}

/* Others that got it by a majority of equal numbers have told that one. */
TEST(a_fence_that_another_request_may_have_reported_is_found)
{
    struct tally tally = tally_of("hhh++");
    set_fences(&tally, (int64_t[]){50, 50, 50, 60, 60}, (int64_t[]){0, 0, 0, 0, 0});
    assert_int_equal(tally_found_fence(&tally), 50);
    tally.votes[2].fence = 51;
    assert_int_equal(tally_found_fence(&tally), 0);
    tally.votes[3].kind = VOTE_AWAY;
    assert_int_equal(tally_found_fence(&tally), 50);
}

/* A thousand times a second somebody makes members agree for a minute. */
TEST(numbers_do_not_run_away_from_the_clocks)
{
    enum { MINUTE_US = 60 * 1000 * 1000, BETWEEN_US = 1000 };
    int64_t number = 0;
    for (int64_t now = 0; now < MINUTE_US; now += BETWEEN_US) {
        struct tally tally = tally_of("+++..");
        set_fences(&tally, (int64_t[]){now, 0, 0, 0, 0}, (int64_t[]){number, 0, 0, 0, 0});
        int64_t next = tally_proposal(&tally, now);
        assert_true(next > number && next > now);
        assert_true(next <= now + TALLY_AHEAD);
        number = next;
    }
}

TEST(a_version_is_known_when_a_majority_has_reported_it)
{
    struct tally tally = tally_of("hhl..");
    set_fences(&tally, (int64_t[]){0, 0, 0, 0, 0}, (int64_t[]){50, 40, 60, 0, 0});
    assert_int_equal(tally_version(&tally), 60);
    assert_false(tally_knows(&tally, 60));
    assert_true(tally_knows(&tally, 40));
    tally.votes[3].version = tally.votes[4].version = 70;
    assert_int_equal(tally_version(&tally), 70);
    assert_true(tally_knows(&tally, 60));
    assert_false(tally_knows(&tally, 61));
    assert_int_equal(tally_version_of_holds(&tally), 0);
    tally.votes[2].kind = tally.votes[3].kind = VOTE_GRANTED;
    assert_int_equal(tally_version_of_holds(&tally), 50);
}

/* What each member that refuses names as in the way: a letter each; '*' has more holds. */
static void name_holders(struct tally *tally, const char *const *holders)
{
    for (unsigned i = 0; i < tally->members; i++) {
        struct vote *vote = &tally->votes[i];
        vote->holder_count = 0;
        vote->has_more_holds = false;
        for (const char *holder = holders[i]; *holder; holder++) {
            if (*holder == '*')
                vote->has_more_holds = true;
            else
                vote->holders[vote->holder_count++] = (unsigned char)*holder;
        }
    }
}

static const struct {
    const char *votes;
    const char *holders[5];
    bool is_split;
} SPLITS[] = {
    {"+lll+", {"", "a", "a", "a", ""}, false},
    {"+lll+", {"", "a", "a", "b", ""}, true},
    {"dlll+", {"", "a", "a", "b", ""}, false}, /* it may be with the two */
    {"+++++", {"", "", "", "", ""}, false},
    /* several that go together: one that a majority has is enough, whichever ends first */
    {"lllll", {"abc", "bac", "cab", "cba", "acb"}, false},
    {"lllll", {"ab", "ac", "ad", "bc", "bd"}, false},
    {"lllll", {"ab", "ab", "cd", "cd", "e"}, true},
    {"lllll", {"a", "b", "c", "d", "e"}, true},
    {"lllll", {"a*", "b*", "c*", "d*", "e*"}, false},
};

TEST(a_split_vote_is_one_that_nobody_can_have_won)
{
    for (size_t i = 0; i < LENGTH(SPLITS); i++) {
        struct tally tally = tally_of(SPLITS[i].votes);
        name_holders(&tally, SPLITS[i].holders);
        if (tally_is_split(&tally) != SPLITS[i].is_split)
            fail_msg("%zu: %s", i, SPLITS[i].votes);
    }
}

TEST(refused_request_comes_again_when_enough_have_ended)
{
    struct tally tally = tally_of("+llll");
    int64_t ends[] = {-1, 400, 100, 300, 200};
    for (unsigned i = 0; i < 5; i++)
        tally.votes[i].ends_ms = ends[i];
    assert_int_equal(tally_missing(&tally), 2);
    assert_int_equal(tally_free_in(&tally), 200);
    tally.votes[0].kind = VOTE_AWAY;
    assert_int_equal(tally_missing(&tally), 3);
    assert_int_equal(tally_free_in(&tally), 300);
    tally = tally_of("aall+");
    tally.votes[2].ends_ms = 5;
    assert_int_equal(tally_free_in(&tally), -1);
}
