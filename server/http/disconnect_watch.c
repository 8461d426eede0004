#include "server/http/disconnect_watch.h"

#include "base/memory.h"
#include "server/http/close_notify.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_AT_ONCE = 64 };

struct disconnect_watches {
    int epoll_fd;
    uv_poll_t events; /* readable: the epoll descriptor is */
    LIST_HEAD(watched, disconnect_watch) watched;
    void (*closed)(void *context);
    void *context;
};

/* Anything that a TLS client sends is an event; its close_notify is one of them. */
static bool disconnect_watch_has_fired(const struct disconnect_watch *watch, unsigned events)
{
    return events != EPOLLIN || close_notify_has_come(watch->session, watch->fd);
}

static void disconnect_watch_report(struct disconnect_watches *watches,
                                    struct disconnect_watch *watch)
{
    disconnect_watch_stop(watches, watch);
    watch->gone(watch);
}

/* A report may stop other watches whose events have been read already. */
static void disconnect_watches_on_events(uv_poll_t *handle, int status, int what)
{
    struct disconnect_watches *watches = handle->data;
    struct epoll_event events[EVENTS_AT_ONCE];
    int count;
    (void)status, (void)what;
    do {
        count = epoll_wait(watches->epoll_fd, events, EVENTS_AT_ONCE, 0);
        for (int i = 0; i < count; i++) {
            struct disconnect_watch *watch = events[i].data.ptr;
            if (!watch->watched)
                disconnect_watch_stop(watches, watch);
            else if (disconnect_watch_has_fired(watch, events[i].events))
                disconnect_watch_report(watches, watch);
        }
    } while (count == EVENTS_AT_ONCE);
}

int disconnect_watches_open(struct disconnect_watches **ret, uv_loop_t *loop)
{
    struct disconnect_watches *watches = memory_checked(calloc(1, sizeof *watches));
    watches->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (watches->epoll_fd < 0) {
        free(watches);
        return -errno;
    }
    LIST_INIT(&watches->watched);
    uv_poll_init(loop, &watches->events, watches->epoll_fd);
    watches->events.data = watches;
    uv_poll_start(&watches->events, UV_READABLE, disconnect_watches_on_events);
    *ret = watches;
    return 0;
}

static void disconnect_watches_on_closed(uv_handle_t *handle)
{
    struct disconnect_watches *watches = handle->data;
    close(watches->epoll_fd);
    watches->closed(watches->context);
    free(watches);
}

void disconnect_watches_close(struct disconnect_watches *watches, void (*closed)(void *context),
                              void *context)
{
    watches->closed = closed;
    watches->context = context;
    uv_close((uv_handle_t *)&watches->events, disconnect_watches_on_closed);
}

/* epoll reports errors and full closes unasked. Data of a TLS client is reported once (EPOLLET),
 * since it stays in the socket. */
void disconnect_watch_start(struct disconnect_watches *watches, struct disconnect_watch *watch,
                            int fd, gnutls_session_t session,
                            void (*gone)(struct disconnect_watch *watch))
{
    struct epoll_event event = {.events = EPOLLRDHUP | (session ? EPOLLIN | EPOLLET : 0),
                                .data.ptr = watch};
    disconnect_watch_stop(watches, watch);
    watch->fd = fd;
    watch->session = session;
    watch->gone = gone;
    watch->known = watch->watched = true;
    if (epoll_ctl(watches->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        abort(); /* out of memory, or the socket is not one */
    LIST_INSERT_HEAD(&watches->watched, watch, others);
}

void disconnect_watch_pause(struct disconnect_watch *watch)
{
    if (watch->watched)
        LIST_REMOVE(watch, others);
    watch->watched = false;
}

void disconnect_watch_stop(struct disconnect_watches *watches, struct disconnect_watch *watch)
{
    disconnect_watch_pause(watch);
    if (watch->known)
        epoll_ctl(watches->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->known = false;
}

void disconnect_watches_report_all(struct disconnect_watches *watches)
{
    while (!LIST_EMPTY(&watches->watched))
        disconnect_watch_report(watches, LIST_FIRST(&watches->watched));
}

bool has_disconnected(int fd, gnutls_session_t session)
{
    struct pollfd client = {.fd = fd, .events = (short)(POLLRDHUP | (session ? POLLIN : 0))};
    if (poll(&client, 1, 0) <= 0)
        return false;
    return client.revents != POLLIN || close_notify_has_come(session, fd);
}
