/* Servers that answer, but cannot or should not be used: each is told, and none brings us down. */
#include "tests/redis/world.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";

enum { PREFLIGHT_MS = CLOCK_HANG_MS };

static void expect_preflight(const char *text, int code, const char *why)
{
    struct redis_url url;
    struct failure failure = {""};
    assert_int_equal(redis_url_parse(text, &url, &failure), 0);
    assert_int_equal(store_preflight(&url, PREFLIGHT_MS, &failure), code);
    redis_url_free(&url);
    if (!strstr(failure.text, why))
        fail_msg("`%s` does not say `%s`", failure.text, why);
    assert_null(strstr(failure.text, "secret"));
}

/* What the preflight says of a URL, and that a store says the same and stays down. */
static void expect_refusal(const char *text, int code, const char *why)
{
    struct store_fixture store;
    expect_preflight(text, code, why);
    store_fixture_open(&store, text);
    store_fixture_await(&store, &store.downs, 1);
    assert_non_null(strstr(store.reason, why));
    struct outcome outcome = store_fixture_run(&store, COUNT, "a", "");
    assert_int_equal(outcome.outcome, STORE_UNSENT);
    store_fixture_idle(&store, 100); /* a try or two */
    assert_int_equal(store.ups, 0);
    assert_int_equal(store.downs, 1);
    store_fixture_close(&store);
}

/* The preflight lets it pass. What a store says of a URL that works but is dangerous; NULL:
 * nothing. */
static void expect_warning(const char *text, const char *warning)
{
    struct redis_url url;
    struct failure failure;
    assert_int_equal(redis_url_parse(text, &url, &failure), 0);
    assert_int_equal(store_preflight(&url, PREFLIGHT_MS, &failure), 0);
    redis_url_free(&url);
    struct store_fixture store;
    store_fixture_open_up(&store, text);
    if (warning)
        store_fixture_await(&store, &store.warnings, 1);
    store_fixture_idle(&store, 20);
    assert_int_equal(store.warnings, warning ? 1 : 0);
    if (warning)
        assert_non_null(strstr(store.warning, warning));
    store_fixture_close(&store);
}

TEST(a_password_is_asked_for)
{
    struct redis_process redis;
    char url[200];
    redis_process_start(&redis,
                        &(struct redis_options){.arguments = LIST("--requirepass", "opensesame")});
    expect_refusal(redis.url, -EPROTO, "Put a password into redis-url");
    snprintf(url, sizeof url, "unix://:secret@%s", redis.socket);
    expect_refusal(url, -EPROTO, "Check user and password");
    snprintf(url, sizeof url, "unix://nobody:secret@%s", redis.socket);
    expect_refusal(url, -EPROTO, "Check user and password");
    snprintf(url, sizeof url, "unix://:opensesame@%s?db=2", redis.socket);
    expect_warning(url, NULL);
    snprintf(url, sizeof url, "unix://default:open%%73esame@%s", redis.socket);
    expect_warning(url, NULL);
    snprintf(url, sizeof url, "unix://:opensesame@%s?db=99", redis.socket);
    expect_refusal(url, -EPROTO, "database");
    redis_process_stop(&redis);
}

TEST(a_password_where_none_is_set)
{
    struct redis_process redis;
    char url[200];
    redis_process_start(&redis, NULL);
    snprintf(url, sizeof url, "unix://:secret@%s", redis.socket);
    expect_refusal(url, -EPROTO, "Check user and password");
    redis_process_stop(&redis);
}

