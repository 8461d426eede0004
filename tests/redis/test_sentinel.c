/* Redis Sentinel: which server is used, and when it is another one. How soon that is is asserted in
 * tests/timing/test_primary_losses.c. */
#include "redis/address/access.h"
#include "redis/sentinel/sentinel.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/store_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/watched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";
static const char PORT[] = "return redis.call('INFO', 'server'):match('tcp_port:(%d+)')";
static const char CHANNEL[] = "baton:inbox:sentinel";

enum { PREFLIGHT_MS = CLOCK_HANG_MS, LONGER_MS = SENTINEL_PRIMARY_LEASE_MS + 200 };

/* Which server runs the store's scripts. The loop is not turned while the test waits for others. */
static int server_of(struct store_fixture *store, const struct watched *watched)
{
    store_fixture_idle(store, 20);
    struct outcome outcome = store_fixture_run(store, PORT, "port", "");
    if (outcome.outcome != STORE_REPLIED)
        fail_msg("%s", outcome.error);
    for (int i = 0; i < WATCHED_SERVERS; i++)
        if (watched->servers[i].port == atoi(outcome.text))
            return i;
    return -1;
}

/* A message that is published by a script comes in the inbox: both have the same server. */
static void receives_own_message(struct store_fixture *store)
{
    static const char PUBLISH[] = "return redis.call('PUBLISH', ARGV[1], 'word')";
    int before = store->messages;
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (store_fixture_run(store, PUBLISH, "a", CHANNEL).integer != 1) { /* not connected yet */
        assert_true(clock_ms() < deadline);
        clock_sleep_ms(5);
    }
    store_fixture_await(store, &store->messages, before + 1);
}

static int preflight(const char *text, struct failure *failure)
{
    struct redis_url url;
    assert_int_equal(redis_url_parse(text, &url, failure), 0);
    int result = store_preflight(&url, PREFLIGHT_MS, failure);
    redis_url_free(&url);
    return result;
}

static void expect_says(const struct failure *failure, const char *words)
{
    if (!strstr(failure->text, words))
        fail_msg("`%s` does not say `%s`", failure->text, words);
}

#define TEST_ON_WATCHED(name) TEST_ON(struct watched *watched, name, NULL, NULL)

TEST_ON_WATCHED(the_primary_is_found_and_checked)
{
    struct store_fixture store;
    struct failure failure = {""};
    assert_int_equal(preflight(watched->url, &failure), 0);
    store_fixture_open_listening(&store, watched->url, CHANNEL);
    int primary = watched_primary(watched, 0);
    assert_int_equal(server_of(&store, watched), primary);
    receives_own_message(&store);
    char place[64];
    snprintf(place, sizeof place, "Redis at redis://127.0.0.1:%d/0",
             watched->servers[primary].port);
    assert_string_equal(store_place(store.store), place);
    assert_int_equal(store_figures(store.store).switches, 0);
    assert_int_equal(store.warnings, 0);
    store_fixture_close(&store);
}

/* It is connected by way of these, one of which is passed over. */
static void passes_over(const char *url, const char *words)
{
    struct store_fixture store;
    store_fixture_open_up(&store, url);
    store_fixture_await(&store, &store.warnings, 1);
    assert_int_equal(store.warnings, 1);
    assert_non_null(strstr(store.warning, words));
    store_fixture_close(&store);
}

TEST_ON_WATCHED(a_dead_sentinel_is_passed_over)
{
    char url[200];
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/mymaster", free_port(),
             watched->sentinels[2].port);
    passes_over(url, "cannot connect to the sentinel at 127.0.0.1:");
}

/* Two of three are most of them. */
TEST_ON_WATCHED(a_frozen_sentinel_is_passed_over)
{
    process_signal(&watched->sentinels[0].process, SIGSTOP);
    passes_over(watched->url, "the sentinel at 127.0.0.1:");
    process_signal(&watched->sentinels[0].process, SIGCONT);
}

