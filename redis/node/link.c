#include "redis/node/link.h"

#include "redis/node/link_server.h"
#include "redis/node/loader.h"
#include "redis/wire/errors.h"
#include "redis/wire/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TRIES = 3,             /* tries of one call that comes too late each time */
    MOST_TURNS = 1000,          /* runs of one call whose script does its work in parts */
    MOST_LOADS = 10,            /* tries of one call, if Redis keeps forgetting its function */
    COMPLAINT_PAUSE_MS = 10000, /* between two warnings: every call may get an error */
};

struct link {
    uv_loop_t *loop;
    struct session *session;
    const struct endpoint *endpoint; /* NULL: none */
    struct link_events events;
    struct loader loader;
    bool gate_is_closed;
    char gate_trouble[STORE_ERROR_TEXT]; /* what Redis refused last while the gate was closed */
    struct link_server server;
    uint64_t complaint_due; /* the next warning may come then; on the loop's clock, in ms */
    uint64_t answering;     /* when the script that answered last was sent (uv_hrtime) */
    uint64_t calls;         /* scripts sent, without those of link_eval_first */
    void (*closed)(void *context);
    void *closed_context;
};

/* Its condition */

static bool link_is_outdated(const struct link *link)
{
    return link->endpoint && link->endpoint->until <= uv_now(link->loop);
}

bool link_is_up(const struct link *link)
{
    return session_is_ready(link->session);
}

bool link_serves(const struct link *link)
{
    return link_is_up(link) && !link->gate_is_closed && !link_is_outdated(link);
}

void link_set_gate(struct link *link, bool is_open)
{
    link->gate_is_closed = !is_open;
    link->gate_trouble[0] = '\0';
}

void link_retire(struct link *link, const char *reason)
{
    session_retire(link->session, reason);
}

bool link_is_idle(const struct link *link)
{
    return session_is_idle(link->session);
}

struct store_mark link_mark(const struct link *link)
{
    return (struct store_mark){.connection = link->server.connects, .sent = link->answering};
}

const struct store_peer *link_peer(const struct link *link)
{
    return &link->server.peer;
}

const char *link_trouble(const struct link *link)
{
    const char *trouble = session_trouble(link->session);
    return trouble[0] ? trouble : link->gate_trouble;
}

const char *link_place(const struct link *link)
{
    return session_place(link->session);
}

struct store_figures link_figures(const struct link *link)
{
    return (struct store_figures){link->calls, link->server.connects, link->server.switches};
}

/* Sending */

/* Sends a script call, whose deadline is set. */
static void link_run(struct link *link, struct call *call)
{
    static const struct slice ASKING = {"ASKING", 6};
    if (call->asking)
        session_ask(link->session, &ASKING, 1, session_timeout_ms(link->session), NULL);
    call->begun = uv_hrtime();
    if (link->events.stamp)
        link->events.stamp(link->events.context, call->begun, call->bytes + call->stamp);
    session_send(link->session, call);
}

/* Sends a script call, or keeps it back while the library is being loaded: see loader.h. */
static void link_send_script(struct link *link, struct call *call)
{
    call->answer_ms = session_timeout_ms(link->session);
    call->deadline = uv_now(link->loop) + call->answer_ms;
    if (link->loader.is_loading)
        call_queue_push(&link->loader.held, call);
    else
        link_run(link, call);
}

void link_eval(struct link *link, const struct script *script, struct slice key,
               const struct slice *arguments, size_t argument_count, store_done *done,
               void *context)
{
    link_send_call(link, call_new_script(script, key, 1, arguments, argument_count, done, context));
}

void link_send_call(struct link *link, struct call *call)
{
    if (link_serves(link)) {
        link->calls++;
        link_send_script(link, call);
    } else {
        session_refuse(link->session, call);
    }
}

