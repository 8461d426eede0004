#include "server/http.h"

#include "server/hangups.h"
#include "server/request.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    IDLE_SECONDS = 75, /* above the usual 60 s of proxies, so that they close first */
    /* For the request line and the header fields. Its size costs time: the library wipes it after
     * every request. */
    CONNECTION_MEMORY = 8 * 1024,
    CLOSE_DEADLINE_MS = 5000,
    ACCEPTED_AT_ONCE = 64, /* then the others have their turn */
    ACCEPTED_LAST = 4096,  /* while closing: clients that go on connecting must not put it off */
    ACCEPT_AGAIN_MS = 100, /* after accept(2) has failed for want of something */
    HTTP_ROOM = 256,       /* connections of a daemon */
    HANDLES = 3,
    ROOM_DESCRIPTORS = 2, /* of a daemon itself */
};

/* One daemon of libmicrohttpd with some of the connections. To find those that were resumed, the
 * library goes through all its suspended connections: with 15,000 of them in one daemon each
 * request would cost more than a millisecond. */
struct room {
    struct counter counter; /* the first member: the context of its requests */
    struct http *http;
    struct MHD_Daemon *daemon;
    unsigned connections;
    unsigned coming;  /* of them, those that the daemon has yet to begin with */
    bool due;         /* the daemon is to be run in this turn of the loop */
    uv_poll_t events; /* its epoll descriptor is readable */
    uv_timer_t timer; /* its own next deadline */
    struct room *next;
};

struct http {
    uv_loop_t *loop;
    struct desk desk;
    struct room *rooms; /* a room that is empty is kept */
    int listen_fd;      /* -1 once closing */
    unsigned connections;
    unsigned connections_most;
    uv_poll_t callers; /* the listening socket has connections for us */
    uv_check_t turn;   /* runs daemons in every turn of the loop, after all other events */
    uv_idle_t busy;    /* keeps the loop from sleeping while a daemon has more to do */
    uv_timer_t timer;  /* until connections are accepted again; then, the deadline of closing */
    bool serving;
    bool closing;
    bool cut_off; /* closing takes too long */
    int open_handles;
    void (*closed)(void *context);
    void *context;
};

static void on_busy(uv_idle_t *idle)
{
    (void)idle;
}

/* The daemon runs later in this turn of the loop, which may be about to sleep: the idle handle
 * prevents it, since libmicrohttpd would not wake it. */
static void make_due(struct room *room)
{
    room->due = true;
    uv_idle_start(&room->http->busy, on_busy);
}

static void on_resumed(struct counter *counter)
{
    make_due((struct room *)counter);
}

static void on_room_events(uv_poll_t *events, int status, int what)
{
    struct room *room = events->data;
    (void)status, (void)what;
    room->due = true; /* this turn will come to it */
}

static void on_room_timer(uv_timer_t *timer)
{
    make_due(timer->data);
}

/* Targets are taken apart by the API, from the request line as it was sent. */
static size_t leave_escaped(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    return strlen(text);
}

static void be_silent(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments; /* malformed requests are not worth a line each */
}

static void lose_connections(struct room *room, unsigned count)
{
    room->connections -= count;
    room->http->connections -= count;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode code)
{
    struct room *room = context;
    (void)connection, (void)place;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        room->coming--;
    else
        lose_connections(room, 1);
}

/* libmicrohttpd 1.0 only notes a connection here, and begins with it the next time it is run; until
 * then it has a place already. */
static void take_connection(struct room *room, int fd, const struct sockaddr_storage *address,
                            socklen_t length)
{
    room->connections++;
    room->http->connections++;
    room->coming++;
    MHD_add_connection(room->daemon, fd, (const struct sockaddr *)address, length); /* or closes */
    make_due(room);
}

static struct MHD_Daemon *daemon_start(struct room *room)
{
    unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, request_step, room, MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, request_new, room, MHD_OPTION_NOTIFY_COMPLETED,
        request_completed, room, MHD_OPTION_NOTIFY_CONNECTION, on_connection, room,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)HTTP_ROOM, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
}

