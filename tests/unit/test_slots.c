#include "redis/cluster/slots.h"
#include "tests/support/cmocka.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the specification of Redis Cluster, and from CLUSTER KEYSLOT. */
TEST(a_key_has_the_slot_that_redis_gives_it)
{
    static const struct {
        const char *key;
        unsigned slot;
    } KEYS[] = {
        {"123456789", 0x31C3},    {"", 0},           {"foo", 12182},       {"{foo}", 12182},
        {"{foo}bar{zap}", 12182}, {"x{foo}", 12182}, {"foo{}{bar}", 8363}, {"foo{{bar}}zap", 4015},
        {"foo{bar", 15278},
    };
    for (size_t i = 0; i < LENGTH(KEYS); i++)
        assert_int_equal(slot_of(slice_of(KEYS[i].key)), KEYS[i].slot);
}

TEST(every_slot_has_a_tag)
{
    unsigned largest = 0;
    for (unsigned slot = 0; slot < SLOT_COUNT; slot += 61) {
        char tag[SLOT_TAG_SIZE], key[64];
        slot_tag(slot, tag);
        snprintf(key, sizeof key, "baton:{%s}:mark:1", tag);
        assert_int_equal(slot_of(slice_of(key)), slot);
        unsigned number = (unsigned)strtoul(tag, NULL, 10);
        largest = number > largest ? number : largest;
    }
    assert_in_range(largest, 1, 999999);
}

TEST(redirects_are_read)
{
    static const struct {
        const char *text;
        bool ask;
        unsigned slot;
        const char *host; /* NULL: none */
        int port;         /* 0: it is no redirect */
    } ERRORS[] = {
        {"MOVED 3999 127.0.0.1:6381", false, 3999, "127.0.0.1", 6381},
        {"ASK 0 redis-1.svc.local:1", true, 0, "redis-1.svc.local", 1},
        {"MOVED 16383 ::1:6381", false, 16383, "::1", 6381},
        {"MOVED 1 :6381", false, 1, NULL, 6381},
        {"MOVED 1 ?:6381", false, 1, "?", 6381},
        {"MOVED 16384 h:1", false, 0, NULL, 0},
        {"MOVED -1 h:1", false, 0, NULL, 0},
        {"MOVED 1 h:0", false, 0, NULL, 0},
        {"MOVED 1 h:65536", false, 0, NULL, 0},
        {"MOVED 1 h:1x", false, 0, NULL, 0},
        {"MOVED 1 h", false, 0, NULL, 0},
        {"MOVED 1", false, 0, NULL, 0},
        {"MOVED", false, 0, NULL, 0},
        {"ASK ", false, 0, NULL, 0},
        {"ASKING 1 h:1", false, 0, NULL, 0},
        {"TRYAGAIN Multiple keys", false, 0, NULL, 0},
        {"", false, 0, NULL, 0},
    };
    for (size_t i = 0; i < LENGTH(ERRORS); i++) {
        struct redirect redirect;
        bool is_one = redirect_read(ERRORS[i].text, &redirect);
        if (is_one != (ERRORS[i].port > 0))
            fail_msg("%s", ERRORS[i].text);
        if (!is_one)
            continue;
        assert_int_equal(redirect.ask, ERRORS[i].ask);
        assert_int_equal(redirect.slot, ERRORS[i].slot);
        assert_int_equal(redirect.to.port, ERRORS[i].port);
        assert_true(ERRORS[i].host ? slice_equals(redirect.to.host, ERRORS[i].host)
                                   : !redirect.to.host.bytes);
    }
}

/* A reply as Redis writes it, with a space in place of each end of a line. */
static redisReply *read_reply(const char *words)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    for (const char *at = words; *at; at++)
        redisReaderFeed(reader, *at == ' ' ? "\r\n" : at, *at == ' ' ? 2 : 1);
    redisReaderFeed(reader, "\r\n", 2);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

/* What was reported, as "0-5 id@host:port;". */
static void note(void *context, unsigned first, unsigned last, const struct slot_node *primary)
{
    char *text = context;
    size_t length = strlen(text);
    snprintf(text + length, 400 - length, "%u-%u %.*s@%.*s:%d;", first, last,
             (int)primary->id.length, primary->id.bytes ? primary->id.bytes : "",
             (int)primary->host.length, primary->host.bytes ? primary->host.bytes : "",
             primary->port);
}

TEST(slots_are_read)
{
    static const struct {
        const char *reply;
        const char *reported; /* NULL: it is refused */
    } REPLIES[] = {
        {"*0", ""},
        {"*2 *4 :0 :5460 *3 +10.0.0.1 :7000 +aa *3 +10.0.0.2 :7001 +bb *3 :5461 :16383 *3 "
         "+10.0.0.3 "
         ":7002 +cc",
         "0-5460 aa@10.0.0.1:7000;5461-16383 cc@10.0.0.3:7002;"},
        {"*2 *3 :7 :7 *3 + :7000 +aa *3 :8 :8 *4 $-1 :7001 +bb *2 +hostname +x",
         "7-7 aa@:7000;8-8 bb@:7001;"},
        {"*1 *3 :0 :1 *2 +h :7000", "0-1 @h:7000;"},
        {"*1 *3 :0 :1 *3 +? :7000 +aa", "0-1 aa@?:7000;"},
        {"*2 *3 :0 :1 *3 +h :7000 +aa *3 :2 :16384 *3 +h :7000 +aa", NULL},
        {"*1 *3 :1 :0 *3 +h :7000 +aa", NULL},
        {"*1 *3 :-1 :0 *3 +h :7000 +aa", NULL},
        {"*1 *2 :0 :1", NULL},
        {"*1 *3 :0 :1 +h", NULL},
        {"*1 *3 :0 :1 *1 +h", NULL},
        {"*1 *3 :0 :1 *2 +h :65536", NULL},
        {"*1 *3 :0 :1 *2 +h +x", NULL},
        {"*1 *3 +a +b *2 +h :1", NULL},
        {"*3 :1 :2 :3", NULL},
    };
    for (size_t i = 0; i < LENGTH(REPLIES); i++) {
        char reported[400] = "";
        redisReply *reply = read_reply(REPLIES[i].reply);
        bool is_read = slots_read((const struct value *)(const void *)reply, note, reported);
        if (is_read != (REPLIES[i].reported != NULL))
            fail_msg("%s", REPLIES[i].reply);
        assert_string_equal(reported, is_read ? REPLIES[i].reported : "");
        freeReplyObject(reply);
    }
}
