#include "server/net/listener.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct good {
    const char *text;
    const char *url; /* without the port */
    bool loopback;
} GOOD[] = {
    {"127.0.0.1:0", "127.0.0.1:", true},     {"127.1.2.3:0", "127.1.2.3:", true},
    {"localhost:0", "127.0.0.1:", true},     {"0.0.0.0:0", "0.0.0.0:", false},
    {"127.0.0.1:00000", "127.0.0.1:", true}, {"LocalHost.:0", "127.0.0.1:", true},
};

TEST(an_address_with_port_0_gets_a_free_port)
{
    for (size_t i = 0; i < LENGTH(GOOD); i++) {
        struct listener listener;
        struct failure failure = {""};
        if (listener_init(&listener, "listen", GOOD[i].text, &failure) != 0)
            fail_msg("%s: %s", GOOD[i].text, failure.text);
        size_t length = strlen(GOOD[i].url);
        assert_memory_equal(listener.endpoint, GOOD[i].url, length);
        assert_int_equal(listener.loopback, GOOD[i].loopback);
        uint16_t port = ntohs(((const struct sockaddr_in *)&listener.address)->sin_port);
        assert_int_not_equal(port, 0);
        assert_int_equal(atoi(listener.endpoint + length), port);
    }
}

TEST(ipv6_stands_in_brackets)
{
    static const struct good SIX[] = {{"[::1]:0", "[::1]:", true}, {"[::]:0", "[::]:", false}};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6,
                                          .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool known = fd >= 0 && bind(fd, (const struct sockaddr *)&loopback, sizeof loopback) == 0;
    if (fd >= 0)
        close(fd);
    if (!known)
        skip(); /* this machine has no IPv6 */
    for (size_t i = 0; i < LENGTH(SIX); i++) {
        struct listener listener;
        assert_int_equal(listener_init(&listener, "listen", SIX[i].text, NULL), 0);
        assert_memory_equal(listener.endpoint, SIX[i].url, strlen(SIX[i].url));
        assert_int_equal(listener.loopback, SIX[i].loopback);
    }
}

/* Between the choice of the port and the first listen(2), no other program gets it. */
TEST(free_port_stays_reserved)
{
    struct listener listener;
    assert_int_equal(listener_init(&listener, "listen", "127.0.0.1:0", NULL), 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&listener.address, listener.length), -1);
    assert_int_equal(errno, EADDRINUSE);
    close(fd);
    close(listener.reserves);
}

TEST(other_addresses_are_refused_with_an_example)
{
    static const char *const BAD[] = {
        "",
        ":",
        ":80",
        "80",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:99999",
        "127.0.0.1:100000",
        "127.0.0.1:-1",
        "127.0.0.1:+1",
        "127.0.0.1: 1",
        "127.0.0.1:1 ",
        "127.0.0.1:http",
        "127.0.0.1:0x50",
        "256.0.0.1:80",
        "1.2.3.4.5:80",
        "host.invalid:80",
        "localhost..:80",
        "::1:80",
        "[::1]",
        "[::1]80",
        "[::1:80",
        "::1]:80",
        "[]:80",
        "[:80",
        "[::g]:80",
        "http://127.0.0.1:80",
        "127.0.0.1:80/",
        " 127.0.0.1:80",
        "1234567890123456789012345678901234567890123456789012345678901234:80",
    };
    for (size_t i = 0; i < LENGTH(BAD); i++) {
        struct listener listener;
        struct failure failure = {""};
        if (listener_init(&listener, "listen", BAD[i], &failure) != -EINVAL)
            fail_msg("\"%s\" is read", BAD[i]);
        assert_non_null(strstr(failure.text, "--listen: \""));
        assert_non_null(strstr(failure.text, BAD[i]));
        assert_non_null(strstr(failure.text, "such as 127.0.0.1:7420"));
    }
}

