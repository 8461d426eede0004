#include "server/http/callers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    PLACES_AT_ONCE = 16,
    IDLE_LEAST_MS = 1000, /* who was just answered may be about to ask again */
};

struct callers {
    struct callers_options options;
    struct deadlines deadlines;
    uv_timer_t timer;  /* rings when the first deadline is missed, or before */
    uint64_t rings_at; /* UINT64_MAX where it is not set */
    size_t arriving;
    void (*closed)(void *context);
    void *context;
};

static void on_timer(uv_timer_t *timer);

/* Deadlines are moved far more often than missed: the timer is only ever set to an earlier time,
 * and looks when it rings whether there is anything to do. */
static void ring_at(struct callers *callers, uint64_t at)
{
    uint64_t now = uv_now(callers->options.loop);
    if (at >= callers->rings_at)
        return;
    callers->rings_at = at;
    uv_timer_start(&callers->timer, on_timer, at > now ? at - now : 0, 0);
}

static void count_missed(struct callers *callers, enum deadline_kind kind)
{
    struct metrics *metrics = callers->options.metrics;
    atomic_uint_fast64_t *const NUMBERS[DEADLINE_KINDS] = {
        [DEADLINE_HEAD] = &metrics->late_heads,
        [DEADLINE_BODY] = &metrics->late_bodies,
        [DEADLINE_REPLY] = &metrics->unread_replies,
        [DEADLINE_IDLE] = &metrics->idle_ends,
    };
    metrics_add(NUMBERS[kind], 1);
}

bool caller_write(struct caller *caller, const char *text, size_t length)
{
    ssize_t sent = caller->tls.https ? gnutls_record_send(caller->tls.session, text, length)
                                     : send(caller->fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent == (ssize_t)length;
}

/* What it has yet to send would reset the connection, and its answer might be lost with it. */
static void linger(const struct caller *caller)
{
    int fd = fcntl(caller->fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        lingering_close_begin(caller->callers->options.lingering, fd, "", 0);
}

/* In the midst of a reply it would be a lie, and before the first request too early. */
static void say_goodbye(struct caller *caller)
{
    if (caller->deadline.kind == DEADLINE_IDLE)
        https_session_say_goodbye(&caller->tls);
}

void callers_say_goodbye(struct callers *callers)
{
    struct deadline *any;
    while ((any = deadlines_missed(&callers->deadlines, UINT64_MAX))) {
        say_goodbye((struct caller *)any);
        caller_expect((struct caller *)any, DEADLINE_NONE);
    }
}

/* libmicrohttpd finds the connection closed by its client and ends it, in its own time. So far it
 * has written nothing to the request of one that is told that it is too slow. */
static void hang_up(struct caller *caller)
{
    const char *text = caller->callers->options.too_slow;
    bool can_be_told = caller->asks && !caller->tls.https;
    count_missed(caller->callers, caller->deadline.kind);
    say_goodbye(caller);
    caller_expect(caller, DEADLINE_NONE);
    if (can_be_told)
        send(caller->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(caller->fd, SHUT_RDWR);
}

static bool has_been_idle(const struct callers *callers, const struct deadline *idle)
{
    uint64_t now = uv_now(callers->options.loop);
    return (int64_t)(now - idle->at) >= IDLE_LEAST_MS - callers->options.lasts_ms[DEADLINE_IDLE];
}

void callers_make_places(struct callers *callers)
{
    struct deadline *idle;
    for (int i = 0; i < PLACES_AT_ONCE; i++) {
        idle = deadlines_first(&callers->deadlines, DEADLINE_IDLE);
        if (!idle || !has_been_idle(callers, idle))
            return;
        hang_up((struct caller *)idle);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct callers *callers = timer->data;
    uint64_t now = uv_now(callers->options.loop), next;
    struct deadline *missed;
    callers->rings_at = UINT64_MAX;
    while ((missed = deadlines_missed(&callers->deadlines, now)))
        hang_up((struct caller *)missed);
    if (deadlines_next(&callers->deadlines, &next))
        ring_at(callers, next);
}

struct callers *callers_open(const struct callers_options *options)
{
    struct callers *callers = calloc(1, sizeof *callers);
    if (!callers)
        abort();
    callers->options = *options;
    callers->rings_at = UINT64_MAX;
    deadlines_init(&callers->deadlines, options->lasts_ms);
    uv_timer_init(options->loop, &callers->timer);
    callers->timer.data = callers;
    return callers;
}

static void on_closed(uv_handle_t *handle)
{
    struct callers *callers = handle->data;
    callers->closed(callers->context);
    free(callers);
}

void callers_close(struct callers *callers, void (*closed)(void *context), void *context)
{
    callers->closed = closed;
    callers->context = context;
    uv_close((uv_handle_t *)&callers->timer, on_closed);
}

struct caller *caller_new(struct callers *callers, int fd, const struct sockaddr_storage *from,
                          struct address *address)
{
    struct caller *caller = calloc(1, sizeof *caller);
    if (!caller)
        abort();
    caller->callers = callers;
    caller->fd = fd;
    caller->address = address;
    caller->arrives = true;
    callers->arriving++;
    struct ip ip;
    if (ip_of(from, &ip))
        ip_write(&ip, caller->place);
    metrics_add(&callers->options.metrics->connections, 1);
    caller_expect(caller, DEADLINE_HEAD);
    return caller;
}

void caller_shakes_hands(struct caller *caller, struct https *https, gnutls_session_t session)
{
    https_session_begin(&caller->tls, https, session);
}

static void has_arrived(struct caller *caller)
{
    caller->callers->arriving -= caller->arrives;
    caller->arrives = false;
}

size_t callers_arriving(const struct callers *callers)
{
    return callers->arriving;
}

void caller_free(struct caller *caller)
{
    struct callers *callers = caller->callers;
    has_arrived(caller);
    caller_expect(caller, DEADLINE_NONE);
    if (caller->lingers)
        linger(caller);
    if (caller->told)
        delivery_check(callers->options.deliveries, caller->fd, caller->told);
    metrics_add(&callers->options.metrics->connections, -1);
    addresses_leave(callers->options.addresses, caller->address);
    addresses_give_place(callers->options.addresses);
    https_session_end(&caller->tls);
    free(caller);
}

void caller_expect(struct caller *caller, enum deadline_kind kind)
{
    struct callers *callers = caller->callers;
    deadlines_set(&callers->deadlines, &caller->deadline, kind, uv_now(callers->options.loop));
    if (kind != DEADLINE_NONE)
        ring_at(callers, caller->deadline.at);
    caller->asks &= kind == DEADLINE_HEAD || kind == DEADLINE_BODY;
}

void caller_asks(struct caller *caller)
{
    if (caller->deadline.kind != DEADLINE_HEAD)
        caller_expect(caller, DEADLINE_HEAD);
    has_arrived(caller);
    caller->asks = true;
    caller_told(caller, NULL);
}

void caller_told(struct caller *caller, struct undelivered *told)
{
    undelivered_free(caller->told);
    if (told && caller->tls.https &&
        delivery_find_refused(caller->callers->options.deliveries, caller->fd, told))
        told = NULL;
    caller->told = told;
}
