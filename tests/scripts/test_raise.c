/* What a member of a quorum makes of a number that others have given or agreed on. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

static int64_t fence_of(struct scripts *scripts)
{
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, 1);
    return seen.shown_holds[0].fence;
}

TEST_WITH_CLOCK(a_fence_grows_to_what_others_have_given)
{
    struct scripts *scripts = *state;
    struct answer granted = acquire(scripts, .token = "a");
    int64_t more = granted.fence + 5000;
    struct answer raised = raise_to(scripts, "n", "a", more, 0);
    assert_status(raised, "raised");
    assert_int_equal(raised.version, more);
    assert_int_equal(fence_of(scripts), more);
    assert_status(raise_to(scripts, "n", "a", more, 0), "raised"); /* sent twice */
    assert_status(raise_to(scripts, "n", "a", more - 1, 0), "higher");
    assert_int_equal(fence_of(scripts), more);
    assert_status(raise_to(scripts, "n", "b", more + 1, 0), "gone");
    assert_int_equal(inspect(scripts, "n", "").version, more);
}

TEST_WITH_CLOCK(a_version_grows_without_a_hold)
{
    struct scripts *scripts = *state;
    int64_t version = inspect(scripts, "n", "").version;
    assert_int_equal(raise_to(scripts, "n", "", version + 7, 0).version, version + 7);
    assert_int_equal(raise_to(scripts, "n", "", version, 0).version, version + 7);
    assert_int_equal(inspect(scripts, "n", "").version, version + 7);
}

/* A clock that is ahead has given a greater number than the one that the others have agreed on. */
TEST_WITH_CLOCK(a_fence_that_was_agreed_on_is_taken_by_who_gave_a_greater_one)
{
    struct scripts *scripts = *state;
    struct answer granted = acquire(scripts, .token = "a");
    int64_t agreed = granted.fence - 1000;
    assert_status(raise_to(scripts, "n", "a", agreed, 0), "higher");
    assert_int_equal(fence_of(scripts), granted.fence);
    struct answer raised = raise_to(scripts, "n", "a", agreed, granted.fence);
    assert_status(raised, "raised");
    assert_int_equal(raised.version, granted.fence);
    assert_int_equal(fence_of(scripts), agreed);
}

/* It was sent for a hold that has ended meanwhile, and its token has got another one. */
TEST_WITH_CLOCK(a_fence_that_comes_late_lowers_no_later_one)
{
    struct scripts *scripts = *state;
    struct answer first = acquire(scripts, .token = "a");
    break_all(scripts, "n");
    struct answer second = acquire(scripts, .token = "a");
    int64_t told = second.fence + 5000;
    raise_to(scripts, "n", "a", told, 0);
    assert_status(raise_to(scripts, "n", "a", first.fence + 1, first.fence), "higher");
    assert_int_equal(fence_of(scripts), told);
    assert_int_equal(inspect(scripts, "n", "").version, told);
}

RUN_TESTS(scripts_start, scripts_stop)
