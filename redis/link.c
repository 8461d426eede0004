#include "redis/link.h"

#include "base/random.h"
#include "redis/call.h"
#include "redis/connection.h"
#include "redis/errors.h"
#include "redis/facts.h"
#include "redis/loaded.h"
#include "redis/turn.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

enum {
    MOST_TRIES = 3,             /* of one call, when Redis keeps forgetting its script */
    COMPLAINT_PAUSE_MS = 10000, /* between two lines on errors, which may come with every call */
    STEADY_MS = 1000,           /* a connection that lasted so long is no sign of trouble to come */
    PLACE_SIZE = 200,
    TROUBLE_SIZE = sizeof((struct failure *)0)->text,
};

enum link_state {
    LINK_WAITING,    /* for the next try */
    LINK_RESOLVING,  /* the host's name */
    LINK_CONNECTING, /* to `candidate` */
    LINK_GREETING,   /* AUTH, SELECT, CLIENT ID, INFO are on their way */
    LINK_UP,
    LINK_LEAVING, /* takes no new call, and is given up once the open ones are answered */
    LINK_CLOSING,
};

struct link {
    uv_loop_t *loop;
    struct redis_url url;
    char place[PLACE_SIZE]; /* the URL without its password, for messages */
    struct tls_trust *trust;
    struct link_events events;
    enum link_state state;

    /* The pause, the time to connect and the deadline of the oldest call never overlap. */
    uv_timer_t timer;
    uint64_t timer_due;
    struct turn turn;
    uv_getaddrinfo_t resolver;
    bool resolving;
    int parts_open; /* the timer, the turn, the resolver's request, connections being closed */

    struct addrinfo *resolved; /* to be freed */
    struct addrinfo unix_info; /* stands for a resolved address */
    struct sockaddr_un unix_address;
    const struct addrinfo *candidate; /* the address in use */
    struct connection *connection;

    struct call_queue pending; /* sent, in the order in which replies will come */
    struct call_queue unsent;  /* to be failed at the end of the turn */
    struct loaded loaded;
    uint32_t pause_ms;
    uint64_t up_since;
    int64_t client_id;     /* of this connection, as Redis calls it; 0 where it does not say */
    int64_t old_client_id; /* of the last one that was up, on the server's run `old_run_id` */
    char old_run_id[sizeof((struct facts *)0)->run_id];
    char trouble[TROUBLE_SIZE];
    uint64_t complaint_due; /* errors are told of from then on */
    struct store_figures figures;
    void (*closed)(void *context);
    void *closed_context;
};

static void link_try(struct link *link);

static void link_part_closed(void *context)
{
    struct link *link = context;
    if (--link->parts_open > 0)
        return;
    void (*closed)(void *context) = link->closed;
    void *closed_context = link->closed_context;
    tls_trust_close(link->trust);
    redis_url_free(&link->url);
    free(link);
    if (closed)
        closed(closed_context);
}

static void link_timer_closed(uv_handle_t *timer)
{
    link_part_closed(timer->data);
}

static void link_timer_fired(uv_timer_t *timer);

static void link_timer_set(struct link *link, uint64_t ms)
{
    link->timer_due = uv_now(link->loop) + ms;
    uv_timer_start(&link->timer, link_timer_fired, ms, 0);
}

/* Losing a connection */

/* A command that has not left this process entirely cannot have been run. */
static enum store_outcome lost_outcome(const struct call *call, uint64_t sent)
{
    return call->end > sent ? STORE_UNSENT : STORE_IN_DOUBT;
}

static void link_drop_connection(struct link *link, const char *reason)
{
    uint64_t sent = link->connection ? connection_sent(link->connection) : 0;
    connection_close(link->connection);
    link->connection = NULL;
    struct call_queue calls = call_queue_take(&link->pending);
    for (struct call *call = call_queue_pop(&calls); call; call = call_queue_pop(&calls))
        call_finish(call, lost_outcome(call, sent), NULL, reason);
}

static void link_forget_addresses(struct link *link)
{
    uv_freeaddrinfo(link->resolved);
    link->resolved = NULL;
    link->candidate = NULL;
}

