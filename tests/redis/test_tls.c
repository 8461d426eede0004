/* TLS to Redis: the certificate must be trusted and name the host. */
#include "redis/tls/tls.h"
#include "redis/wire/session.h"
#include "tests/support/cmocka.h"

#include "redis/address/access.h"
#include "tests/support/certificates.h"
#include "tests/support/clock.h"
#include "tests/support/fixtures/store_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/redis_process.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";

struct world {
    struct temp_dir dir;
    struct redis_process redis;
    struct certificate authority; /* of Redis */
    struct certificate redis_certificate;
    const char *ca; /* whom batond trusts unless a test says otherwise; NULL: the system's */
    char port[16];
    const char *arguments[11];
};

/* Redis with a certificate of an authority that batond trusts; with `asks_clients` it lets in only
 * who shows one of the same authority. */
static void start_with(struct world *world, const struct certificate_options *options,
                       bool asks_clients)
{
    struct certificate_options issued = *options;
    temp_dir_make(&world->dir);
    snprintf(world->port, sizeof world->port, "%d", free_port());
    certificate_make(&world->authority, &world->dir, "authority",
                     &(struct certificate_options){.authority = true});
    issued.issuer = &world->authority;
    certificate_make(&world->redis_certificate, &world->dir, "redis", &issued);
    const char *arguments[] = {"--tls-port",
                               world->port,
                               "--tls-cert-file",
                               world->redis_certificate.file,
                               "--tls-key-file",
                               world->redis_certificate.key,
                               "--tls-ca-cert-file",
                               world->authority.file,
                               "--tls-auth-clients",
                               asks_clients ? "yes" : "no",
                               NULL};
    memcpy(world->arguments, arguments, sizeof arguments);
    redis_process_start(&world->redis, &(struct redis_options){.arguments = world->arguments});
    world->ca = world->authority.file;
}

static void start(struct world *world, const char *names)
{
    start_with(world, &(struct certificate_options){.names = names}, false);
}

static void stop(struct world *world)
{
    redis_process_stop(&world->redis);
    temp_dir_remove(&world->dir);
}

static int preflight_with(const struct world *world, const char *host,
                          const struct redis_access *access, int timeout_ms,
                          struct failure *failure)
{
    char text[100];
    struct redis_url url;
    struct redis_access whole = *access;
    snprintf(text, sizeof text, "%s:%s", host, world->port);
    failure->text[0] = '\0';
    assert_int_equal(redis_url_parse(text, &url, failure), 0);
    if (url.tls && !whole.ca)
        whole.ca = world->ca;
    int result = redis_access_add(&url, &whole, failure);
    if (result == 0)
        result = store_preflight(&url, timeout_ms, failure);
    redis_url_free(&url);
    return result;
}

static int preflight(const struct world *world, const char *host, struct failure *failure)
{
    return preflight_with(world, host, &(struct redis_access){0}, CLOCK_HANG_MS, failure);
}

static void expect_with(const struct world *world, const char *host,
                        const struct redis_access *access, int result, const char *why)
{
    struct failure failure;
    assert_int_equal(preflight_with(world, host, access, CLOCK_HANG_MS, &failure), result);
    if (!strstr(failure.text, why))
        fail_msg("`%s` does not say `%s`", failure.text, why);
}

static void expect(const struct world *world, const char *host, int result, const char *why)
{
    expect_with(world, host, &(struct redis_access){0}, result, why);
}

static void open_store(const struct world *world, const char *host, struct store_fixture *store)
{
    struct redis_url url;
    char text[64];
    snprintf(text, sizeof text, "rediss://%s:%s", host, world->port);
    assert_int_equal(redis_url_parse(text, &url, NULL), 0);
    assert_int_equal(redis_access_add(&url, &(struct redis_access){.ca = world->ca}, NULL), 0);
    store_fixture_open_with(store, &url);
    redis_url_free(&url);
}