void link_eval_first(struct link *link, const struct script *script, struct slice key,
                     const struct slice *arguments, size_t argument_count, store_done *done,
                     void *context)
{
    struct call *call =
        call_new_script(script, key, key.bytes ? 1 : 0, arguments, argument_count, done, context);
    if (link_is_up(link))
        link_send_script(link, call);
    else
        session_refuse(link->session, call);
}

/* Replies to scripts */

/* Redis refused the call. The callback gets the meaning of the error. */
static void link_call_refused(struct call *call, const char *error)
{
    char text[STORE_ERROR_TEXT];
    error_explain(error, text, sizeof text);
    if (error_has_code(error, "FORMAT"))
        call_finish_foreign(call, text);
    else
        call_finish(call, STORE_REFUSED, NULL, text);
}

/* The callback reports the damage: it knows the name. */
static void link_call_damaged(struct call *call, const char *error)
{
    char text[STORE_ERROR_TEXT];
    error_explain_damage(error, text, sizeof text);
    call_finish_damaged(call, text);
}

/* The callback decides whether the script runs again: it came too late and did nothing, or it did
 * only a part of its work. */
static void link_script_done(struct link *link, struct call *call, struct store_result result,
                             unsigned *tries, unsigned most_tries, const char *given_up)
{
    bool again = false;
    result.again = &again;
    call->done(call->context, &result);
    if (!again)
        call_forget(call);
    else if (++*tries >= most_tries || !link_serves(link))
        call_finish(call, STORE_REFUSED, NULL, given_up);
    else
        link_run(link, call);
}

static void link_script_late(struct link *link, struct call *call, const char *error)
{
    link->answering = call->begun;
    if (link->events.late)
        link->events.late(link->events.context);
    link_script_done(link, call, (struct store_result){.outcome = STORE_LATE, .error = error},
                     &call->tries, MOST_TRIES, "Redis was too slow, so nothing was done");
}

static void link_leave(struct link *link, const char *error)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s refuses to serve: %s", link_place(link), error);
    session_retire(link->session, reason.text);
}

/* Warns the operator of the cause: clients only hear that batond cannot ask Redis. */
static void link_complain(struct link *link, const struct script *script, const char *error)
{
    uint64_t now = uv_now(link->loop);
    if (!link_is_up(link) || now < link->complaint_due)
        return;
    link->complaint_due = now + COMPLAINT_PAUSE_MS;
    struct failure warning;
    char explained[sizeof warning.text];
    error_explain(error, explained, sizeof explained);
    bool is_refused = error_kind(error) == ERROR_REFUSED || error_kind(error) == ERROR_FULL;
    failure_set(&warning, 0, "%s answered the script %s with an error: %s", link_place(link),
                script->name, is_refused ? explained : error);
    link->events.warning(link->events.context, warning.text);
}

static void link_script_refused(struct link *link, struct call *call, const char *error)
{
    const struct script *script = call->script;
    if (link->gate_is_closed)
        error_explain(error, link->gate_trouble, sizeof link->gate_trouble);
    link_call_refused(call, error);
    link_complain(link, script, error);
}

/* Redis is full, and the function might have stored something new. The one that takes its place
 * finds out whether the call can do without. */
static void link_script_full(struct link *link, struct call *call, const char *error)
{
    if (call->script->when_full && !call->is_full && link_is_up(link))
        link_run(link, call_when_full(call));
    else
        link_script_refused(link, call, error);
}

static void link_load_answered(void *context, const redisReply *reply);

static void link_send_load(struct link *link, const struct library *library)
{
    const struct slice words[] = {
        slice_of("FUNCTION"), slice_of("LOAD"), {library->text, library->length}};
    loader_begin(&link->loader);
    session_ask(link->session, words, 3, session_timeout_ms(link->session), link_load_answered);
}

