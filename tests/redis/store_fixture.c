#include "tests/redis/store_fixture.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_WAIT_MS = 10000, TICK_MS = 10, MOST_SCRIPTS = 64 };

static void on_up(void *context, unsigned shard)
{
    struct store_fixture *fixture = context;
    assert_true(store_shard_is_up(fixture->store, shard));
    fixture->ups++;
    if (store_shard_count(fixture->store) == 1) { /* or others may be on their way */
        assert_true(store_is_up(fixture->store));
        assert_string_equal(store_trouble(fixture->store), "");
    }
    if (fixture->on_up)
        fixture->on_up(fixture);
}

static void on_down(void *context, unsigned shard, const char *reason)
{
    struct store_fixture *fixture = context;
    assert_false(store_shard_is_up(fixture->store, shard));
    fixture->downs++;
    assert_false(store_is_up(fixture->store));
    if (store_shard_count(fixture->store) == 1) /* or another one is in trouble, too */
        assert_string_equal(store_trouble(fixture->store), reason);
    snprintf(fixture->reason, sizeof fixture->reason, "%s", reason);
}

static void on_warning(void *context, const char *text)
{
    struct store_fixture *fixture = context;
    fixture->warnings++;
    snprintf(fixture->warning, sizeof fixture->warning, "%s", text);
}

static void on_listening(void *context)
{
    struct store_fixture *fixture = context;
    assert_false(fixture->inside);
    fixture->listenings++;
    if (fixture->on_listening)
        fixture->on_listening(fixture);
}

static void on_message(void *context, struct slice text)
{
    struct store_fixture *fixture = context;
    assert_false(fixture->inside);
    fixture->messages++;
    fixture->message_length = text.length;
    snprintf(fixture->message, sizeof fixture->message, "%.*s", (int)text.length, text.bytes);
    if (fixture->on_message)
        fixture->on_message(fixture);
}

static void on_touched(void *context, struct slice key)
{
    struct store_fixture *fixture = context;
    assert_false(fixture->inside);
    if (key.length > 0)
        fixture->touches++;
    else
        fixture->touches_of_any++;
    snprintf(fixture->touched, sizeof fixture->touched, "%.*s", (int)key.length,
             key.length > 0 ? key.bytes : "");
    if (fixture->on_touched)
        fixture->on_touched(fixture);
}

void store_fixture_open_with(struct store_fixture *fixture, const struct redis_url *url)
{
    *fixture = (struct store_fixture){.late = false};
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    uv_timer_init(&fixture->loop, &fixture->guard);
    const struct store_events events = {
        .context = fixture,
        .up = on_up,
        .down = on_down,
        .warning = on_warning,
        .listening = on_listening,
        .message = on_message,
        .touched = on_touched,
    };
    assert_int_equal(store_open(&fixture->store, &fixture->loop, url, &events), 0);
}

void store_fixture_open(struct store_fixture *fixture, const char *url)
{
    struct redis_url parsed;
    struct failure failure;
    if (redis_url_parse(url, &parsed, &failure) < 0)
        fail_msg("%s", failure.text);
    store_fixture_open_with(fixture, &parsed);
    redis_url_free(&parsed);
}

void store_fixture_open_up(struct store_fixture *fixture, const char *url)
{
    store_fixture_open(fixture, url);
    store_fixture_await(fixture, &fixture->ups, 1);
}

void store_fixture_listen(struct store_fixture *fixture, const char *channel)
{
    fixture->inside = true;
    assert_int_equal(store_listen(fixture->store, slice_of(channel)), 0);
    fixture->inside = false;
}

void store_fixture_open_listening(struct store_fixture *fixture, const char *url,
                                  const char *channel)
{
    store_fixture_open(fixture, url);
    store_fixture_listen(fixture, channel);
    store_fixture_await(fixture, &fixture->ups, 1);
    store_fixture_await(fixture, &fixture->listenings, 1);
}

void store_fixture_track(struct store_fixture *fixture, const char *prefix)
{
    fixture->inside = true;
    store_track(fixture->store, slice_of(prefix));
    fixture->inside = false;
}

void store_fixture_untrack(struct store_fixture *fixture)
{
    fixture->inside = true;
    store_untrack(fixture->store);
    fixture->inside = false;
}

static void on_guard(uv_timer_t *timer)
{
    struct store_fixture *fixture = timer->data;
    fixture->late = uv_now(&fixture->loop) >= fixture->deadline;
}

/* It ticks, for what is waited for may come at the start of a turn that then goes to sleep. */
static void guard_start(struct store_fixture *fixture, int ms)
{
    fixture->late = false;
    fixture->guard.data = fixture;
    uv_update_time(&fixture->loop);
    fixture->deadline = uv_now(&fixture->loop) + (uint64_t)ms;
    uv_timer_start(&fixture->guard, on_guard, TICK_MS, TICK_MS);
}

void store_fixture_await(struct store_fixture *fixture, const int *number, int least)
{
    guard_start(fixture, LONGEST_WAIT_MS);
    while (*number < least && !fixture->late)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    uv_timer_stop(&fixture->guard);
    if (*number < least)
        fail_msg("waited in vain: %d ups, %d downs, %d ended, %d listenings, %d messages; %s; %s",
                 fixture->ups, fixture->downs, fixture->ended, fixture->listenings,
                 fixture->messages, fixture->reason, fixture->warning);
}

