/* What the guard makes of an epoch, without a Redis: of one that it does not know, and of a server
 * that has taken the place of another. */
#include "locks/quarantine/shard.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { SECOND_US = 1000000, TTL_MS = 30000, MARGIN_US = 2 * SECOND_US, LEASE_US = 2500000 };

static const char ALONE[] = "redis://127.0.0.1:1";
static const char WATCHED[] = "redis+sentinel://127.0.0.1:1,127.0.0.1:2/master";
static const char NOBODY[] = "0000", OLD[] = "old", NEW[] = "new";

struct scene {
    uv_loop_t loop;
    struct store *store;
    struct guard *guard;
    struct shard *shard;
    struct epoch epoch; /* as Redis has it */
};

static void ignore_replaced(void *context, unsigned shard)
{
    (void)context, (void)shard;
}

static void scene_open(struct scene *scene, const char *text, const struct guard_options *options)
{
    struct guard_options all = *options;
    struct redis_url url;
    *scene = (struct scene){0};
    assert_int_equal(redis_url_parse(text, &url, NULL), 0);
    uv_loop_init(&scene->loop);
    assert_int_equal(store_open(&scene->store, &scene->loop, &url, &(struct store_events){0}), 0);
    redis_url_free(&url);
    store_require_primary_lease(scene->store);
    all.loop = &scene->loop;
    all.process = "one";
    all.replaced = ignore_replaced;
    scene->guard = guard_open(scene->store, &all);
    scene->shard = shard_at(scene->guard, 0);
}

static void scene_close(struct scene *scene)
{
    store_close(scene->store, NULL, NULL);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    guard_close(scene->guard);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
}

/* A server that runs since `up_s`, and has followed one of the history `before`. */
static void scene_meet(struct scene *scene, const char *run, const char *before, int64_t up_s)
{
    /* The peer of a link without a connection is what a test makes it. */
    struct store_peer *peer = (struct store_peer *)(uintptr_t)store_peer(scene->store, 0);
    *peer = (struct store_peer){.up_s = up_s};
    snprintf(peer->run_id, sizeof peer->run_id, "%s", run);
    snprintf(peer->history, sizeof peer->history, "of %s", run);
    snprintf(peer->history_before, sizeof peer->history_before, "%s", before);
}

/* The epoch is read, by a clock that is as ours. */
static void scene_look(struct scene *scene)
{
    const char *run = store_peer(scene->store, 0)->run_id;
    struct shard *shard = scene->shard;
    bool is_another = shard->clock.run[0] && strcmp(shard->clock.run, run) != 0;
    scene->epoch.time = clock_now();
    shard_measure(shard, scene->epoch.time, scene->epoch.time, is_another);
    snprintf(shard->clock.run, sizeof shard->clock.run, "%s", run);
    judge_epoch(shard, &scene->epoch);
    shard->known.adopted = scene->epoch.time; /* there is no call from which it comes */
}

/* For half a minute the server OLD was there, with a span of 10 s. */
static void scene_open_known(struct scene *scene, const char *url, struct guard_options options)
{
    options.quarantine_ms = QUARANTINE_AUTO;
    scene_open(scene, url, &options);
    scene_meet(scene, OLD, NOBODY, 30);
    scene->epoch = (struct epoch){.id = "00000000000000e1",
                                  .run = "old",
                                  .history = "of old",
                                  .span = 10 * SECOND_US,
                                  .turns = clock_now() + 60 * (int64_t)SECOND_US,
                                  .followers = 1};
    scene_look(scene);
    assert_int_equal(scene->shard->quarantine.opens, 0);
}

static int64_t left_us(const struct scene *scene)
{
    return shard_left_us(scene->shard, scene->epoch.time);
}

static void note_error(void *context, const char *error)
{
    const char **ret = context;
    assert_non_null(error);
    *ret = error;
}

