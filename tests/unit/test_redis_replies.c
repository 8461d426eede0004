/* What is read out of Redis' replies: values, errors, INFO. */
#include "redis/node/loader.h"
#include "redis/store.h"
#include "redis/types/value.h"
#include "redis/wire/errors.h"
#include "redis/wire/server_info.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <string.h>

static redisReply *parse(const char *bytes)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    redisReaderFeed(reader, bytes, strlen(bytes));
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static const struct value *value_of(const redisReply *reply)
{
    return (const struct value *)(const void *)reply;
}

TEST(values_are_what_they_are)
{
    redisReply *reply = parse("*5\r\n:-7\r\n$3\r\na b\r\n+OK\r\n$-1\r\n*1\r\n:1\r\n");
    const struct value *array = value_of(reply);
    int64_t number = 0;
    struct slice text;
    assert_int_equal(value_count(array), 5);
    assert_true(value_integer(value_at(array, 0), &number));
    assert_int_equal(number, -7);
    assert_true(value_text(value_at(array, 1), &text));
    assert_true(slice_equals(text, "a b"));
    assert_true(value_text(value_at(array, 2), &text));
    assert_true(slice_equals(text, "OK"));
    assert_int_equal(value_count(value_at(array, 4)), 1);
    freeReplyObject(reply);
}

TEST(values_are_nothing_else)
{
    redisReply *reply = parse("*5\r\n:7\r\n$1\r\n8\r\n$-1\r\n-ERR no\r\n*0\r\n");
    const struct value *array = value_of(reply);
    for (size_t i = 0; i < 6; i++) {
        int64_t number = 99;
        struct slice text = {"untouched", 9};
        assert_int_equal(value_integer(value_at(array, i), &number), i == 0);
        assert_int_equal(number, i == 0 ? 7 : 99);
        assert_int_equal(value_text(value_at(array, i), &text), i == 1);
        assert_true(slice_equals(text, i == 1 ? "8" : "untouched"));
        assert_int_equal(value_count(value_at(array, i)), 0);
        assert_null(value_at(value_at(array, i), 0));
    }
    assert_null(value_at(array, (size_t)-1));
    assert_int_equal(value_count(NULL), 0);
    freeReplyObject(reply);
}

TEST(errors_have_a_kind)
{
    static const struct {
        const char *text;
        enum error_kind kind;
    } CASES[] = {
        {"ERR Function not found", ERROR_FORGOTTEN},
        {"OOM command not allowed when used memory > 'maxmemory'.", ERROR_FULL},
        {"OOM", ERROR_FULL},
        {"OOMPH is no code of Redis", ERROR_UNKNOWN},
        {"ERR user_function:2: attempt to index local 'x' (a nil value) script: f, on "
         "@user_function:2.",
         ERROR_DAMAGED},
        {"user_function:2: attempt to index local 'x' (a nil value)", ERROR_DAMAGED},
        {"WRONGTYPE Operation against a key script: f, on @user_function:6.", ERROR_DAMAGED},
        {"ERR hash value is not an integer script: f, on @user_function:1.", ERROR_DAMAGED},
        {"ERR The user executing the script can't run this command or subcommand script: f, on "
         "@user_function:1.",
         ERROR_UNKNOWN},
        {"NOPERM this user has no permissions to run the 'fcall' command", ERROR_REFUSED},
        {"NOPERM User baton has no permissions to run the 'set' command script: f, on "
         "@user_function:1.",
         ERROR_UNKNOWN},
        {"FORMAT state 2 1", ERROR_REFUSED},
        {"FORMAT state 2 1 script: f, on @user_function:4.", ERROR_REFUSED},
        {"RIGHTS +zadd", ERROR_REFUSED},
        {"READONLY You can't write against a read only replica.", ERROR_WRONG_SERVER},
        {"NOAUTH Authentication required.", ERROR_WRONG_SERVER},
        {"MISCONF Errors writing to the AOF file", ERROR_REFUSED},
        {"NOREPLICAS Not enough good replicas to write.", ERROR_REFUSED},
        {"ERR OOM is not at the start", ERROR_UNKNOWN},
        {"", ERROR_UNKNOWN},
    };
    for (size_t i = 0; i < LENGTH(CASES); i++)
        assert_int_equal(error_kind(CASES[i].text), CASES[i].kind);
    assert_true(error_passes("LOADING Redis is loading the dataset in memory"));
    assert_true(error_passes("ERR max number of clients reached"));
    assert_true(error_passes("ERR max number of clients + cluster connections reached"));
    assert_false(error_passes("WRONGPASS invalid username-password pair"));
    assert_false(error_passes("ERR unknown command"));
}