/* After the growing pause there is another try. */
static void link_rest(struct link *link)
{
    link->state = LINK_WAITING;
    link_forget_addresses(link);
    uint32_t half = link->pause_ms / 2;
    link_timer_set(link, half + random_below(half + 1));
    link->pause_ms =
        link->pause_ms * 2 < LINK_PAUSE_MOST_MS ? link->pause_ms * 2 : LINK_PAUSE_MOST_MS;
}

static bool link_was_up(const struct link *link)
{
    return link->state == LINK_UP || link->state == LINK_LEAVING;
}

/* Keeps `reason` as what is wrong. Returns true if that is something new. */
static bool link_note(struct link *link, const char *reason)
{
    if (strcmp(link->trouble, reason) == 0)
        return false;
    snprintf(link->trouble, sizeof link->trouble, "%s", reason);
    return true;
}

/* The callbacks in here may call the link, and may close it. */
static void link_lose(struct link *link, int code, const char *reason)
{
    if (link->state == LINK_CLOSING)
        return;
    bool was_up = link_was_up(link);
    if (was_up && uv_now(link->loop) - link->up_since >= STEADY_MS)
        link->pause_ms = LINK_PAUSE_LEAST_MS;
    bool is_news = link_note(link, reason) || was_up;
    link_rest(link);
    link_drop_connection(link, link->trouble);
    if (is_news && link->state != LINK_CLOSING)
        link->events.down(link->events.context, code, link->trouble);
}

/* This address won't do; perhaps another one of the same name will. */
static void link_retreat(struct link *link, int code, const char *reason)
{
    const struct addrinfo *next = link->candidate->ai_next;
    if (!next) {
        link_lose(link, code, reason);
        return;
    }
    link_drop_connection(link, reason);
    link->candidate = next;
    link_try(link);
}

/* Sending */

static void link_send(struct link *link, struct call *call)
{
    call_queue_push(&link->pending, call);
    call->end = connection_append(link->connection, call->bytes, call->length);
    connection_push(link->connection);
    turn_request(&link->turn);
}

static void link_send_words(struct link *link, enum call_kind kind, const struct slice *words,
                            size_t count)
{
    link_send(link, call_new(kind, words, count));
}

static void link_send_load(struct link *link, const struct script *script)
{
    loaded_begin(&link->loaded, script);
    struct call *load = call_new_load(script);
    load->deadline = uv_now(link->loop) + STORE_DEADLINE_MS;
    link_send(link, load);
}

/* The timer is left alone when a reply comes: it finds out what is overdue when it fires. So a busy
 * link sets it about once in STORE_DEADLINE_MS, and an idle one not at all. */
static void link_send_script(struct link *link, struct call *call)
{
    link_send(link, call);
    if (!uv_is_active((uv_handle_t *)&link->timer) || call->deadline < link->timer_due) {
        uint64_t now = uv_now(link->loop);
        link_timer_set(link, call->deadline > now ? call->deadline - now : 0);
    }
}

void link_eval(struct link *link, const struct script *script, struct slice key,
               const struct slice *arguments, size_t argument_count, store_done *done,
               void *context)
{
    struct call *call = call_new_script(script, key, arguments, argument_count, done, context);
    if (link->state != LINK_UP) {
        call_queue_push(&link->unsent, call);
        turn_request(&link->turn);
        return;
    }
    /* Each connection is given a script before its first use, so that after a reconnect no call is
     * overtaken by later ones because its script alone was forgotten. */
    const struct loaded_script *known = loaded_find(&link->loaded, script);
    if (!known || known->refused)
        link_send_load(link, script);
    call->deadline = uv_now(link->loop) + STORE_DEADLINE_MS;
    link->figures.calls++;
    link_send_script(link, call);
}

/* Replies to scripts */

static void call_refused(struct call *call, enum store_outcome outcome, const char *error)
{
    call_finish(call, outcome, NULL, error);
}

/* SCRIPT LOAD and EVALSHA rather than EVAL: from Redis 7.4 on, scripts that came by EVAL are
 * dropped after some hundreds of others, but those that were loaded stay. */
