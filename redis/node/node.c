#include "redis/node/node.h"

#include "base/memory.h"
#include "redis/node/confirmer.h"
#include "redis/node/inbox.h"
#include "redis/node/known_peer.h"
#include "redis/node/loader.h"
#include "redis/node/tracking.h"
#include "redis/wire/errors.h"
#include "redis/wire/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_TRIES = 3,             /* tries of one call that comes too late each time */
    MOST_TURNS = 1000,          /* runs of one call whose script does its work in parts */
    MOST_LOADS = 10,            /* tries of one call, if Redis keeps forgetting its function */
    COMPLAINT_PAUSE_MS = 10000, /* between two warnings: every call may get an error */
};

struct node {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct endpoint *endpoint; /* NULL: none */
    unsigned number;
    struct node_events events;
    const struct store_events *store_events;
    struct session *session;
    struct known_peer known;

    struct loader loader;
    bool gate_is_closed;
    char gate_trouble[STORE_ERROR_TEXT]; /* what Redis refused last while the gate was closed */
    uint64_t complaint_due; /* the next warning may come then; on the loop's clock, in ms */
    uint64_t answering;     /* when the script that answered last was sent (uv_hrtime) */
    uint64_t calls;         /* scripts sent, without those of node_eval_first */

    struct inbox *inbox;         /* NULL before node_listen */
    bool gets_messages;          /* it subscribes to a channel, too */
    bool inbox_loss_is_reported; /* since the inbox last listened */
    struct tracking tracking;
    struct slice marker; /* owned; absent before node_expect_replicas */
    int expected;        /* replicas, as in node_expect_replicas; 0: none */
    struct confirmer *confirmers[STORE_REPLICAS_MOST]; /* at replicas - 1; NULL: none yet */