TEST(a_user_with_few_rights_is_enough)
{
    struct redis_process redis;
    char url[200];
    redis_process_start(&redis, NULL);
    freeReplyObject(redis_process_command(
        &redis, "ACL SETUSER baton on >pw ~* +info +fcall +function|load +incr"));
    freeReplyObject(
        redis_process_command(&redis, "ACL SETUSER blind on >pw ~* +fcall +function|load +incr"));
    snprintf(url, sizeof url, "unix://baton:pw@%s", redis.socket);
    expect_warning(url, NULL);
    snprintf(url, sizeof url, "unix://blind:pw@%s", redis.socket);
    expect_warning(url, "INFO");
    struct store_fixture store;
    store_fixture_open_up(&store, url);
    assert_int_equal(store_fixture_run(&store, COUNT, "a", "").integer, 1);
    store_fixture_close(&store);
    redis_process_stop(&redis);
}

TEST(eviction_is_warned_of)
{
    struct redis_process redis;
    redis_process_start(
        &redis, &(struct redis_options){.arguments = LIST("--maxmemory-policy", "allkeys-lru")});
    expect_warning(redis.url, "allkeys-lru");
    freeReplyObject(redis_process_command(&redis, "CONFIG SET maxmemory-policy noeviction"));
    expect_warning(redis.url, NULL);
    redis_process_stop(&redis);
}

TEST(a_primary_that_becomes_a_replica_is_left)
{
    struct redis_process redis;
    struct store_fixture store;
    redis_process_start(&redis, NULL);
    store_fixture_open_up(&store, redis.url);
    assert_int_equal(store_fixture_run(&store, COUNT, "a", "").integer, 1);
    freeReplyObject(redis_process_command(&redis, "REPLICAOF 127.0.0.1 1"));

    struct outcome outcomes[3];
    for (int i = 0; i < 3; i++)
        store_fixture_call(&store, &outcomes[i], fixture_script(COUNT), "a", "");
    store_fixture_await(&store, &store.ended, 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(outcomes[i].outcome, STORE_REFUSED);
        assert_non_null(strstr(outcomes[i].error, "READONLY"));
    }
    store_fixture_await(&store, &store.downs, 2);
    assert_non_null(strstr(store.reason, "read-only replica"));
    store_fixture_idle(&store, 200); /* a try or two */
    assert_int_equal(store.downs, 2);
    assert_int_equal(store.ups, 1);

    freeReplyObject(redis_process_command(&redis, "REPLICAOF NO ONE"));
    store_fixture_await(&store, &store.ups, 2);
    assert_int_equal(store_fixture_run(&store, COUNT, "a", "").integer, 2);
    store_fixture_close(&store);

    freeReplyObject(redis_process_command(&redis, "REPLICAOF 127.0.0.1 1"));
    expect_refusal(redis.url, -EAGAIN, "read-only replica");
    freeReplyObject(redis_process_command(&redis, "CONFIG SET replica-read-only no"));
    expect_warning(redis.url, "writable replica");
    redis_process_stop(&redis);
}

/* Redis says that before it reads a login. */
TEST(a_node_at_its_maxclients_is_waited_for)
{
    struct redis_process redis;
    char url[120];
    redis_process_start(&redis, &(struct redis_options){.cluster = true});
    freeReplyObject(redis_process_command(&redis, "CONFIG SET maxclients 1"));
    snprintf(url, sizeof url, "redis+cluster://:secret@127.0.0.1:%d", redis.port);
    expect_refusal(url, -EAGAIN, "max number of clients + cluster connections reached");
    redis_process_stop(&redis);
}

/* Unless another member shows that the password is right. */
TEST(a_member_that_refuses_stops_a_quorum_that_is_away)
{
    struct redis_process locked, open;
    char url[160];
    redis_process_start(
        &locked,
        &(struct redis_options){.port = true, .arguments = LIST("--requirepass", "opensesame")});
    redis_process_start(&open, &(struct redis_options){.port = true});
    snprintf(url, sizeof url, "redis+quorum://127.0.0.1:1,127.0.0.1:2,127.0.0.1:%d", locked.port);
    expect_preflight(url, -EPROTO, "0 of 3 members of the quorum are up. Member 3: ");
    snprintf(url, sizeof url,
             "redis+quorum://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:%d,127.0.0.1:%d",
             locked.port, open.port);
    expect_preflight(url, -EAGAIN, "1 of 5 members of the quorum are up. Member 4: ");
    redis_process_stop(&open);
    redis_process_stop(&locked);
}