static void link_load_again(struct link *link, struct call *call, const char *error)
{
    const struct loaded_script *known = loaded_find(&link->loaded, call->script);
    if (known && known->refused) {
        call_refused(call, STORE_REFUSED, known->error);
        return;
    }
    if (++call->tries >= MOST_TRIES || link->state != LINK_UP) {
        call_refused(call, STORE_REFUSED, error);
        return;
    }
    if (!known || !known->on_its_way)
        link_send_load(link, call->script);
    link_send_script(link, call);
}

static void link_leave(struct link *link, const char *error)
{
    if (link->state != LINK_UP)
        return;
    link->state = LINK_LEAVING;
    snprintf(link->trouble, sizeof link->trouble, "Redis at %s refuses to serve: %s", link->place,
             error);
}

/* Clients only hear that Redis cannot be asked: somebody has to be told why. */
static void link_complain(struct link *link, const struct script *script, const char *error)
{
    uint64_t now = uv_now(link->loop);
    if (link->state != LINK_UP || now < link->complaint_due)
        return;
    link->complaint_due = now + COMPLAINT_PAUSE_MS;
    struct failure warning;
    failure_set(&warning, 0, "Redis at %s answered the script %s with an error: %s", link->place,
                script->name, error);
    link->events.warning(link->events.context, warning.text);
}

static void link_script_failed(struct link *link, struct call *call, const char *error)
{
    const struct script *script = call->script;
    switch (error_kind(error)) {
    case ERROR_FORGOTTEN:
        link_load_again(link, call, error);
        break;
    case ERROR_WRONG_SERVER:
        link_leave(link, error);
        call_refused(call, STORE_REFUSED, error);
        break;
    case ERROR_REFUSED:
        call_refused(call, STORE_REFUSED, error);
        link_complain(link, script, error);
        break;
    case ERROR_UNKNOWN:
        call_refused(call, STORE_IN_DOUBT, error);
        link_complain(link, script, error);
        break;
    }
}

static void link_script_answered(struct link *link, struct call *call, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR)
        link_script_failed(link, call, reply->str);
    else
        call_finish(call, STORE_REPLIED, (const struct value *)(const void *)reply, NULL);
}

static void link_load_answered(struct link *link, struct call *call, const redisReply *reply)
{
    loaded_end(&link->loaded, call->script, reply->type == REDIS_REPLY_ERROR ? reply->str : NULL);
    free(call);
}

/* The greeting */

static void link_greet(void *context)
{
    struct link *link = context;
    const struct redis_url *url = &link->url;
    link->state = LINK_GREETING;
    struct slice auth[] = {slice_of("AUTH"), slice_of(url->user), slice_of(url->password)};
    if (url->user)
        link_send_words(link, CALL_AUTH, auth, 3);
    else if (url->password)
        link_send_words(link, CALL_AUTH, (struct slice[]){auth[0], auth[2]}, 2);
    if (url->database != 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", url->database);
        link_send_words(link, CALL_SELECT, (struct slice[]){slice_of("SELECT"), slice_of(number)},
                        2);
    }
    link->client_id = 0;
    link_send_words(link, CALL_ID, (struct slice[]){slice_of("CLIENT"), slice_of("ID")}, 2);
    link_send_words(link, CALL_INFO, (struct slice[]){slice_of("INFO")}, 1);
}

/* Ends the connection before this one for Redis, too. What it still had to read from there, it
 * would run at some later time: after a grant in doubt was taken back, it would grant it again. */
static void link_bury_predecessor(struct link *link, const char *run_id)
{
    char number[24];
    if (link->old_client_id != 0 && run_id[0] && strcmp(run_id, link->old_run_id) == 0) {
        snprintf(number, sizeof number, "%" PRId64, link->old_client_id);
        struct slice kill[] = {slice_of("CLIENT"), slice_of("KILL"), slice_of("ID"),
                               slice_of(number)};
        link_send_words(link, CALL_KILL, kill, 4);
    }
    link->old_client_id = link->client_id;
    snprintf(link->old_run_id, sizeof link->old_run_id, "%s", run_id);
}

