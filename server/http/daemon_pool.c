#include "server/http/daemon_pool.h"

#include "base/memory.h"
#include "server/http/request_head.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <string.h>

enum {
    /* For the request line and the header fields. The library wipes it after every request, so its
     * size costs time (docs/performance.md). */
    CONNECTION_MEMORY = 8 * 1024,
    DAEMON_CONNECTIONS = 64,
    DAEMON_DESCRIPTORS = 2, /* of a daemon itself */
    HANDLES = 2,
};

struct pooled_daemon {
    struct daemon_context context; /* the first member: the context of its requests */
    struct daemon_pool *pool;
    struct MHD_Daemon *daemon;
    unsigned connections;
    TAILQ_HEAD(pending, client) pending; /* clients that the daemon has not begun with */
    uv_poll_t events;                    /* readable: the daemon's epoll descriptor is */
    bool is_due;
    TAILQ_ENTRY(pooled_daemon) others_due;
    LIST_ENTRY(pooled_daemon) others;
};

TAILQ_HEAD(due, pooled_daemon);

struct daemon_pool {
    uv_loop_t *loop;
    struct request_context *shared;
    struct https *https;                              /* NULL: plain HTTP */
    LIST_HEAD(pooled_daemons, pooled_daemon) daemons; /* empty ones are kept */
    struct due due;                                   /* daemons to run in this turn of the loop */
    uv_check_t turn; /* runs daemons in every turn of the loop, after all other events */
    uv_idle_t busy;  /* the loop does not sleep while a daemon has more to do */
    void (*turned)(void *context);
    void *turned_context;
    int open_handles; /* while closing */
    void (*closed)(void *context);
    void *closed_context;
};

static void daemon_pool_on_busy(uv_idle_t *idle)
{
    (void)idle;
}

void daemon_pool_wake(struct daemon_pool *pool)
{
    uv_idle_start(&pool->busy, daemon_pool_on_busy);
}

static void pooled_daemon_make_due(struct pooled_daemon *pooled)
{
    if (!pooled->is_due)
        TAILQ_INSERT_TAIL(&pooled->pool->due, pooled, others_due);
    pooled->is_due = true;
}

/* Runs the daemon later in this turn of the loop. The loop may be about to sleep, and libmicrohttpd
 * would not wake it: the idle handle prevents that. */
static void pooled_daemon_make_due_now(struct pooled_daemon *pooled)
{
    pooled_daemon_make_due(pooled);
    daemon_pool_wake(pooled->pool);
}

static void daemon_pool_on_resumed(struct daemon_context *context)
{
    pooled_daemon_make_due_now((struct pooled_daemon *)context);
}

static void pooled_daemon_on_events(uv_poll_t *events, int status, int what)
{
    (void)status, (void)what;
    pooled_daemon_make_due(events->data); /* runs later in this turn */
}

/* The API splits and unescapes targets, from the request line as it was sent. */
static size_t daemon_pool_keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    return strlen(text);
}

static void pooled_daemon_drop_client(struct pooled_daemon *pooled, struct client *client)
{
    pooled->connections--;
    client_free(client);
}

/* The client that the daemon begins with now. The daemon keeps the order of clients, but skips
 * those that it cannot begin with. */
static struct client *pooled_daemon_next_client(struct pooled_daemon *pooled, int fd)
{
    struct client *client;
    while ((client = TAILQ_FIRST(&pooled->pending))) {
        TAILQ_REMOVE(&pooled->pending, client, others);
        if (client->fd == fd)
            break;
        pooled_daemon_drop_client(pooled, client);
    }
    return client;
}

static void daemon_pool_on_connection(void *context, struct MHD_Connection *connection,
                                      void **state, enum MHD_ConnectionNotificationCode code)
{
    struct pooled_daemon *pooled = context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        pooled_daemon_drop_client(pooled, *state);
        return;
    }
    struct client *client = pooled_daemon_next_client(
        pooled, MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    if (pooled->pool->https)
        https_session_begin(
            &client->tls, pooled->pool->https,
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session);
    *state = client;
}

/* libmicrohttpd 1.0 only queues a connection here and begins with it in its next run; it counts
 * from now on. */
