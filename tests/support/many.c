#include "tests/support/many.h"

#include "tests/support/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256 };

struct many {
    int epoll;
    struct many_client **failed; /* could not connect; reported in the next turn */
    size_t failed_count, failed_room;
};

struct many *many_new(void)
{
    struct many *many = calloc(1, sizeof *many);
    if (many)
        many->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!many || many->epoll < 0)
        abort();
    return many;
}

void many_free(struct many *many)
{
    if (!many)
        return;
    close(many->epoll);
    free(many->failed);
    free(many);
}

static void fails_later(struct many *many, struct many_client *client)
{
    if (many->failed_count == many->failed_room) {
        many->failed_room = many->failed_room ? 2 * many->failed_room : 64;
        many->failed = realloc(many->failed, many->failed_room * sizeof(struct many_client *));
        if (!many->failed)
            abort();
    }
    many->failed[many->failed_count++] = client;
}

static void disconnect(struct many_client *client)
{
    if (client->fd > 0)
        close(client->fd);
    client->fd = -1;
}

/* The request fits into the socket's buffer as a whole. */
static bool send_request(struct many_client *client)
{
    ssize_t length = (ssize_t)client->length;
    client->connecting = false;
    client->length = 0;
    bool sent = send(client->fd, client->text, (size_t)length, MSG_NOSIGNAL) == length;
    client->text[0] = '\0';
    return sent;
}

static bool connect_to(struct many *many, struct many_client *client, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct epoll_event events = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = client};
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (client->fd < 0)
        return false;
    client->connecting = connect(client->fd, (struct sockaddr *)&address, sizeof address) != 0;
    if (client->connecting && errno != EINPROGRESS)
        return false;
    if (client->connecting)
        events.events = EPOLLOUT;
    if (epoll_ctl(many->epoll, EPOLL_CTL_ADD, client->fd, &events))
        return false;
    return client->connecting || send_request(client);
}

void many_send(struct many *many, struct many_client *client, int port, const char *method,
               const char *path, const char *token, const char *body)
{
    if (many_is_busy(client))
        abort();
    client->many = many;
    client->status = 0;
    client->headers = NULL;
    client->body = NULL;
    int length = snprintf(client->text, MANY_TEXT,
                          "%s %s HTTP/1.1\r\nHost: baton\r\nConnection: close\r\n"
                          "Content-Type: application/json\r\nContent-Length: %zu\r\n"
                          "%s%s%s\r\n%s",
                          method, path, body ? strlen(body) : 0, token ? "Lock-Token: " : "",
                          token ? token : "", token ? "\r\n" : "", body ? body : "");
    if (length >= MANY_TEXT)
        abort();
    client->length = (size_t)length;
    client->sent = clock_us();
    if (connect_to(many, client, port))
        return;
    disconnect(client);
    client->connecting = true; /* busy until that is reported */
    fails_later(many, client);
}

bool many_is_busy(const struct many_client *client)
{
    return client->fd > 0 || client->connecting;
}

bool many_hang_up(struct many_client *client, bool reset, bool by_proxy)
{
    static const struct linger NOW = {.l_onoff = 1, .l_linger = 0};
    bool answered = false;
    if (!many_is_busy(client))
        return true;
    if (client->fd > 0 && !client->connecting) {
        char reply[] = "HTTP/1.1 400"; /* what haproxy says to a client that is gone */
        char got[sizeof reply] = "";
        shutdown(client->fd, by_proxy ? SHUT_WR : SHUT_RDWR); /* then nothing more comes in */
        if (by_proxy)
            poll(&(struct pollfd){.fd = client->fd, .events = POLLIN}, 1, CLOCK_HANG_MS);
        answered = recv(client->fd, got, sizeof got - 1, MSG_PEEK | MSG_DONTWAIT) > 0 &&
                   strcmp(got, reply) != 0;
    }
    if (client->fd > 0 && reset)
        setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &NOW, sizeof NOW);
    struct many *many = client->many;
    for (size_t i = 0; i < many->failed_count; i++)
        if (many->failed[i] == client)
            many->failed[i] = NULL;
    disconnect(client);
    client->connecting = false;
    client->received = clock_us();
    return !answered;
}