TEST_ON_WATCHED(a_name_that_no_sentinel_knows_stops_the_start)
{
    struct failure failure;
    char url[200];
    snprintf(url, sizeof url, "%sx", watched->url);
    assert_int_equal(preflight(url, &failure), -EPROTO);
    expect_says(&failure, "no sentinel knows a primary called \"mymasterx\". Correct the name");

    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/mymasterx",
             watched->sentinels[0].port, free_port());
    assert_int_equal(preflight(url, &failure), -EAGAIN);
    expect_says(&failure, "and some do not answer: cannot connect to the sentinel at");
}

TEST_ON_WATCHED(the_wrong_kind_of_server_is_named)
{
    struct failure failure;
    char url[200];
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/mymaster", watched->servers[0].port);
    assert_int_equal(preflight(url, &failure), -EPROTO);
    expect_says(&failure, "it is not a sentinel");
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", watched->sentinels[0].port);
    assert_int_equal(preflight(url, &failure), -EPROTO);
    expect_says(&failure, "it is a sentinel. Write redis+sentinel://");
}

TEST(without_any_sentinel_there_is_no_primary)
{
    struct failure failure;
    char url[200];
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/mymaster", free_port());
    assert_int_equal(preflight(url, &failure), -EAGAIN);
    expect_says(&failure, "no sentinel tells where the primary \"mymaster\" is: cannot connect to "
                          "the sentinel at 127.0.0.1:");
}

static bool is_subscribed(const struct watcher *sentinel)
{
    redisReply *reply = watched_ask(sentinel->port, "CLIENT LIST");
    bool is = strstr(reply->str, " sub=1 ");
    freeReplyObject(reply);
    return is;
}

static void await_subscribed(struct store_fixture *store, const struct watcher *sentinel)
{
    int64_t limit = clock_ms() + CLOCK_HANG_MS;
    while (!is_subscribed(sentinel)) {
        if (clock_ms() > limit)
            fail_msg("the sentinel at %d is not asked", sentinel->port);
        store_fixture_idle(store, 50);
    }
}

static bool no_sentinel_answers(void *store)
{
    return strstr(((struct store_fixture *)store)->reason, "no sentinel tells where the primary");
}

struct standstill {
    uv_async_t wake;
    struct store_fixture *store;
    const struct script *script;
    struct outcome outcome, before;
};

/* In the poll of the loop, as it is with most processes that are stopped. */
static void stand_still(uv_async_t *wake)
{
    struct standstill *standstill = wake->data;
    struct store_fixture *store = standstill->store;
    clock_sleep_ms(LONGER_MS);
    uv_update_time(&store->loop);
    store_fixture_call(store, &standstill->outcome, standstill->script, "a", "");
    uv_close((uv_handle_t *)wake, NULL);
}

/* Runs a script every 10 ms until one has run on another server. */
static void await_switched(struct store_fixture *store)
{
    uint64_t switches = store_figures(store->store).switches;
    for (int64_t limit = clock_ms() + CLOCK_HANG_MS; clock_ms() < limit;) {
        struct outcome outcome = store_fixture_run(store, COUNT, "stall", "");
        if (outcome.outcome == STORE_REPLIED && store_figures(store->store).switches > switches)
            return;
        store_fixture_idle(store, 10);
    }
    fail_msg("the store does not follow: %s", store_trouble(store->store));
}

static void follows_to_another(struct store_fixture *store, const struct watched *watched, int old)
{
    int listenings = store->listenings;
    await_switched(store);
    int primary = watched_await_other(watched, old);
    assert_int_equal(server_of(store, watched), primary);
    store_fixture_await(store, &store->listenings, listenings + 1);
    receives_own_message(store);
}

TEST_ON_WATCHED(a_planned_failover_is_followed)
{
    struct store_fixture store;
    store_fixture_open_listening(&store, watched->url, CHANNEL);
    int old = server_of(&store, watched);
    watched_fail_over(watched);
    follows_to_another(&store, watched, old);
    store_fixture_close(&store);
    watched_await_replica(watched, old);
}

/* On a busy machine the sentinels may go on to the next one by themselves, as is theirs to decide.
 */
static bool stays_at(struct store_fixture *store, const struct watched *watched, int primary)
{
    int server = server_of(store, watched), named = watched_await_other(watched, -1);
    if (named != primary) {
        print_message("the sentinels have switched again, to %d\n", named);
        return false;
    }
    assert_int_equal(server, primary);
    assert_int_equal(store_figures(store->store).switches, 1);
    return true;
}

