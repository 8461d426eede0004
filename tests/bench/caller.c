#include "tests/bench/caller.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPLY_MS = 90000, REQUEST_MOST = 1024, LOOPBACK_ADDRESSES = 16 };

struct sockaddr_in caller_address(const char *url)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[INET_ADDRSTRLEN];
    unsigned port;
    int end = 0;
    if (sscanf(url, "http://%15[0-9.]:%5u%n", host, &port, &end) != 2 || url[end] || port == 0 ||
        port > UINT16_MAX || inet_pton(AF_INET, host, &address.sin_addr) != 1)
        errx(2, "\"%s\" will not do; expected http://ADDRESS:PORT, such as http://127.0.0.1:7420",
             url);
    address.sin_port = htons((uint16_t)port);
    return address;
}

/* 127.X.Y.1 to .16, of which X.Y belongs to this process. */
static int bind_loopback(int fd)
{
    int on = 1;
    in_addr_t process = 1 + (in_addr_t)getpid() % 0xfffd;
    in_addr_t host = 0x7f000001 + (process << 8) + (in_addr_t)fd % LOOPBACK_ADDRESSES;
    struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr = {htonl(host)}};
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    return bind(fd, (struct sockaddr *)&source, sizeof source);
}

static int connected(int fd, const struct sockaddr_in *server)
{
    int on = 1;
    bool loopback = ntohl(server->sin_addr.s_addr) >> 24 == 127;
    if ((loopback && bind_loopback(fd) < 0) ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
        connect(fd, (const struct sockaddr *)server, sizeof *server) < 0)
        return -errno;
    return 0;
}

int caller_open(struct caller *caller, const struct sockaddr_in *server)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int result = connected(fd, server);
    if (result < 0) {
        close(fd);
        return result;
    }
    caller->fd = fd;
    caller->asking = false;
    caller->redis = false;
    return 0;
}

void caller_close(struct caller *caller)
{
    if (caller->fd >= 0)
        close(caller->fd);
    caller->fd = -1;
}

int caller_send(struct caller *caller, const char *method, const char *target, const char *token)
{
    char request[REQUEST_MOST];
    int length =
        snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: baton\r\n%s%s%s\r\n", method,
                 target, token ? "Lock-Token: " : "", token ? token : "", token ? "\r\n" : "");
    if (length >= REQUEST_MOST)
        errx(2, "request too long: %s", target);
    return caller_send_made(caller, request, (size_t)length);
}

int caller_send_made(struct caller *caller, const char *request, size_t length)
{
    caller->asking = true;
    caller->length = 0;
    ssize_t sent = send(caller->fd, request, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : (size_t)sent == length ? 0 : -EAGAIN;
}

/* The value of a header; NULL where there is none. */
static const char *header(const char *reply, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = strstr(reply, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 1;
    }
    return NULL;
}

/* Behind one value, with what it has in it; NULL while that is not there. */
static const char *redis_value_end(const char *at, const char *end) // NOLINT(misc-no-recursion)
{
    const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
    if (!line_end)
        return NULL;
    long size = strtol(at + 1, NULL, 10);
    const char *rest = line_end + 2;
    if (*at == '$' && size >= 0)
        return size + 2 <= end - rest ? rest + size + 2 : NULL;
    for (long i = 0; *at == '*' && rest && i < size; i++)
        rest = redis_value_end(rest, end);
    return rest;
}

static int complete_redis(struct caller *caller)
{
    const char *end = caller->reply + caller->length;
    if (!redis_value_end(caller->reply, end))
        return caller->length < CALLER_REPLY_MOST ? 0 : -EPROTO;
    caller->body = caller->reply;
    caller->asking = false;
    return 1;
}

static int complete(struct caller *caller)
{
    char *end = strstr(caller->reply, "\r\n\r\n");
    if (!end)
        return 0;
    *end = '\0';
    const char *length = header(caller->reply, "Content-Length");
    bool understood = length && sscanf(caller->reply, "HTTP/1.1 %3d", &caller->status) == 1;
    size_t whole = (size_t)(end - caller->reply) + 4 + (size_t)(length ? atol(length) : 0);
    *end = '\r';
    if (!understood || whole > CALLER_REPLY_MOST)
        return -EPROTO;
    if (caller->length < whole)
        return 0;
    caller->body = end + 4;
    caller->asking = false;
    return 1;
}

int caller_take(struct caller *caller)
{
    ssize_t n = recv(caller->fd, caller->reply + caller->length, CALLER_REPLY_MOST - caller->length,
                     MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    if (n == 0)
        return caller->length == CALLER_REPLY_MOST ? -EPROTO : -ECONNRESET;
    if (!caller->asking)
        return -EPROTO;
    caller->length += (size_t)n;
    caller->reply[caller->length] = '\0';
    return (caller->redis ? complete_redis : complete)(caller);
}

int caller_call(struct caller *caller, const char *method, const char *target, const char *token)
{
    int result = caller_send(caller, method, target, token);
    while (result == 0) {
        struct pollfd news = {.fd = caller->fd, .events = POLLIN};
        result = poll(&news, 1, REPLY_MS) == 1 ? caller_take(caller) : -ETIMEDOUT;
    }
    return result < 0 ? result : caller->status;
}

int64_t caller_integer(const struct caller *caller, const char *member)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", member);
    const char *found = strstr(caller->body, key);
    return found ? strtoll(found + strlen(key), NULL, 10) : -1;
}
