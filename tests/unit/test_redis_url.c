#include "redis/address/url.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void assert_same(const char *left, const char *right)
{
    if (left && right)
        assert_string_equal(left, right);
    else
        assert_true(!left && !right);
}

#define NODES(...)                                                                                 \
    .nodes = (struct redis_node[]){__VA_ARGS__},                                                   \
    .node_count = LENGTH(((struct redis_node[]){__VA_ARGS__}))

static const struct good {
    const char *text;
    struct redis_url url;
    const char *described;
} GOOD[] = {
    {"redis://h", {.host = "h", .port = 6379}, "redis://h:6379/0"},
    {"redis://h/", {.host = "h", .port = 6379}, "redis://h:6379/0"},
    {"REDIS://h:1", {.host = "h", .port = 1}, "redis://h:1/0"},
    {"redis://redis-0.redis_svc.local:65535/15",
     {.host = "redis-0.redis_svc.local", .port = 65535, .database = 15},
     "redis://redis-0.redis_svc.local:65535/15"},
    {"redis://10.0.0.1:7000", {.host = "10.0.0.1", .port = 7000}, "redis://10.0.0.1:7000/0"},
    {"redis://[::1]", {.host = "::1", .port = 6379}, "redis://[::1]:6379/0"},
    {"redis://[fe80::1%eth0]:1/2",
     {.host = "fe80::1%eth0", .port = 1, .database = 2},
     "redis://[fe80::1%eth0]:1/2"},
    {"redis://:pw@h", {.host = "h", .port = 6379, .password = "pw"}, "redis://h:6379/0"},
    {"redis://me:pw@h:1/2",
     {.host = "h", .port = 1, .database = 2, .user = "me", .password = "pw"},
     "redis://h:1/2"},
    {"redis://m%40e:p%2Fw%3a%25@h",
     {.host = "h", .port = 6379, .user = "m@e", .password = "p/w:%"},
     "redis://h:6379/0"},
    {"redis://me:a:b@h",
     {.host = "h", .port = 6379, .user = "me", .password = "a:b"},
     "redis://h:6379/0"},
    {"redis://me:a@b@h",
     {.host = "h", .port = 6379, .user = "me", .password = "a@b"},
     "redis://h:6379/0"},
    {"redis://me:@h",
     {.host = "h", .port = 6379, .user = "me", .password = ""},
     "redis://h:6379/0"},
    {"redis://:@h", {.host = "h", .port = 6379}, "redis://h:6379/0"},
    {"unix:///run/redis.sock", {.path = "/run/redis.sock", .port = 6379}, "unix:///run/redis.sock"},
    {"unix:///run/redis.sock?db=3",
     {.path = "/run/redis.sock", .port = 6379, .database = 3},
     "unix:///run/redis.sock?db=3"},
    {"unix://me:pw@/run/r.sock",
     {.path = "/run/r.sock", .port = 6379, .user = "me", .password = "pw"},
     "unix:///run/r.sock"},
    {"unix://:p%2Fw@/r?db=1",
     {.path = "/r", .port = 6379, .database = 1, .password = "p/w"},
     "unix:///r?db=1"},
    {"unix:///a%20b/%3F@:", {.path = "/a b/?@:", .port = 6379}, "unix:///a b/?@:"},
    {"rediss://:secret@h:6380/1",
     {.host = "h", .port = 6380, .database = 1, .password = "secret", .tls = true},
     "rediss://h:6380/1"},
    {"redis+sentinel://h/m",
     {.kind = REDIS_WATCHED, NODES({"h", 26379}), .master = "m", .port = 6379},
     "redis+sentinel://h:26379/m/0"},
    {"REDIS+Sentinel://a,b:1,c:2/my-Master_1.x/",
     {.kind = REDIS_WATCHED,
      NODES({"a", 26379}, {"b", 1}, {"c", 2}),
      .master = "my-Master_1.x",
      .port = 6379},
     "redis+sentinel://a:26379,b:1,c:2/my-Master_1.x/0"},
    {"redis+sentinel://me:p%2Cw@[::1]:26380,[fe80::1]/m/3",
     {.kind = REDIS_WATCHED,
      NODES({"::1", 26380}, {"fe80::1", 26379}),
      .master = "m",
      .port = 6379,
      .database = 3,
      .user = "me",
      .password = "p,w"},
     "redis+sentinel://[::1]:26380,[fe80::1]:26379/m/3"},
    {"redis+sentinel://:a,b@h@i:5,j/m",
     {.kind = REDIS_WATCHED,
      NODES({"i", 5}, {"j", 26379}),
      .master = "m",
      .port = 6379,
      .password = "a,b@h"},
     "redis+sentinel://i:5,j:26379/m/0"},
    {"rediss+sentinel://:secret@h/m",
     {.kind = REDIS_WATCHED,
      NODES({"h", 26379}),
      .master = "m",
      .port = 6379,
      .password = "secret",
      .tls = true},
     "rediss+sentinel://h:26379/m/0"},
    {"redis+cluster://me:p%40@a,[::1]:7000,c:1/0",
     {.kind = REDIS_CLUSTER,
      NODES({"a", 6379}, {"::1", 7000}, {"c", 1}),
      .port = 6379,
      .user = "me",
      .password = "p@"},
     "redis+cluster://a:6379,[::1]:7000,c:1"},
    {"redis+quorum://me:pw@a,b:1,[::1]/2",
     {.kind = REDIS_QUORUM,
      NODES({"a", 6379}, {"b", 1}, {"::1", 6379}),
      .port = 6379,
      .database = 2,
      .user = "me",
      .password = "pw"},
     "redis+quorum://a:6379,b:1,[::1]:6379/2"},
};

