#include "tests/support/free_port.h"

#include "tests/support/cmocka.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) ||
        getsockname(fd, (struct sockaddr *)&address, &length))
        fail_msg("no free port");
    close(fd);
    return ntohs(address.sin_port);
}
