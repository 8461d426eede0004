#include "tests/support/raw.h"

#include "tests/support/clock.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int raw_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool raw_send(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static unsigned port_of(int fd, int (*name)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    return name(fd, (struct sockaddr *)&address, &length) ? 0 : ntohs(address.sin_port);
}

/* The kernel lists both ends of a connection. What waits in the other one's queue is unread. */
static bool is_read(void *fd)
{
    unsigned here = port_of(*(int *)fd, getsockname), there = port_of(*(int *)fd, getpeername);
    FILE *file = fopen("/proc/net/tcp", "re");
    bool is_listed = false;
    unsigned local, remote, unread = 0;
    for (char line[256]; file && !is_listed && fgets(line, sizeof line, file);)
        is_listed = sscanf(line, " %*u: %*x:%x %*x:%x %*x %*x:%x", &local, &remote, &unread) == 3 &&
                    local == there && remote == here;
    if (file)
        fclose(file);
    return is_listed && unread == 0;
}

bool raw_comes_to_be_read(int fd, int timeout_ms)
{
    return clock_wait_until(is_read, &fd, timeout_ms);
}

size_t raw_receive(int fd, char *buffer, size_t size, const char *until, int timeout_ms,
                   bool *closed)
{
    size_t length = 0;
    bool ended = false;
    int64_t deadline = clock_ms() + timeout_ms;
    buffer[0] = '\0';
    while (!ended && length + 1 < size && !(until && strstr(buffer, until))) {
        int64_t left = deadline - clock_ms();
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        if (left < 0 || poll(&readable, 1, (int)left) != 1)
            break;
        ssize_t got = recv(fd, buffer + length, size - 1 - length, 0);
        ended = got <= 0;
        length += ended ? 0 : (size_t)got;
        buffer[length] = '\0';
    }
    if (closed)
        *closed = ended;
    return length;
}
