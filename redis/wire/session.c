#include "redis/wire/session.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/table.h"
#include "redis/tls/reason.h"
#include "redis/wire/connection.h"
#include "redis/wire/deferred.h"
#include "redis/wire/errors.h"
#include "redis/wire/gather.h"
#include "redis/wire/greeting.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

enum {
    PUSH_LENGTH = 1024, /* bytes, a few commands; from 512 to 4096 it makes no difference */
    STEADY_MS = 1000,   /* after a connection that lasted this long, the pause is short again */
    PLACE_SIZE = 300,
    TROUBLE_SIZE = sizeof((struct failure *)0)->text,
};

enum session_state {
    SESSION_WAITING,    /* for the next try */
    SESSION_SEEKING,    /* for the endpoint to know the server */
    SESSION_RESOLVING,  /* the host's name */
    SESSION_CONNECTING, /* to `candidate` */
    SESSION_GREETING,   /* AUTH, SELECT, CLIENT ID, INFO are on their way */
    SESSION_READY,
    SESSION_STATES /* the number of states */
};

struct session {
    uv_loop_t *loop;
    struct redis_url url;
    char place[PLACE_SIZE];
    struct endpoint *endpoint; /* NULL: the URL names the server */
    struct follower follower;  /* of the endpoint */
    struct session_events events;
    enum session_state state;
    bool closing;

    /* One timer is enough: the pause, the time to connect and session_wake never overlap. */
    uv_timer_t timer;
    uint64_t timer_due; /* on the loop's clock, in ms, as are all times here */
    struct deferred deferred;
    uv_getaddrinfo_t resolver;
    bool resolving;
    int parts_open; /* open handles: the timer, `deferred`, a lookup, each connection */

    struct addrinfo *resolved; /* for uv_freeaddrinfo */
    struct addrinfo unix_info; /* stands for a resolved address */
    struct sockaddr_un unix_address;
    const struct addrinfo *candidate; /* the address in use */
    struct connection *connection;

    struct greeting greeting;
    uint32_t pause_ms;
    uint64_t ready_since;
    char trouble[TROUBLE_SIZE];

    struct call_queue pending; /* requests that were sent, in the order of their answers */
    struct gather
        gather; /* script calls that go at the end of the turn, or before the next request */
    struct call_queue refused;  /* script calls that end at the end of the turn */
    uint64_t received_at;       /* when Redis last sent anything */
    uint64_t asked;             /* as session_asked */
    bool asks_soon;             /* as session_ask_soon */
    char leaving[TROUBLE_SIZE]; /* why the session takes no new request, and ends the connection
                                 * once Redis has answered; "" if it is not retired */
    bool is_answering; /* hands out an answer, and then checks whether that was the last one */
};

/* Its condition */

static bool session_is_connected(const struct session *session)
{
    return session->state == SESSION_READY && !session->closing;
}

bool session_is_ready(const struct session *session)
{
    return session_is_connected(session) && !session->leaving[0];
}

bool session_is_idle(const struct session *session)
{
    return !session->pending.head && session->gather.count == 0;
}

const char *session_trouble(const struct session *session)
{
    return session->leaving[0] ? session->leaving : session->trouble;
}

unsigned session_timeout_ms(const struct session *session)
{
    return (unsigned)session->url.timeout_ms;
}

const char *session_place(const struct session *session)
{
    return session->place;
}

uint64_t session_asked(const struct session *session)
{
    return session->asked;
}

/* The timer */

static void session_timer_fired(uv_timer_t *timer);

static void session_timer_set(struct session *session, uint64_t ms)
{
    session->timer_due = uv_now(session->loop) + ms;
    uv_timer_start(&session->timer, session_timer_fired, ms, 0);
}

/* While the session is ready: looks after its requests at `due` or before. Leaves a timer alone
 * that is due earlier. So a busy session rarely sets it, and an idle one never does. */
static void session_wake(struct session *session, uint64_t due)
{
    if (uv_is_active((uv_handle_t *)&session->timer) && due >= session->timer_due)
        return;
    uint64_t now = uv_now(session->loop);
    session_timer_set(session, due > now ? due - now : 0);
}

/* Losing a connection */

static void session_forget_addresses(struct session *session)
{
    uv_freeaddrinfo(session->resolved);
    session->resolved = NULL;
    session->candidate = NULL;
}

static void session_drop_connection(struct session *session)
{
    connection_close(session->connection);
    session->connection = NULL;
}

