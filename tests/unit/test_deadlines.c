/* Deadlines: which is missed when, however often and in whatever order they are moved. */
#include "server/http/deadlines.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>

enum { HEAD_MS = 100, BODY_MS = 30, REPLY_MS = 500, IDLE_MS = 1000, CROWD = 200, STEPS = 20000 };

static const int64_t LASTS_MS[DEADLINE_KINDS] = {[DEADLINE_HEAD] = HEAD_MS,
                                                 [DEADLINE_BODY] = BODY_MS,
                                                 [DEADLINE_REPLY] = REPLY_MS,
                                                 [DEADLINE_IDLE] = IDLE_MS};

TEST(where_nothing_is_expected_nothing_is_missed)
{
    struct deadlines deadlines;
    struct deadline deadline = {.kind = DEADLINE_NONE};
    uint64_t at = 77;
    deadlines_init(&deadlines, LASTS_MS);
    assert_false(deadlines_next(&deadlines, &at));
    deadlines_set(&deadlines, &deadline, DEADLINE_HEAD, 1000);
    deadlines_set(&deadlines, &deadline, DEADLINE_NONE, 1001);
    deadlines_set(&deadlines, &deadline, DEADLINE_NONE, 1002);
    assert_false(deadlines_next(&deadlines, &at));
    assert_int_equal(at, 77);
    assert_null(deadlines_missed(&deadlines, UINT64_MAX));
}

TEST(deadline_is_missed_at_its_very_instant)
{
    struct deadlines deadlines;
    struct deadline deadline = {.kind = DEADLINE_NONE};
    uint64_t at;
    deadlines_init(&deadlines, LASTS_MS);
    for (int kind = DEADLINE_HEAD; kind < DEADLINE_KINDS; kind++) {
        deadlines_set(&deadlines, &deadline, (enum deadline_kind)kind, 5000);
        assert_true(deadlines_next(&deadlines, &at));
        assert_int_equal(at, 5000 + LASTS_MS[kind]);
        assert_null(deadlines_missed(&deadlines, at - 1));
        assert_ptr_equal(deadlines_missed(&deadlines, at), &deadline);
        assert_ptr_equal(deadlines_missed(&deadlines, at), &deadline); /* until it is set */
    }
}

TEST(the_next_is_the_first_of_all_kinds)
{
    struct deadlines deadlines;
    struct deadline idle = {.kind = DEADLINE_NONE}, head = idle, body = idle;
    uint64_t at;
    deadlines_init(&deadlines, LASTS_MS);
    deadlines_set(&deadlines, &idle, DEADLINE_IDLE, 0);
    deadlines_set(&deadlines, &head, DEADLINE_HEAD, 10);
    deadlines_set(&deadlines, &body, DEADLINE_BODY, 20);
    assert_true(deadlines_next(&deadlines, &at));
    assert_int_equal(at, 20 + BODY_MS);
    deadlines_set(&deadlines, &body, DEADLINE_IDLE, 21);
    assert_true(deadlines_next(&deadlines, &at));
    assert_int_equal(at, 10 + HEAD_MS);
    assert_ptr_equal(deadlines_missed(&deadlines, 10 + HEAD_MS), &head);
}

/* Against a plain look at each of them. */
TEST(any_number_in_any_order)
{
    static struct deadline crowd[CROWD];
    struct deadlines deadlines;
    uint64_t now = 0, next;
    unsigned seed = 4;
    deadlines_init(&deadlines, LASTS_MS);
    for (int step = 0; step < STEPS; step++) {
        struct deadline *missed;
        now += (unsigned)rand_r(&seed) % 3;
        while ((missed = deadlines_missed(&deadlines, now))) {
            assert_true(missed->at <= now);
            deadlines_set(&deadlines, missed, DEADLINE_NONE, now);
        }
        deadlines_set(&deadlines, &crowd[rand_r(&seed) % CROWD],
                      (enum deadline_kind)(rand_r(&seed) % DEADLINE_KINDS), now);
        uint64_t earliest = UINT64_MAX;
        for (int i = 0; i < CROWD; i++)
            if (crowd[i].kind != DEADLINE_NONE && crowd[i].at < earliest)
                earliest = crowd[i].at;
        bool found = deadlines_next(&deadlines, &next);
        assert_int_equal(found, earliest != UINT64_MAX);
        assert_true(earliest > now);
        if (found)
            assert_int_equal(next, earliest);
    }
}
