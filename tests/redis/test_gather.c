/* Script calls of one turn of the loop, which go as one command. */
#include "tests/redis/world.h"
#include "tests/support/cmocka.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT, FAIL, KEEP, FUNCTIONS, MANY = 100 };

static const char *const BODIES[] = {
    "return redis.call('incr', KEYS[1]) .. ' ' .. (ARGV[2] or '')",
    "return redis.call('lpush', KEYS[1], 'x') .. redis.call('get', KEYS[1])",
    "return redis.call('exists', KEYS[1]) .. ''",
};

struct gathered {
    struct world *world;
    const struct script *scripts;
    int called;
    int64_t commands; /* that Redis had run before the test's own */
    struct outcome outcomes[MANY];
};

static int set_up(void **state)
{
    struct gathered *gathered = calloc(1, sizeof *gathered);
    world_set_up((void **)&gathered->world, NULL, NULL);
    gathered->scripts = fixture_gathered(BODIES, FUNCTIONS, KEEP);
    *state = gathered;
    return 0;
}

static int tear_down(void **state)
{
    struct gathered *gathered = *state;
    world_tear_down((void **)&gathered->world);
    free(gathered);
    return 0;
}

#define TEST_ON_GATHERED(name) TEST_ON(struct gathered *gathered, name, set_up, tear_down)

static void on_done(void *context, const struct store_result *result)
{
    struct outcome *outcome = context;
    struct slice text = {"", 0};
    outcome->ended = true;
    outcome->turn = ++outcome->fixture->ended;
    outcome->outcome = result->outcome;
    value_text(result->reply, &text);
    snprintf(outcome->text, sizeof outcome->text, "%.*s", (int)text.length, text.bytes);
    snprintf(outcome->error, sizeof outcome->error, "%s", result->error ? result->error : "");
}

/* Calls a function in this turn. Returns what becomes of it. */
static struct outcome *call(struct gathered *gathered, int function, const char *key,
                            const char *argument)
{
    static const char STAMP[STORE_STAMP_LENGTH];
    struct outcome *outcome = &gathered->outcomes[gathered->called++];
    struct slice arguments[] = {{STAMP, sizeof STAMP}, slice_of(argument)};
    *outcome = (struct outcome){.fixture = &gathered->world->store};
    const struct script_call call = {&gathered->scripts[function],
                                     slice_of(key),
                                     arguments,
                                     2,
                                     .done = on_done,
                                     .context = outcome};
    store_eval(gathered->world->store.store, &call);
    return outcome;
}

/* Waits for all of them, and returns how many commands they were. */
static int64_t await(struct gathered *gathered)
{
    store_fixture_await(&gathered->world->store, &gathered->world->store.ended, gathered->called);
    return redis_process_calls(&gathered->world->redis, "fcall") - gathered->commands;
}

/* So that Redis has the library, and does not answer at once. */
static void begin(struct gathered *gathered)
{
    call(gathered, KEEP, "begin", "");
    gathered->commands = await(gathered);
}

static int count_refused(struct gathered *gathered)
{
    redisReply *reply = redis_process_command(&gathered->world->redis, "INFO commandstats");
    const char *line = strstr(reply->str, "cmdstat_fcall:");
    int refused = atoi(strstr(line, "rejected_calls=") + strlen("rejected_calls="));
    freeReplyObject(reply);
    return refused;
}

#define assert_replied(outcome_, text_)                                                            \
    do {                                                                                           \
        assert_int_equal((outcome_)->outcome, STORE_REPLIED);                                      \
        assert_string_equal((outcome_)->text, text_);                                              \
    } while (0)

TEST_ON_GATHERED(calls_of_a_turn_go_as_one_command_behind_the_first)
{
    begin(gathered);
    struct outcome *first = call(gathered, COUNT, "a", "1"),
                   *second = call(gathered, COUNT, "b", "");
    struct outcome *third = call(gathered, KEEP, "c", "3"),
                   *fourth = call(gathered, COUNT, "d", "\r\n");
    assert_int_equal(await(gathered), 2);
    assert_replied(first, "1 1");
    assert_replied(second, "1 ");
    assert_replied(third, "0");
    assert_replied(fourth, "1 \r\n");
    assert_true(first->turn < second->turn && second->turn < third->turn &&
                third->turn < fourth->turn);
    assert_int_equal(store_figures(gathered->world->store.store).calls, 5);
}

