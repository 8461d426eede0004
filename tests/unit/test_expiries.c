/* Expiries by themselves: a Redis that the test plays, and a clock of its own. */
#include "locks/calls/operation.h"
#include "locks/waiting/expiries.h"
#include "tests/support/cmocka.h"
#include "tests/support/seed.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 40, HOLDS = 3, NOTICED_MS = 2000, STEPS = 20000, ASKED_MOST = 200 };

/* A hold as Redis knows it. */
struct truth {
    uint64_t end; /* 0: there is none */
    bool here;    /* it was granted or renewed here last */
    bool shared;
};

struct name {
    char key[16];
    struct truth holds[HOLDS];
};

struct world {
    uv_loop_t loop;
    struct locks locks;
    struct name names[NAMES];
    uint64_t random;
    bool away;     /* Redis does not answer */
    uint64_t back; /* since when it does again */
    /* The script that is under way. Redis has run it at once, or runs it when it answers. */
    store_done *done;
    void *context;
    uint64_t answer_at;
    size_t asked_count;
    char asked[ASKED_MOST][16];
    bool has_run;
    long long next_ends[ASKED_MOST]; /* if it has run */
    uint64_t asked_in_all;
    bool closed;
};

static struct world *world;

bool store_is_closing(const struct store *store)
{
    (void)store;
    assert_false(world->closed);
    return false;
}

unsigned store_shard(const struct store *store, struct slice key)
{
    (void)store, (void)key;
    return 0;
}

static struct name *name_of(const char *key)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(world->names[i].key, key) == 0)
            return &world->names[i];
    return NULL;
}

/* As any script does first. */
static void expire(struct name *name)
{
    for (size_t i = 0; i < HOLDS; i++)
        if (name->holds[i].end <= world->loop.time)
            name->holds[i].end = 0;
}

static long long next_end(struct name *name)
{
    uint64_t next = UINT64_MAX;
    if (!name)
        return -1;
    expire(name);
    for (size_t i = 0; i < HOLDS; i++)
        if (name->holds[i].end > 0 && name->holds[i].end < next)
            next = name->holds[i].end;
    return next == UINT64_MAX ? -1 : (long long)(next - world->loop.time);
}

/* In place of the one that asks Redis. */
void store_eval_at(struct store *store, unsigned shard, const struct script_call *call)
{
    (void)store;
    assert_int_equal(shard, 0);
    assert_null(world->done); /* one at a time */
    assert_in_range(call->argument_count, 2, 1 + ASKED_MOST);
    world->done = call->done;
    world->context = call->context;
    world->answer_at = world->loop.time + 2 + seed_draw(&world->random, 50); /* not in pass(1) */
    world->asked_count = call->argument_count - 1;
    world->asked_in_all += world->asked_count;
    for (size_t i = 0; i < world->asked_count; i++)
        snprintf(world->asked[i], sizeof world->asked[i], "%.*s",
                 (int)call->arguments[1 + i].length, call->arguments[1 + i].bytes);
    world->has_run = seed_draw(&world->random, 2) == 0;
    for (size_t i = 0; world->has_run && i < world->asked_count; i++)
        world->next_ends[i] = next_end(name_of(world->asked[i]));
}

static void answer(void)
{
    redisReply numbers[ASKED_MOST], *elements[ASKED_MOST], reply = {.type = REDIS_REPLY_ARRAY};
    for (size_t i = 0; i < world->asked_count; i++) {
        long long next = world->has_run ? world->next_ends[i] : next_end(name_of(world->asked[i]));
        numbers[i] = (redisReply){.type = REDIS_REPLY_INTEGER, .integer = next};
        elements[i] = &numbers[i];
    }
    reply.elements = world->asked_count;
    reply.element = elements;
    const struct store_result replied = {.outcome = STORE_REPLIED,
                                         .reply = (const struct value *)(void *)&reply};
    const struct store_result unsent = {.outcome = STORE_UNSENT, .error = "away"};
    store_done *done = world->done;
    world->done = NULL;
    done(world->context, world->away ? &unsent : &replied);
}