void store_fixture_idle(struct store_fixture *fixture, int ms)
{
    guard_start(fixture, ms);
    while (!fixture->late)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    uv_timer_stop(&fixture->guard);
}

static void on_closed(void *context)
{
    struct store_fixture *fixture = context;
    fixture->store = NULL;
}

void store_fixture_close_begin(struct store_fixture *fixture)
{
    uv_close((uv_handle_t *)&fixture->guard, NULL);
    store_close(fixture->store, on_closed, fixture);
}

static void on_stuck(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("the store does not close");
}

void store_fixture_close_end(struct store_fixture *fixture)
{
    uv_timer_t limit;
    uv_timer_init(&fixture->loop, &limit);
    uv_timer_start(&limit, on_stuck, LONGEST_WAIT_MS, 0);
    uv_unref((uv_handle_t *)&limit);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_null(fixture->store);
    uv_close((uv_handle_t *)&limit, NULL);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
}

void store_fixture_close(struct store_fixture *fixture)
{
    store_fixture_close_begin(fixture);
    store_fixture_close_end(fixture);
}

/* Libraries of the tests' own. */

enum { NAME = 24, FUNCTIONS_MOST = 4, WRAPPING = 160 };

struct made_library {
    struct made_library *others; /* all of them are kept */
    struct library library;
    struct script scripts[FUNCTIONS_MOST];
    const char *texts[FUNCTIONS_MOST];
    char name[NAME];
    char functions[FUNCTIONS_MOST][NAME];
};

static void library_add(char **text, size_t *length, const char *function, const char *body,
                        const char *flags)
{
    size_t room = strlen(body) + WRAPPING;
    *text = realloc(*text, *length + room);
    *length += (size_t)snprintf(*text + *length, room,
                                "redis.register_function{function_name = '%s', flags = {%s}, "
                                "callback = function(KEYS, ARGV) %s\nend}\n",
                                function, flags, body);
}

/* Makes a library, the functions of which have these bodies, and the last these flags. */
static struct made_library *library_make(const char *const *bodies, size_t count, const char *flags)
{
    static int made_so_far;
    static struct made_library *all;
    struct made_library *made = calloc(1, sizeof *made);
    made->others = all;
    all = made;
    size_t length = 0;
    char *text = malloc(WRAPPING);
    snprintf(made->name, sizeof made->name, "test_%d", made_so_far++);
    length = (size_t)snprintf(text, WRAPPING, "#!lua name=%s\n", made->name);
    for (size_t i = 0; i < count; i++) {
        snprintf(made->functions[i], NAME, "test_%d_%zu", made_so_far - 1, i);
        library_add(&text, &length, made->functions[i], bodies[i], i == count - 1 ? flags : "");
        made->texts[i] = bodies[i];
        made->scripts[i] = (struct script){"test", made->functions[i], NULL, &made->library};
    }
    made->library = (struct library){made->name, text, length};
    return made;
}

const struct script *fixture_scripts(const char *const *bodies, size_t count)
{
    assert_true(count <= FUNCTIONS_MOST);
    return library_make(bodies, count, "")->scripts;
}

const struct script *fixture_script_when_full(const char *body, const char *body_when_full)
{
    struct made_library *made =
        library_make((const char *const[]){body, body_when_full}, 2, "'allow-oom'");
    made->scripts[0].when_full = made->functions[1];
    return made->scripts;
}

const struct script *fixture_script(const char *body)
{
    static struct made_library *made[MOST_SCRIPTS];
    for (size_t i = 0; i < MOST_SCRIPTS; i++) {
        if (!made[i])
            made[i] = library_make(&body, 1, "");
        if (strcmp(made[i]->texts[0], body) == 0)
            return made[i]->scripts;
    }
    fail_msg("too many scripts");
    return NULL;
}

static void on_done(void *context, const struct store_result *result)
{
    struct outcome *outcome = context;
    assert_false(outcome->ended);
    outcome->ended = true;
    outcome->turn = ++outcome->fixture->ended;
    outcome->took_ms = clock_ms() - outcome->begun_ms;
    outcome->outcome = result->outcome;
    value_integer(result->reply, &outcome->integer);
    struct slice text;
    if (value_text(result->reply, &text))
        snprintf(outcome->text, sizeof outcome->text, "%.*s", (int)text.length, text.bytes);
    if (result->error)
        snprintf(outcome->error, sizeof outcome->error, "%s", result->error);
    assert_true((result->outcome == STORE_REPLIED) == (result->error == NULL));
    assert_true((result->outcome == STORE_REPLIED) == (result->reply != NULL));
}

void store_fixture_call(struct store_fixture *fixture, struct outcome *outcome,
                        const struct script *script, const char *key, const char *argument)
{
    *outcome = (struct outcome){.fixture = fixture, .integer = -1, .begun_ms = clock_ms()};
    struct slice arguments[] = {slice_of(argument)};
    store_eval(fixture->store, script, slice_of(key), arguments, 1, on_done, outcome);
    assert_false(outcome->ended); /* never before store_eval has returned */
}

struct outcome store_fixture_run(struct store_fixture *fixture, const char *text, const char *key,
                                 const char *argument)
{
    struct outcome outcome;
    store_fixture_call(fixture, &outcome, fixture_script(text), key, argument);
    store_fixture_await(fixture, &fixture->ended, fixture->ended + 1);
    return outcome;
}
