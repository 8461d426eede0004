#include "api/operations/acquisition.h"

#include "api/access/ownership.h"
#include "api/http/context.h"
#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/target.h"
#include "base/duration.h"

#include <stdio.h>

static const char LOCKS[] = "/locks/";

enum {
    RETRY_LONGEST_MS = 10000,
    WAIT_SHOWN_MS = 30000, /* the example in a problem, if max-wait allows it */
    DAMAGE_LENGTH = 768,
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

/* Returns false if it has answered, because two fields exclude each other. */
static bool are_compatible(struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    if (field_given(parameters, FIELD_LIMIT) &&
        parameters->numbers[FIELD_LOCK_MODE] != LOCK_SHARED) {
        field_refuse(exchange, FIELD_LIMIT, "only goes with the mode \"shared\"");
        return false;
    }
    if (parameters->numbers[FIELD_KEEP] > 0 && parameters->numbers[FIELD_WAIT] == 0) {
        field_refuse(exchange, FIELD_KEEP,
                     "only goes with wait_ms: who does not wait has no place to be kept");
        return false;
    }
    return true;
}

bool acquisition_read(struct exchange *exchange, struct acquire *ret)
{
    struct parameters *parameters = &exchange->parameters;
    if (!are_compatible(exchange))
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
    if (!field_given(parameters, FIELD_OWNER)) {
        token_make(&exchange->api->randomness, exchange->holder.made_owner);
        parameters->texts[FIELD_OWNER] = slice_of(exchange->holder.made_owner);
    }
    ownership_set_owner(exchange);
    *ret = (struct acquire){
        .token = exchange->holder.token,
        .token_is_new = token_is_new,
        .owner = exchange->holder.owner,
        .mode = (enum lock_mode)parameters->numbers[FIELD_LOCK_MODE],
        .limit = parameters->numbers[FIELD_LIMIT],
        .ttl_ms = parameters->numbers[FIELD_TTL],
        .meta = parameters->texts[FIELD_META],
        .wait_ms = parameters->numbers[FIELD_WAIT],
        .keep_ms = parameters->numbers[FIELD_KEEP],
        .replicas = acquisition_replicas(exchange),
        .of_connection = field_given(parameters, FIELD_HOLD),
    };
    return true;
}

void acquisition_headers(struct exchange *exchange, int64_t version)
{
    char path[sizeof LOCKS + 3 * NAME_LENGTH];
    char *name = stpcpy(path, LOCKS);
    size_t length = percent_encode(exchange->name, name);
    reply_header_text(exchange, "Location", (struct slice){path, (size_t)(name - path) + length});
    etag_reply(exchange, version);
}

static void add_token(const struct exchange *exchange, json_t *document)
{
    json_object_set_new(document, "token", represent_text(acquisition_token(exchange)));
}

/* When asking again is sensible. The first hold ends by then at the latest, but most are released
 * long before their lease ends, and some clients sleep for as long as they are told. */
static int64_t acquisition_retry_ms(const struct lock_view *view)
{
    int64_t ends_ms = view->holder_count > 0 ? view->holders[0].ttl_ms + 1 : 1;
    return ends_ms < RETRY_LONGEST_MS ? ends_ms : RETRY_LONGEST_MS;
}

/* Adds the holders, and when to ask again. */
static void add_holders(struct exchange *exchange, json_t *document, const struct lock_view *view)
{
    int64_t retry_ms = acquisition_retry_ms(view);
    json_object_set_new(document, "holders", represent_holders(view));
    json_object_set_new(document, "queue_length", json_integer(view->queue_length));
    json_object_set_new(document, "retry_after_ms", json_integer(retry_ms));
    reply_header(exchange, "Retry-After", "%lld", (long long)((retry_ms + 999) / 1000));
}

#define TO_WAIT "to wait for the lock, ask again with wait=%s (wait_ms in a body)"

/* The answer to a request without a wait. */
static json_t *locked(struct exchange *exchange, const struct lock_view *view)
{
    int64_t most_ms = exchange->api->max_wait_ms;
    char wait[DURATION_TEXT];
    json_t *document;
    duration_format(most_ms < WAIT_SHOWN_MS ? most_ms : WAIT_SHOWN_MS, wait);
    if (view->hold_count == 0) /* a new request does not overtake waiters */
        document =
            problem_new(exchange, PROBLEM_LOCKED, "%lld already wait for their turn; " TO_WAIT,
                        (long long)view->queue_length, wait);
    else
        document = problem_new(
            exchange, PROBLEM_LOCKED, "%lld hold%s not admit another of this kind; " TO_WAIT,
            (long long)view->hold_count, view->hold_count == 1 ? " does" : "s do", wait);
    add_holders(exchange, document, view);
    return document;
}

static json_t *timed_out(struct exchange *exchange, const struct lock_view *view)
{
    char kept[DURATION_TEXT];
    json_t *document;
    duration_format(exchange->wait.keep_ms, kept);
    if (exchange->wait.keep_ms > 0)
        document =
            problem_new(exchange, PROBLEM_WAIT_TIMEOUT,
                        "the place in the queue is kept for %s: repeat the request with this "
                        "token to go on there",
                        kept);
    else
        document = problem_new(exchange, PROBLEM_WAIT_TIMEOUT,
                               "the wait is over and the place in the queue is given up (keep_ms "
                               "would keep it); repeat the request to queue again");
    add_token(exchange, document);
    add_holders(exchange, document, view);
    return document;
}

static json_t *limit_mismatch(struct exchange *exchange, const struct lock_view *view)
{
    char limit[32] = "no limit";
    if (view->limit > 0)
        snprintf(limit, sizeof limit, "the limit %lld", (long long)view->limit);
    return problem_new(exchange, PROBLEM_LIMIT_MISMATCH,
                       "the lock is held with %s; ask for the same, or wait until it is free",
                       limit);
}

static json_t *too_many(struct exchange *exchange, const struct lock_view *view)
{
    json_t *document = problem_new(exchange, PROBLEM_TOO_MANY_WAITERS,
                                   "%lld already wait for this lock, which is as many as may; come "
                                   "again later",
                                   (long long)view->queue_length);
    json_object_set_new(document, "bound", json_string("name"));
    json_object_set_new(document, "queue_length", json_integer(view->queue_length));
    reply_header(exchange, "Retry-After", "1");
    return document;
}

static json_t *draining(struct exchange *exchange)
{
    json_t *document = problem_new(exchange, PROBLEM_DRAINING,
                                   "repeat the request with this token: another batond goes on "
                                   "where this one stops");
    add_token(exchange, document);
    return document;
}

/* The outcome may be unknown, so the client gets its token: repeating the request with it is safe.
 */
static json_t *unavailable(struct exchange *exchange, const char *error)
{
    json_t *document = problem_new(exchange, PROBLEM_STORE_UNAVAILABLE,
                                   "%s; repeat the request with this token", error);
    add_token(exchange, document);
    return document;
}

static json_t *damaged(struct exchange *exchange, const char *error)
{
    char detail[DAMAGE_LENGTH];
    problem_damage(detail, sizeof detail, error);
    return problem_new(exchange, PROBLEM_DAMAGED, "%s", detail);
}

/* A hold that the token had before was not given back. */
static json_t *unconfirmed(struct exchange *exchange, const char *error)
{
    json_t *document =
        problem_new(exchange, PROBLEM_UNCONFIRMED,
                    "%s, so what was granted to this request is taken back: repeat it "
                    "with this token",
                    error);
    add_token(exchange, document);
    return document;
}

/* Says when the quarantine ends; a longer wait is granted then. Only Redis may have noticed: that a
 * clock that was ahead has ended the last hold of this name, or that its data was replaced just
 * now. */
static json_t *quarantined(struct exchange *exchange, struct slice name,
                           const struct lock_view *view)
{
    enum quarantine_reason reason;
    int64_t left_ms = locks_quarantine(exchange->api->locks, name, &reason);
    if (reason == QUARANTINE_NONE && view && view->opens_ms > 0) {
        reason = view->opens_reason;
        left_ms = view->opens_ms;
    }
    int64_t retry_ms = left_ms > 0 ? left_ms : 1;
    const char *why = quarantine_text(reason);
    json_t *document = problem_new(
        exchange, PROBLEM_QUARANTINED,
        "%s, so locks that are still held may be missing there: nothing is granted until the last "
        "of them must have ended, in %lld s; renewals and releases are served. Repeat the request "
        "with this token then%s",
        why[0] ? why : "Redis may have lost data", (long long)((retry_ms + 999) / 1000),
        retry_ms < exchange->api->max_wait_ms ? ", or now with a wait that is longer" : "");
    add_token(exchange, document);
    json_object_set_new(document, "reason", json_string(quarantine_word(reason)));
    json_object_set_new(document, "retry_after_ms", json_integer(retry_ms));
    reply_header(exchange, "Retry-After", "%lld", (long long)((retry_ms + 999) / 1000));
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
    case LOCKS_LIMIT_MISMATCH:
        *ret = PROBLEM_LIMIT_MISMATCH;
        return limit_mismatch(exchange, view);
    case LOCKS_UPGRADE_CONFLICT:
        *ret = PROBLEM_UPGRADE_CONFLICT;
        return problem_new(
            exchange, *ret,
            "another owner waits to upgrade its shared hold, and each would wait for "
            "the other: release your shared hold, and acquire anew");
    case LOCKS_TOKEN_RELEASED:
        *ret = PROBLEM_NOT_HELD;
        return problem_new(exchange, *ret,
                           "this token has been released; a new acquisition needs a new token");
    case LOCKS_CANCELLED:
        *ret = PROBLEM_NOT_HELD;
        return problem_new(exchange, *ret,
                           "the wait of this token was cancelled; a new acquisition needs a new "
                           "token");
    case LOCKS_SUPERSEDED:
        *ret = PROBLEM_SUPERSEDED;
        return problem_new(
            exchange, *ret,
            "a later request with this token waits in place of this one: its answer counts");
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
        return damaged(exchange, error);
    case LOCKS_DONE:
    case LOCKS_REPEATED:
    case LOCKS_NOT_HELD:
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
