#include "redis/link.h"

#include "redis/call.h"
#include "redis/errors.h"
#include "redis/facts.h"
#include "redis/loaded.h"
#include "redis/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TRIES = 3,             /* of one call, when Redis keeps forgetting its script */
    COMPLAINT_PAUSE_MS = 10000, /* between two lines on errors, which may come with every call */
    RUN_ID_SIZE = 48,
    PLACE_SIZE = 300,
    TROUBLE_SIZE = sizeof((struct failure *)0)->text,
};

struct link {
    uv_loop_t *loop;
    struct session *session;
    const struct guide *guide; /* NULL: none */
    struct link_events events;
    struct call_queue pending;  /* sent, in the order in which replies will come */
    struct call_queue unsent;   /* to be failed at the end of the turn */
    char leaving[TROUBLE_SIZE]; /* why no new call is taken, and the connection is given up once
                                 * the open ones are answered; "" while all is well */
    struct loaded loaded;
    bool gate_is_closed;
    struct store_peer peer;
    int64_t
        old_client_id; /* of the last connection that was up, on the server's run `old_run_id` */
    char old_run_id[RUN_ID_SIZE];
    char old_place[PLACE_SIZE]; /* of it; "" before the first */
    uint64_t heard; /* when Redis last answered: while it does, who waits longer is only queued */
    uint64_t complaint_due; /* errors are told of from then on */
    uint64_t answering;     /* uv_hrtime at which the script was sent that was answered last */
    struct store_figures figures;
    void (*closed)(void *context);
    void *closed_context;
};

/* Sending */

static void link_send(struct link *link, struct call *call)
{
    static const struct slice ASKING = {"ASKING", 6};
    if (call->asking) {
        struct call *asking = call_new(CALL_ASKING, &ASKING, 1);
        asking->deadline = call->deadline;
        link_send(link, asking);
    }
    if (call->kind == CALL_SCRIPT) {
        call->begun = uv_hrtime();
        if (link->events.stamp)
            link->events.stamp(link->events.context, call->begun, call->bytes + call->stamp);
    }
    call_queue_push(&link->pending, call);
    call->end = session_send(link->session, call->bytes, call->length);
}

/* The deadline of each call is looked at when that of an earlier one has come. Where Redis has
 * nothing else of ours to do, it need not wait for what this turn of the loop still makes. */
static void link_send_timed(struct link *link, struct call *call)
{
    link_send(link, call);
    if (link->pending.head == call)
        session_push(link->session);
    session_wake(link->session, call->deadline);
}

static void link_send_load(struct link *link, const struct script *script)
{
    loaded_begin(&link->loaded, script);
    struct call *load = call_new_load(script);
    load->deadline = uv_now(link->loop) + STORE_DEADLINE_MS;
    link_send(link, load);
}

static void link_send_script(struct link *link, struct call *call)
{
    /* Each connection is given a script before its first use, so that after a reconnect no call is
     * overtaken by later ones because its script alone was forgotten. */
    const struct loaded_script *known = loaded_find(&link->loaded, call->script);
    if (!known || known->refused)
        link_send_load(link, call->script);
    call->deadline = uv_now(link->loop) + STORE_DEADLINE_MS;
    link_send_timed(link, call);
}

static void link_fail_later(struct link *link, struct call *call)
{
    call_queue_push(&link->unsent, call);
    session_request_turn(link->session);
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
        link->figures.calls++;
        link_send_script(link, call);
    } else {
        link_fail_later(link, call);
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
        link_fail_later(link, call);
}

static void link_send_words(struct link *link, enum call_kind kind, const struct slice *words,
                            size_t count)
{
    struct call *call = call_new(kind, words, count);
    call->deadline = uv_now(link->loop) + STORE_DEADLINE_MS;
    link_send_timed(link, call);
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
    if (++call->tries >= MOST_TRIES || !link_is_up(link)) {
        call_refused(call, STORE_REFUSED, error);
        return;
    }
    if (!known || !known->on_its_way)
        link_send_load(link, call->script);
    link_send_timed(link, call);
}

/* Nothing was done. Whoever called decides whether it is still to be. */
static void link_script_late(struct link *link, struct call *call, const char *error)
{
    bool again = false;
    link->answering = call->begun;
    call->done(call->context, &(struct store_result){STORE_LATE, NULL, error, &again});
    if (!again)
        call_forget(call);
    else if (++call->tries >= MOST_TRIES || !link_serves(link))
        call_refused(call, STORE_REFUSED, "Redis was too slow, so nothing was done");
    else
        link_send_timed(link, call);
}