    int open; /* how many of the session, the inbox and the confirmers are open */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* Its condition */

static bool node_is_outdated(const struct node *node)
{
    return node->endpoint && node->endpoint->until <= uv_now(node->loop);
}

bool node_is_up(const struct node *node)
{
    return session_is_ready(node->session);
}

bool node_serves(const struct node *node)
{
    return node_is_up(node) && !node->gate_is_closed && !node_is_outdated(node);
}

/* Asked again before a call goes once more, or goes after it was held: its time may be over. */
static bool node_takes(const struct node *node, const struct call *call)
{
    return call->is_first ? node_is_up(node) : node_serves(node);
}

bool node_is_idle(const struct node *node)
{
    return session_is_idle(node->session);
}

void node_set_gate(struct node *node, bool is_open)
{
    node->gate_is_closed = !is_open;
    node->gate_trouble[0] = '\0';
}

void node_retire(struct node *node, const char *reason)
{
    session_retire(node->session, reason);
}

struct store_mark node_mark(const struct node *node)
{
    return (struct store_mark){
        .shard = node->number, .connection = node->known.connects, .sent = node->answering};
}

const struct store_peer *node_peer(const struct node *node)
{
    return &node->known.peer;
}

const char *node_trouble(const struct node *node)
{
    const char *trouble = session_trouble(node->session);
    return trouble[0] ? trouble : node->gate_trouble;
}

const char *node_place(const struct node *node)
{
    return session_place(node->session);
}

struct store_figures node_figures(const struct node *node)
{
    return (struct store_figures){node->calls, node->known.connects, node->known.switches};
}

void node_warn(void *context, const char *text)
{
    const struct store_observer *observer = &((struct node *)context)->store_events->observer;
    if (observer->warning)
        observer->warning(observer->context, text);
}

/* Sending */

static void node_stamp(void *context, struct call *call)
{
    struct node *node = context;
    if (node->store_events->stamp)
        node->store_events->stamp(node->store_events->context, node->number, call->begun,
                                  call->bytes + call->stamp);
}

static void node_begin(const struct node *node, struct call *call)
{
    static const struct slice ASKING = {"ASKING", 6};
    if (call->asking)
        session_ask(node->session, &ASKING, 1, session_timeout_ms(node->session), NULL);
    call->begun = uv_hrtime();
}

static void node_run(const struct node *node, struct call *call)
{
    node_begin(node, call);
    session_send(node->session, call);
}

/* While the library is being loaded, the call is kept back: see loader.h. */
void node_eval(struct node *node, struct call *call)
{
    if (!node_serves(node)) {
        session_refuse(node->session, call);
        return;
    }
    node->calls++;
    call_allow(call, session_timeout_ms(node->session)); /* however often it is sent */
    if (node->loader.is_loading) {
        call_queue_push(&node->loader.held, call);
        return;
    }
    node_run(node, call);
}

void node_eval_first(struct node *node, struct call *call)
{
    call->is_first = true;
    call_allow(call, session_timeout_ms(node->session));
    if (!node_is_up(node))
        session_refuse(node->session, call);
    else if (node->loader.is_loading)
        call_queue_push(&node->loader.held, call);
    else
        node_run(node, call);
}

/* Replies to scripts */

/* Redis refused the call. The callback gets the meaning of the error. */
static void node_call_refused(struct call *call, const char *error)
{
    char text[STORE_ERROR_TEXT];
    error_explain(error, text, sizeof text);
    call_end(call, &(struct store_result){STORE_REFUSED, .error = text,
                                          .is_foreign = error_has_code(error, "FORMAT")});
}

/* Returns whether the script has done only a part of its work. */
static bool node_report(const struct node *node, const struct call *call,
                        struct store_result *result)
{
    const struct store_events *store_events = node->store_events;
    return !call->is_first && store_events->result &&
           store_events->result(store_events->context, node->number, result);
}

static void node_call_damaged(const struct node *node, struct call *call, const char *error)
{
    char text[STORE_ERROR_TEXT];
    struct slice key = call_key(call);
    struct store_result result = {STORE_IN_DOUBT, .error = text, .damaged = &key};
    error_explain_damage(error, text, sizeof text);
    node_report(node, call, &result);
    call_end(call, &result);
}

/* Whether the script runs again: it came too late and did nothing, or it did only a part of its
 * work. */
static bool node_goes_again(const struct node *node, const struct call *call,
                            struct store_result *result)
{
    bool is_late = result->outcome == STORE_LATE && !call->is_once && !call->is_first;
    if (!node_report(node, call, result) && !is_late)
        return false;
    return !call->is_wanted || call->is_wanted(call->context);
}

static void node_script_done(struct node *node, struct call *call, struct store_result result,
                             unsigned *tries, unsigned most_tries, const char *given_up)
{
    if (!node_goes_again(node, call, &result))
        call_end(call, &result);
    else if (++*tries >= most_tries || !node_serves(node))
        call_finish(call, STORE_REFUSED, NULL, given_up);
    else
        node_run(node, call);
}

static void node_script_late(struct node *node, struct call *call, const char *error)
{
    node->answering = call->begun;
    if (node->events.replied)
        node->events.replied(node->events.context, node->number);
    node_script_done(node, call, (struct store_result){.outcome = STORE_LATE, .error = error},
                     &call->tries, MOST_TRIES, "Redis was too slow, so nothing was done");
}

static void node_leave(struct node *node, const char *error)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s refuses to serve: %s", node_place(node), error);
    session_retire(node->session, reason.text);
}

/* Warns the operator of the cause: clients only learn that batond cannot ask Redis. */
static void node_complain(struct node *node, const struct script *script, const char *error)
{
    uint64_t now = uv_now(node->loop);
    if (!node_is_up(node) || now < node->complaint_due)
        return;
    node->complaint_due = now + COMPLAINT_PAUSE_MS;
    struct failure warning;
    char explained[sizeof warning.text];
    error_explain(error, explained, sizeof explained);
    bool is_refused = error_kind(error) == ERROR_REFUSED || error_kind(error) == ERROR_FULL;
    failure_set(&warning, 0, "%s answered the script %s with an error: %s", node_place(node),
                script->name, is_refused ? explained : error);
    node_warn(node, warning.text);
}

static void node_script_refused(struct node *node, struct call *call, const char *error)
{
    const struct script *script = call->script;
    if (node->gate_is_closed)
        error_explain(error, node->gate_trouble, sizeof node->gate_trouble);
    node_call_refused(call, error);
    node_complain(node, script, error);
}

