/* What the members of a quorum say of a name, put together. */
#include "locks/calls/view_copy.h"
#include "locks/quorum/member_views.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>

enum { MEMBERS = 5 };

/* A member that knows of these holders: a letter each, by owner. */
static struct lock_view view_of(const char *owners, int64_t version)
{
    struct lock_view view = {.version = version};
    for (const char *owner = owners; *owner; owner++)
        view.holders[view.holder_count++] = (struct holder){.owner = {owner, 1},
                                                            .mode = LOCK_SHARED,
                                                            .fence = *owner,
                                                            .ttl_ms = 1000,
                                                            .meta = slice_of("{}")};
    view.hold_count = (int64_t)view.holder_count;
    return view;
}

struct scene {
    struct lock_view views[MEMBERS];
    struct member_views all;
    struct lock_view merged;
};

/* What each member knows; NULL: it is silent. */
static void say(struct scene *scene, const char *const owners[MEMBERS])
{
    scene->all = (struct member_views){.members = MEMBERS};
    for (unsigned i = 0; i < MEMBERS; i++) {
        scene->views[i] = view_of(owners[i] ? owners[i] : "", 100 + i);
        scene->all.of[i] = owners[i] ? &scene->views[i] : NULL;
    }
}

static void merge(struct scene *scene)
{
    member_views_merge(&scene->all, &scene->merged);
}

static void shows(struct scene *scene, const char *owners)
{
    merge(scene);
    assert_int_equal(scene->merged.holder_count, strlen(owners));
    for (size_t i = 0; i < scene->merged.holder_count; i++)
        assert_non_null(strchr(owners, scene->merged.holders[i].owner.bytes[0]));
}

TEST(held_is_what_a_majority_has)
{
    struct scene scene;
    say(&scene, (const char *const[]){"a", "a", "a", "", ""});
    assert_true(member_views_suffice(&scene.all));
    shows(&scene, "a");
    say(&scene, (const char *const[]){"a", "a", "", "", ""});
    shows(&scene, "");
    say(&scene, (const char *const[]){"ab", "ab", "ac", "bc", "c"});
    shows(&scene, "abc");
    assert_int_equal(scene.merged.hold_count, 3);
    assert_int_equal(scene.merged.version, 104);
}

/* As long as its fence is being agreed on. */
TEST(holds_with_fences_of_their_own_are_waited_for)
{
    struct scene scene;
    say(&scene, (const char *const[]){"a", "a", "b", "b", NULL});
    scene.views[1].holders[0].fence++;
    scene.views[3].holders[0].fence++;
    assert_false(member_views_suffice(&scene.all));
    say(&scene, (const char *const[]){"a", "a", "a", "b", NULL});
    scene.views[1].holders[0].fence++;
    assert_true(member_views_suffice(&scene.all));
    shows(&scene, "a");
}

TEST(hold_is_released_where_most_that_know_it_say_so)
{
    struct scene scene;
    say(&scene, (const char *const[]){"a", "a", "a", "a", ""});
    scene.views[0].holders[0].released = scene.views[1].holders[0].released = true;
    shows(&scene, "a");
    assert_false(scene.merged.holders[0].released);
    scene.views[2].holders[0].released = true;
    shows(&scene, "a");
    assert_true(scene.merged.holders[0].released);
}

TEST(unknown_fields_are_waited_for_and_shown)
{
    struct scene scene;
    say(&scene, (const char *const[]){"a", "a", "", NULL, NULL});
    assert_false(member_views_suffice(&scene.all));
    shows(&scene, "a");
    say(&scene, (const char *const[]){"a", "", "", "", NULL});
    assert_true(member_views_suffice(&scene.all));
    shows(&scene, "");
    say(&scene, (const char *const[]){"a", "a", "a", NULL, NULL});
    assert_true(member_views_suffice(&scene.all));
    shows(&scene, "a");
    say(&scene, (const char *const[]){"a", "a", NULL, NULL, NULL});
    assert_false(member_views_suffice(&scene.all));
    say(&scene, (const char *const[]){"", "", "", NULL, NULL});
    assert_true(member_views_suffice(&scene.all));
    scene.views[0].mine = scene.views[1].mine = true;
    assert_false(member_views_suffice(&scene.all));
}

/* Until all members know a hold by the fence that was agreed on, some call it by their own. */
/* One of the exclusive holds is being taken back, and nobody knows which. */
static void shows_of_exclusive(const char *const owners[MEMBERS], const char *shown)
{
    struct scene scene;
    say(&scene, owners);
    for (unsigned i = 0; i < MEMBERS; i++)
        for (size_t j = 0; j < scene.views[i].holder_count; j++)
            scene.views[i].holders[j].mode = LOCK_EXCLUSIVE;
    shows(&scene, shown);
}

