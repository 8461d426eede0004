#include "server/net/activation.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIRST = 3 };

int activation_socket(int *ret_fd, struct failure *failure)
{
    static const char *const NAMES[] = {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"};
    const char *pid = getenv(NAMES[0]), *fds = getenv(NAMES[1]);
    bool ours = pid && fds && strtol(pid, NULL, 10) == getpid();
    long count = ours ? strtol(fds, NULL, 10) : 0;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        unsetenv(NAMES[i]);
    if (count < 0 || count > 1)
        return failure_set(failure, -EINVAL,
                           "LISTEN_FDS: systemd passed %ld sockets, but all workers serve on one. "
                           "Leave one ListenStream= in the socket unit.",
                           count);
    *ret_fd = count == 1 ? FIRST : -1;
    return 0;
}