static void link_come_up(struct link *link, const char *run_id, const struct failure *warning)
{
    link_bury_predecessor(link, run_id);
    uv_timer_stop(&link->timer);
    link_forget_addresses(link);
    link->state = LINK_UP;
    link->up_since = uv_now(link->loop);
    link->trouble[0] = '\0';
    link->loaded = (struct loaded){0};
    link->figures.connects++;
    link->events.up(link->events.context);
    if (warning && link->state == LINK_UP)
        link->events.warning(link->events.context, warning->text);
}

static void link_greeting_refused(struct link *link, enum call_kind kind, const char *error)
{
    struct failure reason;
    const char *advice = "";
    if (kind == CALL_AUTH)
        advice = ": check user and password in redis-url";
    else if (kind == CALL_SELECT)
        advice = ": check the database's number in redis-url";
    else if (error_has_code(error, "NOAUTH"))
        advice = ": put a password into redis-url";
    int code = error_passes(error) ? -EAGAIN : -EPROTO;
    int length = (int)strlen(error);
    if (length > 0 && error[length - 1] == '.')
        length--;
    failure_set(&reason, code, "Redis at %s refuses to serve: %.*s%s", link->place, length, error,
                code == -EPROTO ? advice : "");
    link_retreat(link, code, reason.text);
}

static void link_step_answered(struct link *link, struct call *call, const redisReply *reply)
{
    enum call_kind kind = call->kind;
    free(call);
    if (reply->type == REDIS_REPLY_ERROR)
        link_greeting_refused(link, kind, reply->str);
}

static void link_id_answered(struct link *link, struct call *call, const redisReply *reply)
{
    free(call);
    if (reply->type == REDIS_REPLY_INTEGER)
        link->client_id = reply->integer;
    else if (reply->type == REDIS_REPLY_ERROR && !error_has_code(reply->str, "NOPERM"))
        link_greeting_refused(link, CALL_ID, reply->str);
}

/* Whether there was one to end, or this user may not: what counts is that it was asked first. */
static void link_kill_answered(struct link *link, struct call *call, const redisReply *reply)
{
    (void)link, (void)reply;
    free(call);
}

static void link_judge(struct link *link, const redisReply *reply)
{
    struct facts facts;
    struct failure why;
    facts_read((struct slice){reply->str, reply->len}, &facts);
    int result = facts_check(&facts, &why);
    if (result < 0) {
        struct failure reason;
        failure_set(&reason, result, "cannot use Redis at %s: %s", link->place, why.text);
        link_retreat(link, result, reason.text);
        return;
    }
    struct failure warning;
    link_come_up(link, facts.run_id, facts_warn(&facts, &warning) ? &warning : NULL);
}

static void link_info_answered(struct link *link, struct call *call, const redisReply *reply)
{
    free(call);
    if (reply->type == REDIS_REPLY_STRING) {
        link_judge(link, reply);
    } else if (reply->type != REDIS_REPLY_ERROR) {
        struct failure reason;
        failure_set(&reason, -EPROTO, "what answers at %s is no Redis", link->place);
        link_retreat(link, -EPROTO, reason.text);
    } else if (error_has_code(reply->str, "NOPERM")) {
        struct failure warning;
        failure_set(&warning, 0,
                    "the version and the settings of Redis cannot be checked, since this user may "
                    "not run INFO: allow it with `ACL SETUSER … +info`");
        link_come_up(link, "", &warning);
    } else {
        link_greeting_refused(link, CALL_INFO, reply->str);
    }
}

/* What the connection tells */

static void (*const ANSWERED[])(struct link *link, struct call *call, const redisReply *reply) = {
    [CALL_AUTH] = link_step_answered,     [CALL_SELECT] = link_step_answered,
    [CALL_INFO] = link_info_answered,     [CALL_LOAD] = link_load_answered,
    [CALL_SCRIPT] = link_script_answered, [CALL_ID] = link_id_answered,
    [CALL_KILL] = link_kill_answered,
};