void pooled_daemon_take(struct pooled_daemon *pooled, struct client *client,
                        const struct sockaddr_storage *address, socklen_t length)
{
    pooled->connections++;
    TAILQ_INSERT_TAIL(&pooled->pending, client, others);
    enum MHD_Result added =
        MHD_add_connection(pooled->daemon, client->fd, (const struct sockaddr *)address, length);
    if (added == MHD_NO && TAILQ_LAST(&pooled->pending, pending) == client) {
        TAILQ_REMOVE(&pooled->pending, client, others);
        pooled_daemon_drop_client(pooled, client);
    }
    pooled_daemon_make_due_now(pooled);
}

/* A TLS daemon needs a certificate or this callback to start. It is never called: each session gets
 * its certificate before the handshake. */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *names, int count,
                          const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                          gnutls_pcert_st **certificate, unsigned *length, gnutls_privkey_t *key)
{
    (void)session, (void)names, (void)count, (void)algorithms, (void)algorithm_count;
    (void)certificate, (void)length, (void)key;
    return -1;
}

/* Only its worker's thread uses a daemon. A daemon without this flag wakes itself by an eventfd at
 * each resume: two system calls for each request. */
#if MHD_VERSION >= 0x00097707
enum { ONE_THREAD = MHD_USE_NO_THREAD_SAFETY };
#else
enum { ONE_THREAD = 0 }; /* this version has no such flag, and does not wake itself */
#endif

static struct MHD_Daemon *pooled_daemon_start(struct pooled_daemon *pooled)
{
    bool has_tls = pooled->pool->https != NULL;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     MHD_USE_NO_LISTEN_SOCKET | ONE_THREAD | (has_tls ? MHD_USE_TLS : 0);
    return MHD_start_daemon(
        flags, 0, NULL, NULL, http_request_step, pooled, MHD_OPTION_EXTERNAL_LOGGER,
        http_request_on_log, pooled, MHD_OPTION_URI_LOG_CALLBACK, http_request_new, pooled,
        MHD_OPTION_NOTIFY_COMPLETED, http_request_completed, pooled, MHD_OPTION_NOTIFY_CONNECTION,
        daemon_pool_on_connection, pooled, MHD_OPTION_UNESCAPE_CALLBACK, daemon_pool_keep_escapes,
        NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned)DAEMON_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT,
        request_head_strictness(), has_tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END,
        no_certificate, MHD_OPTION_END);
}

