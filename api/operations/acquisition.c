#include "api/operations/acquisition.h"

#include "api/access/ownership.h"
#include "api/http/context.h"
#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/route.h"
#include "api/http/state_text.h"
#include "api/http/target.h"
#include "base/duration.h"
#include "base/memory.h"
#include "locks/types/owner.h"

#include <ctype.h>
#include <stdio.h>

static const char LOCKS[] = "/locks/";

enum {
    RETRY_LONGEST_MS = 10000,
    DETAIL_LENGTH = 128,
    WAIT_SHOWN_MS = 30000, /* the example in a problem, if max-wait allows it */
    STATE_SENTENCES = STATE_TEXT + 160,
};

struct slice acquisition_token(const struct exchange *exchange)
{
    return exchange->parameters.texts[FIELD_LOCK_TOKEN];
}

int64_t acquisition_replicas(const struct exchange *exchange)
{
    int64_t asked = exchange->parameters.numbers[FIELD_CONFIRM], set = exchange->api->replicas;
    return asked > set ? asked : set;
}

/* Returns false if it has answered, because two fields exclude each other. `keep` without a wait is
 * fine: a client that sends what is left of its wait ends so. */
static bool are_compatible(struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    if (field_given(parameters, FIELD_LIMIT) &&
        parameters->numbers[FIELD_LOCK_MODE] != LOCK_SHARED) {
        field_refuse(exchange, FIELD_LIMIT,
                     "only with the mode \"shared\". Send mode=shared, or leave the limit out.");
        return false;
    }
    if (parameters->numbers[FIELD_PERMITS] > parameters->numbers[FIELD_LIMIT]) {
        field_refuse(exchange, FIELD_PERMITS,
                     "only with a limit, and at most as many as that. Send limit=NUMBER, or leave "
                     "the permits out.");
        return false;
    }
    if (parameters->numbers[FIELD_REENTRANT] && !field_given(parameters, FIELD_OWNER)) {
        field_refuse(
            exchange, FIELD_REENTRANT,
            "only with an owner, whose holds let the request in. Send owner=NAME, or leave "
            "reentrant out.");
        return false;
    }
    return true;
}

/* Sets how long the hold may be carried by renewals, if the request does not say. Returns false if
 * it has answered that the name cannot stay taken for longer. */
static bool set_max_held(struct exchange *exchange)
{
    struct parameters *parameters = &exchange->parameters;
    char most[DURATION_TEXT], expected[DETAIL_LENGTH];
    if (!field_given(parameters, FIELD_MAX_HELD))
        parameters->numbers[FIELD_MAX_HELD] = fields_longest_held(exchange);
    int64_t most_ms = parameters->numbers[FIELD_MAX_HELD];
    if (most_ms == 0 || parameters->numbers[FIELD_AT_LEAST] <= most_ms)
        return true;
    duration_format(most_ms, most);
    snprintf(expected, sizeof expected, "longer than max_held, which is %s for this hold.", most);
    field_refuse(exchange, FIELD_AT_LEAST, expected);
    return false;
}

bool acquisition_read(struct exchange *exchange, struct acquire *ret)
{
    struct parameters *parameters = &exchange->parameters;
    if (!are_compatible(exchange) || !set_max_held(exchange))
        return false;
    if (!field_given(parameters, FIELD_TTL)) {
        int64_t longest = fields_longest_ttl(exchange), set = exchange->api->default_ttl_ms;
        parameters->numbers[FIELD_TTL] = set < longest ? set : longest;
    }
    bool token_is_new = !field_given(parameters, FIELD_LOCK_TOKEN);
    if (token_is_new) {
        token_make(&exchange->api->randomness, exchange->holder.made_token);
        parameters->texts[FIELD_LOCK_TOKEN] = slice_of(exchange->holder.made_token);
        ownership_set_token(exchange);
    }
    if (!field_given(parameters, FIELD_OWNER))
        parameters->texts[FIELD_OWNER] = slice_of(exchange->head.client);
    ownership_set_owner(exchange);
    *ret = (struct acquire){
        .token = exchange->holder.token,
        .token_is_new = token_is_new,
        .owner = exchange->holder.owner,
        .owner_is_made = !field_given(parameters, FIELD_OWNER),
        .is_reentrant = parameters->numbers[FIELD_REENTRANT] != 0,
        .mode = (enum lock_mode)parameters->numbers[FIELD_LOCK_MODE],
        .limit = parameters->numbers[FIELD_LIMIT],
        .permits = parameters->numbers[FIELD_PERMITS],
        .ttl_ms = parameters->numbers[FIELD_TTL],
        .at_least_ms = parameters->numbers[FIELD_AT_LEAST],
        .max_held_ms = parameters->numbers[FIELD_MAX_HELD],
        .meta = parameters->texts[FIELD_META],
        .client = slice_of(exchange->head.client),
        .wait_ms = parameters->numbers[FIELD_WAIT],
        .keep_ms = parameters->numbers[FIELD_KEEP],
        .replicas = acquisition_replicas(exchange),
        .of_connection = field_given(parameters, FIELD_HOLD),
    };
    return true;
}

