/* One TLS session, without a Redis: whom it trusts, what it reads and writes, and what the other
 * side may do meanwhile. The other side is OpenSSL. */
#include "redis/tls/tls.h"
#include "tests/support/cmocka.h"

#include "tests/support/certificates.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RECORD = TLS_RECORD_LONGEST, ROOM = 64 * 1024 };

struct pair {
    struct temp_dir dir;
    struct certificate authority, server;
    struct tls_trust *trust;
    struct tls *tls;
    SSL_CTX *context;
    SSL *other;
    int fds[2]; /* ours, the other's */
    struct failure failure;
};

static void show_server(struct pair *pair)
{
    assert_int_equal(SSL_CTX_use_certificate_chain_file(pair->context, pair->server.file), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(pair->context, pair->server.key, SSL_FILETYPE_PEM),
                     1);
}

static void make_server(struct pair *pair, const struct certificate_options *options)
{
    struct certificate_options issued = *options;
    if (!issued.issuer)
        issued.issuer = &pair->authority;
    if (!issued.names)
        issued.names = "DNS:redis.example";
    certificate_make(&pair->server, &pair->dir, "server", &issued);
    show_server(pair);
}

static int trust(struct pair *pair, const struct tls_files *files)
{
    tls_trust_drop(pair->trust);
    pair->trust = NULL;
    return tls_trust_open(&pair->trust, files, &pair->failure);
}

static int set_up(void **state)
{
    struct pair *pair = *state = calloc(1, sizeof *pair);
    pair->context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_security_level(pair->context, 0); /* so that it shows weak certificates */
    temp_dir_make(&pair->dir);
    certificate_make(&pair->authority, &pair->dir, "authority",
                     &(struct certificate_options){.authority = true});
    make_server(pair, &(struct certificate_options){0});
    return trust(pair, &(struct tls_files){.ca = pair->authority.file});
}

static void end_session(struct pair *pair)
{
    tls_close(pair->tls);
    SSL_free(pair->other);
    for (int i = 0; i < 2 && pair->tls; i++)
        close(pair->fds[i]);
    pair->tls = NULL;
    pair->other = NULL;
}

static int tear_down(void **state)
{
    struct pair *pair = *state;
    end_session(pair);
    tls_trust_drop(pair->trust);
    SSL_CTX_free(pair->context);
    temp_dir_remove(&pair->dir);
    free(pair);
    return 0;
}

#define TEST_ON_PAIR(name) TEST_ON(struct pair *pair, name, set_up, tear_down)

static void begin_session(struct pair *pair, const char *host)
{
    end_session(pair);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair->fds), 0);
    pair->other = SSL_new(pair->context);
    SSL_set_fd(pair->other, pair->fds[1]);
    assert_int_equal(tls_open(&pair->tls, pair->trust, pair->fds[0], host, &pair->failure), 0);
}

/* Both sides shake hands, turn by turn. Returns what ours comes to. */
static int shake_hands_to(struct pair *pair, const char *host)
{
    bool wants_write = false;
    int result, other = 0;
    begin_session(pair, host);
    do {
        result = tls_handshake(pair->tls, &wants_write, &pair->failure);
        if (other != 1)
            other = SSL_accept(pair->other);
    } while (result == -EAGAIN);
    if (result == 0 && other != 1)
        SSL_accept(pair->other); /* in TLS 1.3 it comes to its end after us */
    return result;
}

static int shake_hands(struct pair *pair, const char *host)
{
    int result = shake_hands_to(pair, host);
    if (result == 0)
        assert_true(SSL_is_init_finished(pair->other));
    return result;
}

static void connect_by(struct pair *pair, int version)
{
    SSL_CTX_set_min_proto_version(pair->context, version);
    SSL_CTX_set_max_proto_version(pair->context, version);
    assert_int_equal(shake_hands(pair, "redis.example"), 0);
}

static void fails(struct pair *pair, const char *host, const char *why)
{
    assert_int_equal(shake_hands(pair, host), -EPROTO);
    if (!strstr(pair->failure.text, why))
        fail_msg("`%s` does not say `%s`", pair->failure.text, why);
}

/* Whom it trusts */

