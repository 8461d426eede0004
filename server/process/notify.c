#include "server/process/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { LONGEST = 512, PATIENCE_S = 1 };

/* Reads a path, or an abstract name with @ in front. Returns the length of the address;
 * 0: the text is neither. */
static socklen_t notify_read_address(const char *text, struct sockaddr_un *address)
{
    size_t length = strlen(text);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if ((text[0] != '/' && text[0] != '@') || length < 2 || length >= sizeof address->sun_path)
        return 0;
    memcpy(address->sun_path, text, length);
    if (text[0] == '@')
        address->sun_path[0] = '\0';
    /* An abstract name ends with its length, not with a NUL. */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (text[0] == '/'));
}

/* The watchdog's period in ms: half the time after which the manager takes batond for dead. */
static int64_t watchdog_ms(void)
{
    const char *pid = getenv("WATCHDOG_PID"), *usec = getenv("WATCHDOG_USEC");
    if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
        return 0;
    int64_t half = strtoll(usec, NULL, 10) / 1000 / 2;
    return usec[0] != '-' && half > 0 ? half : 0;
}

static int notify_open_socket(struct notify *notify, const char *place)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    notify->length = notify_read_address(place, &notify->place);
    if (notify->length == 0)
        return -EAFNOSUPPORT;
    notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (notify->fd < 0)
        return -errno;
    setsockopt(notify->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    notify->watchdog_ms = watchdog_ms();
    return 0;
}

int notify_open(struct notify *ret, struct failure *failure)
{
    static const char *const NAMES[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};
    const char *place = getenv(NAMES[0]);
    *ret = (struct notify){.fd = -1};
    int result = place ? notify_open_socket(ret, place) : 0;
    if (result < 0)
        failure_set(failure, result, "NOTIFY_SOCKET=%.100s: %s", place, strerror(-result));
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        unsetenv(NAMES[i]);
    return result;
}

void notify_say(const struct notify *notify, const char *format, ...)
{
    char text[LONGEST];
    va_list arguments;
    if (notify->fd < 0)
        return;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0)
        sendto(notify->fd, text, length < LONGEST ? (size_t)length : LONGEST - 1, MSG_NOSIGNAL,
               (const struct sockaddr *)&notify->place, notify->length);
}