TEST_ON_GATHERED(calls_for_one_name_run_in_their_order)
{
    begin(gathered);
    call(gathered, COUNT, "first", "");
    struct outcome *a = call(gathered, COUNT, "n", "a"), *other = call(gathered, COUNT, "m", "b");
    struct outcome *b = call(gathered, COUNT, "n", "c"), *c = call(gathered, COUNT, "n", "d");
    assert_int_equal(await(gathered), 4);
    assert_replied(a, "1 a");
    assert_replied(other, "1 b");
    assert_replied(b, "2 c");
    assert_replied(c, "3 d");
}

/* Redis does nothing else meanwhile. */
TEST_ON_GATHERED(command_has_a_bounded_number_of_calls)
{
    enum { CALLS_MOST = 32 };
    begin(gathered);
    for (int i = 0; i < 1 + 2 * CALLS_MOST + 1; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        call(gathered, COUNT, key, "");
    }
    assert_int_equal(await(gathered), 4);
    for (int i = 1; i < gathered->called; i++)
        assert_replied(&gathered->outcomes[i], "1 ");
}

TEST_ON_GATHERED(error_of_a_call_is_its_own)
{
    begin(gathered);
    call(gathered, COUNT, "first", "");
    struct outcome *before = call(gathered, COUNT, "a", ""), *bad = call(gathered, FAIL, "b", "");
    struct outcome *behind = call(gathered, COUNT, "c", "");
    assert_int_equal(await(gathered), 2);
    assert_replied(before, "1 ");
    assert_int_equal(bad->outcome, STORE_IN_DOUBT);
    assert_non_null(strstr(bad->error, "WRONGTYPE"));
    assert_replied(behind, "1 ");
}

/* As each would be alone. A grant is not asked for once more as it was: its client may have gone
 * meanwhile. */
TEST_ON_GATHERED(full_redis_refuses_only_what_needs_memory)
{
    begin(gathered);
    freeReplyObject(redis_process_command(&gathered->world->redis, "CONFIG SET maxmemory 1"));
    call(gathered, KEEP, "first", "");
    struct outcome *keeps = call(gathered, KEEP, "a", ""), *needs = call(gathered, FAIL, "b", "");
    struct outcome *grants = call(gathered, COUNT, "c", "");
    await(gathered);
    assert_int_equal(count_refused(gathered), 2); /* all together, and the one that fails */
    assert_replied(keeps, "0");
    assert_int_equal(needs->outcome, STORE_REFUSED);
    assert_non_null(strstr(needs->error, "Redis is full"));
    assert_replied(grants,
                   "0"); /* by the function that takes the place of the one that it asked for */
}

TEST_ON_GATHERED(library_that_redis_has_forgotten_is_loaded_for_all)
{
    begin(gathered);
    freeReplyObject(redis_process_command(&gathered->world->redis, "FUNCTION FLUSH"));
    call(gathered, COUNT, "first", "");
    struct outcome *a = call(gathered, COUNT, "a", "1"), *b = call(gathered, COUNT, "b", "2");
    await(gathered);
    assert_replied(a, "1 1");
    assert_replied(b, "1 2");
    assert_int_equal(redis_process_calls(&gathered->world->redis, "function|load"), 2);
}

TEST_ON_GATHERED(calls_of_a_lost_command_are_all_in_doubt)
{
    begin(gathered);
    redis_process_freeze(&gathered->world->redis);
    call(gathered, COUNT, "first", "");
    struct outcome *a = call(gathered, COUNT, "a", ""), *b = call(gathered, COUNT, "b", "");
    store_fixture_turn(&gathered->world->store);
    redis_process_kill(&gathered->world->redis);
    store_fixture_await(&gathered->world->store, &gathered->world->store.ended, gathered->called);
    assert_int_equal(a->outcome, STORE_IN_DOUBT);
    assert_int_equal(b->outcome, STORE_IN_DOUBT);
}

TEST_ON_GATHERED(calls_that_were_not_sent_have_not_happened)
{
    begin(gathered);
    call(gathered, COUNT, "first", "");
    struct outcome *a = call(gathered, COUNT, "a", ""), *b = call(gathered, COUNT, "b", "");
    store_fixture_close(&gathered->world->store);
    assert_int_equal(a->outcome, STORE_UNSENT);
    assert_int_equal(b->outcome, STORE_UNSENT);
    store_fixture_open_up(&gathered->world->store, gathered->world->redis.url);
}
