/* Clients that go between the last look at their socket and the reply: a grant that they cannot
 * know of comes back, and no other does. */
#include "tests/server/wire.h"

#include "tests/support/certificates.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/tls_client.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WHILE_MS = 100, RESENT_MS = 1000 };

/* What happens in that moment, on the loop's thread. */
static void (*meanwhile)(int fd);
static int its_fd;

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response)
{
    enum MHD_Result (*queue)(struct MHD_Connection *, unsigned, struct MHD_Response *);
    *(void **)&queue = dlsym(RTLD_NEXT, "MHD_queue_response");
    if (meanwhile)
        meanwhile(its_fd);
    meanwhile = NULL;
    return queue(connection, status, response);
}

static int ask_for_grant(struct stage *stage)
{
    int fd = ask_place(stage, "grant", 0);
    stage_await_waiting(stage, 1);
    return fd;
}

static int answer_while(struct stage *stage, void (*happens)(int fd))
{
    its_fd = ask_for_grant(stage);
    meanwhile = happens;
    stage_answer(stage, 0, "yours");
    return its_fd;
}

static bool has_come_back(void *context)
{
    return ((struct stage *)context)->undelivered > 0;
}

static void comes_back(struct stage *stage)
{
    assert_true(clock_wait_until(has_come_back, stage, CLOCK_HANG_MS));
    assert_int_equal(stage->undelivered, 1);
    assert_int_equal(stage->metrics.undelivered, 1);
}

static void stays(struct stage *stage)
{
    clock_sleep_ms(WHILE_MS);
    assert_int_equal(stage->undelivered, 0);
    assert_int_equal(stage->metrics.undelivered, 0);
}

static void go(int fd)
{
    close(fd);
}

static void go_both_ways(int fd)
{
    shutdown(fd, SHUT_RDWR);
}

TEST_ON_STAGE(a_grant_to_who_goes_in_that_moment_comes_back)
{
    answer_while(stage, go);
    comes_back(stage);
}

TEST_ON_STAGE(a_grant_to_who_shuts_down_in_that_moment_comes_back)
{
    int fd = answer_while(stage, go_both_ways);
    comes_back(stage);
    close(fd);
}

TEST_ON_STAGE(a_grant_to_who_resets_in_that_moment_comes_back)
{
    answer_while(stage, reset);
    comes_back(stage);
}

/* From now on its kernel gets nothing of what is sent to it, as if it were far away. */
static void move_away(int fd)
{
    struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {1, &nothing};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
}

static void move_near(int fd)
{
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &(int){0}, sizeof(int)), 0);
}

static void go_far_away(int fd)
{
    move_away(fd);
    shutdown(fd, SHUT_RDWR);
}

static void finish_far_away(int fd)
{
    move_away(fd);
    shutdown(fd, SHUT_WR);
}

TEST_ON_STAGE(a_grant_to_who_goes_far_away_comes_back)
{
    int fd = answer_while(stage, go_far_away);
    stays(stage);
    move_near(fd); /* to get what is sent once more */
    comes_back(stage);
    close(fd);
}

TEST_ON_STAGE(a_grant_that_was_acknowledged_late_stays)
{
    int fd = answer_while(stage, finish_far_away);
    stays(stage);
    move_near(fd);
    expect_reply(fd, "yours");
    stays(stage);
    close(fd);
}

static bool has_been_given_up(void *before)
{
    return open_files() <= *(size_t *)before + 1; /* our own end of it is left */
}

/* It may have been read, by one that only finished. */
TEST_ON_STAGE(a_grant_whose_reply_is_not_yet_known_to_be_lost_stays)
{
    int other = ask(stage, "/now"); /* the first one has the server open more */
    expect_reply(other, "now");
    size_t before = open_files();
    int fd = answer_while(stage, go_far_away);
    assert_true(clock_wait_until(has_been_given_up, &before, CLOCK_HANG_MS));
    move_near(fd);
    clock_sleep_ms(RESENT_MS);
    stays(stage);
    close(fd);
    close(other);
}

TEST_ON_STAGE(a_grant_to_who_reads_it_and_goes_stays)
{
    int fd = answer_while(stage, NULL);
    expect_reply(fd, "yours");
    close(fd);
    stays(stage);
}

static void acknowledge_later(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &(int){0}, sizeof(int));
}

/* As haproxy does; no acknowledgement has been sent by then. */
TEST_ON_STAGE(a_grant_to_who_reads_it_and_resets_stays)
{
    int fd = answer_while(stage, acknowledge_later);
    expect_reply(fd, "yours");
    reset(fd);
    stays(stage);
}

TEST_ON_STAGE(a_grant_is_forgotten_with_the_next_request)
{
    int fd = answer_while(stage, NULL);
    expect_reply(fd, "yours");
    meanwhile = go;
    say(fd, "/now");
    stays(stage);
}

TEST_ON_STAGE(a_grant_before_the_end_of_the_server_stays)
{
    int fd = answer_while(stage, go_far_away);
    stage_close(stage);
    close(fd);
    assert_int_equal(stage->undelivered, 0);
}

/* The same over TLS, where something is sent to who has gone already, and where the end of the
 * connection is not acknowledged by who has read all. */

struct secure {
    struct temp_dir dir;
    struct certificate certificate;
    struct https *https;
    struct tls_client client;
};

static void set_https(struct stage *stage, void *context)
{
    http_set_https(stage->http, context);
}

static void secure_begin(struct secure *secure, struct stage *stage, int version)
{
    struct failure failure;
    temp_dir_make(&secure->dir);
    certificate_make(&secure->certificate, &secure->dir, "server",
                     &(struct certificate_options){.names = "IP:127.0.0.1"});
    struct https_files files = {secure->certificate.file, secure->certificate.key, NULL};
    assert_int_equal(https_read(&secure->https, &files, &failure), 0);
    stage_do(stage, set_https, secure->https);
    assert_true(
        tls_client_open(&secure->client, stage->port, &(struct tls_options){.version = version}));
}

static void secure_end(struct secure *secure)
{
    tls_client_close(&secure->client);
    https_drop(secure->https);
    temp_dir_remove(&secure->dir);
}

static void grant(struct secure *secure, struct stage *stage, void (*happens)(int fd))
{
    static const char REQUEST[] = "GET /grant/0 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_true(tls_client_send(&secure->client, REQUEST, sizeof REQUEST - 1));
    stage_await_waiting(stage, 1);
    its_fd = secure->client.fd;
    meanwhile = happens;
    stage_answer(stage, 0, "yours");
}

TEST_ON_STAGE(a_grant_to_who_goes_in_that_moment_comes_back_over_tls)
{
    static const int VERSIONS[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        struct secure secure;
        secure_begin(&secure, stage, VERSIONS[i]);
        grant(&secure, stage, go_both_ways);
        comes_back(stage);
        secure_end(&secure);
        stage->undelivered = 0;
        stage->metrics.undelivered = 0;
    }
}

TEST_ON_STAGE(a_grant_to_who_reads_it_and_goes_stays_over_tls)
{
    static const enum tls_end ENDS[] = {TLS_END_NORMAL, TLS_END_CLOSED, TLS_END_RESET};
    for (int i = 0; i < 6; i++) {
        struct secure secure;
        char reply[1024];
        secure_begin(&secure, stage, i % 2 ? TLS1_2_VERSION : TLS1_3_VERSION);
        grant(&secure, stage, acknowledge_later);
        tls_client_receive(&secure.client, reply, sizeof reply, "yours", CLOCK_HANG_MS);
        tls_client_end(&secure.client, ENDS[i / 2]);
        stays(stage);
        secure_end(&secure);
    }
}