TEST(address_without_a_server_is_refused)
{
    expect_refusal("unix:///nowhere/redis.sock", -EAGAIN, "No such file");
    expect_refusal("redis://127.0.0.1:1", -EAGAIN, "127.0.0.1:1");
}

/* From here on, what no real server at hand would say. */

static void expect_fake_refusal(const struct fake_answers *answers, int code, const char *why)
{
    struct fake_redis fake;
    fake_redis_start(&fake, answers);
    expect_refusal(fake.url, code, why);
    fake_redis_stop(&fake);
}

TEST(greetings_that_are_refused)
{
    static const struct {
        struct fake_answers answers;
        int code;
        const char *why;
    } CASES[] = {
        {{.info = "redis_version:6.0.16\r\nrole:master\r\n"}, -EPROTO, "6.0.16"},
        {{.info = "redis_version:6.2.14\r\n"}, -EPROTO, "Redis 7.0, Valkey 7.2, or newer"},
        {{.info = "redis_version:7.0.0\r\nloading:1\r\n"}, -EAGAIN, "loading"},
        {{.info = "redis_version:7.0.0\r\nrole:slave\r\nslave_read_only:1\r\n"},
         -EAGAIN,
         "replica"},
        {{.info = "hello:world\r\n"}, -EPROTO, "version"},
        {{.info = ""}, -EPROTO, "version"},
        {{.info_raw = ":1\r\n"}, -EPROTO, "is not a Redis"},
        {{.info_raw = "*0\r\n"}, -EPROTO, "is not a Redis"},
        {{.info_raw = "HTTP/1.1 400 Bad Request\r\n\r\n"}, -EPROTO, "protocol"},
        {{.info_raw = "$999999999999999999999\r\n"}, -EPROTO, "protocol"},
        {{.info_raw = "*-7\r\n"}, -EPROTO, "protocol"},
        {{.welcome = "220 mail.example ESMTP\r\n"}, -EPROTO, "protocol"},
        {{.welcome = "-ERR max number of clients reached\r\n", .hang_up = true},
         -EAGAIN,
         "max number of clients"},
        {{.welcome = "-DENIED Redis is running in protected mode\r\n"}, -EPROTO, "protected mode"},
        {{.hang_up = true}, -EAGAIN, "the other side closed it"},
        {{.info_raw = "-LOADING Redis is loading the dataset in memory\r\n"}, -EAGAIN, "LOADING"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        expect_fake_refusal(&CASES[i].answers, CASES[i].code, CASES[i].why);
}

TEST(versions_that_are_new_enough)
{
    static const char *const INFOS[] = {
        "redis_version:7.0.0\r\n",
        "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n",
        "valkey_version:9.0.0\r\n",
        "redis_version:10.1\nrole:master\n",
        "redis_version:255.255.255\r\n",
    };
    for (size_t i = 0; i < sizeof INFOS / sizeof INFOS[0]; i++) {
        struct fake_answers answers = {.info = INFOS[i]};
        struct fake_redis fake;
        fake_redis_start(&fake, &answers);
        expect_warning(fake.url, NULL);
        fake_redis_stop(&fake);
    }
}

TEST(silence_is_bounded)
{
    static const struct fake_answers SILENT = {.info = NULL};
    struct fake_redis fake;
    struct redis_url url;
    struct failure failure;
    fake_redis_start(&fake, &SILENT);
    assert_int_equal(redis_url_parse(fake.url, &url, &failure), 0);
    int64_t begun = clock_ms();
    assert_int_equal(store_preflight(&url, 200, &failure), -EAGAIN);
    assert_true(clock_ms() - begun >= 200);
    assert_non_null(strstr(failure.text, "200 ms"));
    redis_url_free(&url);
    fake_redis_stop(&fake);
}

#define USABLE .info = "redis_version:7.0.0\r\n", .load = "+OK\r\n"

/* One call to a server that answers it so; afterwards the server mends its ways. */
static struct outcome answer_to_a_call(const struct fake_answers *answers, int downs)
{
    static const struct fake_answers MENDED = {USABLE, .eval = ":7\r\n"};
    struct fake_redis fake;
    struct store_fixture store;
    world_open_fake(&fake, &store, answers);
    struct outcome outcome = store_fixture_run(&store, COUNT, "a", "");
    fake_redis_change(&fake, &MENDED);
    if (downs > 0)
        store_fixture_await(&store, &store.ups, 2);
    assert_int_equal(store.downs, downs);
    assert_int_equal(store_fixture_run(&store, COUNT, "a", "").integer, 7);
    world_close_fake(&fake, &store);
    return outcome;
}

TEST(error_replies_to_a_call)
{
    static const struct {
        struct fake_answers answers;
        enum store_outcome outcome;
        int downs;
    } CASES[] = {
        {{USABLE, .eval = "-LOADING Redis is loading\r\n"}, STORE_REFUSED, 0},
        {{USABLE, .eval = "-MASTERDOWN Link with MASTER is down\r\n"}, STORE_REFUSED, 0},
        {{USABLE, .eval = "-OOM command not allowed\r\n"}, STORE_REFUSED, 0},
        {{USABLE, .eval = "-READONLY You can't write against a read only replica.\r\n"},
         STORE_REFUSED,
         1},
        {{USABLE, .eval = "-NOAUTH Authentication required.\r\n"}, STORE_REFUSED, 1},
        {{USABLE, .eval = "-ERR user_function:3: attempt to index a nil value\r\n"},
         STORE_IN_DOUBT,
         0},
        {{USABLE, .eval = "-FORMAT state 2 1\r\n"}, STORE_REFUSED, 0},
        {{USABLE, .eval = "-\r\n"}, STORE_IN_DOUBT, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct outcome outcome = answer_to_a_call(&CASES[i].answers, CASES[i].downs);
        assert_int_equal(outcome.outcome, CASES[i].outcome);
    }
}

TEST(garbage_ends_the_connection_alone)
{
    static const struct fake_answers GARBAGE[] = {
        {USABLE, .eval = "garbage\r\n"},
        {USABLE, .eval = "*1000000000000\r\n"},
        {USABLE, .eval = ":not-a-number\r\n"},
        {USABLE, .eval = "*2\r\n:1\r\n?\r\n"},
    };
    for (size_t i = 0; i < sizeof GARBAGE / sizeof GARBAGE[0]; i++) {
        struct outcome outcome = answer_to_a_call(&GARBAGE[i], 1);
        assert_int_equal(outcome.outcome, STORE_IN_DOUBT);
    }
}

/* hiredis' own asynchronous layer aborts the process here. */
TEST(a_reply_that_nobody_asked_for)
{
    static const struct fake_answers TALKATIVE = {USABLE, .eval = ":1\r\n:2\r\n"};
    struct outcome outcome = answer_to_a_call(&TALKATIVE, 1);
    assert_int_equal(outcome.outcome, STORE_REPLIED);
    assert_int_equal(outcome.integer, 1);
}

TEST(replies_of_another_shape_are_just_values)
{
    static const struct fake_answers SHAPES[] = {
        {USABLE, .eval = "$-1\r\n"}, {USABLE, .eval = "*-1\r\n"}, {USABLE, .eval = "*0\r\n"}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++) {
        struct outcome outcome = answer_to_a_call(&SHAPES[i], 0);
        assert_int_equal(outcome.outcome, STORE_REPLIED);
        assert_int_equal(outcome.integer, -1);
        assert_string_equal(outcome.text, "");
    }
}
