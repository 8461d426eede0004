/* What a member of a quorum makes of a number that others have given or agreed on. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

static int64_t fence_of(struct scripts *scripts)
{
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, 1);
    return seen.shown_holds[0].fence;
}

/* Its answer tells the fence that the hold has then. */
static void raises(struct scripts *scripts, int64_t number, int64_t given, const char *others,
                   const char *status, int64_t fence)
{
    struct answer answer = raise_to(scripts, "n", "a", number, given, others);
    assert_status(answer, status);
    assert_int_equal(answer.fence, fence);
    assert_int_equal(fence_of(scripts), fence);
}

TEST_WITH_CLOCK(a_fence_grows_to_what_others_have_given)
{
    struct scripts *scripts = *state;
    int64_t given = acquire(scripts, .token = "a").fence, more = given + 5000;
    raises(scripts, given - 1, given, NULL, "higher", given);
    raises(scripts, more, given, NULL, "raised", more);
    raises(scripts, more, given, NULL, "raised", more); /* sent twice */
    assert_status(raise_to(scripts, "n", "b", more + 1, 0, NULL), "gone");
    assert_int_equal(inspect(scripts, "n", "").version, more + 1);
}

TEST_WITH_CLOCK(of_two_requests_with_a_token_the_first_raises_the_fence)
{
    struct scripts *scripts = *state;
    int64_t given = acquire(scripts, .token = "a").fence, more = given + 5000;
    raises(scripts, more, 0, NULL, "raised", more); /* this request has found the hold */
    raises(scripts, more + 7, given, NULL, "other", more);
    raises(scripts, more + 7, 0, NULL, "other", more);
    raises(scripts, more + 9, more, NULL, "raised", more + 9); /* the first one goes on */
}

TEST_WITH_CLOCK(number_for_something_else_leaves_the_request_that_granted_its_fence)
{
    struct scripts *scripts = *state;
    int64_t given = acquire(scripts, .token = "a").fence, other = given + 5000;
    assert_status(raise_to(scripts, "n", "", other, 0, NULL), "raised");
    raises(scripts, other, given, NULL, "higher", given);
    raises(scripts, other + 1, 0, NULL, "other", given); /* nobody can tell */
    raises(scripts, other + 1, given, NULL, "raised", other + 1);
}

/* Two tokens may propose one number, and each have it at some members. */
TEST_WITH_CLOCK(number_that_a_minority_has_goes_to_one_hold_only)
{
    struct scripts *scripts = *state;
    acquire(scripts, .token = "b", .mode = "shared");
    int64_t given = acquire(scripts, .token = "a", .mode = "shared").fence, number = given + 100;
    assert_status(raise_to(scripts, "n", "b", number, 0, "some"), "raised");
    assert_status(raise_to(scripts, "n", "a", number, given, "some"), "higher");
    assert_int_equal(raise_to(scripts, "n", "a", number, 0, "some").fence, given);
    assert_status(raise_to(scripts, "n", "a", number, 0, "all"), "raised"); /* b never gets it */
}

TEST_WITH_CLOCK(a_version_grows_without_a_hold)
{
    struct scripts *scripts = *state;
    int64_t version = inspect(scripts, "n", "").version;
    assert_int_equal(raise_to(scripts, "n", "", version + 7, 0, NULL).version, version + 7);
    assert_int_equal(raise_to(scripts, "n", "", version, 0, NULL).version, version + 7);
    assert_int_equal(inspect(scripts, "n", "").version, version + 7);
}

/* A clock that is ahead has given a greater number than the one that the others have agreed on. */
TEST_WITH_CLOCK(a_fence_that_was_agreed_on_is_taken_by_who_gave_a_greater_one)
{
    struct scripts *scripts = *state;
    int64_t given = acquire(scripts, .token = "a").fence;
    raises(scripts, given - 1000, 0, "all", "other", given);
    raises(scripts, given - 1000, given, "all", "raised", given - 1000);
    assert_int_equal(inspect(scripts, "n", "").version, given);
    raises(scripts, given - 1, 0, "all", "raised", given - 1); /* as all, where two were proposed */
}

/* It was sent for a hold that has ended meanwhile, and its token has got another one. */
TEST_WITH_CLOCK(a_fence_that_comes_late_lowers_no_later_one)
{
    struct scripts *scripts = *state;
    struct answer first = acquire(scripts, .token = "a");
    break_all(scripts, "n");
    int64_t second = acquire(scripts, .token = "a").fence, told = second + 5000;
    raises(scripts, told, second, NULL, "raised", told);
    raises(scripts, first.fence + 1, first.fence, "all", "other", told);
}

RUN_TESTS(scripts_start, scripts_stop)