/* Redis is full, and the function might have stored something new. The one that takes its place
 * finds out whether the call can do without. */
static void node_script_full(struct node *node, struct call *call, const char *error)
{
    if (call->script->when_full && !call->is_full && node_takes(node, call))
        node_run(node, call_when_full(call));
    else
        node_script_refused(node, call, error);
}

static void node_load_answered(void *context, const redisReply *reply);

static void node_send_load(struct node *node, const struct library *library)
{
    const struct slice words[] = {
        slice_of("FUNCTION"), slice_of("LOAD"), {library->text, library->length}};
    loader_begin(&node->loader);
    session_ask(node->session, words, 3, session_timeout_ms(node->session), node_load_answered);
}

/* Redis does not have the function. */
static void node_script_missing(struct node *node, struct call *call, const char *error)
{
    const char *refusal = loader_refusal(&node->loader, uv_now(node->loop));
    if (!node_takes(node, call)) {
        session_refuse(node->session, call);
        return;
    }
    if (refusal || ++call->tries >= MOST_LOADS) {
        node_script_refused(node, call, refusal ? refusal : error);
        return;
    }
    if (!node->loader.is_loading)
        node_send_load(node, call->script->library);
    node_run(node, call);
}

static void node_script_failed(struct node *node, struct call *call, const char *error)
{
    const struct script *script = call->script;
    switch (error_kind(error)) {
    case ERROR_ELSEWHERE:
        if (call->routing.is_on)
            node->events.redirected(node->events.context, call, error);
        else
            node_call_refused(call, error);
        break;
    case ERROR_FORGOTTEN:
        node_script_missing(node, call, error);
        break;
    case ERROR_WRONG_SERVER:
        node_leave(node, error);
        node_call_refused(call, error);
        break;
    case ERROR_LATE:
        node_script_late(node, call, error);
        break;
    case ERROR_FULL:
        node_script_full(node, call, error);
        break;
    case ERROR_REFUSED:
        node_script_refused(node, call, error);
        break;
    case ERROR_DAMAGED:
        node_call_damaged(node, call, error);
        break;
    case ERROR_UNKNOWN:
        call_finish(call, STORE_IN_DOUBT, NULL, error);
        node_complain(node, script, error);
        break;
    }
}

static void node_script_answered(void *context, struct call *call, const redisReply *reply)
{
    struct node *node = context;
    if (reply->type == REDIS_REPLY_ERROR) {
        node_script_failed(node, call, reply->str);
        return;
    }
    const struct value *value = (const struct value *)(const void *)reply;
    const struct store_observer *observer = &node->store_events->observer;
    node->answering = call->begun;
    if (node->events.replied)
        node->events.replied(node->events.context, node->number);
    if (observer->answered)
        observer->answered(observer->context, uv_hrtime() - call->begun);
    node_script_done(node, call, (struct store_result){.outcome = STORE_REPLIED, .reply = value},
                     &call->turns, MOST_TURNS,
                     "so many holds or waiters of this name have ended at once that Redis is still "
                     "removing them");
}

/* The library */

/* If Redis has refused the library, it answers the calls behind it that their function is missing:
 * see node_script_missing. */
static void node_load_answered(void *context, const redisReply *reply)
{
    struct node *node = context;
    loader_end(&node->loader, reply->type == REDIS_REPLY_ERROR ? reply->str : NULL,
               uv_now(node->loop));
    struct call_queue held = call_queue_take(&node->loader.held);
    for (struct call *call = call_queue_pop(&held); call; call = call_queue_pop(&held))
        if (node_takes(node, call))
            node_run(node, call);
        else
            session_refuse(node->session, call);
}

/* The connection is lost. Redis has not got the calls that were held. */
static void node_load_lost(struct node *node)
{
    node->loader.is_loading = false;
    struct call_queue held = call_queue_take(&node->loader.held);
    for (struct call *call = call_queue_pop(&held); call; call = call_queue_pop(&held))
        session_refuse(node->session, call);
}