static void check(void)
{
    for (size_t i = 0; i < NAMES; i++)
        for (size_t j = 0; j < HOLDS; j++) {
            const struct truth *hold = &world->names[i].holds[j];
            uint64_t by = hold->end > world->back ? hold->end : world->back;
            if (hold->end > 0 && hold->here && by + NOTICED_MS < world->loop.time)
                fail_msg("nobody has noticed the end of %s, %" PRIu64 " ms ago",
                         world->names[i].key, world->loop.time - hold->end);
        }
}

/* Lets so much time pass. */
static void pass(uint64_t ms)
{
    uint64_t until = world->loop.time + ms;
    uv_timer_t *timer = &world->locks.expiries->timer;
    for (;;) {
        uint64_t next = until;
        if (uv_is_active((uv_handle_t *)timer) &&
            world->loop.time + uv_timer_get_due_in(timer) < next)
            next = world->loop.time + uv_timer_get_due_in(timer);
        if (world->done && world->answer_at < next)
            next = world->answer_at;
        world->loop.time = next;
        if (world->done && world->answer_at <= next) {
            answer();
        } else if (uv_is_active((uv_handle_t *)timer) && uv_timer_get_due_in(timer) == 0) {
            uv_timer_stop(timer);
            timer->timer_cb(timer);
        } else {
            return;
        }
        if (!world->away)
            check();
    }
}

static size_t count(const struct name *name, bool shared_only)
{
    size_t found = 0;
    for (size_t i = 0; i < HOLDS; i++)
        found += name->holds[i].end > 0 && (!shared_only || name->holds[i].shared);
    return found;
}

static int64_t some_ttl(void)
{
    static const uint32_t LONGEST[] = {500, 5000, 60000, 600000, 86400000};
    return 100 + seed_draw(&world->random, LONGEST[seed_draw(&world->random, 5)]);
}

static struct slice key_of(const struct name *name)
{
    return slice_of(name->key);
}

static void note(struct name *name, const struct truth *truth, int64_t holds)
{
    const struct hold hold = {.ttl_ms = (int64_t)(truth->end - world->loop.time),
                              .holds = holds,
                              .mode = truth->shared ? LOCK_SHARED : LOCK_EXCLUSIVE};
    expiries_note(&world->locks, key_of(name), &hold);
}

/* An exclusive hold has the name for itself, but for others of its owner. */
static void grant(struct name *name)
{
    bool is_reentrant = seed_draw(&world->random, 4) == 0,
         shared = seed_draw(&world->random, 2) == 0;
    expire(name);
    size_t all = count(name, false);
    struct truth *place = NULL;
    for (size_t i = 0; i < HOLDS; i++)
        if (name->holds[i].end == 0)
            place = &name->holds[i];
    if (!place || (all > 0 && !is_reentrant && !(shared && count(name, true) == all)))
        return;
    *place = (struct truth){world->loop.time + (uint64_t)some_ttl(),
                            seed_draw(&world->random, 3) > 0, shared};
    if (place->here)
        note(name, place, is_reentrant ? (int64_t)all + 1 : 1);
}

/* A server that cuts a hold short looks after that itself. */
static void renew(struct name *name)
{
    struct truth *hold = &name->holds[seed_draw(&world->random, HOLDS)];
    expire(name);
    if (hold->end == 0)
        return;
    uint64_t before = hold->end;
    bool here = seed_draw(&world->random, 2) == 0;
    hold->end = world->loop.time + (uint64_t)some_ttl();
    hold->here = here || (hold->here && hold->end >= before);
    if (here)
        note(name, hold, (int64_t)count(name, false));
}

static void release(struct name *name)
{
    struct truth *hold = &name->holds[seed_draw(&world->random, HOLDS)];
    expire(name);
    if (hold->end == 0)
        return;
    hold->end = 0;
    if (seed_draw(&world->random, 2) == 0 && count(name, false) == 0)
        expiries_released(&world->locks, key_of(name));
}

static int start(void **state)
{
    (void)state;
    world = calloc(1, sizeof *world);
    uv_loop_init(&world->loop);
    world->locks.loop = &world->loop;
    world->random = seed_choose();
    for (size_t i = 0; i < NAMES; i++)
        snprintf(world->names[i].key, sizeof world->names[i].key, "baton:{%zu}", i);
    expiries_open(&world->locks);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (world->done)
        answer();
    /* A timer that is due while the handles close must not run: the store is gone by then. */
    note(&world->names[0], &(struct truth){world->loop.time + 1000, true, false}, 1);
    world->loop.time += 100000;
    expiries_close(&world->locks);
    world->closed = true;
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    free(world);
    return 0;
}

