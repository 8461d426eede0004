#include "server/http/rooms.h"

#include "server/http/entrance.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* For the request line and the header fields. Its size costs time: the library wipes it after
     * every request (docs/tuning.md). */
    CONNECTION_MEMORY = 8 * 1024,
    ROOM_CONNECTIONS = 64,
    ROOM_DESCRIPTORS = 2, /* of a daemon itself */
    HANDLES = 2,
};

struct room {
    struct counter counter; /* the first member: the context of its requests */
    struct rooms *rooms;
    struct MHD_Daemon *daemon;
    unsigned connections;
    TAILQ_HEAD(coming, caller) coming; /* of them, those that the daemon has yet to begin with */
    uv_poll_t events;                  /* its epoll descriptor is readable */
    bool is_due;
    TAILQ_ENTRY(room) others_due;
    struct room *next;
};

TAILQ_HEAD(due, room);

struct rooms {
    uv_loop_t *loop;
    struct desk *desk;
    struct https *https; /* NULL: plain HTTP */
    struct room *first;  /* a room that is empty is kept */
    struct due due;      /* their daemons are to be run in this turn of the loop */
    uv_check_t turn;     /* runs daemons in every turn of the loop, after all other events */
    uv_idle_t busy;      /* keeps the loop from sleeping while a daemon has more to do */
    void (*turned)(void *context);
    void *turned_context;
    int open_handles; /* while closing */
    void (*closed)(void *context);
    void *closed_context;
};

static void on_busy(uv_idle_t *idle)
{
    (void)idle;
}

void rooms_wake(struct rooms *rooms)
{
    uv_idle_start(&rooms->busy, on_busy);
}

static void make_due(struct room *room)
{
    if (!room->is_due)
        TAILQ_INSERT_TAIL(&room->rooms->due, room, others_due);
    room->is_due = true;
}

/* The daemon runs later in this turn of the loop, which may be about to sleep: the idle handle
 * prevents it, since libmicrohttpd would not wake it. */
static void make_due_now(struct room *room)
{
    make_due(room);
    rooms_wake(room->rooms);
}

static void on_resumed(struct counter *counter)
{
    make_due_now((struct room *)counter);
}

static void on_room_events(uv_poll_t *events, int status, int what)
{
    (void)status, (void)what;
    make_due(events->data); /* this turn will come to it */
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

static void lose(struct room *room, struct caller *caller)
{
    room->connections--;
    caller_free(caller);
}

/* The next that the daemon begins with; it keeps their order, but those that it cannot begin with
 * are left out. */
static struct caller *come_in(struct room *room, int fd)
{
    struct caller *caller;
    while ((caller = TAILQ_FIRST(&room->coming))) {
        TAILQ_REMOVE(&room->coming, caller, others);
        if (caller->fd == fd)
            break;
        lose(room, caller);
    }
    return caller;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode code)
{
    struct room *room = context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        lose(room, *place);
        return;
    }
    struct caller *caller = come_in(
        room, MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    if (room->rooms->https)
        caller_shakes_hands(
            caller, room->rooms->https,
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session);
    *place = caller;
}

/* libmicrohttpd 1.0 only notes a connection here, and begins with it the next time it is run; until
 * then it has a place already. */
void room_take(struct room *room, struct caller *caller, const struct sockaddr_storage *address,
               socklen_t length)
{
    room->connections++;
    TAILQ_INSERT_TAIL(&room->coming, caller, others);
    enum MHD_Result added =
        MHD_add_connection(room->daemon, caller->fd, (const struct sockaddr *)address, length);
    if (added == MHD_NO && TAILQ_LAST(&room->coming, coming) == caller) {
        TAILQ_REMOVE(&room->coming, caller, others);
        lose(room, caller);
    }
    make_due_now(room);
}

/* A daemon does not start without a certificate, or a promise of one. Each session is given its own
 * before it begins, so this is never asked. */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *names, int count,
                          const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                          gnutls_pcert_st **certificate, unsigned *length, gnutls_privkey_t *key)
{
    (void)session, (void)names, (void)count, (void)algorithms, (void)algorithm_count;
    (void)certificate, (void)length, (void)key;
    return -1;
}

/* A daemon is its worker's alone. One that does not know it wakes itself by an eventfd at each
 * resume: two calls of the system for each request. */
#if MHD_VERSION >= 0x00097707
enum { ONE_THREAD = MHD_USE_NO_THREAD_SAFETY };
#else
enum { ONE_THREAD = 0 }; /* there is no way to tell it, and it does not wake itself */
#endif

static struct MHD_Daemon *daemon_start(struct room *room)
{
    bool has_tls = room->rooms->https != NULL;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     MHD_USE_NO_LISTEN_SOCKET | ONE_THREAD | (has_tls ? MHD_USE_TLS : 0);
    return MHD_start_daemon(
        flags, 0, NULL, NULL, request_step, room, MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, request_new, room, MHD_OPTION_NOTIFY_COMPLETED,
        request_completed, room, MHD_OPTION_NOTIFY_CONNECTION, on_connection, room,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)ROOM_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_STRICT_FOR_CLIENT, entrance_strictness(),
        has_tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END, no_certificate, MHD_OPTION_END);
}

