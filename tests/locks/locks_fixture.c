#include "tests/locks/locks_fixture.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

enum { LONGEST_WAIT_MS = 10000, TICK_MS = 5, HOUR_MS = 3600 * 1000 };

static void on_serving(void *context, unsigned shard)
{
    struct site *site = context;
    (void)shard;
    site->ups++;
}

static void on_down(void *context, unsigned shard, const char *reason)
{
    struct site *site = context;
    (void)shard, (void)reason;
    site->downs++;
}

static void on_listening(void *context)
{
    struct site *site = context;
    site->listens++;
}

static void on_message(void *context, struct slice text)
{
    struct site *site = context;
    (void)text;
    site->messages++;
}

static void on_expired(void *context, const struct expiry *expiry)
{
    struct site *site = context;
    struct expiries_told *told = &site->expired;
    told->count += (int)expiry->count;
    snprintf(told->name, sizeof told->name, "%.*s", (int)expiry->name.length, expiry->name.bytes);
    snprintf(told->owner, sizeof told->owner, "%.*s", (int)expiry->owner.length,
             expiry->owner.bytes);
    told->mode = expiry->mode;
    told->fence = expiry->fence;
    told->held_ms = expiry->held_ms;
}

void site_open(struct site *site, struct locks_fixture *fixture, uint32_t process)
{
    *site = (struct site){.fixture = fixture};
    struct redis_url url;
    struct failure failure;
    if (redis_url_parse(fixture->redis.url, &url, &failure) < 0)
        fail_msg("%s", failure.text);
    const struct locks_options options = {
        .loop = &fixture->loop,
        .redis_url = &url,
        .key_prefix = slice_of("baton:"),
        .retention_ms = HOUR_MS,
        .waiter_lease_ms = FIXTURE_LEASE_MS,
        .claim_window_ms = FIXTURE_CLAIM_MS,
        .max_waiters = FIXTURE_WAITERS,
        .process = process,
        .events = {.context = site,
                   .expired = on_expired,
                   .serving = on_serving,
                   .store = {.context = site,
                             .down = on_down,
                             .listening = on_listening,
                             .message = on_message}},
    };
    assert_int_equal(locks_open(&site->locks, &options), 0);
    redis_url_free(&url);
    site->store = locks_store(site->locks);
    fixture_await(fixture, &site->ups, 1);
    fixture_await(fixture, &site->listens, 1);
}

void site_close(struct site *site)
{
    for (int i = 0; site->store && i < 100 && !locks_are_settled(site->locks); i++)
        fixture_idle(site->fixture, TICK_MS);
    if (site->store)
        locks_close(site->locks, NULL, NULL);
    site->store = NULL;
}

int fixture_start(void **state)
{
    struct locks_fixture *fixture = calloc(1, sizeof *fixture);
    redis_process_start(&fixture->redis, NULL);
    uv_loop_init(&fixture->loop);
    uv_timer_init(&fixture->loop, &fixture->guard);
    site_open(&fixture->here, fixture, 1);
    site_open(&fixture->there, fixture, 2);
    *state = fixture;
    return 0;
}

int fixture_stop(void **state)
{
    struct locks_fixture *fixture = *state;
    site_close(&fixture->here);
    site_close(&fixture->there);
    uv_close((uv_handle_t *)&fixture->guard, NULL);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    redis_process_stop(&fixture->redis);
    free(fixture);
    return 0;
}

static void on_guard(uv_timer_t *timer)
{
    struct locks_fixture *fixture = timer->data;
    fixture->late = uv_now(&fixture->loop) >= fixture->deadline;
}

/* It ticks, for what is waited for may come at the start of a turn that then goes to sleep. */
static void guard_start(struct locks_fixture *fixture, int ms)
{
    fixture->late = false;
    fixture->guard.data = fixture;
    uv_update_time(&fixture->loop);
    fixture->deadline = uv_now(&fixture->loop) + (uint64_t)ms;
    uv_timer_start(&fixture->guard, on_guard, TICK_MS, TICK_MS);
}

void fixture_await(struct locks_fixture *fixture, const int *number, int least)
{
    guard_start(fixture, LONGEST_WAIT_MS);
    while (*number < least && !fixture->late)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    uv_timer_stop(&fixture->guard);
    if (*number < least)
        fail_msg("waited in vain: %d of %d", *number, least);
}

void fixture_idle(struct locks_fixture *fixture, int ms)
{
    guard_start(fixture, ms);
    while (!fixture->late)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    uv_timer_stop(&fixture->guard);
}

void fixture_answered(void *context, const struct locks_reply *reply)
{
    struct answer *answer = context;
    answer->count++;
    answer->reply = *reply;
    if (reply->hold.owner.length > 0)
        snprintf(answer->owner, sizeof answer->owner, "%.*s", (int)reply->hold.owner.length,
                 reply->hold.owner.bytes);
}

bool fixture_is_connected(void *context)
{
    struct answer *answer = context;
    answer->looks++;
    return !answer->gone;
}

struct acquire fixture_request(const char *name, const char *token, int64_t ttl_ms)
{
    return (struct acquire){.name = slice_of(name),
                            .token = slice_of(token),
                            .owner = slice_of("somebody"),
                            .ttl_ms = ttl_ms};
}

static struct answer awaited(struct site *site, struct answer *answer)
{
    assert_int_equal(answer->count, 0); /* never before the call has returned */
    fixture_await(site->fixture, &answer->count, 1);
    return *answer;
}

struct answer fixture_acquire(struct site *site, const struct acquire *acquire)
{
    struct answer answer = {0};
    locks_acquire(site->locks, acquire, fixture_answered, &answer);
    return awaited(site, &answer);
}

struct answer fixture_lock(struct site *site, const char *name, const char *token, int64_t ttl_ms)
{
    struct acquire acquire = fixture_request(name, token, ttl_ms);
    struct answer answer = fixture_acquire(site, &acquire);
    assert_int_equal(answer.reply.result, LOCKS_DONE);
    return answer;
}

struct answer fixture_renew(struct site *site, const char *name, const char *token, int64_t ttl_ms)
{
    struct answer answer = {0};
    locks_renew(site->locks, slice_of(name), slice_of(token), ttl_ms, 0, fixture_answered, &answer);
    return awaited(site, &answer);
}

struct answer fixture_release(struct site *site, const char *name, const char *token)
{
    struct answer answer = {0};
    locks_release(site->locks, slice_of(name), slice_of(token), fixture_answered, &answer);
    return awaited(site, &answer);
}

struct answer fixture_break(struct site *site, const char *name)
{
    struct answer answer = {0};
    locks_break(site->locks, slice_of(name), fixture_answered, &answer);
    return awaited(site, &answer);
}

struct answer fixture_inspect(struct site *site, const char *name)
{
    struct answer answer = {0};
    locks_inspect(site->locks, slice_of(name), slice_of(NULL), LOCK_WAITERS_SHOWN, fixture_answered,
                  &answer);
    return awaited(site, &answer);
}

int64_t fixture_remaining(struct site *site, const char *name)
{
    struct answer answer = fixture_inspect(site, name);
    assert_int_equal(answer.reply.result, LOCKS_DONE);
    return answer.reply.view.hold_count > 0 ? answer.reply.view.holders[0].ttl_ms : 0;
}
