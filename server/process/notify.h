/* notify.h: tells the service manager how this process is: systemd's protocol of sd_notify(3). */
#ifndef BATON_SERVER_PROCESS_NOTIFY_H
#define BATON_SERVER_PROCESS_NOTIFY_H

#include "base/failure.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A datagram for each thing that is told, and nothing comes back. For one thread at a time. */
struct notify {
    int fd; /* -1: nobody wants to be told */
    struct sockaddr_un place;
    socklen_t length;
    int64_t watchdog_ms; /* a sign of life is to be sent so often; 0: none is expected */
};

/* Reads what the service manager has said in the environment (NOTIFY_SOCKET, WATCHDOG_USEC,
 * WATCHDOG_PID), and takes it away, so that no program we start speaks for us. To be called before
 * there is another thread. Returns 0, also where nobody wants to be told; or a negative errno with
 * a failure, and then nobody is told. */
int notify_open(struct notify *ret, struct failure *failure);

/* Sends lines of VARIABLE=VALUE, written as printf does. What the service manager does not take
 * within a second is lost: serving is more important. */
void notify_say(const struct notify *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The time as RELOADING=1 has to be told with, in microseconds. */
int64_t notify_now_us(void);

#endif
