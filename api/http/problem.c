#include "api/http/problem.h"

#include "api/http/exchange.h"
#include "api/http/target.h"
#include "api/http/text_line.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct kind {
    const char *code;
    unsigned status;
    const char *title;
} KINDS[] = {
#define PROBLEM_KIND(name, code, status, title) [name] = {code, status, title},
    PROBLEMS(PROBLEM_KIND) CONNECTION_PROBLEMS(PROBLEM_KIND)
#undef PROBLEM_KIND
};

enum { DETAIL_LENGTH = 1024, TYPE_LENGTH = 64 };

static void problem_set(json_t *document, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(document, key, value) < 0)
        abort();
}

static json_t *document_new(const struct exchange *exchange, enum problem problem,
                            const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static json_t *document_new(const struct exchange *exchange, enum problem problem,
                            const char *format, va_list arguments)
{
    const struct kind *kind = &KINDS[problem];
    char written[DETAIL_LENGTH], detail[DETAIL_LENGTH], type[TYPE_LENGTH];
    vsnprintf(written, sizeof written, format, arguments);
    utf8_show_all(slice_of(written), detail, sizeof detail);
    snprintf(type, sizeof type, "urn:baton:problem:%s", kind->code);

    struct slice path, query;
    target_split(exchange->head.target, &path, &query);
    /* The client's path may not be UTF-8; then the instance is empty. */
    json_t *instance = json_stringn(path.bytes, path.length);
    json_t *document = json_object();
    problem_set(document, "type", json_string_nocheck(type));
    problem_set(document, "title", json_string_nocheck(kind->title));
    problem_set(document, "status", json_integer(kind->status));
    problem_set(document, "code", json_string_nocheck(kind->code));
    problem_set(document, "request_id", json_string_nocheck(exchange->head.request_id));
    problem_set(document, "instance", instance ? instance : json_string_nocheck(""));
    problem_set(document, "detail", json_string_nocheck(detail));
    return document;
}

json_t *problem_new(const struct exchange *exchange, enum problem problem, const char *detail, ...)
{
    va_list arguments;
    va_start(arguments, detail);
    json_t *document = document_new(exchange, problem, detail, arguments);
    va_end(arguments);
    return document;
}

void problem_answer(struct exchange *exchange, enum problem problem, json_t *document)
{
    const struct kind *kind = &KINDS[problem];
    if (kind->status == 503 && problem != PROBLEM_QUARANTINED) /* acquisition.c knows the time */
        reply_header(exchange, "Retry-After", "1");
    if (exchange->wants_text) {
        reply_text(exchange, kind->status,
                   text_line("%s: %s", kind->code,
                             json_string_value(json_object_get(document, "detail"))));
        json_decref(document);
        return;
    }
    reply_json(exchange, kind->status, "application/problem+json", document);
}

void problem_simply(struct exchange *exchange, enum problem problem, const char *detail, ...)
{
    va_list arguments;
    va_start(arguments, detail);
    json_t *document = document_new(exchange, problem, detail, arguments);
    va_end(arguments);
    problem_answer(exchange, problem, document);
}

void problem_parameter(struct exchange *exchange, const char *name, const char *detail)
{
    json_t *document = problem_new(exchange, PROBLEM_INVALID_PARAMETER, "%s: %s", name, detail);
    json_t *parameter = json_string(name);
    json_object_set_new(document, "parameter", parameter ? parameter : json_string("?"));
    problem_answer(exchange, PROBLEM_INVALID_PARAMETER, document);
}

json_t *problem_of_error(const struct exchange *exchange, enum problem problem, const char *error,
                         const char *advice)
{
    char sentence[DETAIL_LENGTH];
    size_t length = (size_t)snprintf(sentence, sizeof sentence, "%s", error);
    bool has_stop = length > 0 && length < sizeof sentence && sentence[length - 1] == '.';
    sentence[0] = (char)toupper((unsigned char)sentence[0]);
    return problem_new(exchange, problem, "%s%s %s", sentence, has_stop ? "" : ".", advice);
}

void problem_unconfirmed_renewal(struct exchange *exchange, const char *error)
{
    problem_answer(exchange, PROBLEM_UNCONFIRMED,
                   problem_of_error(exchange, PROBLEM_UNCONFIRMED, error,
                                    "The renewal may be lost: count only on the time that the hold "
                                    "had before, and repeat the request."));
}

void problem_unavailable(struct exchange *exchange, const char *error)
{
    problem_answer(exchange, PROBLEM_STORE_UNAVAILABLE,
                   problem_of_error(exchange, PROBLEM_STORE_UNAVAILABLE, error,
                                    "It is safe to repeat the request."));
}

json_t *problem_damage(const struct exchange *exchange, const char *error)
{
    return problem_of_error(exchange, PROBLEM_DAMAGED, error,
                            "Another program has written to its keys, or they were truncated. "
                            "Repeating the request does not help. DELETE with force=true clears "
                            "the lock: it is free then, even if a client still counts on it.");
}

void problem_unanswered(struct exchange *exchange, enum locks_result result, const char *error)
{
    if (result == LOCKS_DAMAGED)
        problem_answer(exchange, PROBLEM_DAMAGED, problem_damage(exchange, error));
    else
        problem_unavailable(exchange, error);
}

char *problem_line(enum problem problem, const char *detail)
{
    const struct exchange exchange = {.head.target = "", .head.request_id = "none"};
    return dump_line(problem_new(&exchange, problem, "%s", detail));
}
