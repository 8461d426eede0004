#include "api/http/state_text.h"
#include "tests/support/cmocka.h"

static void says(const struct lock_view *view, const char *expected)
{
    char text[STATE_TEXT];
    state_text(view, text);
    assert_string_equal(text, expected);
}

TEST(lock_is_free_or_has_holders_and_waiters)
{
    struct lock_view view = {.hold_count = 0};
    says(&view, "free");
    view.queue_length = 2;
    says(&view, "free, 2 waiting");
    view.hold_count = 1;
    view.holder_count = 1;
    view.holders[0] = (struct holder){.owner = slice_of("alice"), .held_ms = 3999, .ttl_ms = 26001};
    says(&view, "held by alice for 3 s, 27 s left, 2 waiting");
    view.queue_length = 0;
    says(&view, "held by alice for 3 s, 27 s left");
    view.holders[0].mode = LOCK_SHARED;
    view.hold_count = 12;
    says(&view, "held by alice (shared) for 3 s, 27 s left, and 11 more");
    view.limit = 20;
    view.extra_permits = 3;
    view.queue_length = 1;
    says(&view,
         "held by alice (shared) for 3 s, 27 s left, and 11 more, 1 waiting; 15 of 20 taken");
    view.limit = 0;
    view.queue_length = 0;
    view.holders[0].released = true;
    says(&view, "released by alice (shared), taken for 27 s more, and 11 more");
}

TEST(longest_owner_of_principal_fits)
{
    char name[OWNER_NAME_LENGTH], realm[OWNER_REALM_LENGTH + 1] = "", stored[OWNER_LENGTH],
                                                             text[STATE_TEXT];
    memset(name, 'a', sizeof name);
    memset(realm, 'p', sizeof realm - 1);
    struct slice owner = owner_compose(slice_of(realm), (struct slice){name, sizeof name}, stored);
    struct lock_view view = {.hold_count = 1, .holder_count = 1, .queue_length = INT64_MAX};
    view.holders[0] = (struct holder){.owner = owner, .held_ms = INT64_MAX, .ttl_ms = 1};
    state_text(&view, text);
    assert_non_null(strstr(text, "a of ppp"));
    assert_non_null(strstr(text, "s, 1 s left, 9223372036854775807 waiting"));
}

TEST(hold_says_what_is_left_of_it)
{
    char text[STATE_TEXT];
    state_text_hold(&(struct hold){.owner = slice_of("bob"), .ttl_ms = 29999}, text);
    assert_string_equal(text, "held by bob, 29 s left");
    state_text_hold(&(struct hold){.owner = slice_of("bob"), .ttl_ms = 29999, .is_final = true},
                    text);
    assert_string_equal(text, "held by bob, 29 s left, not renewable");
}

TEST(release_says_how_long_hold_lasted)
{
    char text[STATE_TEXT];
    state_text_release(&(struct release){.held_ms = 12655}, text);
    assert_string_equal(text, "released after 12 s");
    state_text_release(&(struct release){.held_ms = 0, .holds = 2}, text);
    assert_string_equal(text, "released after 0 s; 2 holds of this owner left");
    state_text_release(&(struct release){.cancelled = true}, text);
    assert_string_equal(text, "left the queue");
    state_text_release(&(struct release){.held_ms = 1000, .free_in_ms = 3001, .holds = 1}, text);
    assert_string_equal(text, "released after 1 s, taken for 4 s more; 1 hold of this owner left");
}