TEST(quorum_member_has_the_login_of_all)
{
    struct redis_url url, member;
    char described[64];
    assert_int_equal(redis_url_parse("redis+quorum://me:pw@a,b:1,[::1]/2", &url, NULL), 0);
    redis_url_of(&url, REDIS_SERVER, url.nodes[1].host, url.nodes[1].port, &member);
    redis_url_describe(&member, described, sizeof described);
    assert_string_equal(described, "redis://b:1/2");
    assert_string_equal(member.password, "pw");
    redis_url_free(&member);
    redis_url_free(&url);
}

/* Whom they lead to is asked with a login of its own: sentinels are not told that of Redis. */
TEST(sentinel_has_its_own_login)
{
    struct redis_url url, part;
    char described[64];
    assert_int_equal(redis_url_parse("redis+sentinel://me:pw@h/m/3", &url, NULL), 0);
    url.sentinel_password = strdup("open");
    redis_url_of(&url, REDIS_SENTINEL, "h", 26379, &part);
    assert_null(part.user);
    assert_string_equal(part.password, "open");
    assert_int_equal(part.database, 0);
    redis_url_describe(&part, described, sizeof described);
    assert_string_equal(described, "h:26379");
    redis_url_free(&part);
    redis_url_of(&url, REDIS_SERVER, "::1", 7, &part);
    assert_string_equal(part.user, "me");
    assert_string_equal(part.password, "pw");
    assert_null(part.sentinel_password);
    redis_url_describe(&part, described, sizeof described);
    assert_string_equal(described, "redis://[::1]:7/3");
    redis_url_free(&part);
    redis_url_free(&url);
}

static void assert_alike(const struct redis_url *url, const struct redis_url *expected)
{
    assert_int_equal(url->kind, expected->kind);
    assert_same(url->path, expected->path);
    assert_same(url->host, expected->host);
    assert_same(url->master, expected->master);
    assert_same(url->user, expected->user);
    assert_same(url->password, expected->password);
    assert_int_equal(url->port, expected->port);
    assert_int_equal(url->node_count, expected->node_count);
    for (size_t i = 0; i < url->node_count; i++) {
        assert_string_equal(url->nodes[i].host, expected->nodes[i].host);
        assert_int_equal(url->nodes[i].port, expected->nodes[i].port);
    }
    assert_int_equal(url->database, expected->database);
    assert_int_equal(url->tls, expected->tls);
}

TEST(valid_url_is_read_and_its_copy_is_independent)
{
    for (size_t i = 0; i < LENGTH(GOOD); i++) {
        struct redis_url url, copy;
        struct failure failure = {""};
        char described[200];
        if (redis_url_parse(GOOD[i].text, &url, &failure) != 0)
            fail_msg("%s: %s", GOOD[i].text, failure.text);
        assert_alike(&url, &GOOD[i].url);
        redis_url_copy(&url, &copy);
        redis_url_free(&url);
        assert_alike(&copy, &GOOD[i].url);
        redis_url_describe(&copy, described, sizeof described);
        assert_string_equal(described, GOOD[i].described);
        redis_url_free(&copy);
        redis_url_free(&copy); /* a zeroed one too */
    }
}