/* Tries again after the pause, which grows. */
static void session_back_off(struct session *session)
{
    session->state = SESSION_WAITING;
    session_forget_addresses(session);
    uint32_t half = session->pause_ms / 2;
    session_timer_set(session, half + random_below(half + 1));
    session->pause_ms = session->pause_ms * 2 < SESSION_PAUSE_MOST_MS ? session->pause_ms * 2
                                                                      : SESSION_PAUSE_MOST_MS;
}

/* Keeps `reason` as the trouble of the session. Returns true if it is a new one. */
static bool session_note(struct session *session, const char *reason)
{
    if (strcmp(session->trouble, reason) == 0)
        return false;
    snprintf(session->trouble, sizeof session->trouble, "%s", reason);
    return true;
}

static void session_fail_refused(struct session *session, enum store_outcome outcome,
                                 const char *reason)
{
    struct call_queue calls = call_queue_take(&session->refused);
    for (struct call *call = call_queue_pop(&calls); call; call = call_queue_pop(&calls))
        call_finish(call, outcome, NULL, reason);
}

/* Ends a request, or each call that it makes. */
static void session_fail(struct call *call, enum store_outcome outcome, const char *reason)
{
    for (struct call *part = call_queue_pop(&call->parts); part;
         part = call_queue_pop(&call->parts))
        call_finish(part, outcome, NULL, reason);
    call_finish(call, outcome, NULL, reason);
}

/* Redis cannot have run a command that has not left this process entirely. The callback of a failed
 * call may close the session, or call again. */
static void session_end_connection(struct session *session, const char *reason)
{
    uint64_t sent = session->connection ? connection_sent(session->connection) : 0;
    session_drop_connection(session);
    session->leaving[0] = '\0';
    struct call_queue calls = call_queue_take(&session->pending);
    struct call *gathered = gather_take(&session->gather);
    for (struct call *call = call_queue_pop(&calls); call; call = call_queue_pop(&calls))
        session_fail(call, call->end > sent ? STORE_UNSENT : STORE_IN_DOUBT, reason);
    if (gathered)
        session_fail(gathered, STORE_UNSENT, reason);
}

void session_lose(struct session *session, int code, const char *reason)
{
    if (session->closing)
        return;
    bool was_ready = session->state == SESSION_READY;
    struct session_loss loss = {
        .code = code,
        .is_news = session_note(session, reason) || was_ready,
        .reason = session->trouble,
    };
    if (was_ready && uv_now(session->loop) - session->ready_since >= STEADY_MS)
        session->pause_ms = SESSION_PAUSE_LEAST_MS;
    session_back_off(session);
    session_end_connection(session, session->trouble);
    if (!session->closing)
        session->events.lost(session->events.context, &loss);
    if (session->endpoint && !session->closing)
        session->endpoint->doubted(session->endpoint->context);
}

/* Requests */

static void session_append(struct session *session, struct call *call)
{
    call_queue_push(&session->pending, call);
    call->end = connection_append(session->connection, call->bytes, call->length);
    connection_push(session->connection, PUSH_LENGTH);
    deferred_request(&session->deferred);
    session_wake(session, call->deadline);
}

static void session_put_gathered(struct session *session)
{
    if (session->gather.count == 0)
        return;
    session->events.stamp(session->events.context, session->gather.calls.head);
    session_append(session, gather_take(&session->gather));
}

static void session_put(struct session *session, struct call *call)
{
    session_put_gathered(session);
    if (call->script)
        session->events.stamp(session->events.context, call);
    session_append(session, call);
}

void session_ask(struct session *session, const struct slice *words, size_t count,
                 unsigned answer_ms, call_answered *answered)
{
    struct call *call = call_new(words, count);
    call->answered = answered;
    call_allow(call, answer_ms);
    session_put(session, call);
}

/* Until the end of the turn: others may go with it. */
static void session_gather(struct session *session, struct call *call)
{
    if (!gather_has_room(&session->gather, call))
        session_put_gathered(session);
    gather_add(&session->gather, call);
    deferred_request(&session->deferred);
    session_wake(session, call->deadline);
}

/* If Redis has no other request of ours, it gets this one now, not at the end of this turn of the
 * loop. */
void session_send(struct session *session, struct call *call)
{
    if (session->pending.head && gather_may_take(call)) {
        session_gather(session, call);
        return;
    }
    session_put(session, call);
    if (session->pending.head == call)
        connection_push(session->connection, 1);
}

