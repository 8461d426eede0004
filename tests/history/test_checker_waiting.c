/* The checker's rules about waiting: hand-made histories, good ones and bad ones. The claim window
 * is 2 s and the slack 0.1 s here; what has not been answered after 1 s waits in the queue. */
#include "tests/history/doctored.h"

/* A request that waits: granted at `granted` (by Redis's clock) and answered 2 ms later. */
#define WAITED(...) WAITED_WITH(__VA_ARGS__, .operation = ACQUIRE, .wait_ms = 30000)
#define WAITED_WITH(at, at_last, who, number, ...)                                                 \
    EVENT(at, .received = MS(at_last) + 2000, .token = (who), .owner = (who), .hold_owner = (who), \
          .ttl_ms = 100, .left_ms = 100, .holds = 1, .fence = (number), .version = (number),       \
          .granted = MS(at_last), __VA_ARGS__)
/* It hung up, or lost its connection, at `end`. */
#define LEFT(...) LEFT_WITH(__VA_ARGS__, .operation = ACQUIRE, .wait_ms = 30000)
#define LEFT_WITH(at, end, who, ...)                                                               \
    EVENT(at, .received = MS(end), .outcome = UNKNOWN, .hung_up = MS(end), .token = (who),         \
          .owner = (who), .ttl_ms = 60000, __VA_ARGS__)
/* Its wait ended without a grant. */
#define IN_VAIN(...) IN_VAIN_WITH(__VA_ARGS__, .operation = ACQUIRE)
#define IN_VAIN_WITH(at, wait, who, ...)                                                           \
    EVENT(at, .received = MS((at) + (wait)) + 2000, .outcome = TIMED_OUT, .wait_ms = (wait),       \
          .token = (who), .owner = (who), .ttl_ms = 100, .queue = 1, __VA_ARGS__)

static void assert_disturbed_good(const struct disturbance *disturbance, const struct event *events,
                                  size_t count)
{
    struct findings findings;
    struct terms terms = {.claim_us = 2000000,
                          .slack_us = 100000,
                          .settle_us = 1000000,
                          .disturbances = disturbance,
                          .disturbance_count = 1};
    history_check_on(&terms, events, count, &findings);
    char *text = findings_text(&findings);
    if (findings.total > 0)
        fprintf(stderr, "%s", text);
    free(text);
    assert_int_equal(findings.total, 0);
}

TEST(one_after_the_other_in_order_is_good)
{
    assert_good(HISTORY(GRANT(0, 1, 10), WAITED(10, 50, 2, 50, .queued = MS(12)),
                        WAITED(20, 80, 3, 80), RELEASED(48, 1, 10, 50), RELEASED(60, 2, 50, 80)));
}

TEST(a_newcomer_that_passes_a_waiter_is_found)
{
    /* both waited */
    assert_breaks(IN_ORDER,
                  HISTORY(WAITED(10, 300, 2, 300, .queued = MS(12)), WAITED(20, 80, 3, 80)));
    /* the newcomer did not wait; the waiter was never granted anything */
    assert_breaks(IN_ORDER, HISTORY(IN_VAIN(10, 500, 2, .queued = MS(12)),
                                    GRANT(80, 3, 80, .granted = MS(81))));
    /* when it was granted is known by its request alone */
    assert_breaks(IN_ORDER, HISTORY(IN_VAIN(10, 500, 2, .queued = MS(12)), GRANT(80, 3, 80)));
    /* that it was queued follows from its waiting for a second */
    assert_breaks(IN_ORDER,
                  HISTORY(WAITED(0, 1500, 2, 1500), GRANT(1100, 3, 1100, .granted = MS(1101))));
}

TEST(grants_that_may_have_been_in_order_are_good)
{
    /* asked before the other was known to be queued */
    assert_good(HISTORY(WAITED(10, 300, 2, 300, .queued = MS(30)), WAITED(20, 80, 3, 80)));
    /* the waiter's time was over; it had gone */
    assert_good(HISTORY(IN_VAIN(10, 50, 2, .queued = MS(12)), GRANT(80, 3, 80)));
    assert_good(HISTORY(LEFT(10, 50, 2, .queued = MS(12)), GRANT(80, 3, 80)));
    /* it had been granted already, and was told late */
    assert_good(HISTORY(WAITED(10, 40, 2, 40, .queued = MS(12), .received = MS(170)),
                        GRANT(150, 3, 150, .granted = MS(151))));
    /* the other's owner has a hold already */
    assert_good(HISTORY(
        IN_VAIN(10, 500, 2, .queued = MS(12)), GRANT(0, 3, 5, .ttl_ms = 400, .left_ms = 400),
        GRANT(80, 4, 80, .owner = 3, .hold_owner = 3, .reentrant = true, .holds = 2)));
    /* it lost its request, with which its place went, and queued anew */
    assert_good(HISTORY(LEFT(10, 40, 2, .hung_up = 0, .queued = MS(12)), WAITED(20, 1200, 3, 1200),
                        WAITED(50, 1300, 2, 1300, .queued = MS(60))));
    /* its server was being killed, frozen, stopped */
    static const struct disturbance FIRST = {1, MS(50), MS(2000)};
    assert_disturbed_good(&FIRST, HISTORY(IN_VAIN(10, 500, 2, .queued = MS(12), .server = 1),
                                          GRANT(80, 3, 80, .server = 2)));
}