/* Each with what its message says of it; "secret" stands for what no message may repeat. */
static const struct bad {
    const char *text;
    const char *said;
} BAD[] = {
    {"", "has an unknown scheme"},
    {"secret", "has an unknown scheme"},
    {"redis:/h", "has an unknown scheme"},
    {"http://:secret@h", "has an unknown scheme"},
    {":secret@h:6379", "has an unknown scheme"},
    {"redis://", "names no host"},
    {"redis:///1", "names no host"},
    {"redis://:6379", "names no host"},
    {"redis://:secret@", "names no host"},
    {"redis://:secret@:6379/1", "names no host"},
    {"redis://secret@h", "user without a password"},
    {"redis://h:", "port"},
    {"redis://h:0", "port"},
    {"redis://h:65536", "port"},
    {"redis://h:99999999999999999999", "port"},
    {"redis://me:secret/more@h", "port"}, /* a password that was not encoded */
    {"redis://me:12/secret@h", "database"},
    {"redis://h/x", "database"},
    {"redis://h/1000000", "database"},
    {"redis://h/1?timeout=5", "database"},
    {"redis://me:secret?more@h/x", "database"},
    {"redis://::1", "neither a name nor an address"},
    {"redis://h h", "neither a name nor an address"},
    {"redis://h%41", "neither a name nor an address"},
    {"redis://h?db=1", "neither a name nor an address"},
    {"redis://h\n", "neither a name nor an address"},
    {"redis://[::1", "IPv6"},
    {"redis://[::1]6379", "IPv6"},
    {"redis://[]", "names no host"},
    {"redis://[not an address]", "neither a name nor an address"},
    {"redis://:secret%@h", "percent-encoding"},
    {"redis://:%00secret@h", "percent-encoding"},
    {"redis://%zz:secret@h", "percent-encoding"},
    {"redis+sentinel://", "names no host"},
    {"redis+sentinel://h,/m", "names no host"},
    {"redis+sentinel://h", "the name that the sentinels give the primary"},
    {"redis+sentinel://h/", "the name that the sentinels give the primary"},
    {"redis+sentinel://h//1", "the name that the sentinels give the primary"},
    {"redis+sentinel://h/a%20b", "the name that the sentinels give the primary"},
    {"redis+sentinel://me:12/secret@h", "the name that the sentinels give the primary"},
    {"redis+sentinel://h/m/1/2", "database"},
    {"redis+sentinel://h:x,i/m", "port"},
    {"redis+sentinel://secret@h/m", "user without a password"},
    {"redis+sentinel://a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a/m", "more than 16 hosts"},
    {"redis+ring://h", "has an unknown scheme"},
    {"redis+cluster://", "names no host"},
    {"redis+cluster://h/1", "only database 0"},
    {"redis+cluster://h:x", "port"},
    {"redis+quorum://", "names no host"},
    {"redis+quorum://a,b", "odd number"},
    {"redis+quorum://a,b,c,d", "odd number"},
    {"redis+quorum://a,b,c,d,e,f,g,h,i,j,k", "odd number"},
    {"redis+quorum://a,b,A", "one server of the quorum twice: members 1 and 3"},
    {"redis+quorum://a.example,b,A.example.", "one server of the quorum twice: members 1 and 3"},
    {"redis+quorum://a,b:1,a:6379", "one server of the quorum twice"},
    {"unix://", "names no socket"},
    {"unix:///", "names no socket"},
    {"unix://run/redis.sock", "names a host for a Unix socket"},
    {"unix://:secret/run/redis.sock", "names a host for a Unix socket"},
    {"unix://secret@/run/redis.sock", "user without a password"},
    {"unix:///run/redis.sock?", "?db=N"},
    {"unix:///run/redis.sock?db=x", "database"},
    {"unix:///run/redis.sock?db=1&db=2", "database"},
    {"unix:///run/redis.sock?password=secret", "?db=N"},
    {"unix:///run/%00", "percent-encoding"},
};

TEST(invalid_url_is_refused)
{
    for (size_t i = 0; i < LENGTH(BAD); i++) {
        struct redis_url url = {.port = 4711};
        struct failure failure = {""};
        assert_int_equal(redis_url_parse(BAD[i].text, &url, &failure), -EINVAL);
        if (!strstr(failure.text, BAD[i].said))
            fail_msg("`%s`: `%s` does not say `%s`", BAD[i].text, failure.text, BAD[i].said);
        assert_null(strstr(failure.text, "secret"));
        assert_int_equal(url.port, 4711); /* untouched */
        assert_int_equal(redis_url_parse(BAD[i].text, &url, NULL), -EINVAL);
    }
}

TEST(socket_path_has_at_most_107_bytes)
{
    char text[200];
    struct redis_url url;
    struct failure failure;
    snprintf(text, sizeof text, "unix:///%0106d", 0);
    assert_int_equal(redis_url_parse(text, &url, &failure), 0);
    redis_url_free(&url);
    snprintf(text, sizeof text, "unix:///%0107d", 0);
    assert_int_equal(redis_url_parse(text, &url, &failure), -EINVAL);
    assert_non_null(strstr(failure.text, "107"));
}

TEST(host_has_at_most_253_bytes)
{
    char text[400];
    struct redis_url url;
    struct failure failure;
    snprintf(text, sizeof text, "redis://%0253d", 0);
    assert_int_equal(redis_url_parse(text, &url, &failure), 0);
    redis_url_free(&url);
    snprintf(text, sizeof text, "redis://%0254d", 0);
    assert_int_equal(redis_url_parse(text, &url, &failure), -EINVAL);
}

TEST(description_is_cut_to_its_room)
{
    struct redis_url url;
    char described[12];
    assert_int_equal(redis_url_parse("redis://some.host:1/2", &url, NULL), 0);
    redis_url_describe(&url, described, sizeof described);
    assert_string_equal(described, "redis://som");
    redis_url_free(&url);
}
