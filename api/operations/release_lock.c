#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/state_text.h"
#include "api/http/text_line.h"
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
        problem_simply(
            exchange, PROBLEM_NOT_HELD,
            "This token has no live hold, so nothing was released. If it had one, the hold "
            "has expired or was broken: check what you did without the lock.");
    } else {
        problem_unanswered(exchange, reply->result, reply->error);
    }
    exchange_resume(exchange);
}

static void break_answer(struct exchange *exchange, const struct locks_reply *reply)
{
    int64_t count = reply->broken.count;
    etag_reply(exchange, reply->broken.version);
    if (exchange->wants_text) {
        reply_text(exchange, 200,
                   text_line("broken: %lld hold%s%s", (long long)count, state_plural(count),
                             reply->broken.cleared ? ", and data that could not be read" : ""));
        return;
    }
    json_t *document = json_object();
    json_object_set_new(document, "name", represent_text(exchange->name));
    json_object_set_new(document, "broken", json_integer(count));
    json_object_set_new(document, "version", json_integer(reply->broken.version));
    if (reply->broken.cleared)
        json_object_set_new(document, "cleared", json_true());
    reply_json(exchange, 200, "application/json", document);
}

static void broken(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    if (reply->result == LOCKS_DONE) {
        lock_event_forced(exchange, reply->broken.count, reply->broken.cleared);
        break_answer(exchange, reply);
    } else {
        problem_unavailable(exchange, reply->error);
    }
    exchange_resume(exchange);
}

enum handling release_lock(struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    bool has_token = field_given(parameters, FIELD_LOCK_TOKEN);
    bool force = parameters->numbers[FIELD_FORCE] != 0;
    if (force && has_token) {
        field_refuse(
            exchange, FIELD_FORCE,
            "takes no token, because it breaks the holds of all owners. Leave out one of the two.");
        return ANSWERED;
    }
    if (!force && !has_token) {
        field_refuse(exchange, FIELD_LOCK_TOKEN,
                     "missing. Send it in the Lock-Token header or as \"token\" in the body "
                     "(force=true breaks the lock without one).");
        return ANSWERED;
    }
    if (force)
        locks_break(exchange->api->locks, exchange->name, broken, exchange);
    else
        locks_release(exchange->api->locks, exchange->name, exchange->holder.token, release_on_done,
                      exchange);
    return PARKED;
}
