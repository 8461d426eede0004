#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/state_text.h"
#include "api/http/text_line.h"
#include "api/operations/acquisition.h"
#include "api/operations/not_held.h"
#include "api/operations/operations.h"
#include "api/stats/lock_event.h"

static void renew_answer(struct exchange *exchange, const struct hold *hold)
{
    char text[STATE_TEXT];
    etag_reply(exchange, hold->version);
    fence_reply(exchange, hold->fence);
    if (exchange->wants_text) {
        state_text_hold(hold, text);
        reply_text(exchange, 200, text_line("%s", text));
    } else {
        reply_owned(
            exchange, 200, "application/json",
            represent_hold(exchange->name, exchange->parameters.texts[FIELD_LOCK_TOKEN], hold));
    }
}

static void renew_refuse_final(struct exchange *exchange, const struct hold *hold)
{
    json_t *document = problem_new(
        exchange, PROBLEM_MAX_HELD,
        "No renewal carries this hold beyond its max_held. It ends in %lld s: finish the work that "
        "the lock protects by then, and acquire the lock again.",
        state_seconds_left(hold->ttl_ms));
    json_object_set_new(document, "ttl_ms", json_integer(hold->ttl_ms));
    problem_answer(exchange, PROBLEM_MAX_HELD, document);
}

static void renew_on_done(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    lock_event_renewed(exchange, exchange->name, reply->result, &reply->hold);
    if (reply->result == LOCKS_DONE) {
        renew_answer(exchange, &reply->hold);
    } else if (reply->result == LOCKS_NOT_HELD) {
        not_held(exchange, &reply->view.last_release,
                 "This token has no live hold, so nothing was renewed. Stop the work that the lock "
                 "protects, and acquire the lock again.",
                 ", so nothing was renewed. Stop the work that the lock protects, and acquire it "
                 "again.");
    } else if (reply->result == LOCKS_MAX_HELD) {
        renew_refuse_final(exchange, &reply->hold);
    } else if (reply->result == LOCKS_UNCONFIRMED) {
        problem_unconfirmed_renewal(exchange, reply->error);
    } else {
        problem_unanswered(exchange, reply->result, reply->error);
    }
    exchange_resume(exchange);
}

enum handling renew_lock(struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    if (!field_given(parameters, FIELD_LOCK_TOKEN)) {
        field_refuse(exchange, FIELD_LOCK_TOKEN,
                     "missing. Send it in the Lock-Token header or as \"token\" in the body.");
        return ANSWERED;
    }
    /* Without a TTL in the request this is 0: the hold keeps its TTL. */
    locks_renew(exchange->api->locks, exchange->name, exchange->holder.token,
                parameters->numbers[FIELD_TTL], acquisition_replicas(exchange), renew_on_done,
                exchange);
    return PARKED;
}