static void link_unasked(struct link *link, const redisReply *reply)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "Redis at %s ended the connection: %s", link->place,
                reply->type == REDIS_REPLY_ERROR ? reply->str : "it sent a reply to nothing");
    link_lose(link, -EAGAIN, reason.text);
}

static void link_replied(void *context, const redisReply *reply)
{
    struct link *link = context;
    struct call *call = call_queue_pop(&link->pending);
    if (!call) {
        link_unasked(link, reply);
        return;
    }
    ANSWERED[call->kind](link, call, reply);
    if (link->state == LINK_LEAVING && !link->pending.head)
        link_lose(link, -EAGAIN, link->trouble); /* as it was noted on leaving */
}

static void link_lost(void *context, int code, const char *why)
{
    struct link *link = context;
    struct failure reason;
    if (link_was_up(link)) {
        failure_set(&reason, code, "the connection to Redis at %s was lost: %s", link->place, why);
        link_lose(link, code, reason.text);
    } else {
        failure_set(&reason, code, "cannot connect to Redis at %s: %s", link->place, why);
        link_retreat(link, code, reason.text);
    }
}

/* Connecting */

static void link_try(struct link *link)
{
    static const struct connection_events EVENTS = {
        .connected = link_greet,
        .replied = link_replied,
        .lost = link_lost,
        .closed = link_part_closed,
    };
    struct connection_events events = EVENTS;
    events.context = link;
    struct connection_target target = {
        .address = link->candidate->ai_addr,
        .address_length = link->candidate->ai_addrlen,
        .trust = link->trust,
        .host = link->url.host,
    };
    link->state = LINK_CONNECTING;
    link_timer_set(link, LINK_CONNECT_MS);
    int result = connection_open(&link->connection, link->loop, &target, &events);
    if (result == 0)
        link->parts_open++;
    else
        link_lost(link, -EAGAIN, strerror(-result));
}

static void link_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct link *link = request->data;
    link->resolving = false;
    if (link->state == LINK_CLOSING) {
        uv_freeaddrinfo(addresses);
    } else if (status < 0) {
        struct failure reason;
        failure_set(&reason, -EAGAIN, "cannot find the address of Redis at %s: %s", link->place,
                    uv_strerror(status));
        link_lose(link, -EAGAIN, reason.text);
    } else {
        link->resolved = addresses;
        link->candidate = addresses;
        link_try(link);
    }
    link_part_closed(link);
}

static void link_resolve(struct link *link)
{
    char port[16];
    snprintf(port, sizeof port, "%d", link->url.port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    link->state = LINK_RESOLVING;
    link->resolver.data = link;
    link->resolving = true;
    link->parts_open++;
    link_timer_set(link, LINK_CONNECT_MS);
    int result =
        uv_getaddrinfo(link->loop, &link->resolver, link_resolved, link->url.host, port, &hints);
    if (result < 0)
        link_resolved(&link->resolver, result, NULL);
}

static void link_attempt(struct link *link)
{
    if (link->url.host) {
        link_resolve(link);
        return;
    }
    link->candidate = &link->unix_info;
    link_try(link);
}

/* Time */

/* A resolver cannot be stopped; it is only told what takes so long. */
static void link_resolver_slow(struct link *link)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN,
                "cannot find the address of Redis at %s: the resolver does not answer",
                link->place);
    if (link_note(link, reason.text))
        link->events.down(link->events.context, -EAGAIN, link->trouble);
}

static void link_connect_overdue(struct link *link)
{
    struct failure reason;
    failure_set(
        &reason, -EAGAIN,
        "cannot connect to Redis at %s: no answer within %d ms; is it stopped or overloaded?",
        link->place, LINK_CONNECT_MS);
    link_retreat(link, -EAGAIN, reason.text);
}

static const struct call *earliest(const struct call_queue *queue)
{
    const struct call *found = queue->head;
    for (const struct call *call = found; call; call = call->next)
        if (call->deadline < found->deadline)
            found = call;
    return found;
}