/* The URL names one sentinel; the others are learnt from it, and outlive it. */
TEST_ON_WATCHED(a_killed_primary_is_replaced)
{
    struct store_fixture store;
    char url[100];
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/mymaster", watched->sentinels[0].port);
    store_fixture_open_listening(&store, url, CHANNEL);
    int old = server_of(&store, watched);
    for (int i = 1; i < WATCHED_SENTINELS; i++)
        await_subscribed(&store, &watched->sentinels[i]);
    process_kill(&watched->sentinels[0].process);
    redis_process_kill(&watched->servers[old]);
    await_switched(&store);
    watched_resume_sentinel(watched, 0);
    int primary = watched_await_other(watched, old);
    assert_int_equal(server_of(&store, watched), primary);

    watched_resume(watched, old); /* as a primary: it knows of nothing else */
    watched_await_replica(watched, old);
    if (stays_at(&store, watched, primary)) {
        store_fixture_await(&store, &store.listenings, 2);
        receives_own_message(&store);
    }
    store_fixture_close(&store);
}

/* It is left because another is named, and not because it is found to be silent: nothing is asked
 * of it. */
TEST_ON_WATCHED(a_frozen_primary_is_replaced)
{
    struct store_fixture store;
    store_fixture_open_listening(&store, watched->url, CHANNEL);
    int old = server_of(&store, watched);
    redis_process_freeze(&watched->servers[old]);
    store_fixture_await(&store, &store.downs, 1);
    if (!strstr(store.reason, "and no longer Redis at redis://"))
        fail_msg("`%s`", store.reason);
    store_fixture_await(&store, &store.ups, 2);
    assert_int_equal(server_of(&store, watched), watched_await_other(watched, old));
    store_fixture_await(&store, &store.listenings, 2);
    receives_own_message(&store);
    redis_process_thaw(&watched->servers[old]);
    store_fixture_idle(&store, 200); /* it is a primary still, for its own part */
    assert_int_not_equal(server_of(&store, watched), old);
    watched_await_replica(watched, old);
    store_fixture_close(&store);
}

static void allow(const struct watched *watched, const char *rules)
{
    for (int i = 0; i < WATCHED_SENTINELS; i++) {
        redisReply *reply = watched_ask(watched->sentinels[i].port, "ACL SETUSER baton %s", rules);
        if (reply->type != REDIS_REPLY_STATUS)
            fail_msg("%s", reply->str);
        freeReplyObject(reply);
    }
}

/* What docs/redis.md has a sentinel's user allowed is enough; with less, what is missing is
 * named. */
static void expect_least_rights(const struct watched *watched, const struct redis_url *whole)
{
    struct redis_url url;
    struct failure failure;
    redis_url_copy(whole, &url);
    url.sentinel_user = strdup("baton");
    free(url.sentinel_password);
    url.sentinel_password = strdup("change-me-too");
    allow(watched, "on >change-me-too -@all &+switch-master +info +client|id +sentinel|myid "
                   "+sentinel|master +sentinel|sentinels +subscribe +unsubscribe");
    assert_int_equal(store_preflight(&url, PREFLIGHT_MS, &failure), -EPROTO);
    expect_says(&failure, "Allow it there with `ACL SETUSER");
    allow(watched, "+sentinel|get-master-addr-by-name");
    if (store_preflight(&url, PREFLIGHT_MS, &failure) != 0)
        fail_msg("%s", failure.text);
    redis_url_free(&url);
}

/* Whoever has the primary keeps it while no sentinel answers, but does not come back to it alone:
 * it might have been replaced. */