TEST(a_disturbance_excuses_its_own_server_alone)
{
    static const struct disturbance FIRST = {1, MS(50), MS(2000)};
    struct findings findings;
    struct terms terms = {.claim_us = 2000000,
                          .slack_us = 100000,
                          .settle_us = 1000000,
                          .disturbances = &FIRST,
                          .disturbance_count = 1};
    const struct event events[] = {IN_VAIN(10, 500, 2, .queued = MS(12), .server = 2),
                                   GRANT(80, 3, 80)};
    history_check_on(&terms, events, 2, &findings);
    assert_int_equal(findings.total, 1);
    assert_int_equal(findings.count[IN_ORDER], 1);
}

TEST(a_place_that_was_not_kept_is_found)
{
    /* It waited for 1 ms to have a place, came again, and was passed. */
    assert_breaks(IN_ORDER, HISTORY(IN_VAIN(10, 1, 2, .keep_ms = 10000), WAITED(20, 3000, 2, 3000),
                                    WAITED(30, 2000, 3, 2000)));
    /* It came again too late: its place was no longer kept. */
    assert_good(HISTORY(IN_VAIN(10, 1, 2, .keep_ms = 500), WAITED(600, 3000, 2, 3000),
                        WAITED(30, 2000, 3, 2000)));
    /* It was passed while nobody was there, which costs it its turn but not its place. */
    assert_good(HISTORY(IN_VAIN(10, 1, 2, .keep_ms = 10000), WAITED(500, 3000, 2, 3000),
                        WAITED(30, 400, 3, 400)));
}

TEST(a_lost_wake_up_is_found)
{
    assert_breaks(NO_LOST_WAKE_UP,
                  HISTORY(GRANT(0, 1, 10), WAITED(10, 2400, 2, 2400, .queued = MS(12))));
    assert_breaks(NO_LOST_WAKE_UP, HISTORY(GRANT(0, 1, 10), RELEASED(20, 1, 10, 20),
                                           IN_VAIN(10, 2500, 2, .queued = MS(12))));
    /* within the claim window; at once after another that was there all the while */
    assert_good(HISTORY(GRANT(0, 1, 10), WAITED(10, 2100, 2, 2100, .queued = MS(12))));
    assert_good(HISTORY(GRANT(0, 1, 10, .ttl_ms = 3000, .left_ms = 3000),
                        RELEASED(2500, 1, 10, 2500), WAITED(10, 2502, 2, 2502, .queued = MS(12))));
    /* nobody waited */
    assert_good(HISTORY(GRANT(0, 1, 10), WAITED(4000, 4001, 2, 4001)));
}

/* Who hung up may have been granted the lock, which then falls with the claim window. */
TEST(a_phantom_is_found)
{
    assert_good(HISTORY(GRANT(0, 1, 10), LEFT(10, 50, 2, .queued = MS(12)),
                        WAITED(20, 2100, 3, 2100, .queued = MS(30))));
    assert_breaks(NO_LOST_WAKE_UP, HISTORY(GRANT(0, 1, 10), LEFT(10, 50, 2, .queued = MS(12)),
                                           WAITED(20, 5000, 3, 5000, .queued = MS(30))));
    assert_good(HISTORY(LEFT(10, 50, 2),
                        SEEN(2000, 60, .count = 1, .shown_count = 1, .shown = {BY(60, 2, false)})));
    assert_breaks(NO_PHANTOM, HISTORY(LEFT(10, 50, 2), SEEN(3000, 60, .count = 1, .shown_count = 1,
                                                            .shown = {BY(60, 2, false)})));
    /* Its place was kept for 2 s: its turn may come within them. */
    assert_good(HISTORY(LEFT(10, 50, 2, .keep_ms = 2000),
                        SEEN(3000, 60, .count = 1, .shown_count = 1, .shown = {BY(60, 2, false)})));
    /* It came again and waited: what it had been granted before it would have been told. */
    assert_breaks(NO_LOST_WAKE_UP,
                  HISTORY(LEFT(10, 50, 2, .keep_ms = 30000), WAITED(60, 6000, 2, 6000)));
}

TEST(a_wait_of_another_length_is_found)
{
    assert_good(HISTORY(IN_VAIN(0, 300, 1)));
    assert_breaks(WAITS_AS_ASKED, HISTORY(IN_VAIN(0, 300, 1, .received = MS(290))));
    assert_breaks(WAITS_AS_ASKED,
                  HISTORY(GRANT(0, 9, 10, .ttl_ms = 6000, .left_ms = 6000),
                          RELEASED(5390, 9, 10, 5395),
                          WAITED_WITH(3, 5400, 1, 5400, .operation = ACQUIRE, .wait_ms = 300)));
}

TEST(a_wait_that_ended_without_a_cause_is_found)
{
    assert_breaks(REFUSED_WITH_CAUSE, HISTORY(IN_VAIN(0, 300, 1, .queue = 0)));
}

TEST(a_cancelled_waiter_that_locks_is_found)
{
    const struct event cancel = REFUSED(50, RELEASE, CANCELLED, 2);
    assert_good(HISTORY(LEFT(10, 52, 2, .hung_up = 0, .outcome = NOT_HELD), cancel,
                        REFUSED(60, RELEASE, CANCELLED, 2), REFUSED(70, ACQUIRE, NOT_HELD, 2)));
    assert_breaks(STAYS_RELEASED, HISTORY(LEFT(10, 45, 2), cancel, GRANT(80, 2, 80)));
    assert_breaks(SAME_RELEASE,
                  HISTORY(LEFT(10, 45, 2), cancel, REFUSED(60, RELEASE, NOT_HELD, 2)));
}
