/* TLS to Redis, where this build has it: the certificate must be trusted and name the host. */
#include "redis/tls.h"
#include "tests/support/cmocka.h"

#ifdef HAVE_REDIS_TLS

#include "tests/redis/store_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/redis_process.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";

struct world {
    struct temp_dir dir;
    struct redis_process redis;
    char certificate[120];
    char key[120];
    char port[16];
    const char *arguments[9];
};

static void add_names(X509 *certificate, const char *names)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* A certificate that vouches for itself, good for `names` and for an hour. */
static void make_certificate(const struct world *world, const char *names)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    X509 *certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_pubkey(certificate, key);
    add_names(certificate, names);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);

    FILE *file = fopen(world->certificate, "w");
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    fclose(file);
    file = fopen(world->key, "w");
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static void start(struct world *world, const char *names)
{
    temp_dir_make(&world->dir);
    snprintf(world->certificate, sizeof world->certificate, "%s/cert.pem", world->dir.path);
    snprintf(world->key, sizeof world->key, "%s/key.pem", world->dir.path);
    snprintf(world->port, sizeof world->port, "%d", free_port());
    make_certificate(world, names);
    const char *arguments[] = {"--tls-port",
                               world->port,
                               "--tls-cert-file",
                               world->certificate,
                               "--tls-key-file",
                               world->key,
                               "--tls-auth-clients",
                               "no",
                               NULL};
    memcpy(world->arguments, arguments, sizeof arguments);
    redis_process_start(&world->redis, &(struct redis_options){.arguments = world->arguments});
    setenv("SSL_CERT_FILE", world->certificate, 1);
}

static void stop(struct world *world)
{
    unsetenv("SSL_CERT_FILE");
    redis_process_stop(&world->redis);
    temp_dir_remove(&world->dir);
}

static int preflight(const struct world *world, const char *host, struct failure *failure)
{
    char text[100];
    struct redis_url url;
    struct failure warning;
    snprintf(text, sizeof text, "%s:%s", host, world->port);
    failure->text[0] = '\0';
    assert_int_equal(redis_url_parse(text, &url, failure), 0);
    int result = store_preflight(&url, 2000, &warning, failure);
    redis_url_free(&url);
    return result;
}

static void expect(const struct world *world, const char *host, int result, const char *why)
{
    struct failure failure;
    assert_int_equal(preflight(world, host, &failure), result);
    if (!strstr(failure.text, why))
        fail_msg("`%s` does not say `%s`", failure.text, why);
}

static void the_certificate_must_name_the_host(void **state)
{
    struct world world;
    (void)state;
    start(&world, "DNS:localhost");
    expect(&world, "rediss://localhost", 0, "");
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

static void the_certificate_must_be_trusted(void **state)
{
    struct world world;
    (void)state;
    start(&world, "DNS:localhost");
    setenv("SSL_CERT_FILE", "/dev/null", 1);
    expect(&world, "rediss://localhost", -EPROTO, "certificate");
    stop(&world);
}

static void plain_and_tls_do_not_mix(void **state)
{
    struct world world;
    (void)state;
    start(&world, "DNS:localhost");
    struct failure failure;
    assert_true(preflight(&world, "redis://localhost", &failure) < 0);
    assert_non_null(strstr(failure.text, "cannot connect"));
    stop(&world);

    struct redis_process redis;
    redis_process_start(&redis, &(struct redis_options){.port = true});
    snprintf(world.port, sizeof world.port, "%d", redis.port);
    /* Redis says nothing, or an error if it takes a byte for the end of a line. */
    assert_true(preflight(&world, "rediss://localhost", &failure) < 0);
    assert_non_null(strstr(failure.text, "cannot connect"));
    redis_process_stop(&redis);
}

static void calls_work_as_without(void **state)
{
    enum { SIZE = 3 << 20, MANY = 8 };
    struct world world;
    struct store_fixture store;
    char url[64];
    (void)state;
    start(&world, "DNS:localhost");
    snprintf(url, sizeof url, "rediss://localhost:%s", world.port);
    store_fixture_open_up(&store, url);
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
    assert_in_range(frozen.took_ms, 0, 999);
    redis_process_thaw(&world.redis);
    store_fixture_close(&store);
    stop(&world);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as store.h asks of a process that uses TLS */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_certificate_must_name_the_host),
        cmocka_unit_test(the_certificate_must_be_trusted),
        cmocka_unit_test(plain_and_tls_do_not_mix),
        cmocka_unit_test(calls_work_as_without),
    };
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}

#else

#include <errno.h>

static void there_is_none(void **state)
{
    (void)state;
    struct tls_trust *trust = NULL;
    struct failure failure = {""};
    assert_false(tls_available());
    assert_int_equal(tls_trust_open(&trust, &failure), -ENOTSUP);
    assert_null(trust);
    assert_true(failure.text[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_is_none)};
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}

#endif