TEST_ON_WATCHED(no_primary_is_taken_on_hearsay)
{
    struct store_fixture store;
    store_fixture_open_up(&store, watched->url);
    for (int i = 0; i < WATCHED_SENTINELS; i++)
        await_subscribed(&store, &watched->sentinels[i]);
    for (int i = 0; i < WATCHED_SENTINELS; i++)
        process_signal(&watched->sentinels[i].process, SIGSTOP);
    store_fixture_await(&store, &store.warnings, WATCHED_SENTINELS);
    assert_int_equal(store_fixture_run(&store, "return 1", "a", "").integer, 1);
    assert_int_equal(store.downs, 0);

    int port = watched->servers[server_of(&store, watched)].port;
    freeReplyObject(watched_ask(port, "CLIENT KILL TYPE normal SKIPME yes"));
    store_fixture_await_that(&store, no_sentinel_answers, &store);
    store_fixture_idle(&store, 500); /* it goes on trying */
    bool came_back = store_is_up(store.store);
    for (int i = 0; i < WATCHED_SENTINELS; i++)
        process_signal(&watched->sentinels[i].process, SIGCONT);
    assert_false(came_back);
    store_fixture_await(&store, &store.ups, 2);
    assert_int_equal(store_figures(store.store).switches, 0);
    store_fixture_close(&store);
}

/* A store that requires a primary lease of them leaves a primary that most of them do not answer
 * for, and comes back to it when they do. */
TEST_ON_WATCHED(without_a_lease_no_primary_is_used)
{
    struct store_fixture store;
    store_fixture_open(&store, watched->url);
    assert_int_equal(store_primary_lease_ms(store.store), 0);
    store_require_primary_lease(store.store);
    assert_int_equal(store_primary_lease_ms(store.store), SENTINEL_PRIMARY_LEASE_MS);
    store_fixture_await(&store, &store.ups, 1);
    process_signal(&watched->sentinels[2].process, SIGSTOP); /* one is not most of them */
    store_fixture_idle(&store, LONGER_MS);
    assert_int_equal(store.downs, 0);

    process_signal(&watched->sentinels[1].process, SIGSTOP);
    store_fixture_await(&store, &store.downs, 1);
    store_fixture_idle(&store, 1000); /* it goes on trying */
    bool came_back = store_is_up(store.store);
    process_signal(&watched->sentinels[2].process, SIGCONT);
    store_fixture_await(&store, &store.ups, 2);
    process_signal(&watched->sentinels[1].process, SIGCONT);
    assert_false(came_back);
    assert_non_null(strstr(store.reason, "most of the sentinels have not said so"));
    assert_int_equal(store_fixture_run(&store, "return 1", "a", "").integer, 1);
    assert_int_equal(store_figures(store.store).switches, 0);
    store_fixture_close(&store);
}

/* Nobody knows what became of the primary while this process stood still: its timers are late, and
 * what it does first may be a call. */
TEST_ON_WATCHED(process_that_stood_still_asks_sentinel_first)
{
    struct store_fixture store;
    struct standstill standstill = {.store = &store, .script = fixture_script("return 1")};
    store_fixture_open(&store, watched->url);
    store_require_primary_lease(store.store);
    store_fixture_await(&store, &store.ups, 1);
    store_fixture_call(&store, &standstill.before, standstill.script, "a", "");
    store_fixture_await(&store, &store.ended, 1); /* from now on it is sent at once: it is loaded */
    uv_async_init(&store.loop, &standstill.wake, stand_still);
    standstill.wake.data = &standstill;
    uv_async_send(&standstill.wake);
    store_fixture_await(&store, &store.ended, 2);
    assert_int_equal(standstill.outcome.outcome, STORE_UNSENT);
    while (store_fixture_run(&store, "return 1", "a", "").outcome != STORE_REPLIED)
        store_fixture_idle(&store, 10);
    store_fixture_close(&store);
}

/* The one that the sentinels call the primary is a replica, as while they are yet to learn of it.
 */
TEST_ON_WATCHED(a_replica_is_left_and_not_taken)
{
    struct store_fixture store;
    store_fixture_open_up(&store, watched->url);
    for (int i = 1; i < WATCHED_SENTINELS; i++) /* nor is there a majority to replace it */
        process_signal(&watched->sentinels[i].process, SIGSTOP);
    int old = watched_primary(watched, 0), other = (old + 1) % WATCHED_SERVERS;
    freeReplyObject(watched_ask(watched->servers[old].port, "REPLICAOF 127.0.0.1 %d",
                                watched->servers[other].port));
    struct outcome outcome = store_fixture_run(&store, COUNT, "replica", "");
    assert_int_equal(outcome.outcome, STORE_REFUSED);
    store_fixture_await(&store, &store.downs, 2);
    bool is_named = strstr(store.reason, "but it is a replica") != NULL;
    freeReplyObject(watched_ask(watched->servers[old].port, "REPLICAOF NO ONE"));
    for (int i = 1; i < WATCHED_SENTINELS; i++)
        process_signal(&watched->sentinels[i].process, SIGCONT);
    if (!is_named)
        fail_msg("`%s`", store.reason);
    store_fixture_await(&store, &store.ups, 2);
    assert_int_equal(store_fixture_run(&store, "return 1", "a", "").integer, 1);
    store_fixture_close(&store);
}

