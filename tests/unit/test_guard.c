/* What the guard makes of an epoch, without a Redis: of one that it does not know, and of a server
 * that has taken the place of another. */
#include "locks/quarantine/shard.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

enum { SECOND_US = 1000000, TTL_MS = 30000 };

struct scene {
    uv_loop_t loop;
    struct store *store;
    struct guard *guard;
    struct shard *shard;
};

static void scene_open(struct scene *scene, const struct guard_options *options)
{
    struct guard_options all = *options;
    struct redis_url url;
    *scene = (struct scene){0};
    assert_int_equal(redis_url_parse("redis://127.0.0.1:1", &url, NULL), 0);
    uv_loop_init(&scene->loop);
    assert_int_equal(store_open(&scene->store, &scene->loop, &url, &(struct store_events){0}), 0);
    redis_url_free(&url);
    all.loop = &scene->loop;
    all.process = "one";
    assert_int_equal(guard_open(&scene->guard, scene->store, &all), 0);
    scene->shard = shard_at(scene->guard, 0);
}

static void scene_close(struct scene *scene)
{
    store_close(scene->store, NULL, NULL);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    guard_close(scene->guard);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
}

static void note_error(void *context, const char *error)
{
    const char **ret = context;
    assert_non_null(error);
    *ret = error;
}

static void hold_under_an_unknown_epoch_is_not_reported(void **state)
{
    const struct guard_options options = {.quarantine_ms = QUARANTINE_AUTO};
    struct scene scene;
    const char *error = NULL;
    (void)state;
    scene_open(&scene, &options);
    assert_false(guard_covers(scene.guard, 0, TTL_MS));
    guard_await(scene.guard, 0, note_error, &error);
    while (!error)
        uv_run(&scene.loop, UV_RUN_ONCE);
    scene_close(&scene);
}

static void hold_needs_no_epoch_if_there_is_no_quarantine(void **state)
{
    static const struct guard_options CASES[] = {
        {.quarantine_ms = QUARANTINE_OFF},
        {.quarantine_ms = QUARANTINE_AUTO, .is_embedded = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct scene scene;
        scene_open(&scene, &CASES[i]);
        assert_true(guard_covers(scene.guard, 0, TTL_MS));
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hold_under_an_unknown_epoch_is_not_reported),
        cmocka_unit_test(hold_needs_no_epoch_if_there_is_no_quarantine),
    };
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
