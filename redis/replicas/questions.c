#include "redis/replicas/questions.h"

#include "base/memory.h"

#include <string.h>

struct question {
    struct question *next;
    store_confirmed *done;
    void *context;
    uint64_t due;
    bool covered; /* by the round under way */
    struct store_peer peer;
};

void questions_init(struct questions *questions)
{
    *questions = (struct questions){.end = &questions->first};
}

static void questions_append(struct questions *questions, struct question *question)
{
    question->next = NULL;
    *questions->end = question;
    questions->end = &question->next;
}

void questions_add(struct questions *questions, const struct store_peer *peer, uint64_t due,
                   store_confirmed *done, void *context)
{
    struct question *question = memory_checked(malloc(sizeof *question));
    *question = (struct question){.done = done, .context = context, .due = due, .peer = *peer};
    questions_append(questions, question);
}

/* Rounds */

bool questions_cover(struct questions *questions, const char *run_id, const char *history)
{
    bool any = false;
    for (struct question *question = questions->first; question; question = question->next) {
        question->covered = strcmp(question->peer.run_id, run_id) == 0 &&
                            strcmp(question->peer.history, history) == 0;
        any |= question->covered;
    }
    return any;
}

void questions_uncover(struct questions *questions)
{
    for (struct question *question = questions->first; question; question = question->next)
        question->covered = false;
}

/* Time */

static uint64_t first_due(const struct questions *questions, bool covered_alone)
{
    uint64_t due = UINT64_MAX;
    for (const struct question *question = questions->first; question; question = question->next)
        if (question->due < due && (question->covered || !covered_alone))
            due = question->due;
    return due;
}

uint64_t questions_due(const struct questions *questions)
{
    return first_due(questions, false);
}

uint64_t questions_covered_due(const struct questions *questions)
{
    return first_due(questions, true);
}

/* Answers */

typedef bool condition(const struct question *question, uint64_t now);

static bool question_is_covered(const struct question *question, uint64_t now)
{
    (void)now;
    return question->covered;
}

static bool question_is_due(const struct question *question, uint64_t now)
{
    return question->due <= now;
}

static bool question_is_any(const struct question *question, uint64_t now)
{
    (void)question, (void)now;
    return true;
}

/* Takes them all out before it tells anybody. */
static void questions_answer(struct questions *questions, condition *is_over, uint64_t now,
                             const char *error)
{
    struct question *all = questions->first;
    struct questions over;
    questions_init(&over);
    questions_init(questions);
    for (struct question *question = all, *next; question; question = next) {
        next = question->next;
        questions_append(is_over(question, now) ? &over : questions, question);
    }
    for (struct question *question = over.first, *next; question; question = next) {
        next = question->next;
        question->done(question->context, error);
        free(question);
    }
}

void questions_answer_due(struct questions *questions, uint64_t now, const char *error)
{
    questions_answer(questions, question_is_due, now, error);
}

void questions_answer_covered(struct questions *questions, const char *error)
{
    questions_answer(questions, question_is_covered, 0, error);
}

void questions_answer_all(struct questions *questions, const char *error)
{
    questions_answer(questions, question_is_any, 0, error);
}