/* Another worker may have been first. */
static void node_delete_answered(void *context, const redisReply *reply)
{
    static const char GONE[] = "ERR Library not found";
    struct node *node = context;
    if (reply->type != REDIS_REPLY_ERROR || strcmp(reply->str, GONE) == 0 || !node_is_up(node))
        return;
    struct failure warning;
    char explained[sizeof warning.text];
    error_explain(reply->str, explained, sizeof explained);
    failure_set(&warning, 0,
                "%s still has the functions of a release that no batond runs any more: %s",
                node_place(node), explained);
    node_warn(node, warning.text);
}

void node_delete_library(struct node *node, struct slice name)
{
    const struct slice words[] = {slice_of("FUNCTION"), slice_of("DELETE"), name};
    session_ask(node->session, words, 3, session_timeout_ms(node->session), node_delete_answered);
}

/* Messages and changed keys */

static void node_invalidated(void *context, struct slice key)
{
    const struct node *node = context;
    if (node->tracking.wanted && node->store_events->invalidated)
        node->store_events->invalidated(node->store_events->context, key);
}

static void node_tracked(void *context, const redisReply *reply)
{
    struct node *node = context;
    const char *error = reply->type == REDIS_REPLY_ERROR ? reply->str : NULL;
    struct failure warning;
    if (!node_is_up(node))
        return;
    if (tracking_answered(&node->tracking, error))
        node_invalidated(node, (struct slice){NULL, 0});
    else if (error && tracking_warn(&node->tracking, node->inbox, error, &warning))
        node_warn(node, warning.text);
}

static void node_on_listening(void *context)
{
    struct node *node = context;
    node->inbox_loss_is_reported = false;
    tracking_resume(&node->tracking, node->session, node->inbox);
    if (node->gets_messages && node->store_events->listening)
        node->store_events->listening(node->store_events->context, node->number);
}

static void node_on_message(void *context, struct slice text)
{
    const struct node *node = context;
    if (node->store_events->message)
        node->store_events->message(node->store_events->context, node->number, text);
}

/* While the node is down, `down` has reported enough. */
static void node_on_inbox_lost(void *context, const char *reason)
{
    struct node *node = context;
    if (!node->gets_messages || node->inbox_loss_is_reported || !node_serves(node))
        return;
    node->inbox_loss_is_reported = true;
    struct failure warning;
    failure_set(&warning, 0, INBOX_LOSS "%s", reason);
    node_warn(node, warning.text);
}

void node_listen(struct node *node, struct slice channel)
{
    const struct inbox_events events = {node, node_on_listening, node_on_message, node_invalidated,
                                        node_on_inbox_lost};
    if (node->inbox)
        return;
    node->inbox = inbox_open(node->loop, node->url, node->endpoint, channel, &events);
    node->gets_messages = channel.length > 0;
    node->open++;
}

void node_track(struct node *node, struct slice prefix)
{
    tracking_begin(&node->tracking, node->session, node->inbox, prefix);
}

void node_untrack(struct node *node)
{
    tracking_end(&node->tracking, node->session);
}

bool node_tracks(const struct node *node)
{
    return node->tracking.wanted;
}

/* Confirming */

struct slice node_marker(const struct node *node)
{
    return node->marker;
}

void node_marker_moved(struct node *node)
{
    if (node->events.marker_moved && !node->closing)
        node->events.marker_moved(node->events.context, node->number);
}

static void node_one_closed(void *context);

static struct confirmer *node_confirmer(struct node *node, int replicas)
{
    struct confirmer *confirmer = node->confirmers[replicas - 1];
    if (confirmer)
        return confirmer;
    const struct confirmer_options options = {
        .node = node,
        .loop = node->loop,
        .url = node->url,
        .endpoint = node->endpoint,
        .replicas = replicas,
        .warns = replicas == node->expected,
    };
    node->open++;
    confirmer = confirmer_open(&options);
    node->confirmers[replicas - 1] = confirmer;
    if (node->closing) /* a script was still answered during the close */
        confirmer_close(confirmer, node_one_closed, node);
    return confirmer;
}

void node_expect_replicas(struct node *node, struct slice key, int replicas)
{
    char *bytes = memory_checked(malloc(key.length));
    memcpy(bytes, key.bytes, key.length);
    free((char *)node->marker.bytes);
    node->marker = (struct slice){bytes, key.length};
    node->expected = replicas;
    if (replicas > 0)
        node_confirmer(node, replicas);
}