TEST(of_two_exclusive_holds_one_is_shown)
{
    shows_of_exclusive((const char *const[]){"a", "a", "b", "b", NULL}, "a");
    shows_of_exclusive((const char *const[]){"b", "b", NULL, "a", "a"}, "a"); /* the older one */
    shows_of_exclusive((const char *const[]){"a", "b", "b", NULL, NULL}, "b");
    shows_of_exclusive((const char *const[]){"a", "a", "b", "b", ""}, "");
    shows_of_exclusive((const char *const[]){"a", "b", "b", "b", "a"}, "b");
}

TEST(a_hold_is_shown_once_whatever_its_fence)
{
    struct scene scene;
    say(&scene, (const char *const[]){"a", "a", "a", NULL, NULL});
    scene.views[0].holders[0].fence = 7;
    shows(&scene, "a");
    assert_int_equal(scene.merged.holders[0].fence, 'a');
    scene.views[1].holders[0].fence = 8; /* a majority has it, and nobody knows by which */
    shows(&scene, "a");
    assert_int_equal(scene.merged.hold_count, 1);
    say(&scene, (const char *const[]){"a", "a", "a", "a", "a"});
    for (unsigned i = 0; i < MEMBERS; i++)
        scene.views[i].holders[0].fence = 10 + i;
    shows(&scene, "a");
    assert_int_equal(scene.merged.holders[0].ttl_ms, 1000);
    say(&scene, (const char *const[]){"a", "a", "", "", ""});
    scene.views[0].holders[0].fence = 7;
    shows(&scene, "");
    say(&scene, (const char *const[]){"ba", "ba", "ba", "ba", "ab"});
    scene.views[4].holders[0].fence = 7;
    shows(&scene, "ab");
    say(&scene, (const char *const[]){"aa", "aa", "aa", "a", "a"}); /* an owner's two holds */
    for (unsigned i = 0; i < MEMBERS; i++)
        scene.views[i].holders[1].fence = 8;
    scene.views[1].holders[1].fence = 9;
    shows(&scene, "aa");
    assert_int_not_equal(scene.merged.holders[0].fence, scene.merged.holders[1].fence);
    scene.views[2].holder_count = 1;
    shows(&scene, "a");
}

TEST(hold_is_mine_by_a_majority)
{
    struct scene scene;
    say(&scene, (const char *const[]){"a", "a", "a", "", ""});
    scene.views[0].mine = scene.views[1].mine = true;
    merge(&scene);
    assert_false(scene.merged.mine);
    scene.views[2].mine = true;
    merge(&scene);
    assert_true(scene.merged.mine);
}

TEST(a_hold_ends_where_it_loses_its_majority)
{
    struct scene scene;
    say(&scene, (const char *const[]){"a", "a", "a", "a", ""});
    scene.views[0].holders[0].ttl_ms = 10;
    scene.views[1].holders[0].ttl_ms = 500;
    scene.views[3].holders[0].held_ms = 77;
    merge(&scene);
    assert_int_equal(scene.merged.holders[0].ttl_ms, 500);
    assert_int_equal(scene.merged.holders[0].held_ms, 77);
}

TEST(the_end_of_the_latest_hold_is_the_last_release)
{
    struct scene scene;
    say(&scene, (const char *const[]){"", "", "", "", ""});
    scene.views[1].last_release.fence = 5;
    scene.views[1].last_release.reason = slice_of("released");
    scene.views[3].last_release.fence = 7;
    scene.views[3].last_release.reason = slice_of("expired");
    merge(&scene);
    assert_int_equal(scene.merged.last_release.fence, 7);
    assert_true(slice_equals(scene.merged.last_release.reason, "expired"));
}

TEST(kept_view_is_a_copy)
{
    char owner[] = "me", meta[] = "{\"a\":1}", reason[] = "forced";
    struct lock_view view = {.version = 3, .holder_count = 1, .waiter_count = 1};
    view.holders[0] = (struct holder){.owner = slice_of(owner), .meta = slice_of(meta)};
    view.waiters[0].owner = slice_of(owner);
    view.last_release.fence = 1;
    view.last_release.reason = slice_of(reason);
    struct lock_view *kept = view_copy(&view);
    owner[0] = meta[0] = reason[0] = 'x';
    assert_int_equal(kept->version, 3);
    assert_true(slice_equals(kept->holders[0].owner, "me"));
    assert_true(slice_equals(kept->holders[0].meta, "{\"a\":1}"));
    assert_true(slice_equals(kept->waiters[0].owner, "me"));
    assert_true(slice_equals(kept->last_release.reason, "forced"));
    free(kept);
}