TEST(the_certificate_must_name_the_host)
{
    struct world world;
    start(&world, "DNS:localhost");
    expect(&world, "rediss://localhost", 0, "");
    /* The dot that ends a name is no part of it. The resolver may not know `localhost.`. */
    expect_with(&world, "rediss://127.0.0.1", &(struct redis_access){.server_name = "localhost."},
                0, "");
    expect(&world, "rediss://127.0.0.1", -EPROTO, "mismatch");
    stop(&world);
    start(&world, "IP:127.0.0.1");
    expect(&world, "rediss://127.0.0.1", 0, "");
    expect(&world, "rediss://localhost", -EPROTO, "mismatch");
    stop(&world);
    start(&world, "DNS:redis.example");
    expect(&world, "rediss://localhost", -EPROTO, "mismatch");
    stop(&world);
}

/* connect(2) itself fails, before TLS begins. */
TEST(address_without_a_route_is_named)
{
    struct world world;
    struct store_fixture store;
    char why[100];
    start(&world, "DNS:localhost");
    open_store(&world, "224.0.0.1", &store);
    store_fixture_await(&store, &store.downs, 1);
    snprintf(why, sizeof why,
             "cannot connect to Redis at rediss://224.0.0.1:%s/0: Network is unreachable",
             world.port);
    assert_non_null(strstr(store.reason, why));
    store_fixture_close(&store);
    stop(&world);
}

/* Puts this file in the place of the system's, for this process. False where that cannot be. */
static bool becomes_the_systems(const struct certificate *authority)
{
    static const char BUNDLE[] = "/etc/ssl/certs/ca-certificates.crt";
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(authority->file, BUNDLE, NULL, MS_BIND, NULL) == 0;
}

TEST(without_a_file_the_system_says_whom_to_trust)
{
    struct world world;
    start(&world, "DNS:localhost");
    world.ca = NULL;
    expect(&world, "rediss://localhost", -EPROTO, "Put the certificate of its authority into");
    if (becomes_the_systems(&world.authority))
        expect(&world, "rediss://localhost", 0, "");
    stop(&world);
}

TEST(an_expired_certificate_is_refused)
{
    struct world world;
    start_with(
        &world,
        &(struct certificate_options){.names = "DNS:localhost", .from_s = -7200, .until_s = -3600},
        false);
    expect(&world, "rediss://localhost", -EPROTO, "expired");
    stop(&world);
}

TEST(a_file_says_whom_to_trust)
{
    struct world world;
    struct certificate other;
    start(&world, "DNS:localhost");
    certificate_make(&other, &world.dir, "other", &(struct certificate_options){.authority = true});
    const struct redis_access right = {.ca = world.authority.file}, wrong = {.ca = other.file},
                              missing = {.ca = "/nowhere.pem"}, key = {.ca = other.key};
    expect_with(&world, "rediss://localhost", &right, 0, "");
    expect_with(&world, "rediss://localhost", &wrong, -EPROTO, "certificate");
    expect_with(&world, "rediss://localhost", &missing, -EINVAL,
                "--redis-ca: cannot read /nowhere.pem: ");
    expect_with(&world, "rediss://localhost", &key, -EINVAL, "has no readable certificate");
    stop(&world);
}

TEST(another_name_may_be_expected)
{
    struct world world;
    const struct redis_access right = {.server_name = "redis.example"},
                              wrong = {.server_name = "other.example"},
                              address = {.server_name = "127.0.0.1"};
    start(&world, "DNS:redis.example");
    expect(&world, "rediss://localhost", -EPROTO, "mismatch");
    expect_with(&world, "rediss://localhost", &right, 0, "");
    expect_with(&world, "rediss://127.0.0.1", &right, 0, "");
    expect_with(&world, "rediss://127.0.0.1", &wrong, -EPROTO, "mismatch");
    expect_with(&world, "rediss://localhost", &address, -EPROTO, "mismatch");
    stop(&world);
}