TEST(hold_under_an_unknown_epoch_is_not_reported)
{
    const struct guard_options options = {.quarantine_ms = QUARANTINE_AUTO};
    struct scene scene;
    const char *error = NULL;
    scene_open(&scene, ALONE, &options);
    assert_false(guard_covers(scene.guard, 0, TTL_MS));
    guard_await(scene.guard, 0, note_error, &error);
    while (!error)
        uv_run(&scene.loop, UV_RUN_ONCE);
    scene_close(&scene);
}

TEST(hold_needs_no_epoch_if_there_is_no_quarantine)
{
    static const struct guard_options CASES[] = {
        {.quarantine_ms = QUARANTINE_OFF},
        {.quarantine_ms = QUARANTINE_AUTO, .is_embedded = true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct scene scene;
        scene_open(&scene, ALONE, &CASES[i]);
        assert_true(guard_covers(scene.guard, 0, TTL_MS));
        scene_close(&scene);
    }
}

/* Our clock stood still meanwhile: by it, the server that was started an hour ago seems to be older
 * than what is known of the one before, as only a replica would be that has confirmed all. */
TEST(server_that_was_started_in_our_sleep_is_none_that_was_promoted)
{
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        struct scene scene;
        scene_open_known(&scene, ALONE, (struct guard_options){.replicas = 1});
        shard_wake_all(scene.guard);
        if (sleeps)
            scene.guard->asleep -= 7200 * (int64_t)SECOND_US;
        shard_wake_all(scene.guard);
        scene_meet(&scene, NEW, "of old", 3600);
        scene_look(&scene);
        if (sleeps)
            assert_true(left_us(&scene) > 0);
        else
            assert_int_equal(left_us(&scene), 0);
        scene_close(&scene);
    }
}

/* The first to meet the other server knew nothing of the one before, and took it for new. */
TEST(epoch_of_another_server_counts_its_primary_lease)
{
    static const struct {
        const char *url, *run;
        int64_t length;
    } CASES[] = {
        {WATCHED, NEW, 10 * SECOND_US + MARGIN_US + LEASE_US},
        {WATCHED, OLD, 10 * SECOND_US + MARGIN_US},
        {ALONE, NEW, 10 * SECOND_US + MARGIN_US},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct scene scene;
        scene_open_known(&scene, CASES[i].url, (struct guard_options){0});
        scene_meet(&scene, CASES[i].run, NOBODY, 30);
        scene.epoch = (struct epoch){.id = "00000000000000e2"};
        snprintf(scene.epoch.run, sizeof scene.epoch.run, "%s", CASES[i].run);
        scene_look(&scene);
        assert_int_equal(left_us(&scene), CASES[i].length);
        scene_close(&scene);
    }
}

/* No worker was there when the clock went back: the epoch alone says so. */
TEST(quarantine_of_the_future_is_as_long_as_a_new_one)
{
    struct scene scene;
    scene_open_known(&scene, ALONE, (struct guard_options){0});
    scene.shard->known.is_known = false;
    scene.epoch.since = clock_now() + 3600 * (int64_t)SECOND_US;
    scene.epoch.opens = scene.epoch.since + SECOND_US;
    scene_look(&scene);
    assert_int_equal(left_us(&scene), 10 * SECOND_US + MARGIN_US);
    assert_int_equal(scene.shard->quarantine.reason, QUARANTINE_CLOCK);
    scene_close(&scene);
}

/* Which worker meets it: one that knew the server before, or one that reads of it in the epoch. */
TEST(only_what_has_followed_nobody_keeps_all)
{
    for (int is_known = 0; is_known < 2; is_known++) {
        for (int has_followed = 0; has_followed < 2; has_followed++) {
            struct scene scene;
            scene_open_known(&scene, ALONE, (struct guard_options){.keeps_all = true});
            scene.shard->known.is_known = is_known;
            scene_meet(&scene, NEW, has_followed ? "of old" : NOBODY, 0);
            scene_look(&scene);
            assert_int_equal(left_us(&scene) > 0, has_followed);
            scene_close(&scene);
        }
    }
}