void session_refuse(struct session *session, struct call *call)
{
    call_queue_push(&session->refused, call);
    session_request_turn(session);
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

/* Retiring */

static void session_end_if_retired(struct session *session)
{
    if (session->leaving[0] && session_is_idle(session))
        session_lose(session, -EAGAIN, session->leaving);
}

void session_retire(struct session *session, const char *reason)
{
    if (!session_is_ready(session))
        return;
    snprintf(session->leaving, sizeof session->leaving, "%s", reason);
    if (!session->is_answering)
        session_end_if_retired(session);
}

/* Asking by the pace */

/* UINT64_MAX: not before all requests are answered, or never. */
static uint64_t session_ask_due(const struct session *session)
{
    const struct session_pace *pace = &session->events.pace;
    if (!session->events.ask || !session_is_idle(session))
        return UINT64_MAX;
    return session->asked + (session->asks_soon ? pace->space_ms : pace->ask_ms);
}

static void session_ask_now(struct session *session)
{
    session->asked = uv_now(session->loop);
    session->asks_soon = false;
    session->events.ask(session->events.context);
}

void session_ask_soon(struct session *session)
{
    if (!session_is_ready(session))
        return; /* it asks when it is ready */
    session->asks_soon = true;
    if (!session->pending.head)
        session_wake(session, session_ask_due(session));
}

/* Answers */

static void session_unasked(struct session *session, const redisReply *reply)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s ended the connection: %s", session->place,
                reply->type == REDIS_REPLY_ERROR ? reply->str : "it sent a reply to nothing");
    session_lose(session, -EAGAIN, reason.text);
}

/* A full Redis has refused the command. A call that may need memory gets that error, and goes on as
 * it would alone: it is not sent once more, since what ends it may have been sent behind it. The
 * others are made alone. */
static void session_send_parts(struct session *session, struct call *many,
                               const redisReply *refusal)
{
    for (struct call *part = call_queue_pop(&many->parts); part;
         part = call_queue_pop(&many->parts))
        if (part->script->when_full)
            session->events.replied(session->events.context, part, refusal);
        else if (session_is_ready(session))
            session_send(session, part);
        else
            session_refuse(session, part);
}

/* Each call of the command gets its own answer, or the reason why all have none. */
static void session_hand_out(struct session *session, struct call *many, const redisReply *reply)
{
    size_t i = 0;
    bool is_error = reply->type == REDIS_REPLY_ERROR;
    for (struct call *part = call_queue_pop(&many->parts); part;
         part = call_queue_pop(&many->parts))
        if (is_error || i < reply->elements)
            session->events.replied(session->events.context, part,
                                    is_error ? reply : reply->element[i++]);
        else
            call_finish(part, STORE_IN_DOUBT, NULL, "Redis has not answered every call");
}

static void session_answered(struct session *session, struct call *call, const redisReply *reply)
{
    if (call->script) {
        session->events.replied(session->events.context, call, reply);
        return;
    }
    if (call->parts.head && reply->type == REDIS_REPLY_ERROR &&
        error_kind(reply->str) == ERROR_FULL)
        session_send_parts(session, call, reply);
    else
        session_hand_out(session, call, reply);
    if (call->answered)
        call->answered(session->events.context, reply);
    call_forget(call);
}

static void session_replied(struct session *session, const redisReply *reply)
{
    const struct session_events *events = &session->events;
    session->received_at = uv_now(session->loop);
    if (events->message && events->message(events->context, reply))
        return;
    struct call *call = call_queue_pop(&session->pending);
    if (!call) {
        session_unasked(session, reply);
        return;
    }
    session->is_answering = true;
    session_answered(session, call, reply);
    session->is_answering = false;
    session_end_if_retired(session);
    if (session_is_connected(session) && session_ask_due(session) < UINT64_MAX)
        session_wake(session, session_ask_due(session));
}

static const struct call *session_earliest(const struct session *session)
{
    const struct call *found = session->pending.head;
    for (const struct call *call = found; call; call = call->next)
        if (call->deadline < found->deadline)
            found = call;
    return found;
}

/* When its answer is late, unless Redis sends something before. */
static uint64_t session_late(const struct session *session, const struct call *call)
{
    uint64_t silent = session->events.pace.is_patient ? session->received_at + call->answer_ms : 0;
    return call->deadline > silent ? call->deadline : silent;
}

static void session_give_up(struct session *session, const struct call *call)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s did not answer within %u ms; is it stopped or overloaded?",
                session->place, call->answer_ms);
    session_lose(session, -EAGAIN,
                 session->events.pace.late ? session->events.pace.late : reason.text);
}

/* Reads first: answers that came while this process was held up are not late. */
static void session_look_after(struct session *session)
{
    while (session->pending.head && session_read(session))
        ;
    if (!session_is_connected(session))
        return;
    const struct call *first = session_earliest(session);
    uint64_t now = uv_now(session->loop);
    uint64_t due = first ? session_late(session, first) : session_ask_due(session);
    if (due > now && due < UINT64_MAX)
        session_wake(session, due);
    else if (first)
        session_give_up(session, first);
    else if (due <= now)
        session_ask_now(session);
}

