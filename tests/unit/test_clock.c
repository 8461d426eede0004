/* What is known of Redis' clock, and which answers show that it has jumped. */
#include "locks/quarantine/clock.h"
#include "tests/support/cmocka.h"

enum { SECOND = 1000000, MS = 1000, AHEAD = 1234 * SECOND };

/* Redis is asked at `sent`, and answers in the middle of the way there and back. */
static enum clock_news ask(struct redis_clock *clock, int64_t sent, int64_t way, int64_t shift)
{
    return clock_measure(clock, sent, sent + way, sent + way / 2 + AHEAD + shift);
}

TEST(estimate_lies_between_known_bounds)
{
    struct redis_clock clock = {0};
    for (int64_t at = SECOND; at < 100 * SECOND; at += SECOND) {
        assert_int_equal(ask(&clock, at, at % 7 * MS + 200, 0), CLOCK_STEADY);
        assert_true(clock.low <= AHEAD && AHEAD <= clock.high);
        assert_true(clock_theirs(&clock, at) >= at + AHEAD);
    }
    assert_in_range(clock.high - clock.low, 0, 2 * MS);
}

TEST(a_jump_is_reported_and_what_is_shorter_is_followed)
{
    static const struct {
        int64_t shift;
        enum clock_news news;
    } CASES[] = {
        {60 * (int64_t)SECOND, CLOCK_AHEAD},
        {-60 * (int64_t)SECOND, CLOCK_BACK},
        {600 * MS, CLOCK_AHEAD},
        {-600 * MS, CLOCK_BACK},
        {400 * MS, CLOCK_STEADY},
        {-400 * MS, CLOCK_STEADY},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct redis_clock clock = {0};
        ask(&clock, SECOND, 200, 0);
        assert_int_equal(ask(&clock, 2 * SECOND, 200, CASES[i].shift), CASES[i].news);
        assert_true(clock.low <= AHEAD + CASES[i].shift && AHEAD + CASES[i].shift <= clock.high);
        assert_int_equal(ask(&clock, 3 * SECOND, 200, CASES[i].shift), CLOCK_STEADY);
    }
}

/* Whatever the way took, at whichever end. */
TEST(a_delay_is_no_jump)
{
    for (int64_t way = MS; way < 20 * (int64_t)SECOND; way *= 2) {
        struct redis_clock clock = {0};
        ask(&clock, SECOND, 200, 0);
        assert_int_equal(clock_measure(&clock, 2 * SECOND, 2 * SECOND + way, 2 * SECOND + AHEAD),
                         CLOCK_STEADY);
        assert_int_equal(
            clock_measure(&clock, 2 * SECOND, 2 * SECOND + way, 2 * SECOND + way + AHEAD),
            CLOCK_STEADY);
        assert_true(clock.low <= AHEAD && AHEAD <= clock.high);
    }
}

TEST(two_clocks_may_drift_apart)
{
    struct redis_clock clock = {0};
    int64_t drift = 0;
    for (int64_t at = SECOND; at < 1000 * (int64_t)SECOND; at += SECOND, drift += 150) {
        assert_int_equal(ask(&clock, at, 300, drift), CLOCK_STEADY);
        assert_true(clock.low <= AHEAD + drift && AHEAD + drift <= clock.high);
    }
}
