/* The checker itself: hand-made histories, good ones that it must not complain about and bad ones
 * where it must. */
#include "tests/history/doctored.h"

TEST(empty_history_is_good)
{
    assert_good(NULL, 0);
}

TEST(one_after_the_other_is_good)
{
    assert_good(HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20), GRANT(30, 2, 30),
                        SEEN(40, 30, .count = 1, .shown_count = 1, .shown = {BY(30, 2, false)}),
                        GRANT(140, 3, 140), RENEWED(200, 3, 140, 100), BROKEN(250, 250, 1),
                        GRANT(260, 4, 260)));
}

TEST(two_exclusive_holds_at_once_are_found)
{
    assert_breaks(COMPATIBLE, HISTORY(GRANT(0, 1, 10), GRANT(30, 2, 30)));
    assert_breaks(COMPATIBLE, HISTORY(GRANT(0, 1, 10), RENEWED(90, 1, 10, 100), GRANT(150, 2, 30)));
    assert_breaks(COMPATIBLE, HISTORY(GRANT(0, 1, 10), SHARED(30, 2, 30, 0)));
    /* The second lived too shortly for a certain time of its own. */
    assert_breaks(COMPATIBLE,
                  HISTORY(GRANT(0, 1, 10), GRANT(10, 2, 30, .ttl_ms = 1, .left_ms = 1)));
}

TEST(two_holds_of_a_picture_that_do_not_go_together_are_found)
{
    assert_breaks(COMPATIBLE, HISTORY(LOST(0, 2), LOST(0, 3),
                                      SEEN(10, 30, .count = 2, .shown_count = 2,
                                           .shown = {BY(20, 2, false), BY(30, 3, true)})));
}

TEST(one_owner_and_readers_go_together)
{
    assert_good(HISTORY(GRANT(0, 1, 10),
                        GRANT(20, 2, 20, .hold_owner = 1, .reentrant = true, .holds = 2),
                        SHARED(200, 3, 200, 0), SHARED(210, 4, 210, 0)));
}

TEST(second_hold_of_an_owner_without_reentry_is_found)
{
    assert_breaks(COMPATIBLE, HISTORY(GRANT(0, 1, 10, .reentrant = true),
                                      GRANT(20, 2, 20, .hold_owner = 1, .holds = 2)));
    assert_breaks(COMPATIBLE,
                  HISTORY(GRANT(0, 1, 10), GRANT(20, 2, 20, .hold_owner = 1, .holds = 2),
                          SEEN(30, 20, .count = 2, .shown_count = 2,
                               .shown = {BY(20, 1, false), BY(10, 1, false)})));
}

/* A hold is certain only until its TTL may have ended, counted from when it was asked for, or until
 * somebody may have ended it. */
TEST(holds_that_need_not_have_met_are_good)
{
    /* It took 60 ms to be told of the grant, which was perhaps 59 ms old then. */
    assert_good(HISTORY(GRANT(0, 1, 10, .received = MS(60)), GRANT(99, 2, 99)));
    /* A release, a break without a reply: perhaps it was done at once. */
    assert_good(
        HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20, .received = MS(80)), GRANT(30, 2, 30)));
    assert_good(HISTORY(GRANT(0, 1, 10),
                        EVENT(20, .operation = RELEASE, .outcome = UNKNOWN, .token = 1),
                        GRANT(30, 2, 30)));
    assert_good(HISTORY(GRANT(0, 1, 10),
                        EVENT(20, .operation = BREAK, .outcome = UNKNOWN, .token = EVERYBODY),
                        GRANT(30, 2, 30)));
    /* A renewal may shorten. */
    assert_good(HISTORY(GRANT(0, 1, 10), RENEWED(10, 1, 10, 10), GRANT(25, 2, 25)));
    assert_good(HISTORY(GRANT(0, 1, 10),
                        EVENT(10, .operation = RENEW, .outcome = UNKNOWN, .token = 1, .ttl_ms = 10),
                        GRANT(25, 2, 25)));
    /* A shorter TTL may have been set before or after a longer one that was under way with it. */
    assert_good(
        HISTORY(GRANT(0, 1, 10), RENEWED(10, 1, 10, 10), RENEWED(11, 1, 10, 90), GRANT(30, 2, 30)));
}

