/* activation.h: the listening socket that a service manager has opened for us: the protocol of
 * sd_listen_fds(3). */
#ifndef BATON_SERVER_NET_ACTIVATION_H
#define BATON_SERVER_NET_ACTIVATION_H

#include "base/failure.h"

/* Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, and takes them away, so that they are not for a
 * program that we start. To be called before there is another thread. Returns 0 with the
 * descriptor, -1 where none was passed to this process; or -EINVAL with a failure. */
int activation_socket(int *ret_fd, struct failure *failure);

#endif
