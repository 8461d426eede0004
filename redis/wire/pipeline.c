#include "redis/wire/pipeline.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

enum { TROUBLE_SIZE = sizeof((struct failure *)0)->text };

struct pipeline {
    uv_loop_t *loop;
    struct session *session;
    struct pipeline_events events;
    struct call_queue pending;  /* sent, in the order of their replies */
    struct call_queue refused;  /* they fail at the end of the turn */
    char leaving[TROUBLE_SIZE]; /* why the pipeline takes no new call, and ends the connection once
                                 * the open calls are answered; "" if it is not retired */
    bool is_telling; /* hands out a reply, and then checks whether that was the last one */
    uint64_t heard;  /* when Redis last answered, on the loop's clock, in ms: while Redis answers, a
                      * call that waits longer is only queued */
    bool closing;
};

/* Sending */

void pipeline_send_ahead(struct pipeline *pipeline, struct call *call)
{
    call_queue_push(&pipeline->pending, call);
    call->end = session_send(pipeline->session, call->bytes, call->length);
}

/* session_wake leaves a timer alone that is due earlier; pipeline_on_woken then sets it to the next
 * deadline. If Redis has no other call of ours, it gets this one now, not at the end of this turn
 * of the loop. */
void pipeline_send(struct pipeline *pipeline, struct call *call)
{
    pipeline_send_ahead(pipeline, call);
    if (pipeline->pending.head == call)
        session_push(pipeline->session);
    session_wake(pipeline->session, call->deadline);
}

void pipeline_refuse(struct pipeline *pipeline, struct call *call)
{
    call_queue_push(&pipeline->refused, call);
    session_request_turn(pipeline->session);
}

/* Retiring */

static void pipeline_end_if_retired(struct pipeline *pipeline)
{
    if (pipeline->leaving[0] && !pipeline->pending.head)
        session_lose(pipeline->session, -EAGAIN, pipeline->leaving);
}

void pipeline_retire(struct pipeline *pipeline, const char *reason)
{
    if (!pipeline_is_up(pipeline))
        return;
    snprintf(pipeline->leaving, sizeof pipeline->leaving, "%s", reason);
    if (!pipeline->is_telling)
        pipeline_end_if_retired(pipeline);
}

/* Events of the session */

static void pipeline_on_ready(void *context, const struct session_peer *peer)
{
    struct pipeline *pipeline = context;
    pipeline->events.ready(pipeline->events.context, peer);
}

static void pipeline_unasked(struct pipeline *pipeline, const redisReply *reply)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s ended the connection: %s", session_place(pipeline->session),
                reply->type == REDIS_REPLY_ERROR ? reply->str : "it sent a reply to nothing");
    session_lose(pipeline->session, -EAGAIN, reason.text);
}

static void pipeline_on_replied(void *context, const redisReply *reply)
{
    struct pipeline *pipeline = context;
    struct call *call = call_queue_pop(&pipeline->pending);
    pipeline->heard = uv_now(pipeline->loop);
    if (!call) {
        pipeline_unasked(pipeline, reply);
        return;
    }
    pipeline->is_telling = true;
    pipeline->events.replied(pipeline->events.context, call, reply);
    pipeline->is_telling = false;
    pipeline_end_if_retired(pipeline);
}

static void pipeline_fail_refused(struct pipeline *pipeline, enum store_outcome outcome,
                                  const char *reason)
{
    struct call_queue calls = call_queue_take(&pipeline->refused);
    for (struct call *call = call_queue_pop(&calls); call; call = call_queue_pop(&calls))
        call_finish(call, outcome, NULL, reason);
}

/* Redis cannot have run a command that has not left this process entirely. */
static void pipeline_fail_pending(struct pipeline *pipeline, const struct session_loss *loss)
{
    struct call_queue calls = call_queue_take(&pipeline->pending);
    for (struct call *call = call_queue_pop(&calls); call; call = call_queue_pop(&calls))
        call_finish(call, call->end > loss->sent ? STORE_UNSENT : STORE_IN_DOUBT, NULL,
                    loss->reason);
}

