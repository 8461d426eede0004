#include "redis/wire/link.h"

#include "base/table.h"
#include "redis/wire/errors.h"
#include "redis/wire/link_server.h"
#include "redis/wire/loaded_scripts.h"
#include "redis/wire/pipeline.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_TRIES = 3,             /* tries of one call that comes too late each time */
    MOST_TURNS = 1000,          /* runs of one call whose script does its work in parts */
    MOST_LOADS = 10,            /* loads for one call, if Redis keeps forgetting its script */
    COMPLAINT_PAUSE_MS = 10000, /* between two warnings: every call may get an error */
};

struct link {
    uv_loop_t *loop;
    struct pipeline *pipeline;
    const struct endpoint *endpoint; /* NULL: none */
    struct link_events events;
    struct loaded_scripts loaded;
    bool gate_is_closed;
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
    return pipeline_is_up(link->pipeline);
}

bool link_serves(const struct link *link)
{
    return link_is_up(link) && !link->gate_is_closed && !link_is_outdated(link);
}

void link_set_gate(struct link *link, bool is_open)
{
    link->gate_is_closed = !is_open;
}

void link_retire(struct link *link, const char *reason)
{
    pipeline_retire(link->pipeline, reason);
}

bool link_is_idle(const struct link *link)
{
    return pipeline_is_idle(link->pipeline);
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
    return pipeline_trouble(link->pipeline);
}

const char *link_place(const struct link *link)
{
    return pipeline_place(link->pipeline);
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
    if (call->asking) {
        struct call *asking = call_new(CALL_ASKING, &ASKING, 1);
        asking->deadline = call->deadline;
        pipeline_send_ahead(link->pipeline, asking);
    }
    call->begun = uv_hrtime();
    if (link->events.stamp)
        link->events.stamp(link->events.context, call->begun, call->bytes + call->stamp);
    pipeline_send(link->pipeline, call);
}

static void link_send_load(struct link *link, const struct script *script)
{
    loaded_scripts_begin(&link->loaded, script);
    struct call *load = call_new_load(script);
    load->deadline = uv_now(link->loop) + STORE_DEADLINE_MS;
    pipeline_send_ahead(link->pipeline, load);
}

static void link_send_script(struct link *link, struct call *call)
{
    /* Load each script before its first use on a connection. Else, after a reconnect, later calls
     * would overtake the calls whose script Redis does not have. */
    const struct loaded_script *known = loaded_scripts_find(&link->loaded, call->script);
    if (!known || known->refused)
        link_send_load(link, call->script);
    call->deadline = uv_now(link->loop) + STORE_DEADLINE_MS;
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
        pipeline_refuse(link->pipeline, call);
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
        pipeline_refuse(link->pipeline, call);
}

static void link_send_words(struct link *link, enum call_kind kind, const struct slice *words,
                            size_t count)
{
    struct call *call = call_new(kind, words, count);
    call->deadline = uv_now(link->loop) + STORE_DEADLINE_MS;
    pipeline_send(link->pipeline, call);
}

void link_track(struct link *link, int64_t client_id, struct slice prefix)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, client_id);
    const struct slice words[] = {
        slice_of("CLIENT"), slice_of("TRACKING"), slice_of("ON"),     slice_of("REDIRECT"),
        slice_of(number),   slice_of("BCAST"),    slice_of("PREFIX"), prefix,
    };
    link_send_words(link, CALL_TRACK, words, sizeof words / sizeof words[0]);
}

void link_untrack(struct link *link)
{
    const struct slice words[] = {slice_of("CLIENT"), slice_of("TRACKING"), slice_of("OFF")};
    link_send_words(link, CALL_UNTRACK, words, sizeof words / sizeof words[0]);
}

/* Replies to scripts */

/* Redis refused the call. The callback gets the meaning of the error. */
static void link_call_refused(struct call *call, const char *error)
{
    char text[STORE_ERROR_TEXT];
    error_explain(error, text, sizeof text);
    call_finish(call, STORE_REFUSED, NULL, text);
}

/* The callback reports the damage: it knows the name. */
static void link_call_damaged(struct call *call, const char *error)
{
    char text[STORE_ERROR_TEXT];
    error_explain_damage(error, text, sizeof text);
    call_finish_damaged(call, text);
}

/* Uses SCRIPT LOAD and EVALSHA, not EVAL: from version 7.4 on, Redis drops a script that came by
 * EVAL after some hundreds of others, and keeps a loaded script. */