TEST(a_renewal_prolongs_what_is_certain)
{
    assert_breaks(COMPATIBLE, HISTORY(GRANT(0, 1, 10), RENEWED(10, 1, 10, 10),
                                      RENEWED(13, 1, 10, 90), GRANT(30, 2, 30)));
    /* That it lived at 90 proves that it lived at 30, whatever the TTL. */
    assert_breaks(COMPATIBLE,
                  HISTORY(GRANT(0, 1, 10), RENEWED(10, 1, 10, 10), RENEWED(11, 1, 10, 90),
                          GRANT(30, 2, 30), AGAIN(90, 1, 10, 10, .version = 0)));
}

TEST(grant_before_at_least_is_over_is_found)
{
    assert_breaks(STAYS_TAKEN, HISTORY(GRANT(0, 1, 10, .at_least_ms = 80), RELEASED(20, 1, 10, 20),
                                       GRANT(30, 2, 30)));
    assert_breaks(STAYS_TAKEN, HISTORY(GRANT(0, 1, 10, .at_least_ms = 80), RELEASED(20, 1, 10, 20),
                                       GRANT(30, 2, 30, .hold_owner = 1, .reentrant = true)));
    assert_good(HISTORY(
        GRANT(0, 1, 10, .at_least_ms = 80), RELEASED(20, 1, 10, 20),
        SEEN(30, 20, .count = 1, .shown_count = 1, .shown = {{10, 1, false, .released = true}}),
        GRANT(81, 2, 81)));
    assert_good(HISTORY(GRANT(0, 1, 10, .at_least_ms = 80), RELEASED(20, 1, 10, 20),
                        BROKEN(25, 25, 1), GRANT(30, 2, 30)));
    assert_breaks(SHOWN_LIVES, HISTORY(GRANT(0, 1, 10, .at_least_ms = 80), RELEASED(20, 1, 10, 20),
                                       SEEN(90, 90, .count = 1, .shown_count = 1,
                                            .shown = {{10, 1, false, .released = true}})));
    assert_breaks(SHOWN_LIVES, HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20),
                                       SEEN(30, 20, .count = 1, .shown_count = 1,
                                            .shown = {{10, 1, false, .released = true}})));
}

TEST(more_than_the_limit_is_found)
{
    assert_good(HISTORY(SHARED(0, 1, 10, 2), SHARED(10, 2, 20, 2), RELEASED(20, 1, 10, 30),
                        SHARED(30, 3, 40, 2)));
    assert_breaks(WITHIN_LIMIT,
                  HISTORY(SHARED(0, 1, 10, 2), SHARED(10, 2, 20, 2), SHARED(20, 3, 30, 2)));
    assert_breaks(WITHIN_LIMIT, HISTORY(LOST(0, 2), SHARED(0, 3, 30, 1),
                                        SEEN(10, 30, .count = 2, .shown_count = 2,
                                             .shown = {BY(20, 2, true), BY(30, 3, true)})));
}

TEST(permits_beyond_the_limit_are_found)
{
#define MANY(at, who, number, most, many)                                                          \
    GRANT(at, who, number, .shared = true, .hold_shared = true, .limit = (most),                   \
          .hold_limit = (most), .permits = (many), .hold_permits = (many))
    assert_good(HISTORY(MANY(0, 1, 10, 5, 3), MANY(10, 2, 20, 5, 2)));
    assert_breaks(WITHIN_LIMIT, HISTORY(MANY(0, 1, 10, 5, 3), MANY(10, 2, 20, 5, 3)));
    assert_breaks(FENCES_DIFFER,
                  HISTORY(MANY(0, 1, 10, 5, 3), RENEWED(10, 1, 10, 100, .hold_shared = true,
                                                        .hold_limit = 5, .hold_permits = 2)));
}

/* Each goes by its own limit, at its grant. */
TEST(different_limits_at_once_are_good)
{
    assert_good(HISTORY(SHARED(0, 1, 10, 2), SHARED(10, 2, 20, 3), SHARED(20, 3, 30, 3)));
    assert_good(HISTORY(SHARED(0, 1, 10, 2), SHARED(10, 2, 20, 0), SHARED(20, 3, 30, 0),
                        SEEN(30, 30, .count = 3, .hold_limit = 2, .shown_count = 3,
                             .shown = {BY(10, 1, true), BY(20, 2, true), BY(30, 3, true)})));
    assert_breaks(WITHIN_LIMIT,
                  HISTORY(SHARED(0, 1, 10, 3), SHARED(10, 2, 20, 3), SHARED(20, 3, 30, 2)));
}

TEST(fences_that_do_not_grow_are_found)
{
    assert_breaks(FENCES_GROW, HISTORY(GRANT(0, 1, 10, .version = 5), GRANT(200, 2, 9)));
    /* Under way at the same time, both orders are possible. */
    assert_good(HISTORY(SHARED(0, 1, 20, 0), SHARED(1, 2, 10, 0)));
}

