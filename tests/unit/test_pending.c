#include "redis/node/pending.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

struct asker {
    struct pending_list *list;
    const struct store_peer *peer;
    int order; /* of its answer; 0: there is none */
    char error[16];
    bool asks_again;
};

static int answers;

static const struct store_peer OLD = {.run_id = "run", .history = "old"};
static const struct store_peer NEW = {.run_id = "run", .history = "new"};
static const struct store_peer OTHER = {.run_id = "other", .history = "old"};

static void done(void *context, const char *error)
{
    struct asker *asker = context;
    assert_int_equal(asker->order, 0);
    asker->order = ++answers;
    snprintf(asker->error, sizeof asker->error, "%s", error ? error : "");
    if (asker->asks_again) {
        asker->asks_again = false;
        asker->order = 0;
        pending_add(asker->list, asker->peer, 1, done, asker);
    }
}

static struct pending_list list;
static struct asker askers[4];

static void ask(int number, const struct store_peer *peer, uint64_t due)
{
    askers[number] = (struct asker){.list = &list, .peer = peer};
    pending_add(&list, peer, due, done, &askers[number]);
}

static int set_up(void **state)
{
    (void)state;
    answers = 0;
    pending_init(&list);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    memset(askers, 0, sizeof askers);
    pending_answer(&list, PENDING_ANY, UINT64_MAX, NULL);
    assert_null(TAILQ_FIRST(&list.all));
    return 0;
}

TEST_WITH(those_that_are_due_are_answered_in_order, set_up, tear_down)
{
    assert_true(pending_due(&list, PENDING_ANY) == UINT64_MAX);
    ask(0, &OLD, 30);
    ask(1, &OLD, 10);
    ask(2, &OLD, 20);
    ask(3, &OLD, 15);
    assert_int_equal(pending_due(&list, PENDING_ANY), 10);
    pending_answer(&list, PENDING_ANY, 9, "late");
    assert_int_equal(answers, 0);
    pending_answer(&list, PENDING_ANY, 20, "late");
    assert_int_equal(askers[1].order, 1);
    assert_int_equal(askers[2].order, 2);
    assert_int_equal(askers[3].order, 3);
    assert_string_equal(askers[1].error, "late");
    assert_int_equal(pending_due(&list, PENDING_ANY), 30);
    assert_int_equal(askers[0].order, 0);
}

/* Of another run, or of another history, nothing is said. */
TEST_WITH(a_round_covers_those_of_one_redis, set_up, tear_down)
{
    ask(0, &NEW, 10);
    ask(1, &OLD, 30);
    ask(2, &OTHER, 5);
    assert_true(pending_due(&list, PENDING_COVERED) == UINT64_MAX);
    assert_false(pending_cover(&list, "run", "older"));
    assert_true(pending_cover(&list, "run", "old"));
    ask(3, &OLD, 1); /* it has come too late for this round */
    assert_int_equal(pending_due(&list, PENDING_COVERED), 30);
    pending_answer(&list, PENDING_COVERED, UINT64_MAX, NULL);
    assert_int_equal(answers, 1);
    assert_int_equal(askers[1].order, 1);
    assert_string_equal(askers[1].error, "");
}

TEST_WITH(a_round_that_ends_covers_nobody, set_up, tear_down)
{
    ask(0, &OLD, 10);
    assert_true(pending_cover(&list, "run", "old"));
    pending_uncover(&list);
    pending_answer(&list, PENDING_COVERED, UINT64_MAX, NULL);
    assert_int_equal(answers, 0);
    assert_true(pending_cover(&list, "run", "old"));
    assert_false(pending_cover(&list, "run", "new"));
    pending_answer(&list, PENDING_COVERED, UINT64_MAX, NULL);
    assert_int_equal(answers, 0);
}

TEST_WITH(asker_that_asks_again_is_in_the_next_round, set_up, tear_down)
{
    ask(0, &OLD, 1);
    ask(1, &OLD, 1);
    askers[0].asks_again = true;
    pending_answer(&list, PENDING_ANY, UINT64_MAX, "no");
    assert_int_equal(answers, 2);
    assert_int_equal(askers[0].order, 0);
    assert_int_equal(askers[1].order, 2);
    pending_answer(&list, PENDING_ANY, UINT64_MAX, "never");
    assert_string_equal(askers[0].error, "never");
}
