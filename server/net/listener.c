#include "server/net/listener.h"

#include "base/host_name.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_LENGTH = 64, BACKLOG = 1024 };

/* Splits "HOST:PORT" and drops the brackets of an IPv6 address. */
static int listener_split(const char *text, char host[HOST_LENGTH], const char **ret_port)
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text)
        return -EINVAL;
    size_t length = (size_t)(colon - text);
    if (text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    } else if (memchr(text, ':', length)) {
        return -EINVAL;
    }
    if (length == 0 || length >= HOST_LENGTH)
        return -EINVAL;
    memcpy(host, text, length);
    host[length] = '\0';
    *ret_port = colon + 1;
    return 0;
}

static int listener_resolve(struct listener *listener, const char *text)
{
    char host[HOST_LENGTH];
    const char *port;
    struct addrinfo *found, hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                     .ai_socktype = SOCK_STREAM};
    if (listener_split(text, host, &port) < 0 || strspn(port, "0123456789") != strlen(port) ||
        strlen(port) < 1 || strlen(port) > 5 || atol(port) > UINT16_MAX)
        return -EINVAL;
    bool is_localhost = host_names_equal(slice_of(host), slice_of("localhost"));
    if (getaddrinfo(is_localhost ? "127.0.0.1" : host, port, &hints, &found) != 0)
        return -EINVAL;
    memcpy(&listener->address, found->ai_addr, found->ai_addrlen);
    listener->length = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

/* 0: any. Its place is the same in addresses of both families. */
static int listener_port(const struct listener *listener)
{
    return ntohs(((const struct sockaddr_in *)&listener->address)->sin_port);
}

static int listener_describe(struct listener *listener)
{
    char host[INET6_ADDRSTRLEN], port[8];
    if (getnameinfo((struct sockaddr *)&listener->address, listener->length, host, sizeof host,
                    port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -EINVAL;
    bool brackets = listener->address.ss_family == AF_INET6;
    snprintf(listener->endpoint, sizeof listener->endpoint, "%s%s%s:%s", brackets ? "[" : "", host,
             brackets ? "]" : "", port);
    return 0;
}

/* Accepted connections inherit these. A client that vanishes without a FIN (a machine switched off,
 * a cable pulled) may wait for a lock, or hold one by its connection: it is noticed within half a
 * minute instead of the kernel's two hours. And a client that asks for a lot and reads nothing does
 * not get megabytes of buffer. */
static void listener_limit_clients(int fd)
{
    enum { IDLE_S = 15, PROBES_S = 5, PROBES = 3, UNSENT = 128 * 1024 };
    /* With less, one lost probe would end a connection. */
    enum { UNANSWERED_MS = (IDLE_S + PROBES * PROBES_S) * 1000 };
    static const struct {
        int level, option, value;
    } OPTIONS[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, PROBES_S},
        {IPPROTO_TCP, TCP_KEEPCNT, PROBES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS},
        {IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT},
    };
    for (size_t i = 0; i < sizeof OPTIONS / sizeof OPTIONS[0]; i++)
        setsockopt(fd, OPTIONS[i].level, OPTIONS[i].option, &OPTIONS[i].value,
                   sizeof OPTIONS[i].value); /* without an option this only takes longer */
}

static int listener_bind(const struct listener *listener, int option)
{
    int on = 1;
    int fd = socket(listener->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        (option && setsockopt(fd, SOL_SOCKET, option, &on, sizeof on) < 0) ||
        bind(fd, (const struct sockaddr *)&listener->address, listener->length) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    listener_limit_clients(fd);
    return fd;
}

int listener_read(struct listener *ret, const char *setting, const char *text,
                  struct failure *failure)
{
    struct listener listener = {
        .length = sizeof listener.address, .setting = setting, .shared = -1, .reserves = -1};
    if (listener_resolve(&listener, text) < 0 || listener_describe(&listener) < 0)
        return failure_set(failure, -EINVAL,
                           "--%s: \"%.100s\" is not valid; expected ADDRESS:PORT, such as "
                           "127.0.0.1:7420, 0.0.0.0:7420 or [::1]:7420",
                           setting, text);
    listener.loopback = is_loopback(&listener.address);
    *ret = listener;
    return 0;
}

static const char *listener_remedy(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "; stop the program that uses it, or choose another port";
    case EADDRNOTAVAIL:
        return "; this machine has no such address";
    case EACCES:
        return "; choose a port from 1024 on, or give batond CAP_NET_BIND_SERVICE";
    default:
        return "";
    }
}

int listener_init(struct listener *ret, const char *setting, const char *text,
                  struct failure *failure)
{
    struct listener listener = {.length = 0};
    int result = listener_read(&listener, setting, text, failure);
    if (result < 0)
        return result;
    /* Without SO_REUSEPORT, bind(2) fails if any other process has the port. */
    int fd = listener_bind(&listener, 0);
    if (fd < 0)
        return failure_set(failure, fd, "--%s: cannot listen on %s: %s%s", setting, text,
                           strerror(-fd), listener_remedy(-fd));
    bool found = listener_port(&listener) == 0;
    result = getsockname(fd, (struct sockaddr *)&listener.address, &listener.length) < 0
                 ? -errno
                 : listener_describe(&listener);
    if (result < 0 || !found)
        close(fd);
    else
        listener.reserves = fd; /* else the kernel might give the port to another socket */
    if (result < 0)
        return failure_set(failure, result, "--%s: %s: %s", setting, text, strerror(-result));
    *ret = listener;
    return 0;
}

static int listener_option(int fd, int option)
{
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &length) < 0 ? -1 : value;
}

int listener_adopt(struct listener *ret, int fd, struct failure *failure)
{
    struct listener listener = {
        .length = sizeof listener.address, .setting = "listen", .shared = fd, .reserves = -1};
    int domain = listener_option(fd, SO_DOMAIN);
    if ((domain != AF_INET && domain != AF_INET6) || listener_option(fd, SO_TYPE) != SOCK_STREAM ||
        listener_option(fd, SO_ACCEPTCONN) != 1 ||
        getsockname(fd, (struct sockaddr *)&listener.address, &listener.length) < 0 ||
        listener_describe(&listener) < 0)
        return failure_set(
            failure, -EINVAL,
            "LISTEN_FDS: the socket that systemd passed is not a listening TCP socket. Set "
            "ListenStream=127.0.0.1:7420 and Accept=no in the socket unit.");
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    listener_limit_clients(fd);
    listener.loopback = is_loopback(&listener.address);
    *ret = listener;
    return 0;
}

int listener_socket(const struct listener *listener, struct failure *failure)
{
    int fd;
    if (listener->shared >= 0) {
        fd = fcntl(listener->shared, F_DUPFD_CLOEXEC, 0);
        return fd >= 0 ? fd
                       : failure_set(failure, -errno, "cannot share a socket: %s", strerror(errno));
    }
    fd = listener_bind(listener, SO_REUSEPORT);
    if (fd >= 0 && listen(fd, BACKLOG) < 0) {
        int error = errno;
        close(fd);
        fd = -error;
    }
    if (fd < 0)
        return failure_set(failure, fd, "--%s: cannot listen on %s: %s", listener->setting,
                           listener->endpoint, strerror(-fd));
    return fd;
}