TEST(a_fence_of_two_holds_is_found)
{
    assert_breaks(FENCES_DIFFER, HISTORY(GRANT(0, 1, 10), GRANT(1, 1, 10)));
    assert_breaks(FENCES_DIFFER, HISTORY(GRANT(0, 1, 10), AGAIN(10, 1, 10, 80, .hold_owner = 2)));
    assert_breaks(FENCES_DIFFER, HISTORY(LOST(0, 2), LOST(0, 3),
                                         SEEN(10, 30, .count = 2, .shown_count = 2,
                                              .shown = {BY(30, 2, true), BY(30, 3, true)})));
}

TEST(a_version_that_goes_back_is_found)
{
    assert_breaks(VERSIONS_GROW, HISTORY(SEEN(0, 10), SEEN(10, 9)));
    assert_good(HISTORY(SEEN(0, 10), SEEN(1, 9)));
    assert_good(HISTORY(SEEN(0, 10), SEEN(10, 9, .name = 1)));
}

TEST(a_change_without_a_new_version_is_found)
{
    assert_breaks(CHANGES_SHOW, HISTORY(SEEN(0, 10), GRANT(10, 1, 10)));
    assert_breaks(CHANGES_SHOW, HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 10), SEEN(30, 10)));
    assert_breaks(CHANGES_SHOW, HISTORY(GRANT(0, 1, 10), SEEN(150, 10)));
    assert_breaks(CHANGES_SHOW, HISTORY(SEEN(0, 10), BROKEN(10, 10, 1)));
    assert_good(HISTORY(SEEN(0, 10), BROKEN(10, 10, 0), SEEN(20, 10)));
}

#define SAME(at, number)                                                                           \
    EVENT(at, .operation = INSPECT, .token = NOBODY, .outcome = UNCHANGED, .version = (number))

TEST(an_untrue_304_is_found)
{
    assert_good(HISTORY(SEEN(0, 10), SAME(5, 10), GRANT(10, 1, 20), SAME(20, 20)));
    assert_good(HISTORY(SEEN(0, 10), GRANT(10, 1, 20), SAME(11, 10)));
    assert_breaks(UNCHANGED_IS_TRUE, HISTORY(SEEN(0, 10), GRANT(10, 1, 20), SAME(20, 10)));
    assert_breaks(UNCHANGED_IS_TRUE, HISTORY(GRANT(10, 1, 20), SAME(150, 20)));
}

TEST(a_renewal_after_the_end_is_found)
{
    assert_good(HISTORY(GRANT(0, 1, 10), RENEWED(101, 1, 10, 50)));
    assert_breaks(NO_REVIVAL, HISTORY(GRANT(0, 1, 10), RENEWED(120, 1, 10, 50)));
    assert_breaks(NO_REVIVAL, HISTORY(GRANT(0, 1, 10), AGAIN(120, 1, 10, 0)));
    assert_breaks(NO_REVIVAL,
                  HISTORY(GRANT(0, 1, 10), RENEWED(120, 1, 10, 50), RENEWED(121, 1, 10, 50)));
    assert_breaks(NO_REVIVAL, HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20),
                                      RENEWED(30, 1, 10, 50, .version = 20)));
    assert_breaks(NO_REVIVAL, HISTORY(GRANT(0, 1, 10), BROKEN(20, 20, 1),
                                      RENEWED(30, 1, 10, 50, .version = 20)));
}

TEST(a_release_after_the_end_is_found)
{
    assert_breaks(NO_REVIVAL, HISTORY(GRANT(0, 1, 10), RELEASED(120, 1, 10, 120)));
    assert_breaks(NO_REVIVAL, HISTORY(GRANT(0, 1, 10), BROKEN(20, 20, 1), RELEASED(30, 1, 10, 30)));
    assert_good(HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20), RELEASED(500, 1, 10, 20)));
}

