/* Which grants wait until Redis has how long holds may run. */
#include "locks/quarantine/guard.h"
#include "locks/quarantine/horizon.h"
#include "locks/quarantine/shard.h"
#include "tests/support/cmocka.h"

enum { TTL_MS = 60000 };

/* A shard that batond has looked at. Its Redis has gone since. */
struct scene {
    uv_loop_t loop;
    struct store *store;
    struct guard *guard;
    struct shard *shard;
    int answers;
    bool is_in_doubt; /* by the last answer */
};

static void scene_open(struct scene *scene, int64_t quarantine_ms)
{
    struct redis_url url;
    const struct guard_options options = {.loop = &scene->loop,
                                          .key_prefix = slice_of("baton:"),
                                          .process = "process",
                                          .quarantine_ms = quarantine_ms};
    *scene = (struct scene){.answers = 0};
    assert_int_equal(redis_url_parse("redis://127.0.0.1:1", &url, NULL), 0);
    uv_loop_init(&scene->loop);
    assert_int_equal(store_open(&scene->store, &scene->loop, &url, &(struct store_events){0}), 0);
    redis_url_free(&url);
    assert_int_equal(guard_open(&scene->guard, scene->store, &options), 0);
    scene->shard = shard_at(scene->guard, 0);
    scene->shard->identity.is_known = true;
}

static void scene_close(struct scene *scene)
{
    store_close(scene->store, NULL, NULL);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    guard_close(scene->guard);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
}

static void on_written(void *context, const char *error)
{
    struct scene *scene = context;
    scene->answers++;
    scene->is_in_doubt = error != NULL;
}

static void grant_beyond_horizon_waits_for_write(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene, QUARANTINE_AUTO);
    assert_false(horizon_covers(scene.guard, 0, TTL_MS, 0));
    horizon_await(scene.guard, 0, on_written, &scene);
    assert_false(horizon_covers(scene.guard, 0, TTL_MS, 0)); /* the same write serves both */
    horizon_await(scene.guard, 0, on_written, &scene);
    assert_int_equal(scene.answers, 0);
    scene_close(&scene);
    assert_int_equal(scene.answers, 2);
    assert_true(scene.is_in_doubt);
}

static void grant_within_written_horizon_does_not_wait(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene, QUARANTINE_AUTO);
    assert_false(horizon_covers(scene.guard, 0, TTL_MS, 0));
    for (size_t i = 0; i < HORIZONS; i++)
        scene.shard->horizon.written[i] = scene.shard->horizon.ends[i];
    assert_true(horizon_covers(scene.guard, 0, TTL_MS, 0));
    assert_false(horizon_covers(scene.guard, 0, 2 * TTL_MS, 0));
    scene_close(&scene);
}

static void grant_without_quarantines_does_not_wait(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene, QUARANTINE_OFF);
    assert_true(horizon_covers(scene.guard, 0, TTL_MS, 0));
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grant_beyond_horizon_waits_for_write),
        cmocka_unit_test(grant_within_written_horizon_does_not_wait),
        cmocka_unit_test(grant_without_quarantines_does_not_wait),
    };
    return cmocka_run_group_tests_name("horizon", tests, NULL, NULL);
}