static void link_load_again(struct link *link, struct call *call, const char *error)
{
    const struct loaded_script *known = loaded_scripts_find(&link->loaded, call->script);
    if (known && known->refused) {
        link_call_refused(call, known->error);
        return;
    }
    if (++call->tries >= MOST_LOADS || !link_is_up(link)) {
        link_call_refused(call, error);
        return;
    }
    if (!known || !known->on_its_way)
        link_send_load(link, call->script);
    link_run(link, call);
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
    pipeline_retire(link->pipeline, reason.text);
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
    failure_set(&warning, 0, "%s answered the script %s with an error: %s", link_place(link),
                script->name, error_kind(error) == ERROR_REFUSED ? explained : error);
    link->events.warning(link->events.context, warning.text);
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
        link_load_again(link, call, error);
        break;
    case ERROR_WRONG_SERVER:
        link_leave(link, error);
        link_call_refused(call, error);
        break;
    case ERROR_LATE:
        link_script_late(link, call, error);
        break;
    case ERROR_REFUSED:
        link_call_refused(call, error);
        link_complain(link, script, error);
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

static void link_script_answered(struct link *link, struct call *call, const redisReply *reply)
{
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
                     "removing them; try again");
}

static void link_load_answered(struct link *link, struct call *call, const redisReply *reply)
{
    loaded_scripts_end(&link->loaded, call->script,
                       reply->type == REDIS_REPLY_ERROR ? reply->str : NULL);
    free(call);
}

/* Even an error does not matter: Redis only has to run these commands before the next ones. */
static void link_ended_answered(struct link *link, struct call *call, const redisReply *reply)
{
    (void)link, (void)reply;
    free(call);
}

static void link_track_answered(struct link *link, struct call *call, const redisReply *reply)
{
    free(call);
    if (link_is_up(link))
        link->events.tracked(link->events.context,
                             reply->type == REDIS_REPLY_ERROR ? reply->str : NULL);
}

/* Events of the pipeline */

/* Makes Redis end the previous connection, too. Redis may still have commands of it to read, and
 * would run them later: it would repeat a grant in doubt that batond has taken back. */
static void link_bury_predecessor(struct link *link, int64_t client_id)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, client_id);
    const struct slice kill[] = {slice_of("CLIENT"), slice_of("KILL"), slice_of("ID"),
                                 slice_of(number)};
    link_send_words(link, CALL_KILL, kill, sizeof kill / sizeof kill[0]);
}

static void link_ready(void *context, const struct session_peer *peer)
{
    struct link *link = context;
    int64_t predecessor = link_server_note(&link->server, peer, link_place(link));
    link->gate_is_closed = false;
    link->loaded = (struct loaded_scripts){0};
    if (predecessor != 0)
        link_bury_predecessor(link, predecessor);
    link->events.up(link->events.context);
    if (peer->warning && link_is_up(link))
        link->events.warning(link->events.context, peer->warning->text);
}

#define ANSWERS(X)                                                                                 \
    X(CALL_LOAD, link_load_answered)                                                               \
    X(CALL_SCRIPT, link_script_answered)                                                           \
    X(CALL_BARE, link_ended_answered)                                                              \
    X(CALL_KILL, link_ended_answered)                                                              \
    X(CALL_TRACK, link_track_answered)                                                             \
    X(CALL_UNTRACK, link_ended_answered)                                                           \
    X(CALL_ASKING, link_ended_answered)

static void link_replied(void *context, struct call *call, const redisReply *reply)
{
    static void (*const ANSWERED[])(struct link * link, struct call * call,
                                    const redisReply *reply) = {ANSWERS(TABLE_ROW)};
    TABLE_IS_COMPLETE(ANSWERS, CALL_KINDS);
    ANSWERED[call->kind](context, call, reply);
}

static void link_down(void *context, int code, const char *reason)
{
    struct link *link = context;
    link->events.down(link->events.context, code, reason);
}

static const char *link_why_refused(void *context)
{
    const struct link *link = context;
    const char *trouble = link_trouble(link);
    if (trouble[0])
        return trouble;
    if (link->gate_is_closed)
        return "batond has just connected to Redis, and looks whether it has lost anything";
    if (link_is_outdated(link))
        return "batond stood still, and asks whether Redis is still the primary";
    return "the store is being closed";
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
    const struct pipeline_events pipeline_events = {
        .context = link,
        .ready = link_ready,
        .replied = link_replied,
        .down = link_down,
        .why_refused = link_why_refused,
        .closed = link_closed,
    };
    int result = pipeline_open(&link->pipeline, loop, url, endpoint, &pipeline_events, failure);
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
    pipeline_close(link->pipeline);
}
