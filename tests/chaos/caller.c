#include "tests/chaos/caller.h"

#include "tests/support/clock.h"
#include "tests/support/raw.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 90000 };

void caller_hang_up(struct caller *caller)
{
    if (caller->fd > 0)
        close(caller->fd);
    caller->fd = 0;
}

static bool connect_again(struct caller *caller)
{
    if (caller->closes)
        caller_hang_up(caller);
    if (caller->fd == 0)
        caller->fd = raw_connect(caller->port);
    return caller->fd > 0;
}

/* What stands behind a field's name in the head; NULL where it is not there. */
static const char *field(const struct caller *caller, const char *name)
{
    const char *found = strcasestr(caller->reply, name);
    return found ? found + strlen(name) : NULL;
}

/* How long the whole reply is; 0 while that is not known. */
static size_t whole(const struct caller *caller)
{
    const char *end = strstr(caller->reply, "\r\n\r\n");
    const char *length = end ? field(caller, "\r\nContent-Length: ") : NULL;
    return length ? (size_t)(end + 4 - caller->reply) + strtoul(length, NULL, 10) : 0;
}

static bool receive(struct caller *caller)
{
    caller->length = 0;
    caller->reply[0] = '\0';
    while (!whole(caller) || caller->length < whole(caller)) {
        struct pollfd ready = {.fd = caller->fd, .events = POLLIN};
        if (poll(&ready, 1, PATIENCE_MS) != 1)
            return false;
        ssize_t count =
            recv(caller->fd, caller->reply + caller->length, CALLER_REPLY - 1 - caller->length, 0);
        if (count <= 0)
            return false;
        caller->length += (size_t)count;
        caller->reply[caller->length] = '\0';
    }
    return true;
}

int caller_ask(struct caller *caller, const char *request, const char *header)
{
    char text[1024];
    int length = snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: baton\r\n%s%s\r\n", request,
                          header ? header : "", header ? "\r\n" : "");
    int64_t begun = clock_us();
    caller->reply[0] = '\0';
    bool answered =
        connect_again(caller) && raw_send(caller->fd, text, (size_t)length) && receive(caller);
    const char *connection = answered ? field(caller, "\r\nConnection: ") : NULL;
    caller->took_us = clock_us() - begun;
    caller->closes = !answered || (connection && strncasecmp(connection, "close", 5) == 0);
    return answered ? (int)strtol(caller->reply + strlen("HTTP/1.1 "), NULL, 10) : 0;
}