bool many_has_reply(const struct many_client *client)
{
    struct pollfd readable = {.fd = client->fd, .events = POLLIN};
    return client->fd > 0 && !client->connecting && poll(&readable, 1, 0) == 1;
}

static size_t content_length(const struct many_client *client)
{
    char value[32];
    many_header(client, "Content-Length", value, sizeof value);
    return value[0] ? strtoul(value, NULL, 10) : SIZE_MAX;
}

/* Whether the reply is complete; `ended`: no more will come. */
static bool is_complete(struct many_client *client, bool ended)
{
    char *gap = strstr(client->text, "\r\n\r\n");
    if (!gap)
        return false;
    client->headers = client->text;
    client->body = gap + 4;
    size_t got = client->length - (size_t)(client->body - client->text);
    size_t wanted = content_length(client);
    return wanted == SIZE_MAX ? ended : got >= wanted;
}

static void finish(struct many_client *client, bool complete)
{
    disconnect(client);
    client->connecting = false;
    client->received = clock_us();
    client->status = 0;
    if (complete)
        sscanf(client->text, "HTTP/1.%*d %d", &client->status);
    if (client->done)
        client->done(client);
}

/* Reads what there is. Returns whether the request is over. */
static bool read_reply(struct many_client *client)
{
    bool ended = false;
    while (!ended) {
        size_t room = MANY_TEXT - 1 - client->length;
        ssize_t got = room > 0 ? recv(client->fd, client->text + client->length, room, 0) : 0;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        ended = got <= 0;
        client->length += ended ? 0 : (size_t)got;
        client->text[client->length] = '\0';
    }
    bool complete = is_complete(client, ended);
    if (complete || ended)
        finish(client, complete);
    return complete || ended;
}

static bool go_on(struct many *many, struct many_client *client)
{
    if (!client->connecting)
        return read_reply(client);
    int error = 0;
    struct sockaddr_in peer;
    getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error});
    if (!error && getpeername(client->fd, (struct sockaddr *)&peer, &(socklen_t){sizeof peer}))
        return false; /* the event was one of an earlier connection */
    struct epoll_event events = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = client};
    if (!error && !epoll_ctl(many->epoll, EPOLL_CTL_MOD, client->fd, &events) &&
        send_request(client))
        return false;
    finish(client, false);
    return true;
}

static int report_failed(struct many *many)
{
    int count = 0;
    size_t failed = many->failed_count;
    for (size_t i = 0; i < failed; i++) {
        struct many_client *client = many->failed[i];
        many->failed[i] = NULL;
        if (!client)
            continue;
        finish(client, false);
        count++;
    }
    many->failed_count -= failed; /* what failed meanwhile is reported next time */
    memmove(many->failed, many->failed + failed, many->failed_count * sizeof(struct many_client *));
    return count;
}

/* A client may hang up, or send again, in another's `done`: its event is then out of date, which
 * reading its socket shows, since it does not block. */
int many_run(struct many *many, int64_t until)
{
    struct epoll_event events[EVENTS];
    int count = many->failed_count > 0 ? report_failed(many) : 0;
    while (count == 0) {
        int64_t left = until - clock_us();
        int ready =
            epoll_wait(many->epoll, events, EVENTS, left > 0 ? (int)((left + 999) / 1000) : 0);
        for (int i = 0; i < ready; i++) {
            struct many_client *client = events[i].data.ptr;
            count += client->fd > 0 && go_on(many, client);
        }
        if (left <= 0)
            break;
    }
    return count;
}

json_t *many_json(const struct many_client *client)
{
    return client->body ? json_loads(client->body, 0, NULL) : NULL;
}

const char *many_header(const struct many_client *client, const char *name, char *value,
                        size_t size)
{
    size_t length = strlen(name);
    const char *line = client->headers;
    value[0] = '\0';
    while (line && line < client->body && (line = strstr(line, "\r\n")) &&
           line + 2 < client->body) {
        line += 2;
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        const char *start = line + length + 1;
        start += strspn(start, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(start, "\r"), start);
        break;
    }
    return value;
}
