/* activation.h: the listening socket that a service manager has opened for us, by the protocol of
 * sd_listen_fds(3). */
#ifndef BATON_SERVER_NET_ACTIVATION_H
#define BATON_SERVER_NET_ACTIVATION_H

#include "base/failure.h"

/* Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, and removes them, so programs that we start do
 * not see them. Call this before there is another thread. Returns 0 with the descriptor, -1 if none
 * was passed to this process; or -EINVAL with a failure. */
int activation_socket(int *ret_fd, struct failure *failure);

#endif