TEST(errors_are_explained_before_they_are_quoted)
{
    static const struct {
        const char *text, *said;
    } CASES[] = {
        {"CLUSTERDOWN The cluster is down",
         "a part of the Redis Cluster has no primary, so nothing was done. Wait until a replica "
         "has taken its place, or start the primary again (Redis says: CLUSTERDOWN The cluster is "
         "down)"},
        {"READONLY You can't write against a read only replica.",
         "this Redis is a replica now and accepts no changes, so nothing was done. Wait until "
         "batond has found the primary. If it does not, check redis-url (Redis says: READONLY You "
         "can't write against a read only replica)"},
        {"OOM command not allowed script: f, on @user_function:1.",
         "Redis is full, so nothing was done. Raise its maxmemory, or wait until locks have ended "
         "(Redis says: OOM command not allowed)"},
        {"FORMAT state 2 1 script: f, on @user_function:4.",
         "the state of this name in Redis has format 2, but this release of batond knows format 1, "
         "so nothing was done. Use the newer release that wrote it, or see docs/deploy.md"},
        {"FORMAT hold 1 3",
         "the hold of this name in Redis has format 1, but this release of batond knows format 3, "
         "so nothing was done. Use the older release that wrote it, or see docs/deploy.md"},
        {"FORMAT state 0 1", "the state of this name in Redis is of release 0.1 of batond, and "
                             "this release cannot read it (it knows format 1), so nothing was "
                             "done. Use release 0.1, or see docs/deploy.md"},
        {"FORMAT epoch 2 1",
         "the epoch of this Redis has format 2, but this release of batond knows format 1, so "
         "nothing was done. Use the newer release that wrote it, or see docs/deploy.md"},
        {"ODD", "Redis has refused the request, so nothing was done. See the log of Redis (Redis "
                "says: ODD)"},
    };
    char said[STORE_ERROR_TEXT], words[300];
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        error_explain(CASES[i].text, said, sizeof said);
        assert_string_equal(said, CASES[i].said);
    }
    error_explain_damage("WRONGTYPE Operation against a key. script: f, on @user_function:1.", said,
                         sizeof said);
    assert_string_equal(
        said, "the record in Redis cannot be read (Redis says: WRONGTYPE Operation against a key)");
    /* However long, it is told to its end. */
    memset(words, 'x', sizeof words);
    memcpy(words, "READONLY ", 9);
    words[sizeof words - 1] = '\0';
    error_explain(words, said, sizeof said);
    assert_int_equal(said[strlen(said) - 1], ')');
}

TEST(info_is_read)
{
    static const char INFO[] =
        "# Server\r\nredis_version:7.0.15\r\nserver_name:x\r\n\r\n"
        "# Persistence\r\nloading:0\r\nasync_loading:1\r\n"
        "# Memory\r\nmaxmemory_policy:volatile-ttl\r\n"
        "# Replication\r\nrole:slave\r\nslave_read_only:0\r\nno colon\r\n:\r\n"
        "role";
    struct server_info info;
    struct failure text;
    server_info_read((struct slice){INFO, sizeof INFO - 1}, &info);
    assert_string_equal(info.version, "7.0.15");
    assert_int_equal(info.major, 7);
    assert_int_equal(info.minor, 0);
    assert_false(info.loading);
    assert_true(info.replica);
    assert_true(info.replica_writable);
    assert_string_equal(info.eviction, "volatile-ttl");
    assert_int_equal(server_info_check(&info, &text), 0);
    assert_true(server_info_warn(&info, &text));
}

TEST(versions_are_compared_as_numbers)
{
    static const struct {
        const char *info;
        int result;
    } CASES[] = {
        {"redis_version:7.0.0", 0},        {"redis_version:7.10.0", 0},
        {"redis_version:10.0.0", 0},       {"redis_version:6.2.14", -EPROTO},
        {"valkey_version:7.2.5", 0},       {"redis_version:6.10.0", -EPROTO},
        {"redis_version:2.8.24", -EPROTO}, {"redis_version:unknown", -EPROTO},
        {"redis_version:", -EPROTO},       {"", -EPROTO},
        {"valkey_version:8.1.0", 0},       {"redis_version:99999999999999999999.1", 0},
    };
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        struct server_info info;
        server_info_read(slice_of(CASES[i].info), &info);
        assert_int_equal(server_info_check(&info, NULL), CASES[i].result);
    }
}

TEST(values_in_info_are_bounded)
{
    char text[400] = "redis_version:";
    struct server_info info;
    memset(text + strlen(text), '7', 300);
    server_info_read(slice_of(text), &info);
    assert_int_equal(strlen(info.version), sizeof info.version - 1);
    server_info_read((struct slice){NULL, 0}, &info);
    assert_string_equal(info.version, "");
}

TEST(a_library_that_is_there_was_not_refused)
{
    struct loader loader = {0};
    loader_begin(&loader);
    assert_true(loader.is_loading);
    loader_end(&loader, NULL, 100);
    assert_false(loader.is_loading);
    assert_null(loader_refusal(&loader, 100));
    loader_begin(&loader);
    loader_end(&loader, "ERR Library 'baton_0123456789abcdef' already exists", 100);
    assert_null(loader_refusal(&loader, 100));
    loader_begin(&loader);
    loader_end(&loader, "OOM command not allowed", 100);
    assert_string_equal(loader_refusal(&loader, 101), "OOM command not allowed");
    assert_null(loader_refusal(&loader, 10000)); /* it is worth another try */
}