TEST(a_hold_that_is_gone_too_early_is_found)
{
    assert_breaks(NO_LOSS, HISTORY(GRANT(0, 1, 10), REFUSED(50, RENEW, NOT_HELD, 1)));
    assert_breaks(NO_LOSS, HISTORY(GRANT(0, 1, 10), REFUSED(50, RELEASE, NOT_HELD, 1)));
    assert_breaks(NO_LOSS, HISTORY(GRANT(0, 1, 10), REFUSED(50, ACQUIRE, UPGRADE_CONFLICT, 1)));
    assert_breaks(NO_LOSS, HISTORY(GRANT(0, 1, 10), REFUSED(20, RELEASE, NOT_HELD, 2),
                                   REFUSED(50, RENEW, NOT_HELD, 1)));
    assert_breaks(NO_LOSS,
                  HISTORY(GRANT(0, 1, 10), EVENT(50, .operation = INSPECT, .token = 1,
                                                 .version = 10, .not_mine = true, .count = 1,
                                                 .shown_count = 1, .shown = {BY(10, 1, false)})));
    assert_good(HISTORY(GRANT(0, 1, 10), REFUSED(97, RENEW, NOT_HELD, 1)));
    assert_good(HISTORY(GRANT(0, 1, 10), RELEASED(50, 1, 10, 50), REFUSED(51, RENEW, NOT_HELD, 1)));
    assert_good(HISTORY(GRANT(0, 1, 10), BROKEN(50, 50, 1), REFUSED(51, RENEW, NOT_HELD, 1)));
}

TEST(a_repeat_with_a_hold_of_its_own_is_found)
{
    assert_good(HISTORY(GRANT(0, 1, 10), AGAIN(20, 1, 10, 80)));
    assert_breaks(NO_SECOND_HOLD, HISTORY(GRANT(0, 1, 10), GRANT(20, 1, 30, .reentrant = true)));
    assert_good(HISTORY(GRANT(0, 1, 10), GRANT(120, 1, 130)));
}

TEST(token_taken_for_another_use_is_found)
{
#define IN_USE(at, who, ...)                                                                       \
    EVENT(at, .operation = ACQUIRE, .outcome = TOKEN_IN_USE, .token = (who), __VA_ARGS__)
    assert_good(HISTORY(GRANT(0, 1, 10), IN_USE(20, 1, .owner = 2),
                        IN_USE(30, 1, .owner = 1, .shared = true)));
    assert_breaks(ONE_USE, HISTORY(GRANT(0, 1, 10), IN_USE(20, 1, .owner = 1)));
    assert_breaks(ONE_USE, HISTORY(GRANT(0, 1, 10), AGAIN(20, 1, 10, 80, .owner = 2)));
}

TEST(a_release_of_anothers_hold_is_found)
{
    struct findings findings;
    history_check(HISTORY(GRANT(0, 1, 10), RELEASED(20, 2, 10, 20)), &findings);
    assert_true(findings.count[OWN_RELEASE] > 0);
}

TEST(a_repeated_release_that_differs_is_found)
{
    assert_good(HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20), RELEASED(30, 1, 10, 20)));
    assert_breaks(SAME_RELEASE, HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20),
                                        RELEASED(30, 1, 10, 20, .held_ms = 30)));
    assert_breaks(SAME_RELEASE, HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20),
                                        REFUSED(30, RELEASE, NOT_HELD, 1)));
    assert_good(
        HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20), REFUSED(40000, RELEASE, NOT_HELD, 1)));
}

TEST(a_released_token_that_locks_again_is_found)
{
    assert_good(
        HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20), REFUSED(30, ACQUIRE, NOT_HELD, 1)));
    assert_breaks(STAYS_RELEASED,
                  HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20), GRANT(30, 1, 30)));
    assert_good(HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20), GRANT(40000, 1, 30)));
}

TEST(a_wrong_number_of_holds_is_found)
{
#define HELD(at, who, number, count)                                                               \
    GRANT(at, who, number, .hold_owner = 7, .reentrant = true, .holds = (count))
    assert_good(
        HISTORY(HELD(0, 1, 10, 1), HELD(10, 2, 20, 2), HELD(95, 3, 105, 3), HELD(198, 4, 198, 2)));
    assert_breaks(HOLDS_COUNTED, HISTORY(HELD(0, 1, 10, 2)));
    assert_breaks(HOLDS_COUNTED, HISTORY(HELD(0, 1, 10, 1), HELD(10, 2, 20, 3)));
    assert_breaks(HOLDS_COUNTED, HISTORY(HELD(0, 1, 10, 1), HELD(10, 2, 20, 1)));
    assert_breaks(HOLDS_COUNTED, HISTORY(GRANT(0, 1, 10), AGAIN(10, 1, 10, 90, .holds = 2)));
    assert_breaks(HOLDS_COUNTED, HISTORY(GRANT(0, 1, 10), RELEASED(10, 1, 10, 20, .holds = 1)));
    /* A request without a reply may have given it another. */
    assert_good(HISTORY(EVENT(0, .operation = ACQUIRE, .outcome = UNKNOWN, .token = 9, .owner = 7),
                        HELD(10, 2, 20, 2)));
}