static void session_part_closed(void *context)
{
    struct session *session = context;
    if (--session->parts_open > 0)
        return;
    struct session_events events = session->events;
    redis_url_free(&session->url);
    free(session);
    events.closed(events.context);
}

/* Addresses */

static void session_try(struct session *session);
static void session_attempt(struct session *session);

/* A kind without words never has a session: each of its servers has one. */
#define PLACES(X)                                                                                  \
    X(REDIS_SERVER, "Redis at ")                                                                   \
    X(REDIS_SENTINEL, "the sentinel at ")                                                          \
    X(REDIS_WATCHED, "")                                                                           \
    X(REDIS_QUORUM, "")                                                                            \
    X(REDIS_NODE, "Redis at ")                                                                     \
    X(REDIS_CLUSTER, "")

static void session_name_place(struct session *session)
{
    static const char *const WORDS[] = {PLACES(TABLE_ROW)};
    TABLE_IS_COMPLETE(PLACES, REDIS_KINDS);
    const char *word = WORDS[session->url.kind];
    size_t length = strlen(word);
    memcpy(session->place, word, length);
    redis_url_describe(&session->url, session->place + length, sizeof session->place - length);
}

static void session_name_socket(struct session *session)
{
    session->unix_address.sun_family = AF_UNIX;
    snprintf(session->unix_address.sun_path, sizeof session->unix_address.sun_path, "%s",
             session->url.path);
    session->unix_info = (struct addrinfo){
        .ai_addr = (struct sockaddr *)&session->unix_address,
        .ai_addrlen = sizeof session->unix_address,
    };
}

/* For each address: to connect, log in and answer INFO. */
static unsigned session_connect_ms(const struct session *session)
{
    return session_timeout_ms(session) * 5 / 4;
}

/* Some servers close a connection without TLS, and others wait for more, before they have answered
 * anything. */
static const char *session_tls_hint(const struct session *session)
{
    bool has_answered = session->ready_since != 0 || session->greeting.answered > 0;
    if (session->state == SESSION_GREETING && !session->url.trust && !session->url.path &&
        !has_answered)
        return " If this port wants TLS, write rediss in place of redis in redis-url.";
    if (session->state == SESSION_CONNECTING && session->url.trust && session->connection &&
        connection_is_accepted(session->connection))
        return " " TLS_HINT;
    return "";
}

/* This address does not work; tries the next address of the same name. */
static void session_next_address(struct session *session, int code, const char *reason)
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
    struct session *session = context;
    struct call *call = call_new(words, count);
    connection_append(session->connection, call->bytes, call->length);
    deferred_request(&session->deferred);
    call_forget(call);
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

static void session_become_ready(struct session *session)
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
    session->asked = session->ready_since;
    session->asks_soon = false;
    if (session->events.ready)
        session->events.ready(session->events.context, &peer);
    else
        session_ask_now(session);
}

static void session_greeted(struct session *session, const redisReply *reply)
{
    struct failure reason;
    int result = greeting_answered(&session->greeting, reply, &reason);
    if (result == 0)
        session_become_ready(session);
    else if (result != -EINPROGRESS)
        session_next_address(session, result, reason.text);
}

/* Events of the connection. While the session closes, only replies count. */

static void session_on_replied(void *context, const redisReply *reply)
{
    struct session *session = context;
    if (session->state == SESSION_READY)
        session_replied(session, reply);
    else if (!session->closing)
        session_greeted(session, reply);
}

static void session_on_lost(void *context, int code, const char *why)
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
        session_next_address(session, code, reason.text);
    }
}

/* Connecting */

static void session_try(struct session *session)
{
    static const struct connection_events EVENTS = {
        .connected = session_greet,
        .replied = session_on_replied,
        .lost = session_on_lost,
        .closed = session_part_closed,
    };
    struct connection_events events = EVENTS;
    events.context = session;
    struct connection_target target = {
        .address = session->candidate->ai_addr,
        .address_length = session->candidate->ai_addrlen,
        .trust = session->url.trust,
        .host = session->url.server_name ? session->url.server_name : session->url.host,
    };
    session->state = SESSION_CONNECTING;
    session_timer_set(session, session_connect_ms(session));
    int result = connection_open(&session->connection, session->loop, &target, &events);
    if (result == 0)
        session->parts_open++;
    else
        session_on_lost(session, -EAGAIN, strerror(-result));
}