static struct pooled_daemon *pooled_daemon_new(struct daemon_pool *pool)
{
    struct pooled_daemon *pooled = memory_checked(calloc(1, sizeof *pooled));
    pooled->context =
        (struct daemon_context){.shared = pool->shared, .resumed = daemon_pool_on_resumed};
    pooled->pool = pool;
    pooled->daemon = pooled_daemon_start(pooled);
    if (!pooled->daemon) {
        free(pooled);
        return NULL;
    }
    int fd = MHD_get_daemon_info(pooled->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    uv_poll_init(pool->loop, &pooled->events, fd);
    pooled->events.data = pooled;
    TAILQ_INIT(&pooled->pending);
    uv_poll_start(&pooled->events, UV_READABLE, pooled_daemon_on_events);
    LIST_INSERT_HEAD(&pool->daemons, pooled, others);
    return pooled;
}

struct pooled_daemon *daemon_pool_available(struct daemon_pool *pool)
{
    for (struct pooled_daemon *pooled = LIST_FIRST(&pool->daemons); pooled;
         pooled = LIST_NEXT(pooled, others))
        if (pooled->connections < DAEMON_CONNECTIONS)
            return pooled;
    return pooled_daemon_new(pool);
}

static void pooled_daemon_run_once(struct pooled_daemon *pooled)
{
    pooled->context.runs++;
    MHD_run(pooled->daemon);
}

/* Leaves the daemon due if it has more to do at once. The library has no timeouts: clients.h keeps
 * the deadlines. */
static void pooled_daemon_run(struct pooled_daemon *pooled)
{
    unsigned long long timeout;
    struct client *client;
    bool begins = !TAILQ_EMPTY(&pooled->pending);
    pooled_daemon_run_once(pooled);
    while ((client = TAILQ_FIRST(&pooled->pending))) { /* the daemon could not begin with these */
        TAILQ_REMOVE(&pooled->pending, client, others);
        pooled_daemon_drop_client(pooled, client);
    }
    if (begins) /* it has read nothing from these clients yet, and closing may wait for that */
        pooled_daemon_run_once(pooled);
    if (MHD_get_timeout(pooled->daemon, &timeout) == MHD_YES)
        pooled_daemon_make_due(pooled);
}

static void daemon_pool_on_turn(uv_check_t *turn)
{
    struct daemon_pool *pool = turn->data;
    struct due due = TAILQ_HEAD_INITIALIZER(due);
    struct pooled_daemon *pooled;
    TAILQ_CONCAT(&due, &pool->due, others_due);
    while ((pooled = TAILQ_FIRST(&due))) {
        TAILQ_REMOVE(&due, pooled, others_due);
        pooled->is_due = false;
        pooled_daemon_run(pooled);
    }
    if (TAILQ_EMPTY(&pool->due))
        uv_idle_stop(&pool->busy);
    else
        daemon_pool_wake(pool);
    pool->turned(pool->turned_context);
}

/* Each worker may come to have daemons for all connections: daemons stay when connections move on
 * to another worker. */
unsigned daemon_pool_connections_most(unsigned descriptors, unsigned workers)
{
    unsigned others = workers * DAEMON_DESCRIPTORS;
    unsigned left = descriptors > others ? descriptors - others : 0;
    unsigned most = (unsigned)((uint64_t)left * DAEMON_CONNECTIONS / (DAEMON_CONNECTIONS + others));
    return most > 0 ? most : 1;
}

struct daemon_pool *daemon_pool_open(uv_loop_t *loop, struct request_context *shared,
                                     struct https *https, void (*turned)(void *context),
                                     void *context)
{
    struct daemon_pool *pool = memory_checked(calloc(1, sizeof *pool));
    *pool = (struct daemon_pool){.loop = loop,
                                 .shared = shared,
                                 .https = https_keep(https),
                                 .turned = turned,
                                 .turned_context = context};
    TAILQ_INIT(&pool->due);
    uv_check_init(loop, &pool->turn);
    uv_idle_init(loop, &pool->busy);
    pool->turn.data = pool->busy.data = pool;
    return pool;
}

void daemon_pool_set_https(struct daemon_pool *pool, struct https *https)
{
    https_drop(pool->https);
    pool->https = https_keep(https);
}

void daemon_pool_start(struct daemon_pool *pool)
{
    uv_check_start(&pool->turn, daemon_pool_on_turn);
}

/* The daemons are freed with the last handle. */
static void daemon_pool_on_handle_closed(uv_handle_t *handle)
{
    struct daemon_pool *pool = handle->data;
    struct pooled_daemon *pooled, *next;
    if (--pool->open_handles > 0)
        return;
    for (pooled = LIST_FIRST(&pool->daemons); pooled; pooled = next) {
        next = LIST_NEXT(pooled, others);
        free(pooled);
    }
    https_drop(pool->https);
    pool->closed(pool->closed_context);
    free(pool);
}

static void pooled_daemon_close(struct pooled_daemon *pooled)
{
    pooled->pool->open_handles++;
    pooled->events.data = pooled->pool; /* for the callback */
    uv_close((uv_handle_t *)&pooled->events, daemon_pool_on_handle_closed);
    MHD_stop_daemon(pooled->daemon);
}

void daemon_pool_close(struct daemon_pool *pool, void (*closed)(void *context), void *context)
{
    pool->closed = closed;
    pool->closed_context = context;
    for (struct pooled_daemon *pooled = LIST_FIRST(&pool->daemons); pooled;
         pooled = LIST_NEXT(pooled, others))
        pooled_daemon_close(pooled);
    pool->open_handles += HANDLES;
    uv_close((uv_handle_t *)&pool->turn, daemon_pool_on_handle_closed);
    uv_close((uv_handle_t *)&pool->busy, daemon_pool_on_handle_closed);
}
