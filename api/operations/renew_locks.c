#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/operations/acquisition.h"
#include "api/operations/operations.h"
#include "api/operations/several.h"
#include "api/stats/lock_event.h"

static void renew_locks_on_done(void *context, const struct several_reply *reply)
{
    struct exchange *exchange = context;
    for (size_t i = 0; i < reply->count; i++)
        lock_event_renewed(exchange, reply->each[i].name, reply->each[i].result,
                           &reply->each[i].hold);
    if (reply->result == LOCKS_DONE) {
        json_t *document = json_object();
        json_object_set_new(document, "token", represent_text(acquisition_token(exchange)));
        json_object_set_new(document, "owner", represent_owner(reply->each[0].hold.owner));
        json_object_set_new(document, "locks", several_holds(exchange, reply));
        reply_json(exchange, 200, "application/json", document);
    } else if (reply->result == LOCKS_NOT_HELD) {
        several_not_held(
            exchange, reply,
            "This token has no live hold of these names; the others were renewed. Stop "
            "the work that these locks protect, and acquire them again.");
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