/* Replies that came while this process itself was held up are not late. */
static void link_calls_overdue(struct link *link)
{
    while (link->connection && connection_read(link->connection))
        ;
    const struct call *first = earliest(&link->pending);
    if (!link_was_up(link) || !first)
        return;
    uint64_t now = uv_now(link->loop);
    if (first->deadline > now) {
        link_timer_set(link, first->deadline - now);
        return;
    }
    struct failure reason;
    failure_set(&reason, -EAGAIN,
                "Redis at %s did not answer within %d ms; is it stopped or overloaded?",
                link->place, STORE_DEADLINE_MS);
    link_lose(link, -EAGAIN, reason.text);
}

static void link_timer_fired(uv_timer_t *timer)
{
    static void (*const FIRED[])(struct link * link) = {
        [LINK_WAITING] = link_attempt,
        [LINK_RESOLVING] = link_resolver_slow,
        [LINK_CONNECTING] = link_connect_overdue,
        [LINK_GREETING] = link_connect_overdue,
        [LINK_UP] = link_calls_overdue,
        [LINK_LEAVING] = link_calls_overdue,
    };
    struct link *link = timer->data;
    if (link->state != LINK_CLOSING)
        FIRED[link->state](link);
}

/* The end of a turn, and the end */

static void link_fail_unsent(struct link *link)
{
    struct call_queue calls = call_queue_take(&link->unsent);
    for (struct call *call = call_queue_pop(&calls); call; call = call_queue_pop(&calls))
        call_finish(call, STORE_UNSENT, NULL,
                    link->trouble[0] ? link->trouble : "the store is being closed");
}

static void link_shut(struct link *link)
{
    link_drop_connection(link, "the store is being closed");
    while (link->unsent.head)
        link_fail_unsent(link);
    link_forget_addresses(link);
    if (link->resolving)
        uv_cancel((uv_req_t *)&link->resolver);
    uv_close((uv_handle_t *)&link->timer, link_timer_closed);
    turn_close(&link->turn, link_part_closed);
}

static void link_turn_ends(void *context)
{
    struct link *link = context;
    if (link->state == LINK_CLOSING) {
        link_shut(link);
        return;
    }
    if (link->connection)
        connection_flush(link->connection);
    link_fail_unsent(link);
}

static void link_name_place(struct link *link)
{
    redis_url_describe(&link->url, link->place, sizeof link->place);
    if (!link->url.path)
        return;
    link->unix_address.sun_family = AF_UNIX;
    snprintf(link->unix_address.sun_path, sizeof link->unix_address.sun_path, "%s", link->url.path);
    link->unix_info = (struct addrinfo){
        .ai_addr = (struct sockaddr *)&link->unix_address,
        .ai_addrlen = sizeof link->unix_address,
    };
}

static void link_start(struct link *link)
{
    link->pause_ms = LINK_PAUSE_LEAST_MS;
    uv_timer_init(link->loop, &link->timer);
    link->timer.data = link;
    turn_open(&link->turn, link->loop, link_turn_ends, link);
    link->parts_open = 2;
    /* Everything happens from the loop, the first try too. */
    link->state = LINK_WAITING;
    link_timer_set(link, 0);
}

int link_open(struct link **ret, uv_loop_t *loop, const struct redis_url *url,
              const struct link_events *events, struct failure *failure)
{
    struct link *link = calloc(1, sizeof *link);
    if (!link)
        return failure_set(failure, -ENOMEM, "no memory");
    link->loop = loop;
    link->events = *events;
    int result = redis_url_copy(url, &link->url);
    if (result < 0)
        failure_set(failure, result, "no memory");
    else if (url->tls)
        result = tls_trust_open(&link->trust, failure);
    if (result < 0) {
        redis_url_free(&link->url);
        free(link);
        return result;
    }
    link_name_place(link);
    link_start(link);
    *ret = link;
    return 0;
}

void link_close(struct link *link, void (*closed)(void *context), void *context)
{
    link->closed = closed;
    link->closed_context = context;
    link->state = LINK_CLOSING;
    turn_request(&link->turn);
}

bool link_is_up(const struct link *link)
{
    return link->state == LINK_UP;
}

const char *link_trouble(const struct link *link)
{
    return link->trouble;
}

struct store_figures link_figures(const struct link *link)
{
    return link->figures;
}
