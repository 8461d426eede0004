#include "server/http/door.h"

#include "server/http/farewells.h"

#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ACCEPTED_AT_ONCE = 64, /* then the others have their turn */
    ACCEPTED_LAST = 4096,  /* while closing: clients that go on connecting must not put it off */
    ACCEPT_AGAIN_MS = 100, /* after accept(2) has failed, or for want of a place */
    LOG_AGAIN_MS = 60 * 1000,
    PARTS = 2,
};

struct door {
    struct door_options options;
    bool closing;
    bool full;                       /* accepting pauses for want of a place */
    uv_poll_t callers;               /* the listening socket has connections for us */
    uv_timer_t again;                /* until connections are accepted again */
    uint64_t full_again, many_again; /* until when nothing more is logged of these */
    int parts;                       /* that have yet to close */
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

/* At most once a minute. */
static bool may_log(const struct door *door, uint64_t *again)
{
    uint64_t now = uv_now(door->options.loop);
    if (now < *again)
        return false;
    *again = now + LOG_AGAIN_MS;
    return true;
}

/* All places are taken. Whoever comes now waits in the kernel, in order, until one of the others
 * has gone or missed its deadline, or was idle: those make room, or whoever watches over batond
 * would not be answered either. To refuse them would be work that attackers can ask for. */
static void be_full(struct door *door)
{
    if (!door->full)
        metrics_add(&door->options.metrics->out_of_place, 1);
    door->full = true;
    if (may_log(door, &door->full_again))
        log_line(door->options.log, LOG_WARN, door->options.when_full, NULL);
    callers_make_places(door->options.callers);
    pause_accepting(door);
}

/* As many connections are open from there as may be. It is told so, where it understands it. */
static void turn_away(struct door *door, int fd, const struct sockaddr_storage *from,
                      socklen_t length)
{
    char address[INET6_ADDRSTRLEN + IF_NAMESIZE] = "?";
    metrics_add(&door->options.metrics->turned_away, 1);
    addresses_give_place(door->options.addresses);
    if (may_log(door, &door->many_again)) {
        getnameinfo((const struct sockaddr *)from, length, address, sizeof address, NULL, 0,
                    NI_NUMERICHOST);
        log_line(door->options.log, LOG_WARN,
                 "turned a connection away: its address has as many as it may; if it is a proxy, "
                 "name it in trusted-proxies, else see max-connections-per-address",
                 "address", address, NULL);
    }
    farewells_say(door->options.farewells, fd, door->options.too_many,
                  strlen(door->options.too_many));
}

static void let_in(struct door *door, struct room *room, int fd,
                   const struct sockaddr_storage *from, socklen_t length)
{
    struct address *address;
    if (addresses_enter(door->options.addresses, from, &address))
        room_take(room, caller_new(door->options.callers, fd, from, address), from, length);
    else
        turn_away(door, fd, from, length);
}

/* Takes one connection from the kernel, for which there is a place. False where there is none. */
static bool accept_into(struct door *door, struct room *room)
{
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    int fd = accept4(door->options.listen_fd, (struct sockaddr *)&from, &length,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        door->full = false;
        let_in(door, room, fd, &from, length);
        return true;
    }
    bool gone = errno == ECONNABORTED || errno == EINTR;
    if (!gone && errno != EAGAIN)
        pause_accepting(door);
    addresses_give_place(door->options.addresses);
    return gone;
}

static bool accept_one(struct door *door)
{
    if (!addresses_take_place(door->options.addresses)) {
        be_full(door);
        return false;
    }
    struct room *room = rooms_with_a_place(door->options.rooms);
    if (room)
        return accept_into(door, room);
    addresses_give_place(door->options.addresses);
    pause_accepting(door);
    return false;
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

struct door *door_new(const struct door_options *options)
{
    struct door *door = calloc(1, sizeof *door);
    if (!door)
        abort();
    door->options = *options;
    uv_poll_init(options->loop, &door->callers, options->listen_fd);
    uv_timer_init(options->loop, &door->again);
    door->callers.data = door->again.data = door;
    return door;
}

void door_open(struct door *door)
{
    if (!door->closing)
        uv_poll_start(&door->callers, UV_READABLE, on_callers);
}

static void on_part_closed(void *context)
{
    struct door *door = context;
    if (--door->parts > 0)
        return;
    door->closed(door->context);
    free(door);
}

static void on_handle_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

/* The handle goes before its descriptor, which another worker may be given next. */
void door_close(struct door *door, void (*closed)(void *context), void *context)
{
    door->closed = closed;
    door->context = context;
    door->closing = true;
    accept_some(door, ACCEPTED_LAST);
    door->parts = PARTS;
    uv_close((uv_handle_t *)&door->callers, on_handle_closed);
    uv_close((uv_handle_t *)&door->again, on_handle_closed);
    close(door->options.listen_fd);
}
