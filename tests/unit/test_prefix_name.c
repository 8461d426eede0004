#include "locks/watching/prefix_name.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

static struct prefix_name *get(struct prefix_names *table, const char *name)
{
    return prefix_name_get(table, slice_of(name));
}

TEST(a_name_is_there_once)
{
    struct prefix_names table;
    prefix_names_init(&table);
    struct prefix_name *known = get(&table, "a");
    assert_ptr_equal(get(&table, "a"), known);
    assert_ptr_not_equal(get(&table, "b"), known);
    assert_ptr_not_equal(get(&table, ""), known);
    assert_ptr_not_equal(get(&table, "aa"), known);
    assert_int_equal(table.free.count, 4);
    prefix_name_forget(&table, known);
    assert_int_equal(table.free.count, 3);
    assert_int_equal(get(&table, "a")->version.at, 0);
    assert_true(prefix_name_forget_some(&table, SIZE_MAX));
    assert_int_equal(table.free.count, 0);
}

TEST(dirty_names_come_in_that_order_and_once)
{
    struct prefix_names table;
    prefix_names_init(&table);
    prefix_name_invalidate(&table, get(&table, "b"));
    prefix_name_invalidate(&table, get(&table, "a"));
    prefix_name_invalidate(&table, get(&table, "b"));
    prefix_name_invalidate(&table, get(&table, "c"));
    assert_int_equal(table.dirty_count, 3);
    assert_ptr_equal(prefix_name_take_dirty(&table), get(&table, "b"));
    prefix_name_invalidate(&table, get(&table, "b"));
    assert_ptr_equal(prefix_name_take_dirty(&table), get(&table, "a"));
    assert_ptr_equal(prefix_name_take_dirty(&table), get(&table, "c"));
    assert_ptr_equal(prefix_name_take_dirty(&table), get(&table, "b"));
    assert_null(prefix_name_take_dirty(&table));
    prefix_name_forget_some(&table, SIZE_MAX);
}

TEST(oldest_free_names_are_forgotten)
{
    struct prefix_names table;
    prefix_names_init(&table);
    prefix_name_seen(&table, get(&table, "a"), 4, false, 0);
    prefix_name_seen(&table, get(&table, "b"), 1, true, 5);
    prefix_name_seen(&table, get(&table, "c"), 3, false, 0);
    prefix_name_seen(&table, get(&table, "d"), 2, false, 0);
    get(&table, "new");
    assert_int_equal(prefix_name_forget_oldest(&table, 4), 0);
    assert_int_equal(prefix_name_forget_oldest(&table, 2), 3);
    assert_int_equal(get(&table, "a")->version.at, 4);
    assert_int_equal(get(&table, "b")->version.at, 1);
    prefix_name_invalidate(&table, get(&table, "a"));
    assert_int_equal(prefix_name_forget_oldest(&table, 0), 0); /* it may have changed */
    assert_true(prefix_name_forget_some(&table, SIZE_MAX));
}

TEST(names_are_forgotten_in_portions)
{
    struct prefix_names table;
    prefix_names_init(&table);
    prefix_name_invalidate(&table, get(&table, "a"));
    prefix_name_seen(&table, get(&table, "b"), 1, true, 5);
    assert_false(prefix_name_forget_some(&table, 2)); /* that a is dirty, and a */
    assert_int_equal(table.dirty_count + table.free.count, 0);
    assert_int_equal(table.held.count, 1);
    assert_false(prefix_name_forget_some(&table, 1));
    assert_int_equal(table.held.count + table.ends.count, 0);
    assert_true(prefix_name_forget_some(&table, 1));
}

TEST(name_that_changes_during_an_inspect_stays_dirty)
{
    struct prefix_names table;
    prefix_names_init(&table);
    struct prefix_name *known = get(&table, "a");
    for (int is_changed = 0; is_changed < 2; is_changed++) {
        prefix_name_invalidate(&table, known);
        assert_ptr_equal(prefix_name_take_dirty(&table), known);
        if (is_changed)
            prefix_name_invalidate(&table, known);
        assert_int_equal(prefix_name_forget_oldest(&table, 0), 0);
        prefix_name_settle(known);
        assert_int_equal(table.dirty_count, is_changed);
    }
    prefix_name_forget_some(&table, SIZE_MAX);
}

/* Against the plainest way to find the first end, over many changes. */
TEST(the_first_end_is_always_known)
{
    enum { NAMES = 60, CHANGES = 20000 };
    struct prefix_names table;
    prefix_names_init(&table);
    uint64_t ends[NAMES], seed = 1;
    memset(ends, 0xff, sizeof ends);
    for (int change = 0; change < CHANGES; change++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t i = (size_t)(seed >> 33) % NAMES;
        bool is_held = seed >> 62 != 0;
        char name[8];
        snprintf(name, sizeof name, "%zu", i);
        ends[i] = is_held ? (seed >> 20) % 1000 : UINT64_MAX;
        prefix_name_seen(&table, get(&table, name), 1, is_held, ends[i]);
        uint64_t first = UINT64_MAX;
        for (size_t k = 0; k < NAMES; k++)
            first = ends[k] < first ? ends[k] : first;
        assert_int_equal(prefix_name_next_end(&table), first);
    }
    size_t ended = 0;
    for (size_t i = 0; i < NAMES; i++)
        ended += ends[i] <= 500;
    assert_true(ended > 2);
    assert_false(prefix_name_invalidate_ended(&table, 500, 2));
    assert_int_equal(table.dirty_count, 2);
    assert_false(prefix_name_invalidate_ended(&table, 500, ended - 3));
    assert_true(prefix_name_invalidate_ended(&table, 500, 1));
    assert_int_equal(table.dirty_count, ended);
    assert_true(prefix_name_next_end(&table) > 500);
    prefix_name_forget_some(&table, SIZE_MAX);
}

/* From each version on, all that are newer come in their order, whatever became of them before. */
TEST(names_are_found_by_their_versions)
{
    enum { NAMES = 60, CHANGES = 3000, VERSIONS = 40 };
    struct prefix_names table;
    prefix_names_init(&table);
    int64_t versions[NAMES] = {0};
    uint64_t seed = 7;
    assert_null(prefix_name_after(&table, 0));
    for (int change = 0; change < CHANGES; change++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t i = (size_t)(seed >> 33) % NAMES;
        char name[8];
        snprintf(name, sizeof name, "%zu", i);
        struct prefix_name *known = get(&table, name);
        if (seed >> 61 == 0) {
            prefix_name_forget(&table, known);
            versions[i] = 0;
        } else {
            versions[i] = 1 + (int64_t)((seed >> 20) % VERSIONS);
            prefix_name_seen(&table, known, versions[i], seed >> 63 != 0, 1);
        }
        int64_t after = (int64_t)((seed >> 50) % VERSIONS), last = after;
        size_t newer = 0, found = 0;
        for (size_t k = 0; k < NAMES; k++)
            newer += versions[k] > after;
        for (known = prefix_name_after(&table, after); known;
             known = prefix_name_next(&table, known), found++) {
            assert_true(known->version.at >= last && known->version.at > after);
            last = known->version.at;
        }
        assert_int_equal(found, newer);
    }
    prefix_name_forget_some(&table, SIZE_MAX);
    assert_null(prefix_name_after(&table, 0));
}
