#include "api/access/completion.h"
#include "api/access/permission.h"
#include "api/http/context.h"
#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/state_text.h"
#include "api/http/text_line.h"
#include "api/operations/breaker.h"
#include "api/operations/not_held.h"
#include "api/operations/operations.h"
#include "api/stats/lock_event.h"

static void release_answer(struct exchange *exchange, const struct release *release)
{
    char text[STATE_TEXT];
    if (release->version > 0)
        etag_reply(exchange, release->version);
    fence_reply(exchange, release->fence);
    if (exchange->wants_text) {
        state_text_release(release, text);
        reply_text(exchange, 200, text_line("%s", text));
    } else {
        reply_owned(exchange, 200, "application/json", represent_release(exchange->name, release));
    }
}

static void release_on_done(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    lock_event_released(exchange, exchange->name, reply->result, &reply->release);
    if (reply->result == LOCKS_DONE) {
        release_answer(exchange, &reply->release);
    } else if (reply->result == LOCKS_NOT_HELD) {
        not_held(exchange, &reply->view.last_release,
                 "This token has no live hold, so nothing was released. If it had one, the hold "
                 "has expired or was broken: check what you did without the lock.",
                 ", so nothing was released. Check what you did without the lock.");
    } else {
        problem_unanswered(exchange, reply->result, reply->error);
    }
    exchange_resume(exchange);
}

static void break_answer_text(struct exchange *exchange, const struct locks_reply *reply)
{
    int64_t count = reply->broken.count;
    char holders[STATE_TEXT] = "";
    if (reply->view.holder_count > 0)
        state_text_holders(&reply->view, count, holders);
    reply_text(exchange, 200,
               text_line("broken: %lld hold%s%s%s%s", (long long)count, state_plural(count),
                         holders[0] ? ", of " : "", holders,
                         reply->broken.cleared ? ", and data that could not be read" : ""));
}

static void break_answer(struct exchange *exchange, const struct locks_reply *reply)
{
    int64_t count = reply->broken.count;
    etag_reply(exchange, reply->broken.version);
    if (exchange->wants_text) {
        break_answer_text(exchange, reply);
        return;
    }
    json_t *document = json_object();
    json_object_set_new(document, "name", represent_text(exchange->name));
    json_object_set_new(document, "broken", json_integer(count));
    json_object_set_new(document, "holders", represent_holders(&reply->view));
    json_object_set_new(document, "version", json_integer(reply->broken.version));
    if (reply->broken.cleared)
        json_object_set_new(document, "cleared", json_true());
    reply_json(exchange, 200, "application/json", document);
}

/* The hold to break had ended already: reports the present state. */
static void on_seen_instead(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    struct lock_view seen = reply->view, *view = &seen;
    char state[STATE_TEXT];
    if (reply->result != LOCKS_DONE) {
        problem_unanswered(exchange, reply->result, reply->error);
        exchange_resume(exchange);
        return;
    }
    permission_hide_others(exchange, view);
    state_text(view, state);
    json_t *document =
        problem_new(exchange, PROBLEM_HOLD_ENDED,
                    "No hold of this lock has the fence %lld now, so nothing was broken. Now it is "
                    "%s.",
                    (long long)exchange->parameters.numbers[FIELD_FENCE], state);
    json_object_set_new(document, "holders", represent_holders(view));
    json_object_set_new(document, "queue_length", json_integer(view->queue_length));
    json_object_set_new(document, "last_release", represent_end(&view->last_release));
    problem_answer(exchange, PROBLEM_HOLD_ENDED, document);
    exchange_resume(exchange);
}

static void broken(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    if (reply->result != LOCKS_DONE) {
        problem_unanswered(exchange, reply->result, reply->error);
    } else if (reply->broken.count == 0 && field_given(&exchange->parameters, FIELD_FENCE)) {
        locks_inspect(exchange->api->locks, exchange->name, slice_of(NULL), LOCK_WAITERS_SHOWN,
                      on_seen_instead, exchange);
        return;
    } else {
        struct locks_reply shown = *reply;
        lock_event_forced(exchange, reply);
        permission_hide_others(exchange, &shown.view);
        break_answer(exchange, &shown);
    }
    exchange_resume(exchange);
}

static bool is_refused(struct exchange *exchange, bool force, bool has_token)
{
    const struct parameters *parameters = &exchange->parameters;
    if (force && has_token)
        field_refuse(
            exchange, FIELD_FORCE,
            "takes no token, because it breaks the holds of all owners. Leave out one of the two.");
    else if (!force && field_given(parameters, FIELD_FENCE))
        field_refuse(exchange, FIELD_FENCE, "only with force=true: a token names its hold itself.");
    else if (!force && field_given(parameters, FIELD_REASON))
        field_refuse(exchange, FIELD_REASON, "only with force=true, which breaks the lock.");
    else if (!force && !has_token)
        field_refuse(exchange, FIELD_LOCK_TOKEN,
                     "missing. Send it in the Lock-Token header or as \"token\" in the body "
                     "(force=true breaks the lock without one).");
    else
        return false;
    return true;
}

enum handling release_lock(struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    bool has_token = field_given(parameters, FIELD_LOCK_TOKEN);
    bool force = parameters->numbers[FIELD_FORCE] != 0;
    if (is_refused(exchange, force, has_token))
        return ANSWERED;
    if (force) {
        const struct breaker breaker = breaker_of(exchange);
        locks_break(exchange->api->locks, exchange->name, parameters->numbers[FIELD_FENCE],
                    &breaker, broken, exchange);
    } else {
        locks_release(exchange->api->locks, exchange->name, exchange->holder.token, release_on_done,
                      exchange);
    }
    return PARKED;
}
