#include "tests/redis/world.h"

#include <stdlib.h>

int world_set_up(void **state, const struct redis_options *options, const char *channel)
{
    struct world *world = calloc(1, sizeof *world);
    redis_process_start(&world->redis, options);
    if (channel)
        store_fixture_open_listening(&world->store, world->redis.url, channel);
    else
        store_fixture_open_up(&world->store, world->redis.url);
    *state = world;
    return 0;
}

int world_tear_down(void **state)
{
    struct world *world = *state;
    store_fixture_close(&world->store);
    redis_process_stop(&world->redis);
    free(world);
    return 0;
}

void world_open_fake(struct fake_redis *fake, struct store_fixture *store,
                     const struct fake_answers *answers)
{
    fake_redis_start(fake, answers);
    store_fixture_open_up(store, fake->url);
}

void world_close_fake(struct fake_redis *fake, struct store_fixture *store)
{
    store_fixture_close(store);
    fake_redis_stop(fake);
}