/* Redis does not have the function. */
static void link_script_missing(struct link *link, struct call *call, const char *error)
{
    const char *refusal = loader_refusal(&link->loader, uv_now(link->loop));
    if (refusal || ++call->tries >= MOST_LOADS || !link_is_up(link)) {
        link_script_refused(link, call, refusal ? refusal : error);
        return;
    }
    if (!link->loader.is_loading)
        link_send_load(link, call->script->library);
    link_run(link, call);
}

static void link_script_failed(struct link *link, struct call *call, const char *error)
{
    const struct script *script = call->script;
    switch (error_kind(error)) {
    case ERROR_ELSEWHERE:
        if (call->routing.is_on)
            link->events.redirected(link->events.context, call, error);
        else
            link_call_refused(call, error);
        break;
    case ERROR_FORGOTTEN:
        link_script_missing(link, call, error);
        break;
    case ERROR_WRONG_SERVER:
        link_leave(link, error);
        link_call_refused(call, error);
        break;
    case ERROR_LATE:
        link_script_late(link, call, error);
        break;
    case ERROR_FULL:
        link_script_full(link, call, error);
        break;
    case ERROR_REFUSED:
        link_script_refused(link, call, error);
        break;
    case ERROR_DAMAGED:
        link_call_damaged(call, error);
        break;
    case ERROR_UNKNOWN:
        call_finish(call, STORE_IN_DOUBT, NULL, error);
        link_complain(link, script, error);
        break;
    }
}

static void link_script_answered(void *context, struct call *call, const redisReply *reply)
{
    struct link *link = context;
    if (reply->type == REDIS_REPLY_ERROR) {
        link_script_failed(link, call, reply->str);
        return;
    }
    const struct value *value = (const struct value *)(const void *)reply;
    link->answering = call->begun;
    link->events.answered(link->events.context, uv_hrtime() - call->begun);
    link_script_done(link, call, (struct store_result){.outcome = STORE_REPLIED, .reply = value},
                     &call->turns, MOST_TURNS,
                     "so many holds or waiters of this name have ended at once that Redis is still "
                     "removing them");
}

/* The library */

/* If Redis has refused the library, it answers the calls behind it that their function is missing:
 * see link_script_missing. */
static void link_load_answered(void *context, const redisReply *reply)
{
    struct link *link = context;
    loader_end(&link->loader, reply->type == REDIS_REPLY_ERROR ? reply->str : NULL,
               uv_now(link->loop));
    struct call_queue held = call_queue_take(&link->loader.held);
    for (struct call *call = call_queue_pop(&held); call; call = call_queue_pop(&held))
        if (link_is_up(link))
            link_run(link, call);
        else
            session_refuse(link->session, call);
}

/* The connection is lost. Redis has not got the calls that were held. */
static void link_load_lost(struct link *link)
{
    link->loader.is_loading = false;
    struct call_queue held = call_queue_take(&link->loader.held);
    for (struct call *call = call_queue_pop(&held); call; call = call_queue_pop(&held))
        session_refuse(link->session, call);
}

/* Another worker may have been first. */
static void link_delete_answered(void *context, const redisReply *reply)
{
    static const char GONE[] = "ERR Library not found";
    struct link *link = context;
    if (reply->type != REDIS_REPLY_ERROR || strcmp(reply->str, GONE) == 0 || !link_is_up(link))
        return;
    struct failure warning;
    char explained[sizeof warning.text];
    error_explain(reply->str, explained, sizeof explained);
    failure_set(&warning, 0,
                "%s still has the functions of a release that no batond runs any more: %s",
                link_place(link), explained);
    link->events.warning(link->events.context, warning.text);
}

void link_delete_library(struct link *link, struct slice name)
{
    const struct slice words[] = {slice_of("FUNCTION"), slice_of("DELETE"), name};
    session_ask(link->session, words, 3, session_timeout_ms(link->session), link_delete_answered);
}

/* Tracking */

static void link_track_answered(void *context, const redisReply *reply)
{
    struct link *link = context;
    if (link_is_up(link))
        link->events.tracked(link->events.context,
                             reply->type == REDIS_REPLY_ERROR ? reply->str : NULL);
}

