/* What one round of a watch tells: the first that changed, in order, as many as fit. */
#include "api/http/page.h"
#include "tests/support/cmocka.h"

#include <stdio.h>

static void add(struct page *page, int64_t version, const char *name, const char *text)
{
    page_add(page, version, slice_of(name), slice_of(text));
}

/* The names that it has, in order. */
static void has(const struct page *page, const char *names)
{
    char text[400] = "";
    size_t length = 0;
    for (size_t i = 0; i < page->count; i++) {
        const struct page_lock *lock = page->locks[i];
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%.*s", i ? " " : "",
                                   (int)lock->name.length, lock->name.bytes);
    }
    assert_string_equal(text, names);
}

static void reaches(const struct page *page, int64_t round, int64_t after, const char *name)
{
    struct prefix_position reached = {.after = round};
    page_limit(page, &reached);
    assert_int_equal(reached.after, after);
    assert_true(slice_equals(reached.name, name));
}

TEST(what_fits_is_told_in_the_order_of_its_changes)
{
    struct page page = {.most = 10, .most_bytes = 100};
    reaches(&page, 50, 50, "");
    add(&page, 7, "c", "{}");
    add(&page, 3, "b", "{\"b\":1}");
    add(&page, 3, "a", "{}");
    has(&page, "a b c");
    assert_true(slice_equals(page.locks[1]->text, "{\"b\":1}"));
    reaches(&page, 50, 50, "");
    page_clear(&page);
    assert_int_equal(page.count, 0);
    reaches(&page, 50, 50, "");
}

/* In whatever order they come. */
TEST(the_first_are_kept_where_not_all_fit)
{
    static const int ORDERS[][4] = {{1, 2, 3, 4}, {4, 3, 2, 1}, {3, 1, 4, 2}, {2, 4, 1, 3}};
    for (size_t i = 0; i < sizeof ORDERS / sizeof ORDERS[0]; i++) {
        for (int tears = 0; tears < 2; tears++) {
            struct page few = {.most = 2, .most_bytes = 1000, .tears = tears};
            struct page small = {.most = 10, .most_bytes = 12, .tears = tears};
            for (int k = 0; k < 4; k++) {
                char name[4];
                snprintf(name, sizeof name, "n%d", ORDERS[i][k]);
                add(&few, 10 * ORDERS[i][k], name, "12345");
                add(&small, 10 * ORDERS[i][k], name, "12345");
            }
            has(&few, "n1 n2");
            has(&small, "n1 n2");
            reaches(&few, 50, 29, "");
            reaches(&small, 50, 29, "");
            reaches(&small, 15, 15, ""); /* what the round has not reached does not count */
            page_clear(&few);
            page_clear(&small);
        }
    }
}

TEST(one_that_is_too_long_is_told_alone)
{
    for (int tears = 0; tears < 2; tears++) {
        struct page page = {.most = 10, .most_bytes = 4, .tears = tears};
        add(&page, 2, "b", "1");
        add(&page, 1, "a", "123456789");
        has(&page, "a");
        reaches(&page, 9, 1, "");
        page_clear(&page);
    }
}

TEST(what_changed_together_is_told_together)
{
    struct page page = {.most = 3, .most_bytes = 1000};
    add(&page, 1, "a", "1");
    add(&page, 2, "b", "1");
    add(&page, 2, "c", "1");
    add(&page, 2, "d", "1");
    add(&page, 2, "e", "1");
    has(&page, "a");
    reaches(&page, 9, 1, "");
    page_clear(&page);
    add(&page, 2, "b", "1"); /* the first group, however long */
    add(&page, 3, "x", "1");
    add(&page, 2, "c", "1");
    add(&page, 2, "d", "1");
    add(&page, 2, "e", "1");
    has(&page, "b c d e");
    reaches(&page, 9, 2, "");
    page_clear(&page);
}

TEST(a_page_that_tears_says_up_to_which_name)
{
    struct page page = {.most = 3, .most_bytes = 1000, .tears = true};
    add(&page, 2, "e", "1");
    add(&page, 2, "bb", "1");
    add(&page, 1, "a", "1");
    add(&page, 2, "b", "1");
    add(&page, 2, "d", "1");
    has(&page, "a b bb");
    reaches(&page, 9, 2, "bb");
    page_clear(&page);
}