static void link_leave(struct link *link, const char *error)
{
    if (link_is_up(link))
        snprintf(link->leaving, sizeof link->leaving, "%s refuses to serve: %s",
                 session_place(link->session), error);
}

/* Clients only hear that Redis cannot be asked: somebody has to be told why. */
static void link_complain(struct link *link, const struct script *script, const char *error)
{
    uint64_t now = uv_now(link->loop);
    if (!link_is_up(link) || now < link->complaint_due)
        return;
    link->complaint_due = now + COMPLAINT_PAUSE_MS;
    struct failure warning;
    failure_set(&warning, 0, "%s answered the script %s with an error: %s",
                session_place(link->session), script->name, error);
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
            call_refused(call, STORE_REFUSED, error);
        break;
    case ERROR_FORGOTTEN:
        link_load_again(link, call, error);
        break;
    case ERROR_WRONG_SERVER:
        link_leave(link, error);
        call_refused(call, STORE_REFUSED, error);
        break;
    case ERROR_LATE:
        link_script_late(link, call, error);
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
    if (reply->type == REDIS_REPLY_ERROR) {
        link_script_failed(link, call, reply->str);
        return;
    }
    link->answering = call->begun;
    link->events.answered(link->events.context, uv_hrtime() - call->begun);
    call_finish(call, STORE_REPLIED, (const struct value *)(const void *)reply, NULL);
}

static void link_load_answered(struct link *link, struct call *call, const redisReply *reply)
{
    loaded_end(&link->loaded, call->script, reply->type == REDIS_REPLY_ERROR ? reply->str : NULL);
    free(call);
}

/* Whether there was one to end, or this user may not: what counts is that it was asked first. */
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

/* What the session tells */

/* Ends the connection before this one for Redis, too. What it still had to read from there, it
 * would run at some later time: after a grant in doubt was taken back, it would grant it again. */
static void link_bury_predecessor(struct link *link, const struct session_peer *peer)
{
    char number[24];
    if (link->old_client_id != 0 && peer->run_id[0] &&
        strcmp(peer->run_id, link->old_run_id) == 0) {
        snprintf(number, sizeof number, "%" PRId64, link->old_client_id);
        struct slice kill[] = {slice_of("CLIENT"), slice_of("KILL"), slice_of("ID"),
                               slice_of(number)};
        link_send_words(link, CALL_KILL, kill, 4);
    }
    link->old_client_id = peer->client_id;
    snprintf(link->old_run_id, sizeof link->old_run_id, "%s", peer->run_id);
}

static void link_count(struct link *link)
{
    const char *place = session_place(link->session);
    link->figures.connects++;
    link->figures.switches += link->old_place[0] && strcmp(link->old_place, place) != 0;
    snprintf(link->old_place, sizeof link->old_place, "%s", place);
}

static void link_note_peer(struct link *link, const struct facts *facts)
{
    struct store_peer *peer = &link->peer;
    snprintf(peer->run_id, sizeof peer->run_id, "%s", facts->run_id);
    snprintf(peer->history, sizeof peer->history, "%s", facts->history);
    snprintf(peer->history_before, sizeof peer->history_before, "%s", facts->history_before);
    peer->up_s = facts->up_s;
    peer->replicas = facts->replicas;
}

static void link_ready(void *context, const struct session_peer *peer)
{
    struct link *link = context;
    link->gate_is_closed = false;
    link_note_peer(link, peer->facts);
    link_bury_predecessor(link, peer);
    link->loaded = (struct loaded){0};
    link_count(link);
    link->events.up(link->events.context);
    if (peer->warning && link_is_up(link))
        link->events.warning(link->events.context, peer->warning->text);
}

static void link_unasked(struct link *link, const redisReply *reply)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s ended the connection: %s", session_place(link->session),
                reply->type == REDIS_REPLY_ERROR ? reply->str : "it sent a reply to nothing");
    session_lose(link->session, -EAGAIN, reason.text);
}

static void link_replied(void *context, const redisReply *reply)
{
    static void (*const ANSWERED[])(struct link * link, struct call * call,
                                    const redisReply *reply) = {
        [CALL_LOAD] = link_load_answered,     [CALL_SCRIPT] = link_script_answered,
        [CALL_KILL] = link_ended_answered,    [CALL_TRACK] = link_track_answered,
        [CALL_UNTRACK] = link_ended_answered, [CALL_ASKING] = link_ended_answered,
    };
    struct link *link = context;
    struct call *call = call_queue_pop(&link->pending);
    link->heard = uv_now(link->loop);
    if (!call) {
        link_unasked(link, reply);
        return;
    }
    ANSWERED[call->kind](link, call, reply);
    if (link->leaving[0] && !link->pending.head)
        session_lose(link->session, -EAGAIN, link->leaving);
}

