#include "base/memory.h"
#include "redis/wire/session_state.h"

#include "base/table.h"
#include <errno.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <stdio.h>

static void session_try(struct session *session);

void session_forget_addresses(struct session *session)
{
    uv_freeaddrinfo(session->resolved);
    session->resolved = NULL;
    session->candidate = NULL;
}

void session_drop_connection(struct session *session)
{
    connection_close(session->connection);
    session->connection = NULL;
}

/* Addresses */

/* A kind without words never has a session: each of its servers has one. */
#define PLACES(X)                                                                                  \
    X(REDIS_SERVER, "Redis at ")                                                                   \
    X(REDIS_SENTINEL, "the sentinel at ")                                                          \
    X(REDIS_WATCHED, "")                                                                           \
    X(REDIS_QUORUM, "")                                                                            \
    X(REDIS_NODE, "Redis at ")                                                                     \
    X(REDIS_CLUSTER, "")

void session_name_place(struct session *session)
{
    static const char *const WORDS[] = {PLACES(TABLE_ROW)};
    TABLE_IS_COMPLETE(PLACES, REDIS_KINDS);
    const char *word = WORDS[session->url.kind];
    size_t length = strlen(word);
    memcpy(session->place, word, length);
    redis_url_describe(&session->url, session->place + length, sizeof session->place - length);
}

void session_name_socket(struct session *session)
{
    session->unix_address.sun_family = AF_UNIX;
    snprintf(session->unix_address.sun_path, sizeof session->unix_address.sun_path, "%s",
             session->url.path);
    session->unix_info = (struct addrinfo){
        .ai_addr = (struct sockaddr *)&session->unix_address,
        .ai_addrlen = sizeof session->unix_address,
    };
}

/* Some servers close a connection without TLS, and others wait for more, before they have answered
 * anything. */
static const char *session_tls_hint(const struct session *session)
{
    bool has_answered = session->ready_since != 0 || session->greeting.answered > 0;
    if (session->state == SESSION_GREETING && !session->trust && !session->url.path &&
        !has_answered)
        return " If this port wants TLS, write rediss in place of redis in redis-url.";
    if (session->state == SESSION_CONNECTING && session->trust &&
        connection_is_accepted(session->connection))
        return " " TLS_HINT;
    return "";
}

/* This address does not work; tries the next address of the same name. */
static void session_retreat(struct session *session, int code, const char *reason)
{
    const struct addrinfo *next = session->candidate->ai_next;
    if (!next) {
        session_lose(session, code, reason);
        return;
    }
    session_drop_connection(session);
    session->candidate = next;
    session_try(session);
}

/* The greeting */

static void session_say(void *context, const struct slice *words, size_t count)
{
    session_send_words(context, words, count);
}

static void session_greet(void *context)
{
    struct session *session = context;
    if (session->closing)
        return;
    session->state = SESSION_GREETING;
    greeting_begin(&session->greeting, &session->url, session->place, session_say, session);
    session->greeting.primary_only = session->endpoint && !session->endpoint->takes_replicas;
    session->greeting.replica_will_do = session->endpoint && session->endpoint->takes_replicas;
}

static void session_come_up(struct session *session)
{
    const struct greeting *greeting = &session->greeting;
    uv_timer_stop(&session->timer);
    session_forget_addresses(session);
    session->state = SESSION_READY;
    session->ready_since = uv_now(session->loop);
    session->trouble[0] = '\0';
    struct session_peer peer = {
        .client_id = greeting->client_id,
        .warning = greeting->warning.text[0] ? &greeting->warning : NULL,
        .info = &greeting->info,
    };
    session->events.ready(session->events.context, &peer);
}

static void session_greeted(struct session *session, const redisReply *reply)
{
    struct failure reason;
    int result = greeting_answered(&session->greeting, reply, &reason);
    if (result == 0)
        session_come_up(session);
    else if (result != -EINPROGRESS)
        session_retreat(session, result, reason.text);
}

/* Events of the connection. While the session closes, only replies count. */

static void session_replied(void *context, const redisReply *reply)
{
    struct session *session = context;
    if (session->state == SESSION_READY)
        session->events.replied(session->events.context, reply);
    else if (!session->closing)
        session_greeted(session, reply);
}

static void session_lost(void *context, int code, const char *why)
{
    struct session *session = context;
    struct failure reason;
    if (session->closing)
        return;
    if (session->state == SESSION_READY) {
        failure_set(&reason, code, "the connection to %s was lost: %s", session->place, why);
        session_lose(session, code, reason.text);
    } else {
        const char *hint = session_tls_hint(session);
        failure_set(&reason, code, "cannot connect to %s: %s%s%s", session->place, why,
                    hint[0] ? "." : "", hint);
        session_retreat(session, code, reason.text);
    }
}

/* Connecting */

