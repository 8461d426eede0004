#include "tests/support/free_port.h"

#include "base/random.h"
#include "tests/support/cmocka.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Below the ports that the kernel gives to connections (32768 and above, unless somebody has set
 * that): one of these would take a port away while nobody listens there. */
enum { TRIES = 1000, FIRST = 10000, COUNT = 10000, BELOW = 32768 };

static bool is_free(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is = fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof address);
    if (fd >= 0)
        close(fd);
    return is;
}

/* A socket of that name stays open until this program ends: who has it has the port. It is in no
 * file system, and each network has its own. */
static bool take(int port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "baton-test-port-%d", port);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_taken = fd >= 0 && !bind(fd, (struct sockaddr *)&name, sizeof name);
    if (fd >= 0 && !is_taken)
        close(fd);
    return is_taken;
}

int free_port_pair(int distance)
{
    assert_in_range(distance, 0, BELOW - FIRST - COUNT);
    for (int i = 0; i < TRIES; i++) {
        int port = FIRST + (int)random_below(COUNT);
        if (take(port) && is_free(port) && is_free(port + distance))
            return port;
    }
    fail_msg("no free port");
    return 0;
}

int free_port(void)
{
    return free_port_pair(0);
}