void acquisition_headers(struct exchange *exchange, const struct hold *hold)
{
    char path[sizeof LOCKS + 3 * NAME_LENGTH];
    char *name = stpcpy(path, LOCKS);
    size_t length = percent_encode(exchange->name, name);
    reply_header_text(exchange, "Location", (struct slice){path, (size_t)(name - path) + length});
    etag_reply(exchange, hold->version);
    fence_reply(exchange, hold->fence);
}

void acquisition_answer_token(struct exchange *exchange, unsigned status)
{
    struct slice token = acquisition_token(exchange);
    char *line = memory_checked(malloc(token.length + 2));
    strcpy(mempcpy(line, token.bytes, token.length), "\n");
    reply_text(exchange, status, line);
}

static void add_token(const struct exchange *exchange, json_t *document)
{
    json_object_set_new(document, "token", represent_text(acquisition_token(exchange)));
}

/* When to ask again: most holds are released long before their TTL ends, an operator may end a
 * quarantine, and some clients sleep exactly as long as the reply says. */
static int64_t acquisition_retry_ms(int64_t ends_ms)
{
    return ends_ms < RETRY_LONGEST_MS ? ends_ms : RETRY_LONGEST_MS;
}

/* When the first hold ends at the latest. */
static int64_t acquisition_end_ms(const struct lock_view *view)
{
    return view->holder_count > 0 ? view->holders[0].ttl_ms + 1 : 1;
}

static void add_retry(struct exchange *exchange, json_t *document, int64_t ends_ms)
{
    int64_t retry_ms = acquisition_retry_ms(ends_ms);
    json_object_set_new(document, "retry_after_ms", json_integer(retry_ms));
    reply_header(exchange, "Retry-After", "%lld", state_seconds_left(retry_ms));
}

/* Adds the holders, and when to ask again. */
static void add_holders(struct exchange *exchange, json_t *document, const struct lock_view *view)
{
    json_object_set_new(document, "holders", represent_holders(view));
    json_object_set_new(document, "queue_length", json_integer(view->queue_length));
    represent_position(document, view);
    add_retry(exchange, document, acquisition_end_ms(view));
}

/* Whether a hold of the same owner would have let the request in. */
static bool may_reenter(const struct exchange *exchange, const struct lock_view *view)
{
    const struct parameters *parameters = &exchange->parameters;
    if (!field_given(parameters, FIELD_OWNER) || parameters->numbers[FIELD_REENTRANT])
        return false;
    for (size_t i = 0; i < view->holder_count; i++)
        if (!view->holders[i].released &&
            slice_same(view->holders[i].owner, exchange->holder.owner))
            return true;
    return false;
}

/* Whether the request goes by the number of shared holds, and not by their owners. */
static bool goes_by_limit(const struct exchange *exchange, const struct lock_view *view)
{
    return field_given(&exchange->parameters, FIELD_LIMIT) && view->holder_count > 0 &&
           view->holders[0].mode == LOCK_SHARED;
}

/* Sentences on the holders and the number of waiters; "" if there are neither. */
static void describe_state(const struct exchange *exchange, const struct lock_view *view,
                           char text[STATE_SENTENCES])
{
    char state[STATE_TEXT];
    text[0] = '\0';
    if (view->holder_count == 0 && view->queue_length == 0)
        return;
    if (goes_by_limit(exchange, view))
        state_text_semaphore(view, exchange->parameters.numbers[FIELD_LIMIT],
                             exchange->parameters.numbers[FIELD_PERMITS], state);
    else
        state_text(view, state);
    snprintf(text, STATE_SENTENCES, "%c%s. %s", toupper((unsigned char)state[0]), state + 1,
             may_reenter(exchange, view)
                 ? "A holder has the same owner name: with reentrant=true, an owner enters its own "
                   "lock. "
                 : "");
}

