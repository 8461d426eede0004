#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/operations/operations.h"

static void inspect_answer(struct exchange *exchange, const struct lock_view *view)
{
    etag_reply_view(exchange, view);
    if (etag_matches(exchange->head.if_none_match, view->version)) {
        reply_nothing(exchange, 304);
        return;
    }
    if (exchange->wants_text)
        reply_view_line(exchange, view);
    else
        reply_json(exchange, 200, "application/json", represent_view_for(exchange, view));
}

static void inspect_on_done(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    if (reply->result == LOCKS_DONE)
        inspect_answer(exchange, &reply->view);
    else
        problem_unanswered(exchange, reply->result, reply->error);
    exchange_resume(exchange);
}

enum handling inspect_lock(struct exchange *exchange)
{
    int64_t waiters = exchange->parameters.numbers[FIELD_WAITERS];
    locks_inspect(exchange->api->locks, exchange->name, exchange->holder.token,
                  waiters > 0 ? (size_t)waiters : LOCK_WAITERS_SHOWN, inspect_on_done, exchange);
    return PARKED;
}