static void link_fail_unsent(struct link *link, const char *reason)
{
    struct call_queue calls = call_queue_take(&link->unsent);
    for (struct call *call = call_queue_pop(&calls); call; call = call_queue_pop(&calls))
        call_finish(call, STORE_UNSENT, NULL, reason);
}

/* A command that has not left this process entirely cannot have been run. */
static void link_fail_pending(struct link *link, const struct session_loss *loss)
{
    struct call_queue calls = call_queue_take(&link->pending);
    for (struct call *call = call_queue_pop(&calls); call; call = call_queue_pop(&calls))
        call_finish(call, call->end > loss->sent ? STORE_UNSENT : STORE_IN_DOUBT, NULL,
                    loss->reason);
}

/* Whoever hears that a call has failed may close the link, or call again. */
static void link_lost(void *context, const struct session_loss *loss)
{
    struct link *link = context;
    link->leaving[0] = '\0';
    link_fail_pending(link, loss);
    if (loss->code == -ECANCELED) {
        while (link->unsent.head)
            link_fail_unsent(link, loss->reason);
    } else if (loss->is_news && !link->closed) {
        link->events.down(link->events.context, loss->code, loss->reason);
    }
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
static void link_woken(void *context)
{
    struct link *link = context;
    while (session_read(link->session))
        ;
    const struct call *first = earliest(&link->pending);
    if (!session_is_ready(link->session) || !first)
        return;
    uint64_t silent = link->heard + STORE_DEADLINE_MS;
    uint64_t deadline = first->deadline > silent ? first->deadline : silent;
    if (deadline > uv_now(link->loop)) {
        session_wake(link->session, deadline);
        return;
    }
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s did not answer within %d ms; is it stopped or overloaded?",
                session_place(link->session), STORE_DEADLINE_MS);
    session_lose(link->session, -EAGAIN, reason.text);
}

static bool link_is_outdated(const struct link *link)
{
    return link->guide && link->guide->until <= uv_now(link->loop);
}

static void link_turn_ends(void *context)
{
    struct link *link = context;
    const char *trouble = link_trouble(link);
    if (!trouble[0] && link->gate_is_closed)
        trouble = "batond has just connected to Redis, and looks whether it has lost anything";
    else if (!trouble[0] && link_is_outdated(link))
        trouble = "batond stood still, and asks whether Redis is still the primary";
    link_fail_unsent(link, trouble[0] ? trouble : "the store is being closed");
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

int link_open(struct link **ret, uv_loop_t *loop, const struct redis_url *url, struct guide *guide,
              const struct link_events *events, struct failure *failure)
{
    struct link *link = calloc(1, sizeof *link);
    if (!link)
        return failure_set(failure, -ENOMEM, "no memory");
    link->loop = loop;
    link->guide = guide;
    link->events = *events;
    const struct session_events session_events = {
        .context = link,
        .ready = link_ready,
        .replied = link_replied,
        .lost = link_lost,
        .woken = link_woken,
        .turn_ends = link_turn_ends,
        .closed = link_closed,
    };
    int result = session_open(&link->session, loop, url, guide, &session_events, failure);
    if (result < 0) {
        free(link);
        return result;
    }
    *ret = link;
    return 0;
}

static void nobody_cares(void *context)
{
    (void)context;
}

void link_close(struct link *link, void (*closed)(void *context), void *context)
{
    link->closed = closed ? closed : nobody_cares;
    link->closed_context = context;
    session_close(link->session);
}

bool link_is_idle(const struct link *link)
{
    return !link->pending.head;
}

struct store_mark link_mark(const struct link *link)
{
    return (struct store_mark){.connection = link->figures.connects, .sent = link->answering};
}

const struct store_peer *link_peer(const struct link *link)
{
    return &link->peer;
}

void link_set_gate(struct link *link, bool is_open)
{
    link->gate_is_closed = !is_open;
}

bool link_serves(const struct link *link)
{
    return link_is_up(link) && !link->gate_is_closed && !link_is_outdated(link);
}

void link_retire(struct link *link, const char *reason)
{
    if (!link_is_up(link))
        return;
    snprintf(link->leaving, sizeof link->leaving, "%s", reason);
    if (!link->pending.head)
        session_lose(link->session, -EAGAIN, link->leaving);
}

bool link_is_up(const struct link *link)
{
    return session_is_ready(link->session) && !link->leaving[0];
}

const char *link_trouble(const struct link *link)
{
    return link->leaving[0] ? link->leaving : session_trouble(link->session);
}

const char *link_place(const struct link *link)
{
    return session_place(link->session);
}

struct store_figures link_figures(const struct link *link)
{
    return link->figures;
}