/* The answer to a request without a wait. It does not overtake waiters, so the lock may even be
 * free. */
static json_t *locked(struct exchange *exchange, const struct lock_view *view)
{
    int64_t most_ms = exchange->api->max_wait_ms;
    char wait[DURATION_TEXT], state[STATE_SENTENCES];
    duration_format(most_ms < WAIT_SHOWN_MS ? most_ms : WAIT_SHOWN_MS, wait);
    describe_state(exchange, view, state);
    json_t *document = problem_new(
        exchange, PROBLEM_LOCKED, "%sWait for it with wait=%s, or try again after %lld s.", state,
        wait, state_seconds_left(acquisition_retry_ms(acquisition_end_ms(view))));
    add_holders(exchange, document, view);
    return document;
}

static json_t *timed_out(struct exchange *exchange, const struct lock_view *view)
{
    bool can_keep = exchange->route->fields & FIELD_BIT(FIELD_KEEP);
    char kept[DURATION_TEXT], longest[DURATION_TEXT], state[STATE_SENTENCES];
    json_t *document;
    duration_format(exchange->api->max_wait_ms, longest);
    duration_format(exchange->wait.keep_ms, kept);
    describe_state(exchange, view, state);
    if (exchange->wait.keep_ms > 0)
        document = problem_new(exchange, PROBLEM_WAIT_TIMEOUT,
                               "%sYour place in the queue is kept for %s. Repeat the request with "
                               "this token to go on waiting there.",
                               state, kept);
    else
        document = problem_new(
            exchange, PROBLEM_WAIT_TIMEOUT,
            "%sYour place in the queue is given up. Queue again with wait=%s%s.", state, longest,
            can_keep ? " and keep=10s, which keeps your place until you repeat the request" : "");
    add_token(exchange, document);
    add_holders(exchange, document, view);
    return document;
}

static json_t *token_in_use(struct exchange *exchange, const struct lock_view *view)
{
    char use[STATE_TEXT];
    state_text_use(view, use);
    return problem_new(exchange, PROBLEM_TOKEN_IN_USE,
                       "This token was used for %s. Repeat that request as it was, or send another "
                       "token with this one.",
                       use);
}

static json_t *too_many(struct exchange *exchange, const struct lock_view *view)
{
    json_t *document = problem_new(exchange, PROBLEM_TOO_MANY_WAITERS,
                                   "The queue is full: %lld requests are waiting, and "
                                   "max-waiters allows no more. Try again later.",
                                   (long long)view->queue_length);
    json_object_set_new(document, "bound", json_string("name"));
    json_object_set_new(document, "queue_length", json_integer(view->queue_length));
    reply_header(exchange, "Retry-After", "1");
    return document;
}

static json_t *draining(struct exchange *exchange)
{
    json_t *document = problem_new(exchange, PROBLEM_DRAINING,
                                   "Repeat the request with this token. Another batond "
                                   "continues where this one stops.");
    add_token(exchange, document);
    return document;
}

/* The outcome may be unknown, so the client gets its token: repeating the request with it is safe.
 */
static json_t *unavailable(struct exchange *exchange, const char *error)
{
    json_t *document = problem_of_error(exchange, PROBLEM_STORE_UNAVAILABLE, error,
                                        "Repeat the request with this token.");
    add_token(exchange, document);
    return document;
}

/* A hold that the token had before was not given back. */
static json_t *unconfirmed(struct exchange *exchange, const char *error)
{
    json_t *document = problem_of_error(exchange, PROBLEM_UNCONFIRMED, error,
                                        "The grant of this request is taken back. Repeat the "
                                        "request with this token.");
    add_token(exchange, document);
    return document;
}

/* Says when the quarantine ends; a longer wait is granted then. Possibly only Redis knows of it: a
 * clock that was ahead has ended the last hold of this name, or its data was replaced just now. */
static json_t *quarantined(struct exchange *exchange, struct slice name,
                           const struct lock_view *view)
{
    enum quarantine_reason reason;
    int64_t left_ms = locks_quarantine(exchange->api->locks, name, &reason);
    if (reason == QUARANTINE_NONE && view && view->opens_ms > 0) {
        reason = view->opens_reason;
        left_ms = view->opens_ms;
    }
    int64_t ends_ms = left_ms > 0 ? left_ms : 1;
    const char *known = quarantine_text(reason);
    const char *why = known[0] ? known : "Redis may have lost data";
    json_t *document = problem_new(
        exchange, PROBLEM_QUARANTINED,
        "%c%s, so locks that are still held may be missing there. New locks are paused for %lld s, "
        "until every such lock has expired; renewals and releases are served. Repeat the request "
        "with this token then%s.",
        toupper((unsigned char)why[0]), why + 1, state_seconds_left(ends_ms),
        ends_ms < exchange->api->max_wait_ms ? ", or now with a longer wait" : "");
    add_token(exchange, document);
    json_object_set_new(document, "reason", json_string(quarantine_word(reason)));
    add_retry(exchange, document, ends_ms);
    return document;
}

