#include "server/http/clients.h"

#include "base/memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

enum {
    IDLE_DROPPED_AT_ONCE = 16,
    IDLE_LEAST_MS = 1000, /* a client with a fresh reply may be about to ask again */
};

struct clients {
    struct clients_options options;
    struct deadlines deadlines;
    uv_timer_t timer;  /* fires at the first deadline, or before */
    uint64_t rings_at; /* UINT64_MAX: not set */
    size_t arriving;
};

static void clients_on_timer(uv_timer_t *timer);

/* Deadlines move far more often than clients miss them. So the timer is only ever set to an earlier
 * time; when it fires, it checks whether a deadline is missed. */
static void clients_set_timer(struct clients *clients, uint64_t at)
{
    uint64_t now = uv_now(clients->options.loop);
    if (at >= clients->rings_at)
        return;
    clients->rings_at = at;
    uv_timer_start(&clients->timer, clients_on_timer, at > now ? at - now : 0, 0);
}

static void clients_count_missed(struct clients *clients, enum deadline_kind kind)
{
    struct metrics *metrics = clients->options.metrics;
    atomic_uint_fast64_t *const NUMBERS[DEADLINE_KINDS] = {
        [DEADLINE_HEAD] = &metrics->late_heads,
        [DEADLINE_BODY] = &metrics->late_bodies,
        [DEADLINE_REPLY] = &metrics->unread_replies,
        [DEADLINE_IDLE] = &metrics->idle_ends,
    };
    metrics_add(NUMBERS[kind], 1);
}

bool client_write(struct client *client, const char *text, size_t length)
{
    ssize_t sent = client->tls.https ? gnutls_record_send(client->tls.session, text, length)
                                     : send(client->fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent == (ssize_t)length;
}

/* Keeps the socket open: what the client still sends would reset the connection, and the client
 * might lose its reply. */
static void client_linger(const struct client *client)
{
    int fd = fcntl(client->fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        lingering_close_begin(client->clients->options.lingering, fd, "", 0);
}

/* Does so only between requests: during a reply it would be false, before the first request too
 * early. */
static void client_send_close_notify(struct client *client)
{
    if (client->deadline.kind == DEADLINE_IDLE)
        https_session_send_close_notify(&client->tls);
}

void clients_send_close_notify(struct clients *clients)
{
    struct deadline *any;
    while ((any = deadlines_missed(&clients->deadlines, UINT64_MAX))) {
        client_send_close_notify((struct client *)any);
        client_expect((struct client *)any, DEADLINE_NONE);
    }
}

/* libmicrohttpd finds the connection closed by its client, and ends it later. It has written
 * nothing yet for a request that gets `too_slow`. */
static void client_disconnect(struct client *client)
{
    const char *text = client->clients->options.too_slow;
    bool can_be_answered = client->sends_request && !client->tls.https;
    clients_count_missed(client->clients, client->deadline.kind);
    client_send_close_notify(client);
    client_expect(client, DEADLINE_NONE);
    if (can_be_answered)
        send(client->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(client->fd, SHUT_RDWR);
}

static bool client_was_idle(const struct clients *clients, const struct deadline *idle)
{
    uint64_t now = uv_now(clients->options.loop);
    return (int64_t)(now - idle->at) >= IDLE_LEAST_MS - clients->options.lasts_ms[DEADLINE_IDLE];
}

void clients_drop_idle(struct clients *clients)
{
    struct deadline *idle;
    for (int i = 0; i < IDLE_DROPPED_AT_ONCE; i++) {
        idle = deadlines_first(&clients->deadlines, DEADLINE_IDLE);
        if (!idle || !client_was_idle(clients, idle))
            return;
        client_disconnect((struct client *)idle);
    }
}

static void clients_on_timer(uv_timer_t *timer)
{
    struct clients *clients = timer->data;
    uint64_t now = uv_now(clients->options.loop), next;
    struct deadline *missed;
    clients->rings_at = UINT64_MAX;
    while ((missed = deadlines_missed(&clients->deadlines, now)))
        client_disconnect((struct client *)missed);
    if (deadlines_next(&clients->deadlines, &next))
        clients_set_timer(clients, next);
}

struct clients *clients_open(const struct clients_options *options)
{
    struct clients *clients = memory_checked(calloc(1, sizeof *clients));
    clients->options = *options;
    clients->rings_at = UINT64_MAX;
    deadlines_init(&clients->deadlines, options->lasts_ms);
    uv_timer_init(options->loop, &clients->timer);
    clients->timer.data = clients;
    return clients;
}

static void clients_on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void clients_close(struct clients *clients)
{
    uv_close((uv_handle_t *)&clients->timer, clients_on_closed);
}

struct client *client_new(struct clients *clients, int fd, const struct sockaddr_storage *from,
                          struct source_address *address)
{
    struct client *client = memory_checked(calloc(1, sizeof *client));
    client->clients = clients;
    client->fd = fd;
    client->address = address;
    client->is_new = true;
    clients->arriving++;
    struct ip ip;
    if (ip_of(from, &ip))
        ip_write(&ip, client->address_text);
    metrics_add(&clients->options.metrics->connections, 1);
    client_expect(client, DEADLINE_HEAD);
    return client;
}

static void client_has_arrived(struct client *client)
{
    client->clients->arriving -= client->is_new;
    client->is_new = false;
}

size_t clients_arriving(const struct clients *clients)
{
    return clients->arriving;
}

void client_free(struct client *client)
{
    struct clients *clients = client->clients;
    client_has_arrived(client);
    client_expect(client, DEADLINE_NONE);
    if (client->lingers)
        client_linger(client);
    if (client->undelivered)
        delivery_check(clients->options.deliveries, client->fd, client->undelivered);
    metrics_add(&clients->options.metrics->connections, -1);
    connection_limits_leave(clients->options.limits, client->address);
    connection_limits_release(clients->options.limits);
    https_session_end(&client->tls);
    free(client);
}

void client_expect(struct client *client, enum deadline_kind kind)
{
    struct clients *clients = client->clients;
    deadlines_set(&clients->deadlines, &client->deadline, kind, uv_now(clients->options.loop));
    if (kind != DEADLINE_NONE)
        clients_set_timer(clients, client->deadline.at);
    client->sends_request &= kind == DEADLINE_HEAD || kind == DEADLINE_BODY;
}

void client_begin_request(struct client *client)
{
    if (client->deadline.kind != DEADLINE_HEAD)
        client_expect(client, DEADLINE_HEAD);
    client_has_arrived(client);
    client->sends_request = true;
    client_keep_undelivered(client, NULL);
}

void client_keep_undelivered(struct client *client, struct undelivered *undelivered)
{
    undelivered_free(client->undelivered);
    if (undelivered && client->tls.https &&
        delivery_check_find_refused(client->clients->options.deliveries, client->fd, undelivered))
        undelivered = NULL;
    client->undelivered = undelivered;
}
