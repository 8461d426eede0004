/* So many requests a second, whoever counts them. */
#include "api/access/rate.h"
#include "tests/support/cmocka.h"

#include <pthread.h>

enum { SECOND = 1000000000, THREADS = 4, TRIES = 2000 };

static const int64_t START = INT64_C(123456789012345); /* of the clock */

static int64_t admitted_at_once(_Atomic int64_t *over, int64_t limit, int64_t now)
{
    int64_t count = 0;
    while (rate_count(over, limit, now, false).admitted)
        count++;
    return count;
}

TEST(a_second_s_worth_is_admitted_at_once)
{
    static const int64_t LIMITS[] = {1, 2, 3, 7, 100, 999, 1000000};
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++) {
        _Atomic int64_t over = 0;
        assert_int_equal(admitted_at_once(&over, LIMITS[i], START), LIMITS[i]);
        assert_int_equal(admitted_at_once(&over, LIMITS[i], START + SECOND + 1), LIMITS[i]);
        assert_int_equal(admitted_at_once(&over, LIMITS[i], START + 3600LL * SECOND), LIMITS[i]);
    }
}

/* As one that turned out to be worth ten: one of them a tenth of a second, in place of ten. */
TEST(one_may_count_for_several)
{
    enum { LIMIT = 100, TENTH = SECOND / 10 };
    _Atomic int64_t over = 0;
    int64_t admitted = 0;
    for (int64_t now = START; now < START + SECOND; now += SECOND / LIMIT / 2)
        if (rate_count(&over, LIMIT, now, false).admitted) {
            rate_charge(&over, LIMIT, now, 9);
            admitted++;
        }
    assert_in_range(admitted, 19, 20); /* a second's worth, and what a second has brought */
    for (int i = 0; i < 100; i++)
        rate_charge(&over, LIMIT, START + SECOND, 9);
    assert_false(
        rate_count(&over, LIMIT, START + SECOND + TENTH - 1 - SECOND / LIMIT, false).admitted);
    assert_true(rate_count(&over, LIMIT, START + SECOND + TENTH, false).admitted);
}

TEST(one_comes_back_at_a_time)
{
    _Atomic int64_t over = 0;
    assert_int_equal(admitted_at_once(&over, 10, START), 10);
    assert_int_equal(admitted_at_once(&over, 10, START + SECOND / 10 - 1), 0);
    assert_int_equal(admitted_at_once(&over, 10, START + SECOND / 10), 1);
    assert_int_equal(admitted_at_once(&over, 10, START + SECOND / 2), 4);
}

TEST(rest_of_the_rate_is_reported)
{
    _Atomic int64_t over = 0;
    for (int64_t left = 4; left >= 0; left--)
        assert_int_equal(rate_count(&over, 5, START, false).left, left);
    struct rate refused = rate_count(&over, 5, START, false);
    assert_false(refused.admitted);
    assert_int_equal(refused.left, 0);
    assert_int_equal(rate_count(&over, 5, START + SECOND / 2, false).left, 1);
}

TEST(client_within_the_rate_is_never_refused)
{
    _Atomic int64_t over = 0;
    for (int64_t i = 0; i < 100000; i++)
        assert_true(rate_count(&over, 300, START + i * SECOND / 300 + i % 7, false).admitted);
}

TEST(over_any_time_there_are_no_more_than_that)
{
    _Atomic int64_t over = 0;
    int64_t count = 0;
    for (int64_t now = START; now < START + 10LL * SECOND; now += SECOND / 997)
        count += rate_count(&over, 50, now, false).admitted;
    assert_in_range(count, 540, 550); /* ten seconds, and one in advance */
}

/* What must pass uses up what is left, and leaves no debt of more than that. */
TEST(urgent_request_always_passes)
{
    _Atomic int64_t over = 0;
    assert_int_equal(rate_count(&over, 10, START, true).left, 9);
    for (int i = 0; i < 1000; i++)
        assert_true(rate_count(&over, 10, START, true).admitted);
    assert_int_equal(rate_count(&over, 10, START, true).left, 0);
    assert_int_equal(admitted_at_once(&over, 10, START), 0);
    assert_int_equal(admitted_at_once(&over, 10, START + SECOND / 10), 1);
    assert_int_equal(admitted_at_once(&over, 10, START + 2LL * SECOND), 10);
}

/* As when the tokens-file is read again. */
TEST(another_limit_takes_over)
{
    _Atomic int64_t over = 0;
    assert_int_equal(admitted_at_once(&over, 1000, START), 1000);
    assert_int_equal(admitted_at_once(&over, 1, START), 0);
    assert_int_equal(admitted_at_once(&over, 1, START + SECOND), 1);
    assert_int_equal(admitted_at_once(&over, 1000, START + SECOND + SECOND / 2), 500);
}

struct crowd {
    _Atomic int64_t over;
    _Atomic int64_t admitted;
};

static void *press(void *context)
{
    struct crowd *crowd = context;
    for (int i = 0; i < TRIES; i++)
        if (rate_count(&crowd->over, 1000, START, false).admitted)
            atomic_fetch_add(&crowd->admitted, 1);
    return NULL;
}

TEST(all_threads_together_get_no_more)
{
    struct crowd crowd = {.over = 0};
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, press, &crowd), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&crowd.admitted), 1000);
}