static struct room *room_new(struct http *http)
{
    struct room *room = calloc(1, sizeof *room);
    if (!room)
        abort();
    room->counter = (struct counter){&http->desk, on_resumed};
    room->http = http;
    room->daemon = daemon_start(room);
    if (!room->daemon) {
        free(room);
        return NULL;
    }
    int fd = MHD_get_daemon_info(room->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    uv_poll_init(http->loop, &room->events, fd);
    uv_timer_init(http->loop, &room->timer);
    room->events.data = room->timer.data = room;
    uv_poll_start(&room->events, UV_READABLE, on_room_events);
    room->next = http->rooms;
    http->rooms = room;
    return room;
}

/* One that has a place, or a new one; NULL where there cannot be one. */
static struct room *room_with_a_place(struct http *http)
{
    for (struct room *room = http->rooms; room; room = room->next)
        if (room->connections < HTTP_ROOM)
            return room;
    return room_new(http);
}

static void on_callers(uv_poll_t *callers, int status, int what);

static void accept_callers(struct http *http)
{
    if (http->serving && !http->closing)
        uv_poll_start(&http->callers, UV_READABLE, on_callers);
}

static void on_accept_again(uv_timer_t *timer)
{
    accept_callers(timer->data);
}

/* For want of descriptors, memory or places: the socket stays readable, so it is left alone for a
 * moment. */
static void pause_accepting(struct http *http)
{
    uv_poll_stop(&http->callers);
    if (!http->closing)
        uv_timer_start(&http->timer, on_accept_again, ACCEPT_AGAIN_MS, 0);
}

/* Takes one connection from the kernel. False where there is none, or no place for it. */
static bool accept_one(struct http *http)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    struct room *room = http->connections < http->connections_most ? room_with_a_place(http) : NULL;
    if (!room) {
        pause_accepting(http);
        return false;
    }
    int fd = accept4(http->listen_fd, (struct sockaddr *)&address, &length,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        take_connection(room, fd, &address, length);
        return true;
    }
    bool gone = errno == ECONNABORTED || errno == EINTR;
    if (!gone && errno != EAGAIN)
        pause_accepting(http);
    return gone;
}

static void accept_some(struct http *http, int most)
{
    while (most > 0 && accept_one(http))
        most--;
}

static void on_callers(uv_poll_t *callers, int status, int what)
{
    (void)status, (void)what;
    accept_some(callers->data, ACCEPTED_AT_ONCE);
}

/* The rooms go with the last handle of all. */
static void one_less(struct http *http)
{
    struct room *room;
    if (--http->open_handles > 0)
        return;
    while ((room = http->rooms)) {
        http->rooms = room->next;
        free(room);
    }
    http->closed(http->context);
    free(http);
}

static void on_handle_closed(uv_handle_t *handle)
{
    one_less(handle->data);
}

static void on_room_handle_closed(uv_handle_t *handle)
{
    one_less(((struct room *)handle->data)->http);
}

static void on_hangups_closed(void *context)
{
    one_less(context);
}

static void room_close(struct room *room)
{
    room->http->open_handles += 2;
    uv_close((uv_handle_t *)&room->events, on_room_handle_closed);
    uv_close((uv_handle_t *)&room->timer, on_room_handle_closed);
    MHD_stop_daemon(room->daemon);
}

static void finish(struct http *http)
{
    uv_handle_t *handles[HANDLES] = {(uv_handle_t *)&http->turn, (uv_handle_t *)&http->busy,
                                     (uv_handle_t *)&http->timer};
    for (struct room *room = http->rooms; room; room = room->next)
        room_close(room);
    for (size_t i = 0; i < HANDLES; i++) {
        http->open_handles++;
        uv_close(handles[i], on_handle_closed);
    }
    hangups_close(http->desk.hangups, on_hangups_closed, http);
}

