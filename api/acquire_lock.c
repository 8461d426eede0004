#include "api/api.h"
#include "api/etag.h"
#include "api/operations.h"
#include "api/problem.h"
#include "api/represent.h"
#include "api/target.h"

#include <stdio.h>

static struct slice token_of(const struct exchange *exchange)
{
    return exchange->parameters.texts[FIELD_LOCK_TOKEN];
}

static void answer_hold(struct exchange *exchange, const struct locks_reply *reply)
{
    bool is_new = reply->result == LOCKS_DONE;
    unsigned status = is_new ? 201 : 200;
    if (is_new)
        exchange->granted = reply->attempt;

    char path[3 * NAME_LENGTH + 1];
    percent_encode(exchange->name, path);
    reply_header(exchange, "Location", "/locks/%s", path);
    etag_reply(exchange, reply->hold.version);

    if (exchange->wants_text) {
        char line[TOKEN_LONGEST + 2] = "";
        memcpy(line, token_of(exchange).bytes, token_of(exchange).length);
        line[token_of(exchange).length] = '\n';
        reply_text(exchange, status, line);
        return;
    }
    reply_owned(exchange, status, "application/json",
                represent_hold(exchange->name, token_of(exchange), &reply->hold));
}

/* Adds who holds the lock, and when it may be worth while to ask again: when the first hold ends.
 */
static void add_holders(struct exchange *exchange, json_t *document, const struct lock_view *view)
{
    int64_t retry_ms = view->holder_count > 0 ? view->holders[0].ttl_ms + 1 : 1;
    json_object_set_new(document, "holders", represent_holders(view));
    json_object_set_new(document, "queue_length", json_integer(view->queue_length));
    json_object_set_new(document, "retry_after_ms", json_integer(retry_ms));
    reply_header(exchange, "Retry-After", "%lld", (long long)((retry_ms + 999) / 1000));
}

static void answer_locked(struct exchange *exchange, const struct lock_view *view)
{
    json_t *document =
        problem_new(exchange, PROBLEM_LOCKED, "%lld hold%s not admit another of this kind",
                    (long long)view->hold_count, view->hold_count == 1 ? " does" : "s do");
    add_holders(exchange, document, view);
    problem_answer(exchange, PROBLEM_LOCKED, document);
}

static void answer_limit_mismatch(struct exchange *exchange, const struct lock_view *view)
{
    char limit[32] = "no limit";
    if (view->limit > 0)
        snprintf(limit, sizeof limit, "the limit %lld", (long long)view->limit);
    problem_simply(exchange, PROBLEM_LIMIT_MISMATCH,
                   "the lock is held with %s; ask for the same, or wait until it is free", limit);
}

/* The outcome may be unknown, so the client gets its token: repeating the request with it is safe.
 */
static void answer_unavailable(struct exchange *exchange, const char *error)
{
    json_t *document = problem_new(exchange, PROBLEM_STORE_UNAVAILABLE,
                                   "%s; repeat the request with this token", error);
    json_object_set_new(document, "token", represent_text(token_of(exchange)));
    problem_answer(exchange, PROBLEM_STORE_UNAVAILABLE, document);
}

static void acquired(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    switch (reply->result) {
    case LOCKS_DONE:
    case LOCKS_REPEATED:
        answer_hold(exchange, reply);
        break;
    case LOCKS_LOCKED:
        answer_locked(exchange, &reply->view);
        break;
    case LOCKS_LIMIT_MISMATCH:
        answer_limit_mismatch(exchange, &reply->view);
        break;
    case LOCKS_TOKEN_RELEASED:
        problem_simply(exchange, PROBLEM_NOT_HELD,
                       "this token has been released; a new acquisition needs a new token");
        break;
    case LOCKS_TIMEOUT:
    case LOCKS_CANCELLED:
    case LOCKS_SUPERSEDED:
    case LOCKS_DRAINING:
    case LOCKS_TOO_MANY_WAITERS:
    case LOCKS_UPGRADE_CONFLICT:
    case LOCKS_NOT_HELD:
    case LOCKS_UNAVAILABLE:
        answer_unavailable(exchange, reply->error);
        break;
    }
    exchange_resume(exchange);
}

enum handling acquire_lock(struct exchange *exchange)
{
    struct parameters *parameters = &exchange->parameters;
    enum lock_mode mode = (enum lock_mode)parameters->numbers[FIELD_LOCK_MODE];
    if (field_given(parameters, FIELD_LIMIT) && mode != LOCK_SHARED) {
        field_refuse(exchange, FIELD_LIMIT, "only goes with the mode \"shared\"");
        return ANSWERED;
    }
    if (!field_given(parameters, FIELD_TTL))
        parameters->numbers[FIELD_TTL] = exchange->api->default_ttl_ms;
    bool token_is_new = !field_given(parameters, FIELD_LOCK_TOKEN);
    if (token_is_new) {
        token_make(&exchange->api->randomness, exchange->made_token);
        parameters->texts[FIELD_LOCK_TOKEN] = slice_of(exchange->made_token);
    }
    if (!field_given(parameters, FIELD_OWNER)) {
        token_make(&exchange->api->randomness, exchange->made_owner);
        parameters->texts[FIELD_OWNER] = slice_of(exchange->made_owner);
    }
    const struct acquire acquire = {
        .name = exchange->name,
        .token = token_of(exchange),
        .token_is_new = token_is_new,
        .owner = parameters->texts[FIELD_OWNER],
        .mode = mode,
        .limit = parameters->numbers[FIELD_LIMIT],
        .ttl_ms = parameters->numbers[FIELD_TTL],
        .meta = parameters->texts[FIELD_META],
    };
    locks_acquire(exchange->api->locks, &acquire, acquired, exchange);
    return PARKED;
}
