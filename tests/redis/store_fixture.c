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

/* Redis computes the SHA-1 itself; here a small one of our own saves a library. */

static uint32_t rotate(uint32_t word, int count)
{
    return word << count | word >> (32 - count);
}

static void sha1_block(uint32_t state[5], const unsigned char *block)
{
    uint32_t w[80];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5A827999u
                     : i < 40 ? (b ^ c ^ d) + 0x6ED9EBA1u
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCu
                              : (b ^ c ^ d) + 0xCA62C1D6u;
        uint32_t next = rotate(a, 5) + f + e + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

static void sha1(const char *text, char hex[41])
{
    uint32_t state[5] = {0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u, 0xC3D2E1F0u};
    size_t length = strlen(text);
    size_t padded = (length + 9 + 63) / 64 * 64;
    unsigned char *bytes = calloc(1, padded);
    memcpy(bytes, text, length);
    bytes[length] = 0x80;
    for (size_t i = 0; i < 8; i++)
        bytes[padded - 1 - i] = (unsigned char)((uint64_t)length * 8 >> (8 * i));
    for (size_t at = 0; at < padded; at += 64)
        sha1_block(state, bytes + at);
    for (int i = 0; i < 5; i++)
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)state[i]);
    free(bytes);
}

const struct script *fixture_script(const char *text)
{
    static struct {
        struct script script;
        char sha1[41];
    } scripts[MOST_SCRIPTS];
    for (size_t i = 0; i < MOST_SCRIPTS; i++) {
        struct script *script = &scripts[i].script;
        if (!script->text) {
            sha1(text, scripts[i].sha1);
            *script = (struct script){"test", text, strlen(text), scripts[i].sha1};
        }
        if (strcmp(script->text, text) == 0)
            return script;
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
