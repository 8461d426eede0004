/* Which numbers a shard's Redis may have given, as far as is known of its clock: all new ones are
 * greater, and come back to the clock. */
#include "locks/quarantine/shard.h"
#include "tests/support/cmocka.h"

enum { SECOND_US = 1000000, LEASE_US = 2500000, UNSEEN_JUMP_US = 500000, ROUND_TRIP_US = 200 };

static const char WATCHED[] = "redis+sentinel://127.0.0.1:1,127.0.0.1:2/master";
static const char ALONE[] = "redis://127.0.0.1:1";

/* A shard whose clock is so far ahead of ours at first. */
struct scene {
    uv_loop_t loop;
    struct guard guard;
    struct shard shard;
    int64_t now; /* ours */
};

static void scene_open(struct scene *scene, const char *text, int64_t ahead)
{
    struct redis_url url;
    *scene = (struct scene){.now = (int64_t)(uv_hrtime() / 1000)};
    assert_int_equal(redis_url_parse(text, &url, NULL), 0);
    uv_loop_init(&scene->loop);
    assert_int_equal(store_open(&scene->guard.store, &scene->loop, &url, &(struct store_events){0}),
                     0);
    redis_url_free(&url);
    store_require_primary_lease(scene->guard.store);
    scene->shard.guard = &scene->guard;
    shard_measure(&scene->shard, scene->now - ROUND_TRIP_US, scene->now + ahead, false);
}

static void scene_close(struct scene *scene)
{
    store_close(scene->guard.store, NULL, NULL);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
}

/* Another server answers, whose clock is so far ahead of ours. */
static void is_replaced(struct scene *scene, int64_t ahead)
{
    scene->now = (int64_t)(uv_hrtime() / 1000);
    shard_measure(&scene->shard, scene->now - ROUND_TRIP_US, scene->now + ahead, true);
}

/* It goes on granting for those who see it still, by a clock that may have gone ahead unseen. */
TEST(replaced_primary_gives_no_number_of_its_successor)
{
    static const struct {
        const char *url;
        int64_t lease;
    } CASES[] = {{WATCHED, LEASE_US}, {ALONE, 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct scene scene;
        const int64_t ahead = 600 * (int64_t)SECOND_US;
        scene_open(&scene, CASES[i].url, ahead);
        is_replaced(&scene, 0);
        int64_t last = scene.now + ahead + CASES[i].lease + UNSEEN_JUMP_US;
        assert_true(numbers_at(&scene.shard.numbers, scene.now) > last);
        scene_close(&scene);
    }
}

TEST(they_grow_with_time_until_the_clock_has_caught_up)
{
    struct scene scene;
    const int64_t ahead = 60 * (int64_t)SECOND_US;
    scene_open(&scene, ALONE, ahead);
    assert_int_equal(numbers_at(&scene.shard.numbers, scene.now), scene.now);
    is_replaced(&scene, 0);
    int64_t before = scene.now + ahead;
    for (int64_t passed = 0; passed <= 4 * ahead; passed += SECOND_US) {
        int64_t number = numbers_at(&scene.shard.numbers, scene.now + passed);
        assert_true(number > before);
        before = number;
    }
    assert_int_equal(before, scene.now + 4 * ahead);
    scene_close(&scene);
}

/* What a clock jumps over counts as time: each way there and back takes them further by half of it,
 * and the headroom. */
TEST(a_clock_that_goes_to_and_fro_takes_them_ahead_by_half_of_its_way)
{
    enum { TIMES = 10 };
    struct scene scene;
    const int64_t ahead = 60 * (int64_t)SECOND_US;
    scene_open(&scene, ALONE, ahead);
    is_replaced(&scene, 0);
    const int64_t headroom = shard_headroom(&scene.guard);
    for (int i = 0; i < TIMES; i++) {
        is_replaced(&scene, ahead);
        is_replaced(&scene, 0);
    }
    assert_in_range(numbers_at(&scene.shard.numbers, scene.now) - scene.now, ahead,
                    ahead + TIMES * (ahead / 2 + headroom) + headroom + SECOND_US);
    scene_close(&scene);
}

TEST(without_a_clock_that_went_back_they_are_the_clocks)
{
    struct scene scene;
    scene_open(&scene, WATCHED, 0);
    for (int i = 0; i < 10; i++) {
        is_replaced(&scene, i * SECOND_US);
        assert_int_equal(numbers_at(&scene.shard.numbers, scene.now), scene.now);
    }
    assert_int_equal(scene.shard.numbers.floor, 0);
    assert_int_equal(scene.shard.numbers.level, 0);
    scene_close(&scene);
}