TEST_ON_PAIR(names_are_compared_as_of_old)
{
    static const struct {
        const char *names, *host;
        bool fits;
    } CASES[] = {
        {"DNS:redis.example", "redis.example", true},
        {"DNS:redis.example", "REDIS.Example.", true},
        {"DNS:a.example,DNS:redis.example", "redis.example", true},
        {"DNS:redis.example", "a.redis.example", false},
        {"DNS:*.redis.example", "a.redis.example", true},
        {"DNS:*.redis.example", "a_1.redis.example", true},
        {"DNS:*.redis.example", "redis.example", false},
        {"DNS:*.redis.example", "a.b.redis.example", false},
        {"DNS:*.example", "redis.example", false},
        {"IP:10.0.0.1", "10.0.0.1", true},
        {"IP:10.0.0.1", "10.0.0.2", false},
        {"DNS:10.0.0.1", "10.0.0.1", false},
        {"DNS:redis.example,IP:10.0.0.1", "10.0.0.1", true},
        {"IP:::1,IP:10.0.0.1", "0:0:0:0:0:0:0:1", true},
        {"IP:::1", "::2", false},
    };
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        make_server(pair, &(struct certificate_options){.names = CASES[i].names});
        if (CASES[i].fits)
            assert_int_equal(shake_hands(pair, CASES[i].host), 0);
        else
            fails(pair, CASES[i].host, "(hostname mismatch)");
    }
}

/* An address is no name that could be asked for. */
TEST_ON_PAIR(the_name_is_asked_for)
{
    make_server(pair, &(struct certificate_options){.names = "DNS:redis.example,IP:10.0.0.1"});
    assert_int_equal(shake_hands(pair, "redis.example."), 0);
    assert_string_equal(SSL_get_servername(pair->other, TLSEXT_NAMETYPE_host_name),
                        "redis.example");
    assert_int_equal(shake_hands(pair, "10.0.0.1"), 0);
    assert_null(SSL_get_servername(pair->other, TLSEXT_NAMETYPE_host_name));
}

TEST_ON_PAIR(fault_of_a_certificate_is_named)
{
    const struct {
        struct certificate_options options;
        const char *why;
    } CASES[] = {
        {{.issuer = &pair->server}, "by no authority that batond trusts"},
        {{.from_s = -7200, .until_s = -3600}, "has expired. Renew it"},
        {{.from_s = 3600, .until_s = 7200}, "not valid yet. Check the clock"},
        {{.usage = "clientAuth"}, "is not for servers"},
        {{.rsa_bits = 1024}, "too weak. RSA needs 2048 bits"},
    };
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        make_server(pair, &CASES[i].options);
        fails(pair, "redis.example", CASES[i].why);
    }
    make_server(pair, &(struct certificate_options){.rsa_bits = 2048, .usage = "serverAuth"});
    assert_int_equal(shake_hands(pair, "redis.example"), 0);
}

/* As many recipes for private authorities have it. */
TEST_ON_PAIR(a_certificate_need_not_say_that_its_key_signs)
{
    make_server(pair, &(struct certificate_options){.rsa_bits = 2048,
                                                    .key_usage = "keyEncipherment,dataEncipherment",
                                                    .usage = "serverAuth"});
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        connect_by(pair, version);
}

/* What `openssl req -x509` makes, or the same that is no authority, named as what to trust. */
TEST_ON_PAIR(a_certificate_of_its_own_authority_may_be_trusted)
{
    for (int is_authority = 0; is_authority < 2; is_authority++) {
        assert_int_equal(trust(pair, &(struct tls_files){.ca = pair->authority.file}), 0);
        certificate_make(&pair->server, &pair->dir, "server",
                         &(struct certificate_options){.names = "DNS:redis.example",
                                                       .authority = is_authority,
                                                       .key_usage = "digitalSignature"});
        show_server(pair);
        fails(pair, "redis.example", "by no authority that batond trusts");
        assert_int_equal(trust(pair, &(struct tls_files){.ca = pair->server.file}), 0);
        assert_int_equal(shake_hands(pair, "redis.example"), 0);
    }
}

/* An authority below the one that is trusted has to be shown. */
TEST_ON_PAIR(a_chain_leads_to_an_authority)
{
    struct certificate between;
    certificate_make(&between, &pair->dir, "between",
                     &(struct certificate_options){.authority = true, .issuer = &pair->authority});
    make_server(pair, &(struct certificate_options){.issuer = &between, .with_issuer = true});
    assert_int_equal(shake_hands(pair, "redis.example"), 0);
    make_server(pair, &(struct certificate_options){.issuer = &between});
    fails(pair, "redis.example", "by no authority that batond trusts");
}

