/* HTTPS: who is shown what, who is let in, and as whom. */
#include "tests/support/fixtures/secure.h"
#include "tests/support/principals_file.h"
#include "tests/support/raw.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BODY = 16000 };

TEST(old_versions_and_plain_http_are_refused)
{
    static const struct {
        int version;
        bool good;
    } VERSIONS[] = {{TLS1_VERSION, false},
                    {TLS1_1_VERSION, false},
                    {TLS1_2_VERSION, true},
                    {TLS1_3_VERSION, true}};
    struct secure secure;
    struct tls_client client;
    char reply[64];
    bool closed;
    secure_open(&secure, false, NULL);
    assert_non_null(strstr(secure.batond.url, "https://127.0.0.1:"));
    for (size_t i = 0; i < sizeof VERSIONS / sizeof *VERSIONS; i++) {
        assert_int_equal(secure_connect(&secure, &client, NULL, VERSIONS[i].version),
                         VERSIONS[i].good);
        if (VERSIONS[i].good) {
            secure_ask(&client, "GET /livez");
            assert_int_equal(secure_answer(&client, CLOCK_HANG_MS), 200);
        }
        tls_client_close(&client);
    }
    int fd = raw_connect(secure.batond.port);
    raw_send(fd, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", 32);
    raw_receive(fd, reply, sizeof reply, NULL, CLOCK_HANG_MS, &closed);
    assert_true(closed);
    assert_null(strstr(reply, "HTTP"));
    close(fd);
    secure_close(&secure);
}

/* GnuTLS hands out a record in pieces, and nothing tells the loop of what is left of it. */
TEST(records_that_tls_buffered_are_read)
{
    struct secure secure;
    struct tls_client client;
    static char text[2 * BODY], reply[2 * BODY];
    secure_open(&secure, false, NULL);
    assert_true(secure_connect(&secure, &client, NULL, 0));
    int length = snprintf(text, sizeof text,
                          "POST /locks/a HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                          "Content-Length: %d\r\n\r\n{\"ttl_ms\": 9000%*s}"
                          "GET /locks/a HTTP/1.1\r\nHost: a\r\n\r\n"
                          "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
                          BODY, BODY - 16, "");
    assert_true(tls_client_send(&client, text, (size_t)length));
    tls_client_receive(&client, reply, sizeof reply, "{\"status\":\"ok\"}", CLOCK_HANG_MS);
    assert_non_null(strstr(reply, "201 Created"));
    assert_non_null(strstr(reply, "\"state\":\"held\""));
    assert_non_null(strstr(reply, "{\"status\":\"ok\"}"));

    static const char SLOW[] = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    for (size_t i = 0; i < sizeof SLOW - 1; i++)
        assert_true(tls_client_send(&client, SLOW + i, 1));
    assert_int_equal(secure_answer(&client, CLOCK_HANG_MS), 200);
    tls_client_close(&client);
    secure_close(&secure);
}

TEST(handshake_has_the_time_of_a_head)
{
    struct secure secure;
    char reply[64];
    bool closed;
    secure_open(&secure, false, LIST("--head-timeout=1s"));
    int64_t begun = clock_ms();
    int silent = raw_connect(secure.batond.port), stuck = raw_connect(secure.batond.port);
    raw_send(stuck, "\x16\x03\x01\x02\x00\x01", 6); /* the beginning of a ClientHello */
    raw_receive(silent, reply, sizeof reply, NULL, CLOCK_HANG_MS, &closed);
    assert_true(closed);
    raw_receive(stuck, reply, sizeof reply, NULL, CLOCK_HANG_MS, &closed);
    assert_true(closed);
    assert_true(clock_ms() - begun >= 1000);
    close(silent);
    close(stuck);
    secure_close(&secure);
}

static void is_refused(struct secure *secure, const char *flag, const char *file, const char *said)
{
    secure_launch(secure, false, flag ? LIST(flag, file) : NULL);
    assert_true(process_wait(&secure->batond.process, CLOCK_HANG_MS));
    char *output = process_output(&secure->batond.process);
    if (!strstr(output, said) || process_exit_code(&secure->batond.process) != 2)
        fail_msg("exit code %d: `%s` does not say `%s`", process_exit_code(&secure->batond.process),
                 output, said);
    free(output);
    batond_process_stop(&secure->batond);
}

static void give_key_a_passphrase(const struct certificate *certificate)
{
    FILE *file = fopen(certificate->key, "r");
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    fclose(file);
    file = fopen(certificate->key, "w");
    assert_int_equal(
        PEM_write_PKCS8PrivateKey(file, key, EVP_aes_256_cbc(), "secret", 6, NULL, NULL), 1);
    fclose(file);
    EVP_PKEY_free(key);
}

TEST(unusable_certificate_is_refused_at_start)
{
    struct secure secure;
    struct certificate other, locked;
    char junk[120];
    secure_prepare(&secure);
    certificate_make(&other, &secure.dir, "other", &(struct certificate_options){0});
    certificate_make(&locked, &secure.dir, "locked", &(struct certificate_options){0});
    give_key_a_passphrase(&locked);
    snprintf(junk, sizeof junk, "%s/junk", secure.dir.path);
    principals_file_put(junk, "-----BEGIN CERTIFICATE-----\nnonsense\n", 0600);
    const struct {
        const char *flag, *file, *said;
    } ROWS[] = {
        {"--tls-cert", "/nowhere", "--tls-cert: cannot read /nowhere: No such"},
        {"--tls-key", "/nowhere", "--tls-key: cannot read /nowhere: No such"},
        {"--tls-cert", secure.dir.path, "is not a regular file"},
        {"--tls-cert", junk, "has no readable certificate (PEM)"},
        {"--tls-key", junk, "has no readable key (PEM)"},
        {"--tls-key", other.key, "is not the key of the certificate in"},
        {"--tls-key", locked.key, "has a passphrase"},
        {"--tls-client-ca", "/nowhere", "--tls-client-ca: cannot read /nowhere"},
        {"--tls-client-ca", junk, "--tls-client-ca: "},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        is_refused(&secure, ROWS[i].flag, ROWS[i].file, ROWS[i].said);
    assert_int_equal(chmod(secure.server.key, 0644), 0);
    is_refused(&secure, NULL, NULL, "other users may read or write");
    redis_process_stop(&secure.redis);
    temp_dir_remove(&secure.dir);
}

TEST(expired_certificate_is_warned_of)
{
    struct secure secure;
    secure_prepare(&secure);
    certificate_make(&secure.server, &secure.dir, "server",
                     &(struct certificate_options){.issuer = &secure.authority,
                                                   .names = "DNS:localhost",
                                                   .from_s = -7200,
                                                   .until_s = -3600});
    secure_start(&secure, false, NULL);
    assert_true(
        process_wait_line(&secure.batond.process, "has expired", NULL, NULL, 0, CLOCK_HANG_MS));
    secure_close(&secure);
}

/* What a client that shows this certificate is answered; 0 where it does not get through the
 * handshake. */
static long answer_to(struct secure *secure, const struct certificate *certificate,
                      const char *method, const char *path, const char *header)
{
    struct http_tls tls;
    struct http_client *client = secure_client(secure, &tls, certificate);
    long status = http_request(
        client, &(struct http_call){.method = method, .path = path, .headers = LIST(header)});
    http_client_free(client);
    return status;
}

/* Each version has its own time to say so: with TLS 1.3 the client has finished by then. */
static void expect_alert(struct secure *secure, const struct certificate *certificate,
                         const char *why)
{
    struct tls_client client;
    char text[64];
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        if (secure_connect(secure, &client, certificate, version))
            tls_client_receive(&client, text, sizeof text, NULL, CLOCK_HANG_MS);
        if (!strstr(client.trouble, why))
            fail_msg("version %x: `%s` does not say `%s`", version, client.trouble, why);
        tls_client_close(&client);
    }
    assert_int_equal(answer_to(secure, certificate, "GET", "/livez", NULL), 0);
}

static void make_client(struct secure *secure, struct certificate *ret, const char *name,
                        struct certificate_options options)
{
    if (!options.issuer)
        options.issuer = &secure->clients;
    certificate_make(ret, &secure->dir, name, &options);
}

/* Without a tokens-file whoever shows a certificate that is trusted may do all. */
TEST(client_is_let_in_by_its_certificate)
{
    struct secure secure;
    struct certificate good, late, early, server, foreign, self, nameless;
    secure_open(&secure, true, LIST("--listen=0.0.0.0:0")); /* which certificates make good */
    snprintf(secure.batond.url, sizeof secure.batond.url, "https://127.0.0.1:%d",
             secure.batond.port);
    snprintf(secure.client->base, sizeof secure.client->base, "%s", secure.batond.url);
    make_client(&secure, &good, "good", (struct certificate_options){.usage = "clientAuth"});
    make_client(&secure, &late, "late",
                (struct certificate_options){.from_s = -7200, .until_s = -3600});
    make_client(&secure, &early, "early",
                (struct certificate_options){.from_s = 3600, .until_s = 7200});
    make_client(&secure, &server, "forserver", (struct certificate_options){.usage = "serverAuth"});
    make_client(&secure, &foreign, "foreign",
                (struct certificate_options){.issuer = &secure.authority});
    make_client(&secure, &nameless, "nameless", (struct certificate_options){.common_name = ""});
    certificate_make(&self, &secure.dir, "self", &(struct certificate_options){0});
    assert_int_equal(answer_to(&secure, &good, "POST", "/locks/a", NULL), 201);
    assert_int_equal(answer_to(&secure, &good, "GET", "/metrics", NULL), 200);
    assert_int_equal(answer_to(&secure, &nameless, "POST", "/locks/b", NULL), 401);
    expect_alert(&secure, &late, "certificate expired");
    expect_alert(&secure, &early, "certificate expired");
    expect_alert(&secure, &server, "unsupported certificate");
    expect_alert(&secure, &foreign, "unknown ca");
    expect_alert(&secure, &self, "unknown ca");

    answers(secure.client, "POST /locks/a", NULL, 401, "unauthorized");
    assert_non_null(strstr(http_text(secure.client, "detail"), "client certificate"));
    assert_non_null(http_header(secure.client, "WWW-Authenticate"));
    answers(secure.client, "GET /livez", NULL, 200, NULL);
    secure_close(&secure);
}

/* Whoever guesses an owner's name is not let into what another principal holds. */
TEST(certificates_without_tokens_file_are_principals)
{
    static const char TAKE[] = "/locks/a?owner=me&reentrant";
    struct secure secure;
    struct certificate one, other, longest;
    char name[66] = "";
    secure_open(&secure, true, NULL);
    make_client(&secure, &one, "one", (struct certificate_options){0});
    make_client(&secure, &other, "other", (struct certificate_options){0});
    memset(name, 'n', 64); /* as long as X.520 has it */
    make_client(&secure, &longest, "longest", (struct certificate_options){.common_name = name});
    assert_int_equal(answer_to(&secure, &one, "POST", TAKE, NULL), 201);
    assert_int_equal(answer_to(&secure, &one, "POST", TAKE, NULL), 201);
    assert_int_equal(answer_to(&secure, &other, "POST", TAKE, NULL), 409);
    assert_int_equal(answer_to(&secure, &longest, "POST", "/locks/b?owner=me", NULL), 201);
    secure_close(&secure);
}

TEST(common_name_is_a_principal)
{
    static const struct file_principal PRINCIPALS[] = {
        {"robot", "[{\"prefix\": \"r/\", \"verbs\": [\"acquire\"]}]", NULL},
        {"reader", "[{\"prefix\": \"\", \"verbs\": [\"read\"]}]", NULL}};
    struct secure secure;
    struct certificate robot, stranger, twofold;
    char reader[PRINCIPAL_HEADER_TEXT];
    secure_prepare(&secure);
    principals_file_write(secure.tokens_file, PRINCIPALS, 2);
    principal_header("reader", reader);
    secure_start(&secure, true, LIST("--tokens-file", secure.tokens_file));
    make_client(&secure, &robot, "robot", (struct certificate_options){0});
    make_client(&secure, &stranger, "stranger", (struct certificate_options){0});
    make_client(&secure, &twofold, "twofold", (struct certificate_options){.common_name = ""});
    assert_int_equal(answer_to(&secure, &robot, "POST", "/locks/r%2Fa", NULL), 201);
    assert_int_equal(answer_to(&secure, &robot, "POST", "/locks/s", NULL), 403);
    assert_int_equal(answer_to(&secure, &robot, "GET", "/locks/r%2Fa", NULL), 403);
    assert_int_equal(answer_to(&secure, &stranger, "POST", "/locks/r%2Fa", NULL), 401);
    assert_int_equal(answer_to(&secure, &twofold, "POST", "/locks/r%2Fa", NULL), 401);
    /* A token works without a certificate, and counts more than one. */
    assert_int_equal(answer_to(&secure, NULL, "GET", "/locks/r%2Fa", reader), 200);
    assert_int_equal(answer_to(&secure, &robot, "GET", "/locks/r%2Fa", reader), 200);
    assert_int_equal(answer_to(&secure, &robot, "POST", "/locks/r%2Fb", reader), 403);
    assert_int_equal(answer_to(&secure, NULL, "POST", "/locks/r%2Fa", NULL), 401);

    secure_close(&secure);
}

/* Whether a client with this certificate is let in, and granted a lock. */
static bool asks_in_time(struct secure *secure, struct tls_client *client,
                         const struct certificate *certificate)
{
    if (!secure_connect(secure, client, certificate, 0))
        return false;
    secure_ask(client, "POST /locks/a?owner=me");
    return secure_answer(client, CLOCK_HANG_MS) == 201;
}

/* A connection may outlive the certificate that it was opened with. */
TEST(certificate_counts_until_it_expires)
{
    struct secure secure;
    struct certificate brief;
    struct tls_client client = {.fd = -1};
    long lasts_s = 1;
    secure_open(&secure, true, NULL);
    do { /* as long as this machine needs to ask once */
        tls_client_close(&client);
        lasts_s *= 2;
        make_client(&secure, &brief, "brief", (struct certificate_options){.until_s = lasts_s});
    } while (lasts_s < 60 && !asks_in_time(&secure, &client, &brief));
    clock_sleep_ms(lasts_s * 1000 + 100);
    secure_ask(&client, "POST /locks/b");
    char text[2048];
    tls_client_receive(&client, text, sizeof text, "unauthorized", CLOCK_HANG_MS);
    assert_non_null(strstr(text, "401 Unauthorized"));
    tls_client_close(&client);
    secure_close(&secure);
}
