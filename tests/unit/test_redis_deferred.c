#include "redis/wire/deferred.h"
#include "tests/support/cmocka.h"

enum { LONG_MS = 10000 };

struct world {
    uv_loop_t loop;
    struct deferred deferred;
    uv_prepare_t early; /* libuv runs the one that was started last first */
    uv_prepare_t late;
    uv_prepare_t *asking;
    uv_timer_t timer; /* what the loop would sleep for */
    int runs;
    int closed;
};

static void on_run(void *context)
{
    struct world *world = context;
    world->runs++;
}

static void on_closed(void *context)
{
    struct world *world = context;
    world->closed++;
}

static void on_timer(uv_timer_t *timer)
{
    (void)timer;
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct world *world = prepare->data;
    if (world->asking != prepare)
        return;
    world->asking = NULL;
    deferred_request(&world->deferred);
    assert_int_equal(world->runs, 0); /* not from within the request */
}

static void start_prepare(struct world *world, uv_prepare_t *prepare)
{
    uv_prepare_init(&world->loop, prepare);
    prepare->data = world;
    uv_prepare_start(prepare, on_prepare);
}

static void open_world(struct world *world)
{
    *world = (struct world){.runs = 0};
    uv_loop_init(&world->loop);
    start_prepare(world, &world->early);
    deferred_open(&world->deferred, &world->loop, on_run, world);
    start_prepare(world, &world->late);
    uv_timer_init(&world->loop, &world->timer);
    uv_timer_start(&world->timer, on_timer, LONG_MS, 0);
}

static void close_world(struct world *world)
{
    deferred_close(&world->deferred, on_closed);
    assert_int_equal(world->closed, 0);
    uv_close((uv_handle_t *)&world->early, NULL);
    uv_close((uv_handle_t *)&world->late, NULL);
    uv_close((uv_handle_t *)&world->timer, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(world->closed, 1);
    assert_int_equal(uv_loop_close(&world->loop), 0);
}

TEST(many_requests_are_one_run)
{
    struct world world;
    open_world(&world);
    for (int i = 0; i < 5; i++)
        deferred_request(&world.deferred);
    assert_int_equal(world.runs, 0);
    uv_run(&world.loop, UV_RUN_NOWAIT);
    assert_int_equal(world.runs, 1);
    uv_run(&world.loop, UV_RUN_NOWAIT);
    assert_int_equal(world.runs, 1);
    close_world(&world);
}

/* Whether its prepare callback comes before ours or after. */
TEST(a_request_of_another_prepare_callback_is_not_slept_on)
{
    for (int late = 0; late <= 1; late++) {
        struct world world;
        open_world(&world);
        world.asking = late ? &world.late : &world.early;
        for (int i = 0; i < 2 && world.runs == 0; i++)
            uv_run(&world.loop, i == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
        assert_int_equal(world.runs, 1);
        assert_true(uv_is_active((uv_handle_t *)&world.timer)); /* the loop did not sleep */
        close_world(&world);
    }
}

TEST(the_loop_would_not_sleep)
{
    struct world world;
    open_world(&world);
    uv_run(&world.loop, UV_RUN_NOWAIT);
    assert_true(uv_backend_timeout(&world.loop) > 0);
    deferred_request(&world.deferred);
    assert_int_equal(uv_backend_timeout(&world.loop), 0);
    uv_run(&world.loop, UV_RUN_NOWAIT);
    assert_true(uv_backend_timeout(&world.loop) > 0); /* and sleeps again afterwards */
    close_world(&world);
}
