#include "server/door.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ACCEPTED_AT_ONCE = 64, /* then the others have their turn */
    ACCEPTED_LAST = 4096,  /* while closing: clients that go on connecting must not put it off */
    ACCEPT_AGAIN_MS = 100, /* after accept(2) has failed for want of something */
    HANDLES = 2,
};

struct door {
    struct rooms *rooms;
    int listen_fd;
    unsigned connections_most;
    bool closing;
    uv_poll_t callers; /* the listening socket has connections for us */
    uv_timer_t again;  /* until connections are accepted again */
    int open_handles;
    void (*closed)(void *context);
    void *context;
};

static void on_again(uv_timer_t *timer)
{
    door_open(timer->data);
}

/* For want of descriptors, memory or places: the socket stays readable, so it is left alone for a
 * moment. */
static void pause_accepting(struct door *door)
{
    uv_poll_stop(&door->callers);
    if (!door->closing)
        uv_timer_start(&door->again, on_again, ACCEPT_AGAIN_MS, 0);
}

/* Takes one connection from the kernel. False where there is none, or no place for it. */
static bool accept_one(struct door *door)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    bool full = rooms_connections(door->rooms) >= door->connections_most;
    struct room *room = full ? NULL : rooms_with_a_place(door->rooms);
    if (!room) {
        pause_accepting(door);
        return false;
    }
    int fd = accept4(door->listen_fd, (struct sockaddr *)&address, &length,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        room_take(room, fd, &address, length);
        return true;
    }
    bool gone = errno == ECONNABORTED || errno == EINTR;
    if (!gone && errno != EAGAIN)
        pause_accepting(door);
    return gone;
}

static void accept_some(struct door *door, int most)
{
    while (most > 0 && accept_one(door))
        most--;
}

static void on_callers(uv_poll_t *callers, int status, int what)
{
    (void)status, (void)what;
    accept_some(callers->data, ACCEPTED_AT_ONCE);
}

struct door *door_new(uv_loop_t *loop, int listen_fd, struct rooms *rooms,
                      unsigned connections_most)
{
    struct door *door = calloc(1, sizeof *door);
    if (!door)
        abort();
    *door =
        (struct door){.rooms = rooms, .listen_fd = listen_fd, .connections_most = connections_most};
    uv_poll_init(loop, &door->callers, listen_fd);
    uv_timer_init(loop, &door->again);
    door->callers.data = door->again.data = door;
    return door;
}

void door_open(struct door *door)
{
    if (!door->closing)
        uv_poll_start(&door->callers, UV_READABLE, on_callers);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct door *door = handle->data;
    if (--door->open_handles > 0)
        return;
    door->closed(door->context);
    free(door);
}

/* The handle goes before its descriptor, which another worker may be given next. */
void door_close(struct door *door, void (*closed)(void *context), void *context)
{
    door->closed = closed;
    door->context = context;
    door->closing = true;
    accept_some(door, ACCEPTED_LAST);
    door->open_handles = HANDLES;
    uv_close((uv_handle_t *)&door->callers, on_handle_closed);
    uv_close((uv_handle_t *)&door->again, on_handle_closed);
    close(door->listen_fd);
}
