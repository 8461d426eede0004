#include "redis/replicas/pending.h"

#include "base/memory.h"

#include <string.h>

struct pending {
    struct pending *next;
    store_confirmed *done;
    void *context;
    uint64_t due;
    bool covered; /* by the round under way */
    struct store_peer peer;
};

void pending_init(struct pending_list *questions)
{
    *questions = (struct pending_list){.end = &questions->first};
}

static void questions_append(struct pending_list *questions, struct pending *question)
{
    question->next = NULL;
    *questions->end = question;
    questions->end = &question->next;
}

void pending_add(struct pending_list *questions, const struct store_peer *peer, uint64_t due,
                 store_confirmed *done, void *context)
{
    struct pending *question = memory_checked(malloc(sizeof *question));
    *question = (struct pending){.done = done, .context = context, .due = due, .peer = *peer};
    questions_append(questions, question);
}

/* Rounds */

bool pending_cover(struct pending_list *questions, const char *run_id, const char *history)
{
    bool any = false;
    for (struct pending *question = questions->first; question; question = question->next) {
        question->covered = strcmp(question->peer.run_id, run_id) == 0 &&
                            strcmp(question->peer.history, history) == 0;
        any |= question->covered;
    }
    return any;
}

void pending_uncover(struct pending_list *questions)
{
    for (struct pending *question = questions->first; question; question = question->next)
        question->covered = false;
}

/* Time */

static uint64_t first_due(const struct pending_list *questions, bool covered_alone)
{
    uint64_t due = UINT64_MAX;
    for (const struct pending *question = questions->first; question; question = question->next)
        if (question->due < due && (question->covered || !covered_alone))
            due = question->due;
    return due;
}

uint64_t pending_due(const struct pending_list *questions)
{
    return first_due(questions, false);
}

uint64_t pending_covered_due(const struct pending_list *questions)
{
    return first_due(questions, true);
}

/* Answers */

typedef bool condition(const struct pending *question, uint64_t now);

static bool question_is_covered(const struct pending *question, uint64_t now)
{
    (void)now;
    return question->covered;
}

static bool question_is_due(const struct pending *question, uint64_t now)
{
    return question->due <= now;
}

static bool question_is_any(const struct pending *question, uint64_t now)
{
    (void)question, (void)now;
    return true;
}

/* Takes all of them out of the list before it runs the first callback, which may add another. */
static void questions_answer(struct pending_list *questions, condition *is_over, uint64_t now,
                             const char *error)
{
    struct pending *all = questions->first;
    struct pending_list over;
    pending_init(&over);
    pending_init(questions);
    for (struct pending *question = all, *next; question; question = next) {
        next = question->next;
        questions_append(is_over(question, now) ? &over : questions, question);
    }
    for (struct pending *question = over.first, *next; question; question = next) {
        next = question->next;
        question->done(question->context, error);
        free(question);
    }
}

void pending_answer_due(struct pending_list *questions, uint64_t now, const char *error)
{
    questions_answer(questions, question_is_due, now, error);
}

void pending_answer_covered(struct pending_list *questions, const char *error)
{
    questions_answer(questions, question_is_covered, 0, error);
}

void pending_answer_all(struct pending_list *questions, const char *error)
{
    questions_answer(questions, question_is_any, 0, error);
}
