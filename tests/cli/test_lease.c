/* How long baton run takes a hold to last, by the reply of batond. */
#include "cli/run/lease.h"
#include "tests/support/cmocka.h"

#include <string.h>

static struct reply reply_of(const char *body)
{
    struct reply reply = {.status = 200};
    assert_true(reply_read(&reply, body, strlen(body)));
    return reply;
}

static int64_t expiry_ms(const char *body)
{
    struct lease lease = {0};
    struct reply reply = reply_of(body);
    bool is_taken = lease_take(&lease, &reply, 0);
    assert_int_equal(is_taken, lease.expires_ns > 0);
    reply_free(&reply);
    return lease.expires_ns / 1000000;
}

static int64_t bound_ms(const char *body)
{
    struct lease lease = {.held_until_ns = -1000000};
    struct reply reply = reply_of(body);
    assert_true(lease_take(&lease, &reply, 0));
    reply_free(&reply);
    return lease.held_until_ns / 1000000;
}

static void hold_lasts_one_percent_less_than_the_reply_says(void **state)
{
    (void)state;
    assert_int_equal(expiry_ms("{\"ttl_ms\":30000}"), 29700);
    assert_int_equal(expiry_ms("{\"locks\":[{\"ttl_ms\":30000},{\"ttl_ms\":20000}]}"), 19800);
}

static void reply_without_a_ttl_for_each_name_is_no_hold(void **state)
{
    static const char *const BAD[] = {
        "{}",
        "{\"ttl_ms\":0}",
        "{\"ttl_ms\":-5}",
        "{\"ttl_ms\":\"30s\"}",
        "{\"ttl_ms\":30000,\"locks\":[]}",
        "{\"locks\":[{\"ttl_ms\":30000},{}]}",
        "{\"locks\":[{\"ttl_ms\":30000},7]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        assert_int_equal(expiry_ms(BAD[i]), 0);
}

/* Whoever has the token may have renewed for less. */
static void lease_ends_by_the_latest_reply_even_if_that_is_sooner(void **state)
{
    struct lease lease = {0};
    struct reply first = reply_of("{\"ttl_ms\":30000}"), next = reply_of("{\"ttl_ms\":10000}");
    (void)state;
    assert_true(lease_take(&lease, &first, 0));
    assert_true(lease_take(&lease, &next, 5000000000));
    assert_int_equal(lease.expires_ns / 1000000, 5000 + 9900);
    reply_free(&first);
    reply_free(&next);
}

static void bound_is_the_least_of_those_that_have_one(void **state)
{
    (void)state;
    assert_int_equal(bound_ms("{\"ttl_ms\":100}"), -1);
    assert_int_equal(bound_ms("{\"ttl_ms\":100,\"max_held_ms\":10000}"), 9900);
    assert_int_equal(bound_ms("{\"locks\":[{\"ttl_ms\":100},{\"ttl_ms\":100,\"max_held_ms\":9000},"
                              "{\"ttl_ms\":100,\"max_held_ms\":10000}]}"),
                     8910);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hold_lasts_one_percent_less_than_the_reply_says),
        cmocka_unit_test(reply_without_a_ttl_for_each_name_is_no_hold),
        cmocka_unit_test(lease_ends_by_the_latest_reply_even_if_that_is_sooner),
        cmocka_unit_test(bound_is_the_least_of_those_that_have_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
