#include "redis/wire/session.h"

#include "base/random.h"
#include "base/table.h"
#include "redis/wire/call.h"
#include "redis/wire/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PUSH_LENGTH = 1024, /* bytes, a few commands; from 512 to 4096 it makes no difference */
    STEADY_MS = 1000,   /* after a connection that lasted this long, the pause is short again */
};

void session_part_closed(void *context)
{
    struct session *session = context;
    if (--session->parts_open > 0)
        return;
    struct session_events events = session->events;
    tls_trust_close(session->trust);
    redis_url_free(&session->url);
    free(session);
    events.closed(events.context);
}

static void session_timer_closed(uv_handle_t *timer)
{
    session_part_closed(timer->data);
}

/* What the timer does in each state. */
#define DUE(X)                                                                                     \
    X(SESSION_WAITING, session_attempt)                                                            \
    X(SESSION_SEEKING, session_seeks)                                                              \
    X(SESSION_RESOLVING, session_resolver_slow)                                                    \
    X(SESSION_CONNECTING, session_connect_overdue)                                                 \
    X(SESSION_GREETING, session_connect_overdue)                                                   \
    X(SESSION_READY, session_woken)

static void session_timer_fired(uv_timer_t *timer);

void session_timer_set(struct session *session, uint64_t ms)
{
    session->timer_due = uv_now(session->loop) + ms;
    uv_timer_start(&session->timer, session_timer_fired, ms, 0);
}

/* Losing a connection */

/* Tries again after the pause, which grows. */
static void session_rest(struct session *session)
{
    session->state = SESSION_WAITING;
    session_forget_addresses(session);
    uint32_t half = session->pause_ms / 2;
    session_timer_set(session, half + random_below(half + 1));
    session->pause_ms = session->pause_ms * 2 < SESSION_PAUSE_MOST_MS ? session->pause_ms * 2
                                                                      : SESSION_PAUSE_MOST_MS;
}

bool session_note(struct session *session, const char *reason)
{
    if (strcmp(session->trouble, reason) == 0)
        return false;
    snprintf(session->trouble, sizeof session->trouble, "%s", reason);
    return true;
}

void session_lose(struct session *session, int code, const char *reason)
{
    if (session->closing)
        return;
    bool was_ready = session->state == SESSION_READY;
    struct session_loss loss = {
        .code = code,
        .was_ready = was_ready,
        .is_news = session_note(session, reason) || was_ready,
        .sent = session->connection ? connection_sent(session->connection) : 0,
        .reason = session->trouble,
    };
    if (was_ready && uv_now(session->loop) - session->ready_since >= STEADY_MS)
        session->pause_ms = SESSION_PAUSE_LEAST_MS;
    session_rest(session);
    session_drop_connection(session);
    session->events.lost(session->events.context, &loss);
    if (session->endpoint && !session->closing)
        session->endpoint->doubted(session->endpoint->context);
}

/* Sending */

uint64_t session_send(struct session *session, const char *bytes, size_t length)
{
    uint64_t end = connection_append(session->connection, bytes, length);
    connection_push(session->connection, PUSH_LENGTH);
    deferred_request(&session->deferred);
    return end;
}

void session_send_words(struct session *session, const struct slice *words, size_t count)
{
    struct call *call = call_new(CALL_BARE, words, count);
    session_send(session, call->bytes, call->length);
    free(call);
}

/* While the endpoint knows no server, nothing is under way that could be late. */
static void session_seeks(struct session *session)
{
    (void)session;
}

/* Time */

static void session_woken(struct session *session)
{
    session->events.woken(session->events.context);
}

static void session_timer_fired(uv_timer_t *timer)
{
    static void (*const FIRED[])(struct session * session) = {DUE(TABLE_ROW)};
    TABLE_IS_COMPLETE(DUE, SESSION_STATES);
    struct session *session = timer->data;
    if (!session->closing)
        FIRED[session->state](session);
}