/* As a container does that starts again: it has another address, and the id that it had. */
TEST_ON_WATCHED(a_sentinel_that_moves_is_asked_where_it_is)
{
    struct watcher *moving = &watched->sentinels[2];
    struct store_fixture store;
    char url[100];
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/mymaster", watched->sentinels[0].port);
    store_fixture_open_up(&store, url);
    await_subscribed(&store, moving);
    process_kill(&moving->process);
    watched_move_sentinel(watched, 2);
    await_subscribed(&store, moving);
    store_fixture_close(&store);
}

/* Sentinels that want a password, and that call the servers by name. */
TEST(names_and_passwords)
{
    struct watched watched;
    struct failure failure;
    struct redis_url url;
    watched_start(&watched, &(struct watched_options){.password = "watch-out", .names = true});
    assert_int_equal(preflight(watched.url, &failure), -EPROTO);
    expect_says(&failure, "Give --redis-sentinel-password");

    assert_int_equal(redis_url_parse(watched.url, &url, NULL), 0);
    const struct redis_access wrong = {.sentinel_password = "wrong"};
    assert_int_equal(redis_access_add(&url, &wrong, NULL), 0);
    assert_int_equal(store_preflight(&url, PREFLIGHT_MS, &failure), -EPROTO);
    expect_says(&failure, "Check --redis-sentinel-user and --redis-sentinel-password");
    free(url.sentinel_password);
    url.sentinel_password = strdup("watch-out");
    if (store_preflight(&url, PREFLIGHT_MS, &failure) != 0)
        fail_msg("%s", failure.text);

    expect_least_rights(&watched, &url);

    struct store_fixture store;
    store_fixture_open_with(&store, &url);
    store_fixture_await(&store, &store.ups, 1);
    assert_non_null(strstr(store_place(store.store), "redis://localhost:"));
    assert_int_equal(server_of(&store, &watched), 0);
    watched_fail_over(&watched);
    await_switched(&store);
    assert_non_null(strstr(store_place(store.store), "redis://"));
    assert_int_equal(server_of(&store, &watched), watched_await_other(&watched, 0));
    store_fixture_close(&store);
    redis_url_free(&url);
    watched_stop(&watched);
}

/* rediss+sentinel:// */
TEST(over_tls_all_are_verified)
{
    struct watched watched;
    struct failure failure;
    struct redis_url url;
    struct store_fixture store;
    watched_start(&watched, &(struct watched_options){.tls = true});
    assert_int_equal(preflight(watched.url, &failure), -EPROTO); /* who vouches for them? */
    expect_says(&failure, "certificate");
    assert_int_equal(redis_url_parse(watched.url, &url, NULL), 0);
    assert_int_equal(
        redis_access_add(&url, &(struct redis_access){.ca = watched.authority.file}, NULL), 0);
    if (store_preflight(&url, PREFLIGHT_MS, &failure) != 0)
        fail_msg("%s", failure.text);
    store_fixture_open_with(&store, &url);
    store_fixture_listen(&store, CHANNEL);
    store_fixture_await(&store, &store.listenings, 1);
    assert_non_null(strstr(store_place(store.store), "rediss://127.0.0.1:"));
    receives_own_message(&store);
    watched_fail_over(&watched);
    store_fixture_await(&store, &store.ups, 2);
    store_fixture_await(&store, &store.listenings, 2);
    receives_own_message(&store);
    store_fixture_close(&store);
    redis_url_free(&url);
    watched_stop(&watched);
}

RUN_TESTS(watched_set_up, watched_tear_down)