TEST_WITH(every_end_is_noticed_in_time, start, stop)
{
    static void (*const STEP[])(struct name * name) = {grant, grant, renew, release};
    for (int i = 0; i < STEPS; i++) {
        STEP[seed_draw(&world->random, 4)](&world->names[seed_draw(&world->random, NAMES)]);
        pass(seed_draw(&world->random, 100) == 0 ? seed_draw(&world->random, 900000)
                                                 : seed_draw(&world->random, 400));
    }
    pass(UINT64_C(2) * 86400 * 1000);
    assert_int_equal(world->locks.expiries->count, 0);
    assert_false(uv_is_active((uv_handle_t *)&world->locks.expiries->timer));
}

TEST_WITH(hold_released_here_costs_no_request, start, stop)
{
    struct name *name = &world->names[0];
    struct truth hold = {world->loop.time + 1000, true, false};
    note(name, &hold, 1);
    expiries_released(&world->locks, key_of(name));
    pass(5000);
    assert_int_equal(world->asked_in_all, 0);
    note(name, &hold, 1); /* released elsewhere */
    pass(5000);
    assert_int_equal(world->asked_in_all, 1);
    pass(100000);
    assert_int_equal(world->asked_in_all, 1);
}

TEST_WITH(while_redis_is_away_nothing_is_forgotten, start, stop)
{
    struct name *name = &world->names[0];
    name->holds[0] = (struct truth){world->loop.time + 1000, true, false};
    note(name, &name->holds[0], 1);
    world->away = true;
    pass(10000);
    assert_in_range(world->asked_in_all, 4, 10);
    world->away = false;
    world->back = world->loop.time;
    pass(NOTICED_MS);
    assert_int_equal(name->holds[0].end, 0);
}

/* Redis has run the script before the grant, and its answer comes behind that. */
TEST_WITH(grant_while_redis_is_asked_is_not_forgotten, start, stop)
{
    struct name *name = &world->names[0];
    name->holds[0] = (struct truth){world->loop.time + 1000, true, false};
    note(name, &name->holds[0], 1);
    for (int i = 0; i < 2 * NOTICED_MS && !world->done; i++)
        pass(1);
    assert_non_null(world->done);
    world->has_run = true;
    world->next_ends[0] = next_end(name);
    assert_int_equal(world->next_ends[0], -1);
    name->holds[0] = (struct truth){world->loop.time + 1000, true, false};
    note(name, &name->holds[0], 1);
    pass(1000 + 2 * NOTICED_MS);
    assert_int_equal(name->holds[0].end, 0);
}

/* 200 names are asked about at once, and then the next. */
TEST_WITH(thousands_that_end_at_once_are_asked_about_in_parts, start, stop)
{
    enum { MANY = 5000 };
    const struct hold hold = {.ttl_ms = 1000, .holds = 1};
    for (int i = 0; i < MANY; i++) {
        char key[16];
        snprintf(key, sizeof key, "many%d", i);
        expiries_note(&world->locks, slice_of(key), &hold);
    }
    pass(1000);
    assert_int_equal(world->asked_in_all, 0);
    pass(3000);
    assert_int_equal(world->asked_in_all, MANY);
    assert_int_equal(world->locks.expiries->count, 0);
}

TEST_WITH(memory_is_bounded, start, stop)
{
    const struct hold hold = {.ttl_ms = 60000, .holds = 1};
    int i = 0;
    while (locks_left_out(&world->locks) == 0 && i < 1000000) {
        char key[40];
        snprintf(key, sizeof key, "a name of usual length %d", i++);
        expiries_note(&world->locks, slice_of(key), &hold);
    }
    print_message("%d names\n", i - 1);
    assert_in_range(i, 100000, 200000);
    assert_true(world->locks.expiries->slabs.bytes <= EXPIRIES_BYTES);
    expiries_note(&world->locks, slice_of("a name of usual length 0"), &hold); /* is there */
    assert_int_equal(locks_left_out(&world->locks), 1);
    expiries_released(&world->locks, slice_of("a name of usual length 0"));
    expiries_note(&world->locks, slice_of("another name of this length"), &hold);
    assert_int_equal(locks_left_out(&world->locks), 1);
}
