/* What a member of a quorum makes of a number that others have given or agreed on. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

static int64_t fence_of(struct scripts *scripts)
{
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, 1);
    return seen.shown_holds[0].fence;
}

/* Its answer reports the fence that the hold has then. */
static void raises(struct scripts *scripts, int64_t number, int64_t known, const char *step,
                   const char *status, int64_t fence)
{
    struct answer answer = raise_to(scripts, "n", "a", number, known, step);
    assert_status(answer, status);
    assert_int_equal(answer.fence, fence);
    assert_int_equal(fence_of(scripts), fence);
}

TEST_WITH_CLOCK(a_fence_grows_to_what_others_have_given)
{
    int64_t given = acquire(scripts, .token = "a").fence, more = given + 5000;
    raises(scripts, given - 1, given, NULL, "higher", given);
    raises(scripts, more, given, NULL, "raised", more);
    raises(scripts, more, given, NULL, "raised", more); /* sent twice */
    assert_status(raise_to(scripts, "n", "b", more + 1, 0, NULL), "gone");
    assert_int_equal(inspect(scripts, "n", "").version, more);
}

TEST_WITH_CLOCK(first_proposal_for_a_hold_stays)
{
    int64_t given = acquire(scripts, .token = "a").fence, more = given + 5000;
    acquire(scripts, .token = "a"); /* another request finds the hold */
    raises(scripts, more, given, NULL, "raised", more);
    raises(scripts, more + 7, given, NULL, "other", more);
    raises(scripts, more + 7, more, NULL, "other", more); /* nor does its own request change it */
    raises(scripts, more + 9, more, "again", "raised", more + 9);
    raises(scripts, more + 8, more, "again", "other", more + 9);
}

TEST_WITH_CLOCK(number_as_great_for_another_hold_is_no_proposal_for_this_one)
{
    acquire(scripts, .token = "b", .mode = "shared");
    int64_t given = acquire(scripts, .token = "a", .mode = "shared").fence, number = given + 100;
    acquire(scripts, .token = "c", .mode = "shared");
    assert_status(raise_to(scripts, "n", "b", number, 0, NULL), "raised");
    assert_status(raise_to(scripts, "n", "a", number, given, NULL), "higher");
    assert_int_equal(raise_to(scripts, "n", "a", number, given, "again").fence, given);
    assert_int_equal(raise_to(scripts, "n", "a", number + 1, 0, NULL).fence, number + 1);
    assert_status(raise_to(scripts, "n", "a", number, number + 1, "agreed"), "raised");
}

/* The members that granted it by this number are a majority: so it is the fence already. */
TEST_WITH_CLOCK(fence_as_granted_may_be_proposed)
{
    int64_t given = acquire(scripts, .token = "a", .mode = "shared").fence;
    acquire(scripts, .token = "b", .mode = "shared");
    raise_to(scripts, "n", "a", given, given, NULL);
    assert_status(raise_to(scripts, "n", "a", given + 5000, given, NULL), "other");
}

TEST_WITH_CLOCK(fence_of_a_renewed_hold_stays)
{
    int64_t given = acquire(scripts, .token = "a").fence;
    renew(scripts, "n", "a", 60000);
    raises(scripts, given + 5000, given, NULL, "other", given);
}

/* It ends when all requests that know of it have given it back, as without a proposal. */
TEST_WITH_CLOCK(proposal_keeps_no_hold_alive)
{
    int64_t fence = acquire(scripts, .token = "a", .attempt = "one").fence + 5000;
    acquire(scripts, .token = "a", .attempt = "two");
    raises(scripts, fence, 0, NULL, "raised", fence);
    leave(scripts, .token = "a", .attempt = "one", .why = "gone");
    raises(scripts, fence + 1, 0, NULL, "other", fence);
    leave(scripts, .token = "a", .attempt = "two", .why = "gone");
    assert_int_equal(inspect(scripts, "n", "").holds, 0);
}

TEST_WITH_CLOCK(a_version_grows_without_a_hold)
{
    int64_t version = inspect(scripts, "n", "").version;
    assert_int_equal(raise_to(scripts, "n", "", version + 7, 0, NULL).version, version + 7);
    assert_int_equal(raise_to(scripts, "n", "", version, 0, NULL).version, version + 7);
    assert_int_equal(inspect(scripts, "n", "").version, version + 7);
}

/* A clock that is ahead has given a greater number than the one that the others have agreed on. */
TEST_WITH_CLOCK(a_fence_that_was_agreed_on_is_taken_by_who_gave_a_greater_one)
{
    int64_t given = acquire(scripts, .token = "a").fence;
    raises(scripts, given - 1000, 0, "agreed", "other", given);
    raises(scripts, given - 1000, given, "agreed", "raised", given - 1000);
    assert_int_equal(inspect(scripts, "n", "").version, given);
    raises(scripts, given - 1, 0, "agreed", "raised",
           given - 1); /* as all, where two were proposed */
}

/* It was sent for a hold that has ended meanwhile, and its token has got another one. */
TEST_WITH_CLOCK(a_fence_that_comes_late_lowers_no_later_one)
{
    struct answer first = acquire(scripts, .token = "a");
    break_all(scripts, "n");
    int64_t second = acquire(scripts, .token = "a").fence, reported = second + 5000;
    raises(scripts, reported, second, NULL, "raised", reported);
    raises(scripts, first.fence + 1, first.fence, "agreed", "other", reported);
}

RUN_SCRIPT_TESTS