TEST(another_ttl_than_asked_for_is_found)
{
    assert_breaks(TTL_AS_ASKED, HISTORY(GRANT(0, 1, 10, .left_ms = 99)));
    assert_breaks(TTL_AS_ASKED, HISTORY(GRANT(0, 1, 10), RENEWED(50, 1, 10, 100, .left_ms = 150)));
    assert_breaks(TTL_AS_ASKED, HISTORY(GRANT(0, 1, 10), AGAIN(50, 1, 10, 100)));
    /* A renewal under way at the same time may be in time for it or not. */
    assert_good(
        HISTORY(GRANT(0, 1, 10), RENEWED(40, 1, 10, 10, .received = MS(60)), AGAIN(45, 1, 10, 54)));
    assert_good(HISTORY(GRANT(0, 1, 10), RENEWED(40, 1, 10, 200, .received = MS(60)),
                        AGAIN(45, 1, 10, 199)));
    assert_good(HISTORY(GRANT(0, 1, 10), AGAIN(45, 1, 10, 199, .received = MS(60)),
                        RENEWED(46, 1, 10, 200)));
}

TEST(a_hold_out_of_nothing_is_found)
{
    assert_breaks(ASKED_FOR, HISTORY(AGAIN(10, 1, 10, 80)));
    assert_breaks(ASKED_FOR, HISTORY(RELEASED(10, 1, 10, 80)));
    assert_good(HISTORY(EVENT(0, .operation = ACQUIRE, .outcome = UNKNOWN, .token = 1, .owner = 1),
                        AGAIN(10, 1, 10, 80)));
}

TEST(a_picture_that_cannot_be_is_found)
{
    assert_good(HISTORY(GRANT(0, 1, 10),
                        SEEN(20, 10, .count = 1, .shown_count = 1, .shown = {BY(10, 1, false)})));
    /* a hold is missing, a dead one shown, another owner, a wrong count */
    assert_breaks(SHOWN_LIVES, HISTORY(GRANT(0, 1, 10), SEEN(20, 10)));
    assert_breaks(SHOWN_LIVES, HISTORY(GRANT(0, 1, 10), SEEN(150, 110, .count = 1, .shown_count = 1,
                                                             .shown = {BY(10, 1, false)})));
    assert_breaks(SHOWN_LIVES, HISTORY(GRANT(0, 1, 10), SEEN(20, 10, .count = 1, .shown_count = 1,
                                                             .shown = {BY(10, 2, false)})));
    assert_breaks(SHOWN_LIVES, HISTORY(GRANT(0, 1, 10), SEEN(20, 10, .count = 2, .shown_count = 1,
                                                             .shown = {BY(10, 1, false)})));
}

TEST(a_refusal_without_a_cause_is_found)
{
#define LOCKED_BY(...)          LOCKED_BY_WITH(__VA_ARGS__, .operation = ACQUIRE)
#define LOCKED_BY_WITH(at, ...) EVENT(at, .outcome = LOCKED, .token = 5, .owner = 5, __VA_ARGS__)
    assert_good(
        HISTORY(GRANT(0, 1, 10), LOCKED_BY(10, .shown_count = 1, .shown = {BY(10, 1, false)})));
    assert_good(HISTORY(LOST(0, 5), LOCKED_BY(10, .shared = true, .limit = 1, .shown_count = 1,
                                              .shown = {BY(10, 5, true)})));
    assert_breaks(REFUSED_WITH_CAUSE, HISTORY(LOCKED_BY(10)));
    assert_breaks(REFUSED_WITH_CAUSE,
                  HISTORY(LOST(0, 5), LOCKED_BY(10, .reentrant = true, .shown_count = 1,
                                                .shown = {BY(10, 5, false)})));
    assert_good(HISTORY(LOST(0, 5), LOCKED_BY(10, .shown_count = 1, .shown = {BY(10, 5, false)})));
    assert_breaks(REFUSED_WITH_CAUSE,
                  HISTORY(LOST(0, 1), LOCKED_BY(10, .shared = true, .limit = 2, .shown_count = 1,
                                                .shown = {BY(10, 1, true)})));
    assert_breaks(REFUSED_WITH_CAUSE, HISTORY(REFUSED(30, ACQUIRE, NOT_HELD, 1)));
}

TEST(an_unexpected_reply_is_found)
{
    assert_breaks(EXPECTED_REPLY, HISTORY(REFUSED(0, RENEW, STRANGE, 1)));
}
