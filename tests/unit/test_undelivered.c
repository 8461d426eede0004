/* What is remembered of a reply that reports holds, and what is taken back. */
#include "api/operations/undelivered.h"

#include "api/api.h"

#include "tests/support/cmocka.h"

#include <stdio.h>

static char taken_back[400];

void locks_take_back(struct locks *locks, struct slice name, struct slice token,
                     const struct attempt *attempt, int64_t keep_ms)
{
    size_t length = strlen(taken_back);
    snprintf(taken_back + length, sizeof taken_back - length, "%p %.*s %.*s %s %d\n", (void *)locks,
             (int)name.length, name.bytes, (int)token.length, token.bytes, attempt->text,
             (int)keep_ms);
}

/* An exchange that ends, and its texts with it, before what it told of is taken back. */
static struct undelivered *undelivered_of(struct grant *grants, size_t count, const char *single)
{
    static struct api api = {.locks = (struct locks *)0x10}; /* outlives what was told */
    char token[] = "the-token", name[] = "alone";
    struct exchange exchange = {
        .api = &api, .grants = grants, .grant_count = count, .wait.keep_ms = 7};
    exchange.holder.token = slice_of(token);
    exchange.name = slice_of(name);
    exchange.grant.name = exchange.name;
    strcpy(exchange.grant.attempt.text, single);
    struct undelivered *reported = undelivered_new(&exchange);
    memset(token, 'x', sizeof token - 1);
    memset(name, 'x', sizeof name - 1);
    return reported;
}

static int setup(void **state)
{
    (void)state;
    taken_back[0] = '\0';
    return 0;
}

TEST_WITH(one_hold_is_taken_back, setup, NULL)
{
    undelivered_take_back(undelivered_of(NULL, 0, "attempt"));
    assert_string_equal(taken_back, "0x10 alone the-token attempt 7\n");
}

TEST_WITH(all_of_several_are_taken_back, setup, NULL)
{
    char names[] = "abc";
    struct grant grants[] = {{{names, 1}, 0, {"p"}, true},
                             {{names + 1, 1}, 0, {"q"}, false},
                             {{names + 2, 1}, 0, {"r"}, true}};
    struct undelivered *reported = undelivered_of(grants, 3, "");
    memset(names, 'x', sizeof names - 1);
    memset(grants, 0, sizeof grants);
    undelivered_take_back(reported);
    assert_string_equal(taken_back, "0x10 a the-token p 7\n0x10 b the-token q 7\n"
                                    "0x10 c the-token r 7\n");
}

TEST_WITH(no_hold_is_nothing_to_remember, setup, NULL)
{
    assert_null(undelivered_of(NULL, 0, ""));
    undelivered_free(NULL);
}

TEST_WITH(delivered_grant_is_not_taken_back, setup, NULL)
{
    undelivered_free(undelivered_of(NULL, 0, "attempt"));
    assert_string_equal(taken_back, "");
}