static bool session_target_is_stale(const struct session *session)
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
    } else if (session_target_is_stale(session)) {
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
    session_timer_set(session, session_connect_ms(session));
    int result = uv_getaddrinfo(session->loop, &session->resolver, session_resolved,
                                session->url.host, port, &hints);
    if (result < 0)
        session_resolved(&session->resolver, result, NULL);
}

/* Puts the address of the server to which the endpoint points into the URL. */
static void session_retarget(struct session *session)
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
        session_retarget(session);
        session_resolve(session);
    } else if (endpoint->asks) {
        session->state = SESSION_SEEKING;
    } else {
        session_lose(session, endpoint->code, endpoint->reason.text);
    }
}

static void session_attempt(struct session *session)
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

static void session_endpoint_changed(void *context)
{
    struct session *session = context;
    if (session->closing || session->state == SESSION_RESOLVING)
        return; /* session_resolved checks */
    if (session->state == SESSION_SEEKING)
        session_attempt(session);
    else if (session->state == SESSION_WAITING && session->endpoint->knows)
        session_timer_set(session, 0);
    else if (session->state != SESSION_WAITING && session_target_is_stale(session))
        session_leave_server(session);
}

/* Time */

/* A running lookup cannot be stopped; `lost` reports why it takes so long. */
static void session_resolver_slow(struct session *session)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "cannot find the address of %s: the resolver does not answer",
                session->place);
    struct session_loss loss = {.code = -EAGAIN, .reason = session->trouble, .is_news = true};
    if (session_note(session, reason.text))
        session->events.lost(session->events.context, &loss);
}

static void session_connect_overdue(struct session *session)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN,
                "cannot connect to %s: no answer within %u ms. Is it stopped or overloaded?%s",
                session->place, session_connect_ms(session), session_tls_hint(session));
    session_next_address(session, -EAGAIN, reason.text);
}

/* While the endpoint knows no server, nothing is under way that could be late. */
static void session_seeks(struct session *session)
{
    (void)session;
}

/* What the timer does in each state. */
#define DUE(X)                                                                                     \
    X(SESSION_WAITING, session_attempt)                                                            \
    X(SESSION_SEEKING, session_seeks)                                                              \
    X(SESSION_RESOLVING, session_resolver_slow)                                                    \
    X(SESSION_CONNECTING, session_connect_overdue)                                                 \
    X(SESSION_GREETING, session_connect_overdue)                                                   \
    X(SESSION_READY, session_look_after)

static void session_timer_fired(uv_timer_t *timer)
{
    static void (*const FIRED[])(struct session * session) = {DUE(TABLE_ROW)};
    TABLE_IS_COMPLETE(DUE, SESSION_STATES);
    struct session *session = timer->data;
    if (!session->closing)
        FIRED[session->state](session);
}

/* The end of a turn; opening and closing */

static void session_timer_closed(uv_handle_t *timer)
{
    session_part_closed(timer->data);
}

static void session_shut(struct session *session)
{
    struct session_loss loss = {.code = -ECANCELED, .reason = "the store is being closed"};
    if (session->endpoint)
        endpoint_leave(session->endpoint, &session->follower);
    session_end_connection(session, loss.reason);
    session->events.lost(session->events.context, &loss);
    while (session->refused.head)
        session_fail_refused(session, STORE_UNSENT, loss.reason);
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
    session_put_gathered(session);
    session_flush(session);
    if (session->refused.head) {
        enum store_outcome outcome = STORE_UNSENT;
        const char *reason = session->events.why_refused(session->events.context, &outcome);
        session_fail_refused(session, outcome, reason);
    }
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
static void session_take_url(struct session *session, const struct redis_url *url)
{
    enum redis_kind kind = url->kind == REDIS_CLUSTER ? REDIS_NODE : REDIS_SERVER;
    if (session->endpoint)
        redis_url_of(url, kind, "", 0, &session->url);
    else
        redis_url_copy(url, &session->url);
}

struct session *session_open(uv_loop_t *loop, const struct redis_url *url,
                             struct endpoint *endpoint, const struct session_events *events)
{
    struct session *session = memory_checked(calloc(1, sizeof *session));
    session->loop = loop;
    session->events = *events;
    session->endpoint = endpoint;
    session->follower = (struct follower){.context = session, .changed = session_endpoint_changed};
    session_take_url(session, url);
    session_name_place(session);
    if (session->url.path)
        session_name_socket(session);
    session_start(session);
    return session;
}

void session_close(struct session *session)
{
    session->closing = true;
    deferred_request(&session->deferred);
}