static void session_try(struct session *session)
{
    static const struct connection_events EVENTS = {
        .connected = session_greet,
        .replied = session_replied,
        .lost = session_lost,
        .closed = session_part_closed,
    };
    struct connection_events events = EVENTS;
    events.context = session;
    struct connection_target target = {
        .address = session->candidate->ai_addr,
        .address_length = session->candidate->ai_addrlen,
        .trust = session->trust,
        .host = session->url.server_name ? session->url.server_name : session->url.host,
    };
    session->state = SESSION_CONNECTING;
    session_timer_set(session, SESSION_CONNECT_MS);
    int result = connection_open(&session->connection, session->loop, &target, &events);
    if (result == 0)
        session->parts_open++;
    else
        session_lost(session, -EAGAIN, strerror(-result));
}

static bool session_is_astray(const struct session *session)
{
    const struct endpoint *endpoint = session->endpoint;
    if (!endpoint)
        return false;
    return endpoint->forbids ||
           (endpoint->knows && !endpoint_is(endpoint, session->url.host, session->url.port));
}

static void session_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct session *session = request->data;
    session->resolving = false;
    if (session->closing) {
        uv_freeaddrinfo(addresses);
    } else if (session_is_astray(session)) {
        uv_freeaddrinfo(addresses);
        session_attempt(session);
    } else if (status < 0) {
        struct failure reason;
        failure_set(&reason, -EAGAIN, "cannot find the address of %s: %s", session->place,
                    uv_strerror(status));
        session_lose(session, -EAGAIN, reason.text);
    } else {
        session->resolved = addresses;
        session->candidate = addresses;
        session_try(session);
    }
    session_part_closed(session);
}

/* An IP address needs no resolver, which may be busy with names that no DNS server answers. */
static bool session_resolve_address(struct session *session, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    if (getaddrinfo(session->url.host, port, &hints, &session->resolved) != 0) {
        session->resolved = NULL;
        return false;
    }
    session->candidate = session->resolved;
    session_try(session);
    return true;
}

static void session_resolve(struct session *session)
{
    char port[16];
    snprintf(port, sizeof port, "%d", session->url.port);
    if (session_resolve_address(session, port))
        return;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    session->state = SESSION_RESOLVING;
    session->resolver.data = session;
    session->resolving = true;
    session->parts_open++;
    session_timer_set(session, SESSION_CONNECT_MS);
    int result = uv_getaddrinfo(session->loop, &session->resolver, session_resolved,
                                session->url.host, port, &hints);
    if (result < 0)
        session_resolved(&session->resolver, result, NULL);
}

/* Puts the address of the server to which the endpoint points into the URL. */
static void session_turn(struct session *session)
{
    char *host = memory_checked(strdup(session->endpoint->host));
    free(session->url.host);
    session->url.host = host;
    session->url.port = session->endpoint->port;
    session_name_place(session);
}

static void session_attempt_endpoint(struct session *session)
{
    const struct endpoint *endpoint = session->endpoint;
    if (endpoint->knows) {
        session_turn(session);
        session_resolve(session);
    } else if (endpoint->asks) {
        session->state = SESSION_SEEKING;
    } else {
        session_lose(session, endpoint->code, endpoint->reason.text);
    }
}

void session_attempt(struct session *session)
{
    if (session->endpoint) {
        session_attempt_endpoint(session);
    } else if (session->url.host) {
        session_resolve(session);
    } else {
        session->candidate = &session->unix_info;
        session_try(session);
    }
}

/* Reconnects at once, without the pause: the next server has not failed. */
static void session_leave_server(struct session *session)
{
    const struct endpoint *endpoint = session->endpoint;
    struct failure reason;
    if (endpoint->forbids)
        failure_set(&reason, -EAGAIN, "%s", endpoint->reason.text);
    else
        failure_set(&reason, -EAGAIN, "the primary is %s:%d now, and no longer %s", endpoint->host,
                    endpoint->port, session->place);
    session_lose(session, -EAGAIN, reason.text);
    session->pause_ms = SESSION_PAUSE_LEAST_MS;
    if (session->state == SESSION_WAITING && !session->closing)
        session_timer_set(session, 0);
}

void session_endpoint_changed(void *context)
{
    struct session *session = context;
    if (session->closing || session->state == SESSION_RESOLVING)
        return; /* session_resolved checks */
    if (session->state == SESSION_SEEKING)
        session_attempt(session);
    else if (session->state == SESSION_WAITING && session->endpoint->knows)
        session_timer_set(session, 0);
    else if (session->state != SESSION_WAITING && session_is_astray(session))
        session_leave_server(session);
}

/* Time */

/* A running lookup cannot be stopped; the owner only hears why it takes so long. */
void session_resolver_slow(struct session *session)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "cannot find the address of %s: the resolver does not answer",
                session->place);
    struct session_loss loss = {.code = -EAGAIN, .reason = session->trouble, .is_news = true};
    if (session_note(session, reason.text))
        session->events.lost(session->events.context, &loss);
}

void session_connect_overdue(struct session *session)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN,
                "cannot connect to %s: no answer within %d ms. Is it stopped or overloaded?%s",
                session->place, SESSION_CONNECT_MS, session_tls_hint(session));
    session_retreat(session, -EAGAIN, reason.text);
}
