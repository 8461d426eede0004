#include "api/access/completion.h"
#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "tests/support/cmocka.h"

static const struct comparison {
    const char *if_none_match;
    bool matches; /* version 42 */
} COMPARISONS[] = {
    {NULL, false},
    {"", false},
    {"\"42\"", true},
    {"W/\"42\"", true},
    {"*", true},
    {" \"42\" ", true},
    {"\"41\", \"42\"", true},
    {"\"41\",\"42\"", true},
    {"\"41\" , W/\"42\"", true},
    {"W/\"41\", W/\"42\", \"43\"", true},
    {",, \"42\"", true},
    {"\"a,b\", \"42\"", true},
    {"\"\", \"42\"", true},
    {"unquoted, \"42\"", true},
    {"\"41\"", false},
    {"\"4\"", false},
    {"\"420\"", false},
    {"\"142\"", false},
    {"\"042\"", false},
    {"\" 42\"", false},
    {"42", false},
    {"\"42", false},
    {"42\"", false},
    {"w/\"42\"", false},
    {"W/42", false},
    {"\"*\"", false},
    {"W/", false},
    {"\"", false},
    {"\"41, \"42\"", false}, /* the quote does not end where it seems to */
    {"\"x,\"42\"", false},
};

TEST(a_list_of_tags_is_compared_weakly)
{
    for (size_t i = 0; i < LENGTH(COMPARISONS); i++)
        if (etag_matches(COMPARISONS[i].if_none_match, 42) != COMPARISONS[i].matches)
            fail_msg("%s", COMPARISONS[i].if_none_match);
}

TEST(the_largest_version_is_compared_whole)
{
    assert_true(etag_matches("\"9007199254740991\"", INT64_C(9007199254740991)));
    assert_false(etag_matches("\"9007199254740991\"", INT64_C(9007199254740990)));
    assert_true(etag_matches("\"0\"", 0));
}

TEST(a_reply_has_the_version_in_quotes)
{
    struct exchange exchange = {.head.method = "GET"};
    etag_reply(&exchange, INT64_C(9007199254740991));
    assert_int_equal(exchange.reply.header_count, 1);
    assert_string_equal(exchange.reply.headers[0].name, "ETag");
    assert_string_equal(exchange.reply.headers[0].value, "\"9007199254740991\"");
    assert_true(etag_matches(exchange.reply.headers[0].value, INT64_C(9007199254740991)));
    exchange_clear(&exchange);
}
