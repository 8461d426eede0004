#include "locks/quarantine/answers.h"

#include "base/memory.h"

#include <stdlib.h>

struct answer_waiting {
    STAILQ_ENTRY(answer_waiting) entry;
    answers_done *done;
    void *context;
};

void answers_init(struct answers *answers)
{
    STAILQ_INIT(answers);
}

void answers_add(struct answers *answers, answers_done *done, void *context)
{
    struct answer_waiting *waiting = memory_checked(malloc(sizeof *waiting));
    *waiting = (struct answer_waiting){.done = done, .context = context};
    STAILQ_INSERT_TAIL(answers, waiting, entry);
}

void answers_run(struct answers *answers, const char *error)
{
    struct answer_waiting *next;
    for (struct answer_waiting *each = STAILQ_FIRST(answers); each; each = next) {
        next = STAILQ_NEXT(each, entry);
        each->done(each->context, error);
        free(each);
    }
}
