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

TEST(hold_lasts_one_percent_less_than_the_reply_says)
{
    assert_int_equal(expiry_ms("{\"ttl_ms\":30000}"), 29700);
    assert_int_equal(expiry_ms("{\"locks\":[{\"ttl_ms\":30000},{\"ttl_ms\":20000}]}"), 19800);
}

TEST(reply_without_a_ttl_for_each_name_is_no_hold)
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
    for (size_t i = 0; i < LENGTH(BAD); i++)
        assert_int_equal(expiry_ms(BAD[i]), 0);
}

/* Whoever has the token may have renewed for less. */
TEST(lease_ends_by_the_latest_reply_even_if_that_is_sooner)
{
    struct lease lease = {0};
    struct reply first = reply_of("{\"ttl_ms\":30000}"), next = reply_of("{\"ttl_ms\":10000}");
    assert_true(lease_take(&lease, &first, 0));
    assert_true(lease_take(&lease, &next, 5000000000));
    assert_int_equal(lease.expires_ns / 1000000, 5000 + 9900);
    reply_free(&first);
    reply_free(&next);
}

TEST(bound_is_the_least_of_those_that_have_one)
{
    assert_int_equal(bound_ms("{\"ttl_ms\":100}"), -1);
    assert_int_equal(bound_ms("{\"ttl_ms\":100,\"max_held_ms\":10000}"), 9900);
    assert_int_equal(bound_ms("{\"locks\":[{\"ttl_ms\":100},{\"ttl_ms\":100,\"max_held_ms\":9000},"
                              "{\"ttl_ms\":100,\"max_held_ms\":10000}]}"),
                     8910);
}