/* Whether the daemons may stop: nothing is under way any more, or the deadline has passed. They
 * must not have a suspended connection then, but Redis' own deadline is short. */
static bool is_finished(const struct http *http)
{
    return http->desk.under_way == 0 || (http->cut_off && http->desk.suspended == 0);
}

/* Leaves it due where the daemon has more to do at once. */
static void room_run(struct room *room)
{
    unsigned long long timeout;
    bool begins = room->coming > 0;
    MHD_run(room->daemon);
    lose_connections(room, room->coming); /* it could not begin with these */
    room->coming = 0;
    if (begins) /* and has read nothing of the others, which may be what closing waits for */
        MHD_run(room->daemon);
    bool wanted = MHD_get_timeout(room->daemon, &timeout) == MHD_YES;
    room->due = wanted && timeout == 0;
    if (wanted && timeout > 0)
        uv_timer_start(&room->timer, on_room_timer, timeout, 0);
    else
        uv_timer_stop(&room->timer);
}

static void on_turn(uv_check_t *turn)
{
    struct http *http = turn->data;
    bool more = false;
    for (struct room *room = http->rooms; room; room = room->next) {
        if (room->due)
            room_run(room);
        more |= room->due;
    }
    if (http->closing && is_finished(http))
        finish(http);
    else if (more)
        uv_idle_start(&http->busy, on_busy);
    else
        uv_idle_stop(&http->busy);
}

unsigned http_connections(unsigned descriptors)
{
    unsigned rooms = descriptors / (HTTP_ROOM + ROOM_DESCRIPTORS) + 1;
    unsigned others = rooms * ROOM_DESCRIPTORS;
    return descriptors > others ? descriptors - others : 1;
}

int http_open(struct http **ret, uv_loop_t *loop, const struct http_options *options)
{
    struct http *http = calloc(1, sizeof *http);
    if (!http)
        abort();
    *http = (struct http){.loop = loop,
                          .desk = {.api = options->api, .metrics = options->metrics},
                          .listen_fd = options->listen_fd,
                          .connections_most = options->connections};
    int result = hangups_open(&http->desk.hangups, loop);
    if (result < 0) {
        close(options->listen_fd);
        free(http);
        return result;
    }
    uv_poll_init(loop, &http->callers, http->listen_fd);
    uv_check_init(loop, &http->turn);
    uv_idle_init(loop, &http->busy);
    uv_timer_init(loop, &http->timer);
    http->open_handles = 2; /* the callers', and the one for hang-ups */
    http->callers.data = http->turn.data = http->busy.data = http->timer.data = http;
    *ret = http;
    return 0;
}

void http_serve(struct http *http)
{
    http->serving = true;
    accept_callers(http);
    uv_check_start(&http->turn, on_turn);
}

/* Who waits for the API to answer would wait on; who is still sending a request now will not get an
 * answer. */
static void on_close_deadline(uv_timer_t *timer)
{
    struct http *http = timer->data;
    http->cut_off = true;
    hangups_tell_all(http->desk.hangups);
    uv_idle_start(&http->busy, on_busy); /* this turn may be the last for lack of events */
}

/* Serves the connections that the kernel has accepted for us already: closing the socket would
 * reset them. The handle goes before its descriptor, which another worker may be given next. */
static void stop_listening(struct http *http)
{
    accept_some(http, ACCEPTED_LAST);
    uv_close((uv_handle_t *)&http->callers, on_handle_closed);
    close(http->listen_fd);
    http->listen_fd = -1;
}

void http_close(struct http *http, void (*closed)(void *context), void *context)
{
    http->closed = closed;
    http->context = context;
    http_serve(http); /* whoever waits is answered, even if nobody was so far */
    http->closing = http->desk.closing = true;
    stop_listening(http);
    api_drain(http->desk.api);
    uv_timer_start(&http->timer, on_close_deadline, CLOSE_DEADLINE_MS, 0);
    uv_idle_start(&http->busy, on_busy); /* a turn that finds that there is nothing to wait for */
}
