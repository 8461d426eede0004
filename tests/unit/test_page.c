/* What one round of a watch reports: the first that changed, in order, as many as fit. */
#include "api/http/page.h"
#include "tests/support/cmocka.h"

#include <stdio.h>

static void add(struct page *page, int64_t version, const char *text)
{
    page_add(page, version, slice_of(text));
}

/* The texts that it has, in order. */
static void has(const struct page *page, const char *texts)
{
    char text[400] = "";
    size_t length = 0;
    for (size_t i = 0; i < page->count; i++) {
        const struct page_lock *lock = page->locks[i];
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%.*s", i ? " " : "",
                                   (int)lock->text.length, lock->text.bytes);
    }
    assert_string_equal(text, texts);
}

static void reaches(const struct page *page, int64_t round, int64_t version)
{
    assert_int_equal(page_reaches(page, round), version);
}

TEST(names_that_fit_come_in_order_of_their_changes)
{
    struct page page = {.most = 10, .most_bytes = 100};
    reaches(&page, 50, 50);
    add(&page, 7, "c");
    add(&page, 3, "a");
    add(&page, 5, "b");
    has(&page, "a b c");
    reaches(&page, 50, 50);
    page_clear(&page);
    assert_int_equal(page.count, 0);
    reaches(&page, 50, 50);
}

/* In whatever order they come. */
TEST(the_first_are_kept_where_not_all_fit)
{
    static const int ORDERS[][4] = {{1, 2, 3, 4}, {4, 3, 2, 1}, {3, 1, 4, 2}, {2, 4, 1, 3}};
    for (size_t i = 0; i < sizeof ORDERS / sizeof ORDERS[0]; i++) {
        struct page few = {.most = 2, .most_bytes = 1000};
        struct page small = {.most = 10, .most_bytes = 5};
        for (int k = 0; k < 4; k++) {
            char text[4];
            snprintf(text, sizeof text, "n%d", ORDERS[i][k]);
            add(&few, 10 * ORDERS[i][k], text);
            add(&small, 10 * ORDERS[i][k], text);
        }
        has(&few, "n1 n2");
        has(&small, "n1 n2");
        reaches(&few, 50, 29);
        reaches(&small, 50, 29);
        reaches(&small, 15, 15); /* what the round has not reached does not count */
        page_clear(&few);
        page_clear(&small);
    }
}

TEST(one_that_is_too_long_is_reported_alone)
{
    struct page page = {.most = 10, .most_bytes = 4};
    add(&page, 2, "1");
    add(&page, 1, "123456789");
    has(&page, "123456789");
    reaches(&page, 9, 1);
    page_clear(&page);
}

TEST(names_that_changed_together_come_together)
{
    struct page page = {.most = 3, .most_bytes = 1000};
    add(&page, 1, "a");
    for (int i = 0; i < 4; i++)
        add(&page, 2, "b");
    has(&page, "a");
    reaches(&page, 9, 1);
    page_clear(&page);
    add(&page, 2, "b"); /* the first group, however long */
    add(&page, 3, "x");
    for (int i = 0; i < 3; i++)
        add(&page, 2, "b");
    has(&page, "b b b b");
    reaches(&page, 9, 2);
    page_clear(&page);
}