/* Somebody else's socket on a port of its own. Returns the descriptor. */
static int stranger(int option, char address[32])
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof in;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, option, &on, sizeof on), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &length), 0);
    snprintf(address, 32, "127.0.0.1:%d", ntohs(in.sin_port));
    return fd;
}

TEST(a_port_in_use_is_refused_even_if_it_would_be_shared)
{
    static const int OPTIONS[] = {SO_REUSEADDR, SO_REUSEPORT};
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        char address[32];
        struct listener listener;
        struct failure failure = {""};
        int fd = stranger(OPTIONS[i], address);
        assert_int_equal(listener_init(&listener, "listen", address, &failure), -EADDRINUSE);
        assert_non_null(strstr(failure.text, address));
        assert_non_null(strstr(failure.text, "choose another port"));
        close(fd);
    }
}

TEST(an_address_of_another_machine_is_refused)
{
    struct listener listener;
    struct failure failure = {""};
    /* From the range that is kept for documentation. */
    assert_int_equal(listener_init(&listener, "listen", "192.0.2.1:0", &failure), -EADDRNOTAVAIL);
    assert_non_null(strstr(failure.text, "192.0.2.1:0"));
    assert_non_null(strstr(failure.text, "this machine has no such address"));
    assert_null(strstr(failure.text, "choose another port"));
}

static void refused_by(int fd, const struct listener *listener)
{
    assert_int_equal(connect(fd, (const struct sockaddr *)&listener->address, listener->length),
                     -1);
    assert_int_equal(errno, ECONNREFUSED);
}

TEST(workers_share_the_port)
{
    struct listener listener;
    struct failure failure = {""};
    int fds[3];
    assert_int_equal(listener_init(&listener, "listen", "127.0.0.1:0", NULL), 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    refused_by(client, &listener); /* nobody listens yet */
    close(client);
    for (size_t i = 0; i < LENGTH(fds); i++) {
        fds[i] = listener_socket(&listener, &failure);
        assert_true(fds[i] >= 0);
    }
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&listener.address, listener.length),
                     0);
    close(client);

    struct listener second;
    assert_int_equal(listener_init(&second, "listen", listener.endpoint, NULL), -EADDRINUSE);
    for (size_t i = 0; i < LENGTH(fds); i++)
        close(fds[i]);
    close(listener.reserves);
}

static int tcp_option(int fd, int option)
{
    int value = 0;
    socklen_t size = sizeof value;
    assert_return_code(getsockopt(fd, IPPROTO_TCP, option, &value, &size), errno);
    return value;
}

/* The kernel gives up where the user timeout has passed and one probe was not answered, so that
 * must not be before the last one. 15,000 silent connections are enough for probes to be lost even
 * on one machine. */
TEST(a_lost_probe_ends_no_connection)
{
    struct listener listener;
    struct failure failure;
    assert_int_equal(listener_init(&listener, "listen", "127.0.0.1:0", &failure), 0);
    int fd = listener_socket(&listener, &failure);
    int probes = tcp_option(fd, TCP_KEEPCNT);
    int patience = tcp_option(fd, TCP_KEEPIDLE) + probes * tcp_option(fd, TCP_KEEPINTVL);
    assert_in_range(probes, 2, 5);
    assert_int_equal(patience, 30); /* seconds: what docs/tour.md says */
    assert_true(tcp_option(fd, TCP_USER_TIMEOUT) >= patience * 1000);
    close(fd);
}

TEST(a_port_that_was_taken_meanwhile_is_reported)
{
    char address[32];
    struct listener listener;
    struct failure failure = {""};
    close(stranger(SO_REUSEADDR, address));
    assert_int_equal(listener_init(&listener, "listen", address, &failure), 0);
    struct sockaddr_in in;
    memcpy(&in, &listener.address, sizeof in);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(listener_socket(&listener, &failure), -EADDRINUSE);
    assert_non_null(strstr(failure.text, listener.endpoint));
    close(fd);
}
