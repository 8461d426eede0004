#include "tests/support/faults/slow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUESTS = 20, READER_BUFFER = 2048 };

#define HEAD "Host: h\r\n\r\n"

static const char *const BEGINS[SLOW_KINDS] = {
    [SLOW_LINE] = "GET /l",
    [SLOW_HEAD] = "GET /livez HTTP/1.1\r\nHost: h\r\nX-Slow: ",
    [SLOW_BODY] = "POST /locks/slow HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                  "Content-Length: 10000\r\n\r\n{",
    [SLOW_AGAIN] = "GET /livez HTTP/1.1\r\n" HEAD "GET /l",
    [SLOW_READER] = "GET /openapi.yaml HTTP/1.1\r\n" HEAD,
};

struct slow {
    size_t count;
    struct client {
        int fd;
        bool ended;
    } clients[];
};

static enum slow_kind kind_of(size_t index)
{
    return (enum slow_kind)(index % SLOW_KINDS);
}

static bool begin(int fd, enum slow_kind kind)
{
    size_t length = strlen(BEGINS[kind]);
    bool sent = true;
    for (int i = 0; sent && i < (kind == SLOW_READER ? REQUESTS : 1); i++)
        sent = send(fd, BEGINS[kind], length, MSG_NOSIGNAL) == (ssize_t)length;
    return sent;
}

static bool client_open(struct client *client, int port, enum slow_kind kind)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int little = READER_BUFFER;
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0)
        return false;
    if (kind == SLOW_READER)
        setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    return connect(client->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
           begin(client->fd, kind);
}

struct slow *slow_new(int port, size_t count)
{
    struct slow *slow = calloc(1, sizeof *slow + count * sizeof slow->clients[0]);
    if (!slow)
        abort();
    for (bool open = true; open && slow->count < count; slow->count++)
        open = client_open(&slow->clients[slow->count], port, kind_of(slow->count));
    if (slow->count == count)
        return slow;
    slow_free(slow);
    return NULL;
}

void slow_free(struct slow *slow)
{
    for (size_t i = 0; slow && i < slow->count; i++)
        if (slow->clients[i].fd >= 0)
            close(slow->clients[i].fd);
    free(slow);
}

void slow_drip(struct slow *slow)
{
    for (size_t i = 0; i < slow->count; i++)
        if (kind_of(i) != SLOW_READER)
            send(slow->clients[i].fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool has_ended(struct client *client)
{
    static char bytes[1 << 16];
    int much = 1 << 20; /* a reader is slow no more */
    ssize_t got = 1;
    setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &much, sizeof much);
    while (!client->ended && got > 0)
        got = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    client->ended |= got == 0 || (got < 0 && errno != EAGAIN);
    return client->ended;
}

size_t slow_ended(struct slow *slow, enum slow_kind kind)
{
    size_t ended = 0;
    for (size_t i = 0; i < slow->count; i++)
        if (kind_of(i) == kind)
            ended += has_ended(&slow->clients[i]);
    return ended;
}

size_t slow_count(const struct slow *slow, enum slow_kind kind)
{
    return slow->count / SLOW_KINDS + (slow->count % SLOW_KINDS > (size_t)kind);
}