void node_confirm(struct node *node, struct store_mark mark, int replicas, int64_t timeout_ms,
                  store_confirmed *done, void *context)
{
    enum { NS_PER_MS = 1000000 };
    /* Another connection may lead to another server, which may lack this answer. */
    bool is_same = node_is_up(node) && mark.connection == node_mark(node).connection;
    uint64_t due = is_same ? mark.sent / NS_PER_MS + (uint64_t)timeout_ms : 0;
    confirmer_ask(node_confirmer(node, replicas), node_peer(node), due, done, context);
}

/* Events of the session */

/* Makes Redis end the previous connection, too. Redis may still have commands of it to read, and
 * would run them later: it would repeat a grant in doubt that batond has taken back. */
static void node_bury_predecessor(struct node *node, int64_t client_id)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, client_id);
    const struct slice kill[] = {slice_of("CLIENT"), slice_of("KILL"), slice_of("ID"),
                                 slice_of(number)};
    session_ask(node->session, kill, 4, session_timeout_ms(node->session), NULL);
}

static void node_on_ready(void *context, const struct session_peer *peer)
{
    struct node *node = context;
    int64_t predecessor = known_peer_note(&node->known, peer, node_place(node));
    node_set_gate(node, true);
    node->loader = (struct loader){0};
    tracking_reset(&node->tracking);
    if (predecessor != 0)
        node_bury_predecessor(node, predecessor);
    node->events.up(node->events.context, node->number);
    tracking_resume(&node->tracking, node->session, node->inbox);
    if (peer->warning && node_is_up(node))
        node_warn(node, peer->warning->text);
}

static void node_on_lost(void *context, const struct session_loss *loss)
{
    struct node *node = context;
    node_load_lost(node);
    if (loss->is_news)
        node->events.down(node->events.context, node->number, loss->code, loss->reason);
}

/* While the gate is closed, Redis has refused what came before these calls, for the same reason. */
static const char *node_why_refused(void *context, enum store_outcome *ret)
{
    const struct node *node = context;
    const char *trouble = node_trouble(node);
    if (node_is_up(node) && node->gate_is_closed && node->gate_trouble[0])
        *ret = STORE_REFUSED;
    if (trouble[0])
        return trouble;
    if (node->gate_is_closed)
        return "this batond has just connected to Redis, and checks whether Redis has lost data";
    if (node_is_outdated(node))
        return "this batond stood still, and checks whether Redis is still the primary";
    return "this batond is stopping";
}

/* The beginning and the end */

static void node_one_closed(void *context)
{
    struct node *node = context;
    if (--node->open > 0)
        return;
    void (*closed)(void *context) = node->closed;
    void *closed_context = node->closed_context;
    tracking_free(&node->tracking);
    free((char *)node->marker.bytes);
    free(node);
    closed(closed_context);
}

struct node *node_open(const struct node_options *options)
{
    struct node *node = memory_checked(calloc(1, sizeof *node));
    *node = (struct node){.loop = options->loop,
                          .url = options->url,
                          .endpoint = options->endpoint,
                          .number = options->number,
                          .events = options->events,
                          .store_events = options->store_events,
                          .tracking = {.answered = node_tracked},
                          .open = 1};
    const struct session_events events = {
        .context = node,
        .pace = {.is_patient = true},
        .ready = node_on_ready,
        .stamp = node_stamp,
        .replied = node_script_answered,
        .why_refused = node_why_refused,
        .lost = node_on_lost,
        .closed = node_one_closed,
    };
    node->session = session_open(node->loop, node->url, node->endpoint, &events);
    return node;
}

void node_close(struct node *node, void (*closed)(void *context), void *context)
{
    node->closing = true;
    node->closed = closed;
    node->closed_context = context;
    for (int i = 0; i < STORE_REPLICAS_MOST; i++)
        if (node->confirmers[i])
            confirmer_close(node->confirmers[i], node_one_closed, node);
    if (node->inbox)
        inbox_close(node->inbox, node_one_closed, node);
    session_close(node->session);
}
