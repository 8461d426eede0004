/* world.h: a Redis, or a server that answers as a test says, and a store that uses it. */
#ifndef BATON_TESTS_REDIS_WORLD_H
#define BATON_TESTS_REDIS_WORLD_H

#include "tests/support/faults/fake_redis.h"
#include "tests/support/fixtures/store_fixture.h"
#include "tests/support/redis_process.h"

struct world {
    struct redis_process redis;
    struct store_fixture store;
};

/* For fixtures of cmocka: *state is a world whose Redis has these options (NULL: none), and whose
 * store is up, and listens where a channel is given. */
int world_set_up(void **state, const struct redis_options *options, const char *channel);
int world_tear_down(void **state);

/* A test on `world`, which the program's own set_up has made by world_set_up. */
#define TEST_IN_WORLD(name) TEST_ON(struct world *world, name, set_up, world_tear_down)

/* A store that is up on a fake server. */
void world_open_fake(struct fake_redis *fake, struct store_fixture *store,
                     const struct fake_answers *answers);
void world_close_fake(struct fake_redis *fake, struct store_fixture *store);

#endif
