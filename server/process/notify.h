/* notify.h: reports the state of batond to the service manager: the protocol of sd_notify(3). */
#ifndef BATON_SERVER_PROCESS_NOTIFY_H
#define BATON_SERVER_PROCESS_NOTIFY_H

#include "base/failure.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Sends each message as a datagram, and gets no reply. Use it on one thread at a time. */
struct notify {
    int fd; /* -1: no manager listens */
    struct sockaddr_un place;
    socklen_t length;
    int64_t watchdog_ms; /* the period of WATCHDOG=1; 0: the manager expects none */
};

/* Reads the manager's variables (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID) and unsets them, so
 * that no program that batond starts uses them. Call this before there is another thread. Returns
 * 0, even without a manager; or a negative errno with a failure, and then messages are dropped. */
int notify_open(struct notify *ret, struct failure *failure);

/* Sends lines of VARIABLE=VALUE, formatted as by printf. A message that the manager does not take
 * within a second is lost: serving is more important. */
void notify_say(const struct notify *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
