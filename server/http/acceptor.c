#include "server/http/acceptor.h"

#include "base/memory.h"
#include "server/http/lingering_close.h"

#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

enum {
    ACCEPTED_AT_ONCE = 64, /* then other events have their turn */
    ACCEPTED_LAST = 4096,  /* while closing: clients that keep connecting must not delay it */
    ACCEPT_AGAIN_MS = 100, /* after accept(2) has failed, or every connection slot is taken */
    LOG_AGAIN_MS = 60 * 1000,
    PARTS = 2,
};

struct acceptor {
    struct acceptor_options options;
    bool closing;
    bool full;                       /* accepting pauses: every connection slot is taken */
    uv_poll_t clients;               /* readable: the listening socket has connections for us */
    uv_timer_t again;                /* until connections are accepted again */
    uint64_t full_again, many_again; /* until then neither is logged again */
    int parts;                       /* parts that are not closed yet */
    void (*closed)(void *context);
    void *context;
};

static void acceptor_on_again(uv_timer_t *timer)
{
    acceptor_open(timer->data);
}

/* Pauses, since descriptors, memory or slots have run out while the socket stays readable. */
static void acceptor_pause(struct acceptor *acceptor)
{
    uv_poll_stop(&acceptor->clients);
    if (!acceptor->closing)
        uv_timer_start(&acceptor->again, acceptor_on_again, ACCEPT_AGAIN_MS, 0);
}

/* True at most once a minute. */
static bool acceptor_may_log(const struct acceptor *acceptor, uint64_t *again)
{
    uint64_t now = uv_now(acceptor->options.loop);
    if (now < *again)
        return false;
    *again = now + LOG_AGAIN_MS;
    return true;
}

/* Every connection slot is taken. New clients wait in the kernel, in order, until a connection ends
 * or misses its deadline. Idle ones are closed to make room: otherwise health checks would get no
 * answer either. Refusing clients would be work that attackers can ask for. */
static void acceptor_pause_full(struct acceptor *acceptor)
{
    if (!acceptor->full)
        metrics_add(&acceptor->options.metrics->out_of_place, 1);
    acceptor->full = true;
    if (acceptor_may_log(acceptor, &acceptor->full_again))
        log_line(acceptor->options.log, LOG_WARN, acceptor->options.when_full, NULL);
    clients_drop_idle(acceptor->options.clients);
    acceptor_pause(acceptor);
}

/* Closes a connection of an address that has too many. Without TLS, the client gets a reply that
 * says so. */
static void acceptor_reject(struct acceptor *acceptor, int fd, const struct sockaddr_storage *from,
                            socklen_t length)
{
    char address[INET6_ADDRSTRLEN + IF_NAMESIZE] = "?";
    metrics_add(&acceptor->options.metrics->turned_away, 1);
    connection_limits_release(acceptor->options.limits);
    if (acceptor_may_log(acceptor, &acceptor->many_again)) {
        getnameinfo((const struct sockaddr *)from, length, address, sizeof address, NULL, 0,
                    NI_NUMERICHOST);
        log_line(acceptor->options.log, LOG_WARN,
                 "refused a connection: its address has all that max-connections-per-address "
                 "allows; if it is a proxy, name it in trusted-proxies",
                 "address", address, NULL);
    }
    lingering_close_begin(acceptor->options.lingering, fd, acceptor->options.too_many,
                          strlen(acceptor->options.too_many));
}

static void acceptor_admit(struct acceptor *acceptor, struct pooled_daemon *pooled, int fd,
                           const struct sockaddr_storage *from, socklen_t length)
{
    struct source_address *address;
    if (connection_limits_enter(acceptor->options.limits, from, &address))
        pooled_daemon_take(pooled, client_new(acceptor->options.clients, fd, from, address), from,
                           length);
    else
        acceptor_reject(acceptor, fd, from, length);
}

/* Takes one connection from the kernel, for which a slot is reserved. False: do not try another. */
static bool acceptor_accept_into(struct acceptor *acceptor, struct pooled_daemon *pooled)
{
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    int fd = accept4(acceptor->options.listen_fd, (struct sockaddr *)&from, &length,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        acceptor->full = false;
        acceptor_admit(acceptor, pooled, fd, &from, length);
        return true;
    }
    bool gone = errno == ECONNABORTED || errno == EINTR;
    if (!gone && errno != EAGAIN)
        acceptor_pause(acceptor);
    connection_limits_release(acceptor->options.limits);
    return gone;
}

static bool acceptor_accept_one(struct acceptor *acceptor)
{
    if (!connection_limits_reserve(acceptor->options.limits)) {
        acceptor_pause_full(acceptor);
        return false;
    }
    struct pooled_daemon *pooled = daemon_pool_available(acceptor->options.pool);
    if (pooled)
        return acceptor_accept_into(acceptor, pooled);
    connection_limits_release(acceptor->options.limits);
    acceptor_pause(acceptor);
    return false;
}

static void acceptor_accept(struct acceptor *acceptor, int most)
{
    while (most > 0 && acceptor_accept_one(acceptor))
        most--;
}

static void acceptor_on_clients(uv_poll_t *clients, int status, int what)
{
    (void)status, (void)what;
    acceptor_accept(clients->data, ACCEPTED_AT_ONCE);
}

struct acceptor *acceptor_new(const struct acceptor_options *options)
{
    struct acceptor *acceptor = memory_checked(calloc(1, sizeof *acceptor));
    acceptor->options = *options;
    uv_poll_init(options->loop, &acceptor->clients, options->listen_fd);
    uv_timer_init(options->loop, &acceptor->again);
    acceptor->clients.data = acceptor->again.data = acceptor;
    return acceptor;
}

void acceptor_open(struct acceptor *acceptor)
{
    if (!acceptor->closing)
        uv_poll_start(&acceptor->clients, UV_READABLE, acceptor_on_clients);
}

static void acceptor_on_handle_closed(uv_handle_t *handle)
{
    struct acceptor *acceptor = handle->data;
    if (--acceptor->parts > 0)
        return;
    acceptor->closed(acceptor->context);
    free(acceptor);
}

/* Closes the handle before its descriptor, which another worker may get next. */
void acceptor_close(struct acceptor *acceptor, void (*closed)(void *context), void *context)
{
    acceptor->closed = closed;
    acceptor->context = context;
    acceptor->closing = true;
    acceptor_accept(acceptor, ACCEPTED_LAST);
    acceptor->parts = PARTS;
    uv_close((uv_handle_t *)&acceptor->clients, acceptor_on_handle_closed);
    uv_close((uv_handle_t *)&acceptor->again, acceptor_on_handle_closed);
    close(acceptor->options.listen_fd);
}
