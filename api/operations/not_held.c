#include "api/operations/not_held.h"

#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/state_text.h"

void not_held(struct exchange *exchange, const struct hold_end *end, const char *unknown,
              const char *rest)
{
    char ended[STATE_TEXT];
    if (end->fence == 0) {
        problem_simply(exchange, PROBLEM_NOT_HELD, "%s", unknown);
        return;
    }
    state_text_end(end, ended);
    json_t *document = problem_new(exchange, PROBLEM_NOT_HELD, "This hold %s%s", ended, rest);
    json_object_set_new(document, "ended", represent_end(end));
    problem_answer(exchange, PROBLEM_NOT_HELD, document);
}