/* Appends what is in a file to another one. */
static void append(const char *path, const char *from)
{
    char text[8192];
    FILE *file = fopen(from, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    file = fopen(path, "ae");
    assert_non_null(file);
    fwrite(text, 1, length, file);
    fclose(file);
}

TEST_ON_PAIR(one_of_many_authorities_will_do)
{
    enum { MANY = 200 };
    struct certificate other;
    char bundle[120];
    snprintf(bundle, sizeof bundle, "%s/bundle.pem", pair->dir.path);
    for (int i = 0; i < MANY; i++) {
        certificate_make(&other, &pair->dir, "other",
                         &(struct certificate_options){.authority = true});
        append(bundle, i == MANY / 2 ? pair->authority.file : other.file);
    }
    assert_int_equal(trust(pair, &(struct tls_files){.ca = bundle}), 0);
    assert_int_equal(shake_hands(pair, "redis.example"), 0);
}

TEST_ON_PAIR(old_versions_are_refused)
{
    SSL_CTX_set_min_proto_version(pair->context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(pair->context, TLS1_1_VERSION);
    fails(pair, "redis.example", "neither TLS 1.2 nor TLS 1.3");
}

/* Who we are */

enum key_form { PKCS_8, EMPTY_WORD, TRADITIONAL, WITH_PARAMETERS, ENCRYPTED, OLD_ENCRYPTED, FORMS };

/* Writes the key anew, in one of the forms in which there are keys. */
static void rewrite_key(const struct certificate *at, enum key_form form)
{
    FILE *file = fopen(at->key, "r+e");
    assert_non_null(file);
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    rewind(file);
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    if (form == WITH_PARAMETERS)
        fputs("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n",
              file);
    fflush(file);
    BIO *out = BIO_new_fp(file, BIO_CLOSE);
    char word[] = "word";
    int length = form == EMPTY_WORD ? 0 : 4;
    const EVP_CIPHER *cipher = length == 0 || form >= ENCRYPTED ? EVP_aes_256_cbc() : NULL;
    bool is_old = form == TRADITIONAL || form == WITH_PARAMETERS || form == OLD_ENCRYPTED;
    int result = is_old ? PEM_write_bio_PrivateKey_traditional(
                              out, key, cipher, (unsigned char *)word, length, NULL, NULL)
                        : PEM_write_bio_PKCS8PrivateKey(out, key, cipher, word, length, NULL, NULL);
    assert_int_equal(result, 1);
    BIO_free(out);
    EVP_PKEY_free(key);
}

static int show(struct pair *pair, const struct certificate *us)
{
    return trust(pair, &(struct tls_files){pair->authority.file, us->file, us->key});
}

/* The other side wants a certificate of our authority. It names another one in its request. */
static void want_certificate(struct pair *pair)
{
    STACK_OF(X509_NAME) *named = SSL_load_client_CA_file(pair->server.file);
    SSL_CTX_set_client_CA_list(pair->context, named);
    assert_int_equal(SSL_CTX_load_verify_file(pair->context, pair->authority.file), 1);
    SSL_CTX_set_verify(pair->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

/* Both sides know by then whether the other one takes the certificate. */
static void is_taken(struct pair *pair)
{
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        connect_by(pair, version);
}

TEST_ON_PAIR(keys_come_in_many_forms)
{
    struct certificate us;
    want_certificate(pair);
    for (int rsa_bits = 0; rsa_bits <= 2048; rsa_bits += 2048)
        for (enum key_form form = PKCS_8; form < FORMS; form++) {
            if (form == WITH_PARAMETERS && rsa_bits)
                continue;
            certificate_make(
                &us, &pair->dir, "us",
                &(struct certificate_options){.issuer = &pair->authority, .rsa_bits = rsa_bits});
            rewrite_key(&us, form);
            if (form >= ENCRYPTED) {
                assert_int_equal(show(pair, &us), -EINVAL);
                assert_non_null(strstr(pair->failure.text, "has a passphrase"));
                continue;
            }
            assert_int_equal(show(pair, &us), 0);
            is_taken(pair);
            append(us.file, us.key); /* one file for both */
            strcpy(us.key, us.file);
            assert_int_equal(show(pair, &us), 0);
            is_taken(pair);
        }
}

TEST_ON_PAIR(our_chain_is_shown)
{
    struct certificate between, us;
    want_certificate(pair);
    certificate_make(&between, &pair->dir, "between",
                     &(struct certificate_options){.authority = true, .issuer = &pair->authority});
    certificate_make(&us, &pair->dir, "us",
                     &(struct certificate_options){.issuer = &between, .with_issuer = true});
    assert_int_equal(show(pair, &us), 0);
    is_taken(pair);
}

/* TLS 1.3 tells us only when we read. */
TEST_ON_PAIR(a_refusal_says_what_to_do)
{
    struct certificate old;
    char buffer[ROOM];
    want_certificate(pair);
    SSL_CTX_set_max_proto_version(pair->context, TLS1_2_VERSION);
    fails(pair, "redis.example", "If it wants a certificate from batond, set redis-cert and");
    certificate_make(&old, &pair->dir, "old",
                     &(struct certificate_options){
                         .issuer = &pair->authority, .from_s = -7200, .until_s = -3600});
    assert_int_equal(show(pair, &old), 0);
    fails(pair, "redis.example", "redis-cert has expired");
    SSL_CTX_set_max_proto_version(pair->context, TLS1_3_VERSION);
    assert_int_equal(shake_hands_to(pair, "redis.example"), 0);
    assert_int_equal(tls_read(pair->tls, buffer, ROOM), -EPROTO);
    assert_non_null(strstr(tls_error(pair->tls, &pair->failure), "redis-cert has expired"));
}

/* What we still have to send cannot be sent. */
TEST_ON_PAIR(a_refusal_is_read_although_the_other_side_has_closed)
{
    static const char ALERT[] = {21, 3, 3, 0, 2, 2, 48}; /* fatal, unknown_ca */
    bool wants_write;
    SSL_CTX_set_max_proto_version(pair->context, TLS1_2_VERSION);
    begin_session(pair, "redis.example");
    assert_int_equal(tls_handshake(pair->tls, &wants_write, &pair->failure), -EAGAIN);
    assert_int_equal(SSL_accept(pair->other), -1);
    assert_int_equal(send(pair->fds[1], ALERT, sizeof ALERT, 0), sizeof ALERT);
    shutdown(pair->fds[1], SHUT_RDWR);
    assert_int_equal(tls_handshake(pair->tls, &wants_write, &pair->failure), -EPROTO);
    assert_non_null(strstr(pair->failure.text, "unknown ca"));
}

/* What another server says, or a Redis that has no time for us, before it closes. */
TEST_ON_PAIR(an_end_of_the_handshake_is_no_refusal)
{
    static const struct {
        const char *sent;
        size_t length;
        int code;
        const char *why;
    } CASES[] = {
        {"", 0, -ECONNRESET, "closed it during the TLS handshake"},
        {"\x15\x03\x03\x00\x02\x01\x00", 7, -ECONNRESET, "closed it"}, /* close_notify */
        {"\x16\x03\x03\x00\x64\x02", 6, -ECONNRESET, "closed it"},     /* within a record */
        {"\x15\x03\x03\x00\x02\x02\x50", 7, -ECONNRESET, "Internal error"},
        {"\x15\x03\x03\x00\x02\x02\x28", 7, -EPROTO, "handshake failure"},
        {"-ERR max number of clients reached\r\n", 36, -EPROTO, "does not answer by TLS"},
        {"HTTP/1.1 400 Bad Request\r\n\r\n", 28, -EPROTO, "does not answer by TLS"},
    };
    bool wants_write;
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        begin_session(pair, "redis.example");
        assert_int_equal(tls_handshake(pair->tls, &wants_write, &pair->failure), -EAGAIN);
        assert_int_equal(send(pair->fds[1], CASES[i].sent, CASES[i].length, 0), CASES[i].length);
        shutdown(pair->fds[1], SHUT_RDWR);
        int result = -EAGAIN;
        while (result == -EAGAIN)
            result = tls_handshake(pair->tls, &wants_write, &pair->failure);
        assert_int_equal(result, CASES[i].code);
        if (!strstr(pair->failure.text, CASES[i].why))
            fail_msg("`%s` does not say `%s`", pair->failure.text, CASES[i].why);
    }
}

/* Reading and writing */

static void other_sends(struct pair *pair, const char *bytes, size_t length)
{
    assert_int_equal(SSL_write(pair->other, bytes, (int)length), (int)length);
}

static bool is_readable(struct pair *pair)
{
    return poll(&(struct pollfd){.fd = pair->fds[0], .events = POLLIN}, 1, 0) == 1;
}

/* Reads as the loop does, only when the socket has something, until there is data or an end. */
static ssize_t read_some(struct pair *pair)
{
    static char buffer[ROOM];
    ssize_t count = -EAGAIN;
    while (count == -EAGAIN && is_readable(pair))
        count = tls_read(pair->tls, buffer, ROOM);
    return count;
}

static size_t read_all(struct pair *pair)
{
    size_t total = 0;
    ssize_t count;
    while ((count = read_some(pair)) > 0)
        total += (size_t)count;
    assert_int_equal(count, -EAGAIN);
    return total;
}

/* Records of all sizes, that lie in the socket together, the first ones since the handshake. */
TEST_ON_PAIR(records_are_read_until_poll_sees_what_is_left)
{
    static char bytes[RECORD];
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        connect_by(pair, version);
        size_t total = 0;
        for (size_t length = 1; length <= RECORD; total += length, length *= 2)
            other_sends(pair, bytes, length);
        assert_int_equal(read_all(pair), total);
    }
}

TEST_ON_PAIR(messages_of_tls_itself_are_no_data)
{
    char buffer[ROOM];
    connect_by(pair, TLS1_3_VERSION);
    assert_int_equal(SSL_new_session_ticket(pair->other), 1);
    assert_int_equal(SSL_do_handshake(pair->other), 1);
    assert_int_equal(SSL_key_update(pair->other, SSL_KEY_UPDATE_REQUESTED), 1);
    assert_int_equal(SSL_do_handshake(pair->other), 1);
    other_sends(pair, "+OK", 3);
    assert_int_equal(read_all(pair), 3);
    assert_int_equal(tls_write(pair->tls, "PING", 4), 4);
    assert_int_equal(SSL_read(pair->other, buffer, ROOM), 4);

    /* A request to shake hands anew, which a client may leave unanswered. */
    connect_by(pair, TLS1_2_VERSION);
    assert_int_equal(SSL_renegotiate(pair->other), 1);
    assert_int_equal(SSL_do_handshake(pair->other), 1);
    other_sends(pair, "+OK", 3);
    assert_int_equal(read_all(pair), 3);
    assert_int_equal(tls_write(pair->tls, "PING", 4), 4);
    assert_int_equal(SSL_read(pair->other, buffer, ROOM), 4);
}

/* Writes bytes by their number until the socket is full, and returns how many were taken. */
static size_t write_until_full(struct pair *pair, char *bytes, size_t at, size_t size)
{
    static char copy[ROOM];
    for (;;) {
        size_t length = size - at < ROOM ? size - at : ROOM;
        memcpy(copy, bytes + at, length);
        ssize_t count = length > 0 ? tls_write(pair->tls, copy, length) : 0;
        memset(copy, 0, length); /* the output may move */
        if (count <= 0)
            return at;
        at += (size_t)count;
    }
}

/* The other side asks for new keys while it reads nothing: GnuTLS by itself would then send a
 * record twice. */
TEST_ON_PAIR(a_write_that_is_stuck_is_not_sent_twice)
{
    enum { SIZE = 4 << 20 };
    char *bytes = malloc(SIZE), *got = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 2654435761U >> 24);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        connect_by(pair, version);
        size_t sent = 0, received = 0;
        while (received < SIZE) {
            sent = write_until_full(pair, bytes, sent, SIZE);
            if (version == TLS1_3_VERSION && received == 0) {
                assert_int_equal(SSL_key_update(pair->other, SSL_KEY_UPDATE_REQUESTED), 1);
                assert_int_equal(SSL_do_handshake(pair->other), 1);
            }
            read_all(pair);
            int count = SSL_read(pair->other, got + received, (int)(SIZE - received));
            assert_true(count > 0);
            received += (size_t)count;
        }
        assert_memory_equal(got, bytes, SIZE);
    }
    free(bytes);
    free(got);
}

/* With and without a word of TLS, and in the middle of a record. */
TEST_ON_PAIR(an_end_is_an_end)
{
    connect_by(pair, TLS1_3_VERSION);
    SSL_shutdown(pair->other);
    assert_int_equal(read_some(pair), 0);
    connect_by(pair, TLS1_3_VERSION);
    other_sends(pair, "+OK", 3);
    shutdown(pair->fds[1], SHUT_RDWR);
    assert_int_equal(tls_write(pair->tls, "PING", 4), -EPIPE);
    assert_int_equal(read_some(pair), 3); /* what was answered before counts */
    assert_int_equal(read_some(pair), 0);
    for (int sent = 4; sent <= 6; sent += 2) {
        connect_by(pair, TLS1_2_VERSION);
        assert_int_equal(send(pair->fds[1], "\x17\x03\x03\x01\x00\x01", (size_t)sent, 0), sent);
        shutdown(pair->fds[1], SHUT_WR);
        assert_int_equal(read_some(pair), 0);
    }
}