/* The callback of a failed call may close the pipeline, or call again. */
static void pipeline_on_lost(void *context, const struct session_loss *loss)
{
    struct pipeline *pipeline = context;
    pipeline->leaving[0] = '\0';
    pipeline_fail_pending(pipeline, loss);
    if (loss->code == -ECANCELED) {
        while (pipeline->refused.head)
            pipeline_fail_refused(pipeline, STORE_UNSENT, loss->reason);
    } else if (loss->is_news && !pipeline->closing) {
        pipeline->events.down(pipeline->events.context, loss->code, loss->reason);
    }
}

static const struct call *pipeline_earliest(const struct call_queue *queue)
{
    const struct call *found = queue->head;
    for (const struct call *call = found; call; call = call->next)
        if (call->deadline < found->deadline)
            found = call;
    return found;
}

/* Reads first: replies that came while this process was held up are not late. */
static void pipeline_on_woken(void *context)
{
    struct pipeline *pipeline = context;
    while (session_read(pipeline->session))
        ;
    const struct call *first = pipeline_earliest(&pipeline->pending);
    if (!session_is_ready(pipeline->session) || !first)
        return;
    uint64_t silent = pipeline->heard + STORE_DEADLINE_MS;
    uint64_t deadline = first->deadline > silent ? first->deadline : silent;
    if (deadline > uv_now(pipeline->loop)) {
        session_wake(pipeline->session, deadline);
        return;
    }
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s did not answer within %d ms; is it stopped or overloaded?",
                session_place(pipeline->session), STORE_DEADLINE_MS);
    session_lose(pipeline->session, -EAGAIN, reason.text);
}

static void pipeline_on_turn_ends(void *context)
{
    struct pipeline *pipeline = context;
    enum store_outcome outcome = STORE_UNSENT;
    const char *reason = pipeline->events.why_refused(pipeline->events.context, &outcome);
    pipeline_fail_refused(pipeline, outcome, reason);
}

/* The beginning and the end */

static void pipeline_on_closed(void *context)
{
    struct pipeline *pipeline = context;
    struct pipeline_events events = pipeline->events;
    free(pipeline);
    events.closed(events.context);
}

int pipeline_open(struct pipeline **ret, uv_loop_t *loop, const struct redis_url *url,
                  struct endpoint *endpoint, const struct pipeline_events *events,
                  struct failure *failure)
{
    struct pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (!pipeline)
        return failure_set(failure, -ENOMEM, "no memory");
    pipeline->loop = loop;
    pipeline->events = *events;
    const struct session_events session_events = {
        .context = pipeline,
        .ready = pipeline_on_ready,
        .replied = pipeline_on_replied,
        .lost = pipeline_on_lost,
        .woken = pipeline_on_woken,
        .turn_ends = pipeline_on_turn_ends,
        .closed = pipeline_on_closed,
    };
    int result = session_open(&pipeline->session, loop, url, endpoint, &session_events, failure);
    if (result < 0) {
        free(pipeline);
        return result;
    }
    *ret = pipeline;
    return 0;
}

void pipeline_close(struct pipeline *pipeline)
{
    pipeline->closing = true;
    session_close(pipeline->session);
}

bool pipeline_is_up(const struct pipeline *pipeline)
{
    return session_is_ready(pipeline->session) && !pipeline->leaving[0];
}

bool pipeline_is_idle(const struct pipeline *pipeline)
{
    return !pipeline->pending.head;
}

const char *pipeline_trouble(const struct pipeline *pipeline)
{
    return pipeline->leaving[0] ? pipeline->leaving : session_trouble(pipeline->session);
}

const char *pipeline_place(const struct pipeline *pipeline)
{
    return session_place(pipeline->session);
}