/* An older file has the epoch of an older window, or a shorter span of the same one, or of one that
 * another worker has just begun: that one goes on from what it found, until the window is over. */
TEST(older_epoch_begins_quarantine_though_redis_keeps_all)
{
    static const struct {
        int64_t turns, span, before; /* more than before */
        bool is_away, is_lost;
    } CASES[] = {
        {.is_lost = false},
        {.span = SECOND_US, .is_lost = false},
        {.turns = SECOND_US, .span = -SECOND_US, .before = 10 * SECOND_US, .is_lost = false},
        {.turns = SECOND_US, .span = -SECOND_US, .before = 9 * SECOND_US, .is_lost = true},
        {.turns = SECOND_US, .span = -SECOND_US, .is_away = true, .is_lost = false},
        {.span = -1, .is_lost = true},
        {.turns = -1, .span = SECOND_US, .is_lost = true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct scene scene;
        scene_open_known(&scene, ALONE, (struct guard_options){.keeps_all = true});
        scene_meet(&scene, NEW, NOBODY, 0);
        scene.epoch.turns += CASES[i].turns;
        scene.epoch.span += CASES[i].span;
        scene.epoch.before += CASES[i].before;
        if (CASES[i].turns > 0)
            snprintf(scene.epoch.run, sizeof scene.epoch.run, "%s", NEW);
        if (CASES[i].is_away)
            scene.shard->span.turns = clock_now();
        scene_look(&scene);
        assert_int_equal(left_us(&scene) > 0, CASES[i].is_lost);
        scene_close(&scene);
    }
}

/* Another worker may have made it longer since: the stamp of a call tells that there was one. */
TEST(quarantine_counts_until_the_epoch_was_read_after_it)
{
    struct scene scene;
    scene_open_known(&scene, ALONE, (struct guard_options){0});
    int64_t opens;
    do {
        opens = scene.epoch.opens = clock_now() + 20000;
        scene_look(&scene);
    } while (scene.epoch.time >= opens); /* this process stood still before the look */
    while (clock_now() <= opens)
        clock_sleep_ms(1);
    guard_refresh(scene.guard);
    assert_int_equal(scene.shard->quarantine.opens, opens);
    scene_look(&scene);
    assert_int_equal(scene.shard->quarantine.opens, 0);
    scene_close(&scene);
}

/* Before the epoch was read again. */
TEST(clock_that_jumps_stops_grants_at_once)
{
    struct scene scene;
    char late[32];
    scene_open_known(&scene, ALONE, (struct guard_options){0});
    snprintf(late, sizeof late, "LATE %lld", (long long)(clock_now() + 3600 * (int64_t)SECOND_US));
    guard_late(scene.guard, 0, late);
    assert_true(shard_left_us(scene.shard, clock_now()) > 0);
    scene_close(&scene);
}

/* Another slot is the first one, and the epoch under its key is from before the loss. */
TEST(older_epoch_under_another_key_ends_no_quarantine)
{
    for (int is_moved = 0; is_moved < 2; is_moved++) {
        struct scene scene;
        scene_open_known(&scene, ALONE, (struct guard_options){0});
        scene.epoch.opens = clock_now() + 20 * (int64_t)SECOND_US;
        scene_look(&scene);
        assert_true(left_us(&scene) > 0);
        scene.shard->known.is_moved = is_moved;
        scene.epoch.opens = 0;
        snprintf(scene.epoch.id, sizeof scene.epoch.id, "00000000000000e2");
        snprintf(scene.epoch.ended, sizeof scene.epoch.ended, "%s", scene.epoch.id);
        scene_look(&scene);
        assert_int_equal(left_us(&scene) > 0, is_moved);
        scene_close(&scene);
    }
}
