#include "tests/fuzz/answer.h"

#include "api/api.h"
#include "api/principals/principals.h"
#include "base/utf8.h"
#include "tests/fuzz/fuzz.h"

#include <jansson.h>

/* To be given back. */
static json_t *parsed(struct slice text)
{
    json_t *document = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, NULL);
    CLAIM(document && json_is_object(document));
    return document;
}

static const char *text_of(const json_t *document, const char *key)
{
    const char *text = json_string_value(json_object_get(document, key));
    CLAIM(text);
    return text;
}

static void judge_problem(unsigned status, const json_t *problem)
{
    const char *code = text_of(problem, "code");
    CLAIM(status >= 400);
    CLAIM(json_integer_value(json_object_get(problem, "status")) == status);
    CLAIM(strncmp(text_of(problem, "type"), "urn:baton:problem:", 18) == 0);
    CLAIM(strcmp(text_of(problem, "type") + 18, code) == 0);
    CLAIM(text_of(problem, "title")[0] && text_of(problem, "detail")[0]);
    CLAIM(text_of(problem, "instance") && text_of(problem, "request_id"));
    if (strcmp(code, "invalid_parameter") == 0 || strcmp(code, "invalid_name") == 0)
        CLAIM(text_of(problem, "parameter"));
}

static void judge_document(unsigned status, const json_t *document)
{
    CLAIM(status == 200 || status == 201);
    if (status == 201 && json_object_get(document, "fence")) {
        CLAIM(json_integer_value(json_object_get(document, "fence")) > 0);
        CLAIM(text_of(document, "name")[0] && text_of(document, "token")[0]);
        CLAIM(text_of(document, "owner")[0]);
    }
}

void answer_judge_body(unsigned status, struct slice content_type, struct slice body)
{
    CLAIM(status >= 200 && status <= 599);
    bool is_problem = slice_equals(content_type, "application/problem+json");
    if (!is_problem && !slice_equals(content_type, "application/json"))
        return;
    json_t *document = parsed(body);
    if (is_problem)
        judge_problem(status, document);
    else
        judge_document(status, document);
    json_decref(document);
}

static void judge_line(struct slice line, bool is_events)
{
    if (is_events && line.length > 6 && memcmp(line.bytes, "data: ", 6) == 0)
        line = (struct slice){line.bytes + 6, line.length - 6};
    else if (is_events)
        return;
    if (line.length > 0)
        json_decref(parsed(line));
}

void answer_judge_stream(const struct exchange *exchange)
{
    struct slice rest = {exchange->stream.bytes, exchange->stream.length};
    bool is_events = strcmp(exchange->reply.content_type, "text/event-stream") == 0;
    if (exchange->stream.overflown)
        return;
    CLAIM(rest.length == 0 || rest.bytes[rest.length - 1] == '\n');
    while (rest.length > 0)
        judge_line(fuzz_cut(&rest, '\n'), is_events);
}

/* Whether the locks were asked: 503 is their answer, too, where Redis has gone. */
static bool was_let_through(const struct exchange *exchange)
{
    unsigned status = exchange->reply.status;
    return exchange->route && exchange->route->needs != VERB_NONE &&
           (status < 300 || status == 409 || status == 503);
}

/* Only who may is served. */
static void judge_right(const struct exchange *exchange)
{
    const struct principal *principal = exchange->principal;
    if (!was_let_through(exchange))
        return;
    CLAIM(principal);
    CLAIM(principals_everybody(exchange->api->principals) || exchange->head.authorization);
    bool breaks = exchange->parameters.numbers[FIELD_FORCE];
    bool watches_own = (exchange->route->fields & FIELD_BIT(FIELD_UNTIL)) &&
                       field_given(&exchange->parameters, FIELD_LOCK_TOKEN);
    enum verb verb = breaks ? VERB_BREAK : watches_own ? VERB_ACQUIRE : exchange->route->needs;
    CLAIM(verb == VERB_ANY ||
          (exchange->name.length > 0 ? principal_may(principal, verb, exchange->name)
                                     : principal_may_somewhere(principal, verb)));
}

static void judge_field(const struct parameters *parameters, enum field_id id)
{
    const struct field *field = &FIELDS[id];
    struct slice text = parameters->texts[id];
    int64_t number = parameters->numbers[id];
    bool is_text = field->kind == FIELD_TEXT || field->kind == FIELD_TOKEN;
    if (is_text || field->kind == FIELD_OBJECT)
        number = (int64_t)text.length;
    CLAIM(!is_text || utf8_is_clean(text));
    CLAIM(field->kind != FIELD_TOKEN || token_is_valid(text));
    if (field->kind != FIELD_MODE && field->kind != FIELD_CHOICE)
        CLAIM(number >= field->lowest && number <= field->highest);
}

/* What was let through is what its field allows. */
static void judge_fields(const struct exchange *exchange)
{
    for (unsigned id = 0; was_let_through(exchange) && id < FIELD_COUNT; id++)
        if (field_given(&exchange->parameters, (enum field_id)id))
            judge_field(&exchange->parameters, (enum field_id)id);
}

void answer_judge(const struct exchange *exchange)
{
    judge_right(exchange);
    judge_fields(exchange);
    const struct reply *reply = &exchange->reply;
    for (size_t i = 0; i < reply->header_count; i++)
        CLAIM(reply->headers[i].name[0] && !strpbrk(reply->headers[i].value, "\r\n"));
    if (exchange->stream.is_stream)
        answer_judge_stream(exchange);
    else
        answer_judge_body(reply->status, slice_of(reply->content_type),
                          (struct slice){reply->body, reply->length});
}