/* With several names: the hold of one has ended before all were granted. */
static json_t *lost_on_the_way(const struct exchange *exchange, const struct lock_view *view,
                               struct slice name)
{
    const struct hold_end *end = &view->last_release;
    bool is_known = end->fence > 0;
    bool is_released = is_known && slice_equals(end->reason, "released");
    char ended[STATE_TEXT] = "ended";
    if (is_known)
        state_text_end(end, ended);
    json_t *document = problem_new(
        exchange, PROBLEM_NOT_HELD,
        "The hold of %.*s %s, before all locks were granted, so all are given back. %s",
        (int)name.length, name.bytes, ended,
        is_released ? "Acquire them with a new token." : "Repeat the request with this token.");
    if (is_known)
        json_object_set_new(document, "ended", represent_end(end));
    if (!is_released)
        add_token(exchange, document);
    return document;
}

/* Returns the document, and sets which problem it is. */
static json_t *problem_of(struct exchange *exchange, enum locks_result result,
                          const struct lock_view *view, const char *error, struct slice name,
                          enum problem *ret)
{
    switch (result) {
    case LOCKS_LOCKED:
        *ret = PROBLEM_LOCKED;
        return locked(exchange, view);
    case LOCKS_TIMEOUT:
        *ret = PROBLEM_WAIT_TIMEOUT;
        return timed_out(exchange, view);
    case LOCKS_UPGRADE_CONFLICT:
        *ret = PROBLEM_UPGRADE_CONFLICT;
        return problem_new(
            exchange, *ret,
            "Another owner waits to enter the lock that it holds, and each would wait for the "
            "other. Release your hold, then acquire the lock again.");
    case LOCKS_TOKEN_IN_USE:
        *ret = PROBLEM_TOKEN_IN_USE;
        return token_in_use(exchange, view);
    case LOCKS_TOKEN_RELEASED:
        *ret = PROBLEM_NOT_HELD;
        return problem_new(exchange, *ret,
                           "This token was released. Acquire the lock with a new token.");
    case LOCKS_NOT_HELD:
        *ret = PROBLEM_NOT_HELD;
        return lost_on_the_way(exchange, view, name);
    case LOCKS_CANCELLED:
        *ret = PROBLEM_NOT_HELD;
        return problem_new(exchange, *ret,
                           "The wait of this token was cancelled. Acquire the lock with a new "
                           "token.");
    case LOCKS_SUPERSEDED:
        *ret = PROBLEM_SUPERSEDED;
        return problem_new(exchange, *ret,
                           "A later request with this token waits in place of this one. Use the "
                           "answer to that request.");
    case LOCKS_TOO_MANY_WAITERS:
        *ret = PROBLEM_TOO_MANY_WAITERS;
        return too_many(exchange, view);
    case LOCKS_DRAINING:
        *ret = PROBLEM_DRAINING;
        return draining(exchange);
    case LOCKS_UNCONFIRMED:
        *ret = PROBLEM_UNCONFIRMED;
        return unconfirmed(exchange, error);
    case LOCKS_QUARANTINED:
        *ret = PROBLEM_QUARANTINED;
        return quarantined(exchange, name, view);
    case LOCKS_DAMAGED:
        *ret = PROBLEM_DAMAGED;
        return problem_damage(exchange, error);
    case LOCKS_DONE:
    case LOCKS_REPEATED:
    case LOCKS_MAX_HELD:
    case LOCKS_UNAVAILABLE:
        break;
    }
    *ret = PROBLEM_STORE_UNAVAILABLE;
    return unavailable(exchange, error);
}

void acquisition_refuse(struct exchange *exchange, enum locks_result result,
                        const struct lock_view *view, const char *error, struct slice refused)
{
    enum problem problem;
    struct slice name = refused.bytes ? refused : exchange->name;
    json_t *document = problem_of(exchange, result, view, error, name, &problem);
    if (refused.bytes)
        json_object_set_new(document, "name", represent_text(refused));
    problem_answer(exchange, problem, document);
}
