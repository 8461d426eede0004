#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/state_text.h"
#include "api/http/text_line.h"
#include "api/operations/operations.h"
#include "api/operations/several.h"
#include "api/stats/lock_event.h"

static void release_locks_answer_line(struct exchange *exchange, const struct several_reply *reply)
{
    char taken[STATE_TEXT];
    int64_t free_in_ms = 0;
    size_t cancelled = 0;
    for (size_t i = 0; i < reply->count; i++) {
        const struct release *release = &reply->each[i].release;
        cancelled += release->cancelled;
        if (!release->cancelled && release->free_in_ms > free_in_ms)
            free_in_ms = release->free_in_ms;
    }
    size_t released = reply->count - cancelled;
    state_text_taken(free_in_ms, taken);
    char *line = cancelled > 0 ? text_line("released: %zu of %zu%s; the others left the queue",
                                           released, reply->count, taken)
                               : text_line("released: %zu lock%s%s", released,
                                           state_plural((int64_t)released), taken);
    reply_text(exchange, 200, line);
}

static void release_locks_answer(struct exchange *exchange, const struct several_reply *reply)
{
    if (exchange->wants_text) {
        release_locks_answer_line(exchange, reply);
        return;
    }
    json_t *document = json_object(), *locks = json_array();
    for (size_t i = 0; i < reply->count; i++)
        json_array_append_new(
            locks, represent_release_document(reply->each[i].name, &reply->each[i].release));
    json_object_set_new(document, "locks", locks);
    reply_json(exchange, 200, "application/json", document);
}

static void release_locks_on_done(void *context, const struct several_reply *reply)
{
    struct exchange *exchange = context;
    for (size_t i = 0; i < reply->count; i++)
        lock_event_released(exchange, reply->each[i].name, reply->each[i].result,
                            &reply->each[i].release);
    if (reply->result == LOCKS_DONE) {
        release_locks_answer(exchange, reply);
    } else if (reply->result == LOCKS_NOT_HELD) {
        several_refuse(exchange, PROBLEM_NOT_HELD, reply,
                       "This token has no live hold of these names: it never had one, or the hold "
                       "has expired or was broken. The others were released.");
    } else {
        problem_unanswered(exchange, reply->result, reply->error);
    }
    exchange_resume(exchange);
}

/* Whether the request has a field that needs force=true. */
static bool has_part_of_a_break(struct exchange *exchange)
{
    static const enum field_id OF_BREAK[] = {FIELD_PREFIX, FIELD_REASON, FIELD_PAGE, FIELD_CURSOR};
    for (size_t i = 0; i < sizeof OF_BREAK / sizeof OF_BREAK[0]; i++)
        if (field_given(&exchange->parameters, OF_BREAK[i])) {
            field_refuse(exchange, OF_BREAK[i],
                         "only with force=true, which breaks all locks under a prefix. To release "
                         "several locks, send their names and the token.");
            return true;
        }
    return false;
}

enum handling release_locks(struct exchange *exchange)
{
    if (exchange->parameters.numbers[FIELD_FORCE])
        return break_locks(exchange);
    if (has_part_of_a_break(exchange))
        return ANSWERED;
    if (!several_is_complete(exchange, true))
        return ANSWERED;
    locks_release_several(exchange->api->locks, exchange->parameters.names, several_count(exchange),
                          exchange->holder.token, release_locks_on_done, exchange);
    return PARKED;
}