static struct room *room_new(struct rooms *rooms)
{
    struct room *room = calloc(1, sizeof *room);
    if (!room)
        abort();
    room->counter = (struct counter){rooms->desk, on_resumed};
    room->rooms = rooms;
    room->daemon = daemon_start(room);
    if (!room->daemon) {
        free(room);
        return NULL;
    }
    int fd = MHD_get_daemon_info(room->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    uv_poll_init(rooms->loop, &room->events, fd);
    room->events.data = room;
    TAILQ_INIT(&room->coming);
    uv_poll_start(&room->events, UV_READABLE, on_room_events);
    room->next = rooms->first;
    rooms->first = room;
    return room;
}

struct room *rooms_with_a_place(struct rooms *rooms)
{
    for (struct room *room = rooms->first; room; room = room->next)
        if (room->connections < ROOM_CONNECTIONS)
            return room;
    return room_new(rooms);
}

/* Leaves it due where the daemon has more to do at once. The library knows no time by itself: the
 * deadlines are those of the callers. */
static void room_run(struct room *room)
{
    unsigned long long timeout;
    struct caller *caller;
    bool begins = !TAILQ_EMPTY(&room->coming);
    MHD_run(room->daemon);
    while ((caller = TAILQ_FIRST(&room->coming))) { /* it could not begin with these */
        TAILQ_REMOVE(&room->coming, caller, others);
        lose(room, caller);
    }
    if (begins) /* and has read nothing of the others, which may be what closing waits for */
        MHD_run(room->daemon);
    if (MHD_get_timeout(room->daemon, &timeout) == MHD_YES)
        make_due(room);
}

static void on_turn(uv_check_t *turn)
{
    struct rooms *rooms = turn->data;
    struct due due = TAILQ_HEAD_INITIALIZER(due);
    struct room *room;
    TAILQ_CONCAT(&due, &rooms->due, others_due);
    while ((room = TAILQ_FIRST(&due))) {
        TAILQ_REMOVE(&due, room, others_due);
        room->is_due = false;
        room_run(room);
    }
    if (TAILQ_EMPTY(&rooms->due))
        uv_idle_stop(&rooms->busy);
    else
        rooms_wake(rooms);
    rooms->turned(rooms->turned_context);
}

/* Each worker may come to have rooms for all of the connections, which stay when these go to
 * another. */
unsigned rooms_connections_most(unsigned descriptors, unsigned workers)
{
    unsigned others = workers * ROOM_DESCRIPTORS;
    unsigned left = descriptors > others ? descriptors - others : 0;
    unsigned most = (unsigned)((uint64_t)left * ROOM_CONNECTIONS / (ROOM_CONNECTIONS + others));
    return most > 0 ? most : 1;
}

struct rooms *rooms_open(uv_loop_t *loop, struct desk *desk, struct https *https,
                         void (*turned)(void *context), void *context)
{
    struct rooms *rooms = calloc(1, sizeof *rooms);
    if (!rooms)
        abort();
    *rooms = (struct rooms){.loop = loop,
                            .desk = desk,
                            .https = https_keep(https),
                            .turned = turned,
                            .turned_context = context};
    TAILQ_INIT(&rooms->due);
    uv_check_init(loop, &rooms->turn);
    uv_idle_init(loop, &rooms->busy);
    rooms->turn.data = rooms->busy.data = rooms;
    return rooms;
}

void rooms_set_https(struct rooms *rooms, struct https *https)
{
    https_drop(rooms->https);
    rooms->https = https_keep(https);
}

void rooms_start(struct rooms *rooms)
{
    uv_check_start(&rooms->turn, on_turn);
}

/* The rooms go with the last handle of all. */
static void one_less(struct rooms *rooms)
{
    struct room *room;
    if (--rooms->open_handles > 0)
        return;
    while ((room = rooms->first)) {
        rooms->first = room->next;
        free(room);
    }
    https_drop(rooms->https);
    rooms->closed(rooms->closed_context);
    free(rooms);
}

static void on_handle_closed(uv_handle_t *handle)
{
    one_less(handle->data);
}

static void on_room_handle_closed(uv_handle_t *handle)
{
    one_less(((struct room *)handle->data)->rooms);
}

static void room_close(struct room *room)
{
    room->rooms->open_handles++;
    uv_close((uv_handle_t *)&room->events, on_room_handle_closed);
    MHD_stop_daemon(room->daemon);
}

void rooms_close(struct rooms *rooms, void (*closed)(void *context), void *context)
{
    rooms->closed = closed;
    rooms->closed_context = context;
    for (struct room *room = rooms->first; room; room = room->next)
        room_close(room);
    rooms->open_handles += HANDLES;
    uv_close((uv_handle_t *)&rooms->turn, on_handle_closed);
    uv_close((uv_handle_t *)&rooms->busy, on_handle_closed);
}