/* Leaves a timer alone that is due earlier: when it fires, the owner checks what is due. So a busy
 * owner rarely sets it, and an idle owner never does. */
void session_wake(struct session *session, uint64_t due)
{
    if (uv_is_active((uv_handle_t *)&session->timer) && due >= session->timer_due)
        return;
    uint64_t now = uv_now(session->loop);
    session_timer_set(session, due > now ? due - now : 0);
}

void session_push(struct session *session)
{
    connection_push(session->connection, 1);
}

void session_flush(struct session *session)
{
    if (session->connection)
        connection_flush(session->connection);
}

bool session_read(struct session *session)
{
    return session->connection && connection_read(session->connection);
}

void session_request_turn(struct session *session)
{
    deferred_request(&session->deferred);
}

/* The end of a turn; opening and closing */

static void session_shut(struct session *session)
{
    struct session_loss loss = {
        .code = -ECANCELED,
        .reason = "the store is being closed",
        .was_ready = session->state == SESSION_READY,
        .sent = session->connection ? connection_sent(session->connection) : 0,
    };
    if (session->endpoint)
        endpoint_leave(session->endpoint, &session->follower);
    session_drop_connection(session);
    session->events.lost(session->events.context, &loss);
    session_forget_addresses(session);
    if (session->resolving)
        uv_cancel((uv_req_t *)&session->resolver);
    uv_close((uv_handle_t *)&session->timer, session_timer_closed);
    deferred_close(&session->deferred, session_part_closed);
}

static void session_turn_ends(void *context)
{
    struct session *session = context;
    if (session->closing) {
        session_shut(session);
        return;
    }
    session_flush(session);
    if (session->events.turn_ends)
        session->events.turn_ends(session->events.context);
}

static void session_start(struct session *session)
{
    session->pause_ms = SESSION_PAUSE_LEAST_MS;
    uv_timer_init(session->loop, &session->timer);
    session->timer.data = session;
    deferred_open(&session->deferred, session->loop, session_turn_ends, session);
    session->parts_open = 2;
    if (session->endpoint)
        endpoint_follow(session->endpoint, &session->follower);
    /* The loop makes the first try, too. */
    session->state = SESSION_WAITING;
    session_timer_set(session, 0);
}

/* With an endpoint, the URL later gets the address of the server to which the endpoint points. */
static int session_take_url(struct session *session, const struct redis_url *url)
{
    enum redis_kind kind = url->kind == REDIS_CLUSTER ? REDIS_NODE : REDIS_SERVER;
    return session->endpoint ? redis_url_of(url, kind, "", 0, &session->url)
                             : redis_url_copy(url, &session->url);
}

int session_open(struct session **ret, uv_loop_t *loop, const struct redis_url *url,
                 struct endpoint *endpoint, const struct session_events *events,
                 struct failure *failure)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return failure_set(failure, -ENOMEM, "no memory");
    session->loop = loop;
    session->events = *events;
    session->endpoint = endpoint;
    session->follower = (struct follower){.context = session, .changed = session_endpoint_changed};
    int result = session_take_url(session, url);
    if (result < 0)
        failure_set(failure, result, "no memory");
    else if (url->tls)
        result = tls_trust_open(&session->trust,
                                &(struct tls_files){url->ca, url->certificate, url->key}, failure);
    if (result < 0) {
        redis_url_free(&session->url);
        free(session);
        return result;
    }
    session_name_place(session);
    if (session->url.path)
        session_name_socket(session);
    session_start(session);
    *ret = session;
    return 0;
}

void session_close(struct session *session)
{
    session->closing = true;
    deferred_request(&session->deferred);
}

bool session_is_ready(const struct session *session)
{
    return session->state == SESSION_READY && !session->closing;
}

const char *session_trouble(const struct session *session)
{
    return session->trouble;
}

const char *session_place(const struct session *session)
{
    return session->place;
}
