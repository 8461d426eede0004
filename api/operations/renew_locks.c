#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/state_text.h"
#include "api/http/text_line.h"
#include "api/operations/acquisition.h"
#include "api/operations/operations.h"
#include "api/operations/several.h"
#include "api/stats/lock_event.h"

/* The line is about the hold that ends first. */
static void renew_locks_answer(struct exchange *exchange, const struct several_reply *reply)
{
    const struct hold *first = &reply->each[0].hold;
    char text[STATE_TEXT];
    if (!exchange->wants_text) {
        reply_json(exchange, 200, "application/json", several_holds(exchange, reply));
        return;
    }
    for (size_t i = 1; i < reply->count; i++)
        if (reply->each[i].hold.ttl_ms < first->ttl_ms)
            first = &reply->each[i].hold;
    state_text_hold(first, text);
    reply_text(exchange, 200,
               text_line("%zu lock%s %s", reply->count, state_plural((int64_t)reply->count), text));
}

static void renew_locks_on_done(void *context, const struct several_reply *reply)
{
    struct exchange *exchange = context;
    for (size_t i = 0; i < reply->count; i++)
        lock_event_renewed(exchange, reply->each[i].name, reply->each[i].result,
                           &reply->each[i].hold);
    if (reply->result == LOCKS_DONE) {
        renew_locks_answer(exchange, reply);
    } else if (reply->result == LOCKS_NOT_HELD) {
        several_refuse(exchange, PROBLEM_NOT_HELD, reply,
                       "This token has no live hold of these names; the others were renewed, as "
                       "far as their max_held allows. Stop the work that these locks protect, "
                       "and acquire them again.");
    } else if (reply->result == LOCKS_MAX_HELD) {
        several_refuse(
            exchange, PROBLEM_MAX_HELD, reply,
            "No renewal carries these holds beyond their max_held; the others were renewed. Finish "
            "the work that these locks protect before they end, and acquire them again.");
    } else if (reply->result == LOCKS_UNCONFIRMED) {
        problem_unconfirmed_renewal(exchange, reply->error);
    } else {
        problem_unanswered(exchange, reply->result, reply->error);
    }
    exchange_resume(exchange);
}

enum handling renew_locks(struct exchange *exchange)
{
    if (!several_is_complete(exchange, true))
        return ANSWERED;
    /* Without a TTL in the request this is 0: each hold keeps its TTL. */
    locks_renew_several(exchange->api->locks, exchange->parameters.names, several_count(exchange),
                        exchange->holder.token, exchange->parameters.numbers[FIELD_TTL],
                        acquisition_replicas(exchange), renew_locks_on_done, exchange);
    return PARKED;
}
