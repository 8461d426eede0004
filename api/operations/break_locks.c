#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/input.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/state_text.h"
#include "api/http/text_line.h"
#include "api/operations/breaker.h"
#include "api/operations/operations.h"
#include "api/stats/lock_event.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum { PORTION_DEFAULT = 100, ERROR_TEXT = 256 };

/* One portion: a page of the held locks under the prefix, to be broken all at once. */
struct portion {
    struct exchange *exchange;
    json_t *names;
    json_t *cursor; /* of the next portion; null: this was the last */
    struct portion_lock *locks;
    size_t waited_for, broken_locks, failed;
    int64_t broken_holds;
    char error[ERROR_TEXT]; /* why the first break that failed did so */
};

struct portion_lock {
    struct portion *portion;
    struct slice name;
};

static void portion_end(struct portion *portion)
{
    json_decref(portion->names);
    json_decref(portion->cursor);
    free(portion->locks);
    free(portion);
}

static void portion_answer(struct portion *portion)
{
    struct exchange *exchange = portion->exchange;
    if (portion->failed > 0) {
        problem_simply(exchange, PROBLEM_STORE_UNAVAILABLE,
                       "%zu locks were broken, and %zu were not: %s. Repeat the request until it "
                       "is answered 200.",
                       portion->broken_locks, portion->failed, portion->error);
    } else if (exchange->wants_text) {
        const char *cursor = json_string_value(portion->cursor);
        reply_text(exchange, 200,
                   text_line("broken: %lld hold%s of %zu lock%s%s%s",
                             (long long)portion->broken_holds, state_plural(portion->broken_holds),
                             portion->broken_locks, state_plural((int64_t)portion->broken_locks),
                             cursor ? "; more with cursor=" : "", cursor ? cursor : ""));
    } else {
        json_t *document = json_object();
        json_object_set_new(document, "locks", json_integer((json_int_t)portion->broken_locks));
        json_object_set_new(document, "broken", json_integer(portion->broken_holds));
        json_object_set(document, "cursor", portion->cursor);
        reply_json(exchange, 200, "application/json", document);
    }
    portion_end(portion);
    exchange_resume(exchange);
}

static void portion_on_broken(void *context, const struct locks_reply *reply)
{
    struct portion_lock *lock = context;
    struct portion *portion = lock->portion;
    struct exchange *exchange = portion->exchange;
    if (reply->result == LOCKS_DONE) {
        exchange->name = lock->name;
        lock_event_forced(exchange, reply);
        exchange->name = slice_of("");
        portion->broken_locks += reply->broken.count > 0 || reply->broken.cleared;
        portion->broken_holds += reply->broken.count;
    } else if (portion->failed++ == 0) {
        snprintf(portion->error, sizeof portion->error, "%s", reply->error);
    }
    if (--portion->waited_for == 0)
        portion_answer(portion);
}

static void portion_add(void *context, struct slice name)
{
    struct portion *portion = context;
    json_array_append_new(portion->names, represent_text(name));
}

static void portion_add_held(void *context, struct slice name, const struct lock_view *view)
{
    (void)view;
    portion_add(context, name);
}

/* A waiter gets the lock, as after every break, so it may be held again at once. */
static void portion_break(struct portion *portion)
{
    size_t count = json_array_size(portion->names);
    const struct breaker breaker = breaker_of(portion->exchange);
    portion->locks = memory_checked(calloc(count + 1, sizeof *portion->locks));
    portion->waited_for = count;
    for (size_t i = 0; i < count; i++) {
        json_t *name = json_array_get(portion->names, i);
        portion->locks[i] =
            (struct portion_lock){portion, {json_string_value(name), json_string_length(name)}};
        locks_break(portion->exchange->api->locks, portion->locks[i].name, 0, &breaker,
                    portion_on_broken, &portion->locks[i]);
    }
    if (count == 0)
        portion_answer(portion);
}

static void portion_on_listed(void *context, enum locks_result result, struct slice next,
                              const char *error)
{
    struct portion *portion = context;
    struct exchange *exchange = portion->exchange;
    if (result == LOCKS_DONE) {
        portion->cursor = next.bytes ? represent_text(next) : json_null();
        portion_break(portion);
        return;
    }
    problem_unavailable(exchange, error ? error : "Redis did not answer");
    portion_end(portion);
    exchange_resume(exchange);
}

static bool is_refused(struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    if (field_given(parameters, FIELD_LOCK_TOKEN) || field_given(parameters, FIELD_NAMES))
        field_refuse(
            exchange, FIELD_FORCE,
            "takes no token and no names, because it breaks all locks under a prefix. Leave "
            "force out to release the holds of a token.");
    else if (!field_given(parameters, FIELD_PREFIX))
        field_refuse(exchange, FIELD_PREFIX,
                     "missing. Say under which prefix to break all locks (prefix= breaks all "
                     "locks).");
    else if (!field_given(parameters, FIELD_REASON))
        field_refuse(exchange, FIELD_REASON,
                     "missing. Say why nobody needs these locks any more: the audit log keeps "
                     "the reason.");
    else
        return false;
    return true;
}

enum handling break_locks(struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    int64_t limit = parameters->numbers[FIELD_PAGE];
    if (is_refused(exchange))
        return ANSWERED;
    if (exchange->api->quorum) {
        problem_simply(exchange, PROBLEM_UNSUPPORTED,
                       "A quorum (redis+quorum://) cannot break locks by prefix, because no member "
                       "knows them all. Break each lock by its name.");
        return ANSWERED;
    }
    struct portion *portion = memory_checked(calloc(1, sizeof *portion));
    portion->exchange = exchange;
    portion->names = json_array();
    const struct locks_listener listener = {portion, NULL, portion_add_held, portion_add,
                                            portion_on_listed};
    if (locks_list(exchange->api->locks, parameters->texts[FIELD_PREFIX], NULL,
                   parameters->texts[FIELD_CURSOR], (size_t)(limit ? limit : PORTION_DEFAULT),
                   &listener) < 0) {
        portion_end(portion);
        input_refuse(&(struct input){exchange, FIELD_CURSOR, "cursor", false});
        return ANSWERED;
    }
    return PARKED;
}
