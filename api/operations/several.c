#include "api/operations/several.h"

#include "api/http/represent.h"
#include "api/http/state_text.h"
#include "api/operations/acquisition.h"

bool several_is_complete(struct exchange *exchange, bool needs_token)
{
    const struct parameters *parameters = &exchange->parameters;
    if (!field_given(parameters, FIELD_NAMES)) {
        field_refuse(exchange, FIELD_NAMES,
                     "missing. Send {\"names\": [\"a\", \"b\"]} as the body.");
        return false;
    }
    if (needs_token && !field_given(parameters, FIELD_LOCK_TOKEN)) {
        field_refuse(exchange, FIELD_LOCK_TOKEN,
                     "missing. Send it in the Lock-Token header or as \"token\" in the body.");
        return false;
    }
    return true;
}

size_t several_count(const struct exchange *exchange)
{
    return (size_t)exchange->parameters.numbers[FIELD_NAMES];
}

json_t *several_holds(const struct exchange *exchange, const struct several_reply *reply)
{
    json_t *document = json_object(), *holds = json_array();
    for (size_t i = 0; i < reply->count; i++)
        json_array_append_new(holds, represent_hold_document(reply->each[i].name,
                                                             acquisition_token(exchange),
                                                             &reply->each[i].hold));
    json_object_set_new(document, "token", represent_text(acquisition_token(exchange)));
    json_object_set_new(document, "owner", represent_owner(reply->each[0].hold.owner));
    json_object_set_new(document, "locks", holds);
    return document;
}

/* Begins the document. */
static json_t *several_problem(struct exchange *exchange, enum problem problem,
                               const struct several_reply *reply, const char *detail)
{
    const struct hold_end *end = &reply->view.last_release;
    struct slice name = reply->each[reply->refused].name;
    char text[STATE_TEXT];
    if (problem != PROBLEM_NOT_HELD || end->fence == 0)
        return problem_new(exchange, problem, "%s", detail);
    state_text_end(end, text);
    json_t *ended = represent_end(end);
    json_t *document = problem_new(exchange, problem, "The hold of %.*s %s. %s", (int)name.length,
                                   name.bytes, text, detail);
    json_object_set_new(ended, "name", represent_text(name));
    json_object_set_new(document, "ended", ended);
    return document;
}

void several_refuse(struct exchange *exchange, enum problem problem,
                    const struct several_reply *reply, const char *detail)
{
    json_t *document = several_problem(exchange, problem, reply, detail);
    json_t *names = json_array();
    for (size_t i = 0; i < reply->count; i++)
        if (reply->each[i].result == reply->result)
            json_array_append_new(names, represent_text(reply->each[i].name));
    json_object_set_new(document, "names", names);
    problem_answer(exchange, problem, document);
}