void link_track(struct link *link, int64_t client_id, struct slice prefix)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, client_id);
    const struct slice words[] = {
        slice_of("CLIENT"), slice_of("TRACKING"), slice_of("ON"),     slice_of("REDIRECT"),
        slice_of(number),   slice_of("BCAST"),    slice_of("PREFIX"), prefix,
    };
    session_ask(link->session, words, 8, session_timeout_ms(link->session), link_track_answered);
}

/* Even an error does not matter: Redis only has to run this before the next command. */
void link_untrack(struct link *link)
{
    const struct slice words[] = {slice_of("CLIENT"), slice_of("TRACKING"), slice_of("OFF")};
    session_ask(link->session, words, 3, session_timeout_ms(link->session), NULL);
}

/* Events of the session */

/* Makes Redis end the previous connection, too. Redis may still have commands of it to read, and
 * would run them later: it would repeat a grant in doubt that batond has taken back. */
static void link_bury_predecessor(struct link *link, int64_t client_id)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, client_id);
    const struct slice kill[] = {slice_of("CLIENT"), slice_of("KILL"), slice_of("ID"),
                                 slice_of(number)};
    session_ask(link->session, kill, 4, session_timeout_ms(link->session), NULL);
}

static void link_ready(void *context, const struct session_peer *peer)
{
    struct link *link = context;
    int64_t predecessor = link_server_note(&link->server, peer, link_place(link));
    link_set_gate(link, true);
    link->loader = (struct loader){0};
    if (predecessor != 0)
        link_bury_predecessor(link, predecessor);
    link->events.up(link->events.context);
    if (peer->warning && link_is_up(link))
        link->events.warning(link->events.context, peer->warning->text);
}

static void link_lost(void *context, const struct session_loss *loss)
{
    struct link *link = context;
    link_load_lost(link);
    if (loss->is_news)
        link->events.down(link->events.context, loss->code, loss->reason);
}

/* While the gate is closed, Redis has refused what came before these calls, for the same reason. */
static const char *link_why_refused(void *context, enum store_outcome *ret)
{
    const struct link *link = context;
    const char *trouble = link_trouble(link);
    if (link_is_up(link) && link->gate_is_closed && link->gate_trouble[0])
        *ret = STORE_REFUSED;
    if (trouble[0])
        return trouble;
    if (link->gate_is_closed)
        return "this batond has just connected to Redis, and checks whether Redis has lost data";
    if (link_is_outdated(link))
        return "this batond stood still, and checks whether Redis is still the primary";
    return "this batond is stopping";
}

/* The beginning and the end */

static void link_closed(void *context)
{
    struct link *link = context;
    void (*closed)(void *context) = link->closed;
    void *closed_context = link->closed_context;
    free(link);
    closed(closed_context);
}

int link_open(struct link **ret, uv_loop_t *loop, const struct redis_url *url,
              struct endpoint *endpoint, const struct link_events *events, struct failure *failure)
{
    struct link *link = calloc(1, sizeof *link);
    if (!link)
        return failure_set(failure, -ENOMEM, "no memory");
    link->loop = loop;
    link->endpoint = endpoint;
    link->events = *events;
    const struct session_events session_events = {
        .context = link,
        .pace = {.is_patient = true},
        .ready = link_ready,
        .replied = link_script_answered,
        .why_refused = link_why_refused,
        .lost = link_lost,
        .closed = link_closed,
    };
    int result = session_open(&link->session, loop, url, endpoint, &session_events, failure);
    if (result < 0) {
        free(link);
        return result;
    }
    *ret = link;
    return 0;
}

static void link_ignore_closed(void *context)
{
    (void)context;
}

void link_close(struct link *link, void (*closed)(void *context), void *context)
{
    link->closed = closed ? closed : link_ignore_closed;
    link->closed_context = context;
    session_close(link->session);
}
