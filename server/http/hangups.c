#include "server/http/hangups.h"

#include "server/http/close_notify.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_AT_ONCE = 64 };

struct hangups {
    int epoll_fd;
    uv_poll_t events; /* the epoll descriptor is readable */
    LIST_HEAD(watched, hangup) watched;
    void (*closed)(void *context);
    void *context;
};

/* For a client of TLS whatever it sends is an event, and hanging up is one kind of it. */
static bool has_gone(const struct hangup *hangup, unsigned events)
{
    return events != EPOLLIN || close_notify_has_come(hangup->session, hangup->fd);
}

static void tell(struct hangups *hangups, struct hangup *hangup)
{
    hangups_forget(hangups, hangup);
    hangup->gone(hangup);
}

/* Telling of one may make others be forgotten whose events have been read already. */
static void hangups_on_events(uv_poll_t *handle, int status, int what)
{
    struct hangups *hangups = handle->data;
    struct epoll_event events[EVENTS_AT_ONCE];
    int count;
    (void)status, (void)what;
    do {
        count = epoll_wait(hangups->epoll_fd, events, EVENTS_AT_ONCE, 0);
        for (int i = 0; i < count; i++) {
            struct hangup *hangup = events[i].data.ptr;
            if (!hangup->watched)
                hangups_forget(hangups, hangup);
            else if (has_gone(hangup, events[i].events))
                tell(hangups, hangup);
        }
    } while (count == EVENTS_AT_ONCE);
}

int hangups_open(struct hangups **ret, uv_loop_t *loop)
{
    struct hangups *hangups = calloc(1, sizeof *hangups);
    if (!hangups)
        abort();
    hangups->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (hangups->epoll_fd < 0) {
        free(hangups);
        return -errno;
    }
    LIST_INIT(&hangups->watched);
    uv_poll_init(loop, &hangups->events, hangups->epoll_fd);
    hangups->events.data = hangups;
    uv_poll_start(&hangups->events, UV_READABLE, hangups_on_events);
    *ret = hangups;
    return 0;
}

static void hangups_on_closed(uv_handle_t *handle)
{
    struct hangups *hangups = handle->data;
    close(hangups->epoll_fd);
    hangups->closed(hangups->context);
    free(hangups);
}

void hangups_close(struct hangups *hangups, void (*closed)(void *context), void *context)
{
    hangups->closed = closed;
    hangups->context = context;
    uv_close((uv_handle_t *)&hangups->events, hangups_on_closed);
}

/* Errors and a connection that is closed both ways are told unasked. What is sent is told once,
 * since it stays where it is. */
void hangups_watch(struct hangups *hangups, struct hangup *hangup, int fd, gnutls_session_t session,
                   void (*gone)(struct hangup *hangup))
{
    struct epoll_event event = {.events = EPOLLRDHUP | (session ? EPOLLIN | EPOLLET : 0),
                                .data.ptr = hangup};
    hangups_forget(hangups, hangup);
    hangup->fd = fd;
    hangup->session = session;
    hangup->gone = gone;
    hangup->known = hangup->watched = true;
    if (epoll_ctl(hangups->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        abort(); /* out of memory, or the socket is not one */
    LIST_INSERT_HEAD(&hangups->watched, hangup, others);
}

void hangups_ignore(struct hangup *hangup)
{
    if (hangup->watched)
        LIST_REMOVE(hangup, others);
    hangup->watched = false;
}

void hangups_forget(struct hangups *hangups, struct hangup *hangup)
{
    hangups_ignore(hangup);
    if (hangup->known)
        epoll_ctl(hangups->epoll_fd, EPOLL_CTL_DEL, hangup->fd, NULL);
    hangup->known = false;
}

void hangups_tell_all(struct hangups *hangups)
{
    while (!LIST_EMPTY(&hangups->watched))
        tell(hangups, LIST_FIRST(&hangups->watched));
}

bool hangups_has_gone(int fd, gnutls_session_t session)
{
    struct pollfd client = {.fd = fd, .events = (short)(POLLRDHUP | (session ? POLLIN : 0))};
    if (poll(&client, 1, 0) <= 0)
        return false;
    return client.revents != POLLIN || close_notify_has_come(session, fd);
}
