#include "tests/support/raw.h"

#include "tests/support/clock.h"

#include <arpa/inet.h>
#include <poll.h>
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