TEST(redis_may_ask_who_we_are)
{
    struct world world;
    struct certificate us, foreign;
    struct store_fixture store;
    start_with(&world, &(struct certificate_options){.names = "DNS:localhost"}, true);
    certificate_make(&us, &world.dir, "us",
                     &(struct certificate_options){.issuer = &world.authority});
    certificate_make(&foreign, &world.dir, "foreign", &(struct certificate_options){0});
    const struct redis_access right = {.certificate = us.file, .key = us.key},
                              wrong = {.certificate = foreign.file, .key = foreign.key},
                              mixed = {.certificate = us.file, .key = foreign.key},
                              keyless = {.certificate = us.file, .key = us.file};
    expect_with(&world, "rediss://localhost", &right, 0, "");
    expect(&world, "rediss://localhost", -EPROTO, "certificate required");
    expect_with(&world, "rediss://localhost", &wrong, -EPROTO, "unknown ca");
    expect_with(&world, "rediss://localhost", &mixed, -EINVAL, "--redis-key: ");
    expect_with(&world, "rediss://localhost", &mixed, -EINVAL, "is not the key of the certificate");
    expect_with(&world, "rediss://localhost", &keyless, -EINVAL, "has no readable key");

    /* A service tells why, and goes on trying. */
    open_store(&world, "localhost", &store);
    store_fixture_await(&store, &store.downs, 1);
    assert_non_null(strstr(store.reason, "certificate required"));
    store_fixture_close(&store);
    stop(&world);
}

TEST(plain_and_tls_do_not_mix)
{
    struct world world;
    start(&world, "DNS:localhost");
    struct failure failure;
    assert_true(preflight(&world, "redis://localhost", &failure) < 0);
    assert_non_null(strstr(failure.text, "If this port wants TLS, write rediss in place of redis"));

    struct redis_process redis;
    redis_process_start(&redis, &(struct redis_options){.port = true});
    snprintf(world.port, sizeof world.port, "%d", redis.port);
    /* Redis says nothing, or an error if it takes a byte for the end of a line. */
    assert_true(preflight(&world, "rediss://localhost", &failure) < 0);
    assert_non_null(
        strstr(failure.text, "If this port has no TLS, write redis in place of rediss"));
    redis_process_stop(&redis);
    stop(&world);
}

/* Redis closes without a word of TLS then. Over redis:// it says why. */
TEST(a_port_that_closes_at_once_is_waited_for)
{
    struct world world;
    start(&world, "DNS:localhost");
    freeReplyObject(redis_process_command(&world.redis, "CONFIG SET maxclients 1"));
    expect(&world, "rediss://localhost", -EAGAIN, "as Redis does at its maxclients. If this port");
    stop(&world);
}

TEST(calls_work_as_without)
{
    enum { SIZE = 3 << 20, MANY = 3 }; /* more than sockets take */
    struct world world;
    struct store_fixture store;
    start(&world, "DNS:localhost");
    open_store(&world, "localhost", &store);
    store_fixture_await(&store, &store.ups, 1);
    assert_int_equal(store_fixture_run(&store, COUNT, "a", "").integer, 1);

    char *large = malloc(SIZE + 1);
    memset(large, 'x', SIZE);
    large[SIZE] = '\0';
    struct outcome outcomes[MANY];
    for (int i = 0; i < MANY; i++)
        store_fixture_call(&store, &outcomes[i], fixture_script("return ARGV[1]"), "a", large);
    store_fixture_await(&store, &store.ended, 1 + MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(outcomes[i].outcome, STORE_REPLIED);
    free(large);

    redis_process_kill(&world.redis);
    store_fixture_await(&store, &store.downs, 1);
    redis_process_resume(&world.redis);
    store_fixture_await(&store, &store.ups, 2);
    assert_int_equal(store_fixture_run(&store, COUNT, "b", "").integer, 1);

    redis_process_freeze(&world.redis);
    struct outcome frozen = store_fixture_run(&store, COUNT, "b", "");
    assert_int_equal(frozen.outcome, STORE_IN_DOUBT);
    redis_process_thaw(&world.redis);
    store_fixture_close(&store);
    stop(&world);
}
