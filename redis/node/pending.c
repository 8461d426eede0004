#include "redis/node/pending.h"

#include "base/memory.h"

#include <string.h>

struct pending {
    TAILQ_ENTRY(pending) others;
    store_confirmed *done;
    void *context;
    uint64_t due;
    bool covered; /* by the round under way */
    struct store_peer peer;
};

void pending_init(struct pending_list *list)
{
    TAILQ_INIT(&list->all);
}

void pending_add(struct pending_list *list, const struct store_peer *peer, uint64_t due,
                 store_confirmed *done, void *context)
{
    struct pending *pending = memory_checked(malloc(sizeof *pending));
    *pending = (struct pending){.done = done, .context = context, .due = due, .peer = *peer};
    TAILQ_INSERT_TAIL(&list->all, pending, others);
}

/* Rounds */

bool pending_cover(struct pending_list *list, const char *run_id, const char *history)
{
    bool any = false;
    for (struct pending *pending = TAILQ_FIRST(&list->all); pending;
         pending = TAILQ_NEXT(pending, others)) {
        pending->covered = strcmp(pending->peer.run_id, run_id) == 0 &&
                           strcmp(pending->peer.history, history) == 0;
        any |= pending->covered;
    }
    return any;
}

void pending_uncover(struct pending_list *list)
{
    for (struct pending *pending = TAILQ_FIRST(&list->all); pending;
         pending = TAILQ_NEXT(pending, others))
        pending->covered = false;
}

/* Time */

static uint64_t pending_first_due(const struct pending_list *list, bool covered_alone)
{
    uint64_t due = UINT64_MAX;
    for (const struct pending *pending = TAILQ_FIRST(&list->all); pending;
         pending = TAILQ_NEXT(pending, others))
        if (pending->due < due && (pending->covered || !covered_alone))
            due = pending->due;
    return due;
}

uint64_t pending_due(const struct pending_list *list)
{
    return pending_first_due(list, false);
}

uint64_t pending_covered_due(const struct pending_list *list)
{
    return pending_first_due(list, true);
}

/* Answers */

typedef bool pending_condition(const struct pending *pending, uint64_t now);

static bool pending_is_covered(const struct pending *pending, uint64_t now)
{
    (void)now;
    return pending->covered;
}

static bool pending_is_due(const struct pending *pending, uint64_t now)
{
    return pending->due <= now;
}

static bool pending_is_any(const struct pending *pending, uint64_t now)
{
    (void)pending, (void)now;
    return true;
}

/* Takes those that are over out of the list before it runs the first callback, which may add
 * another. */
static void pending_answer(struct pending_list *list, pending_condition *is_over, uint64_t now,
                           const char *error)
{
    struct pending_list over;
    pending_init(&over);
    for (struct pending *pending = TAILQ_FIRST(&list->all), *next; pending; pending = next) {
        next = TAILQ_NEXT(pending, others);
        if (!is_over(pending, now))
            continue;
        TAILQ_REMOVE(&list->all, pending, others);
        TAILQ_INSERT_TAIL(&over.all, pending, others);
    }
    for (struct pending *pending = TAILQ_FIRST(&over.all), *next; pending; pending = next) {
        next = TAILQ_NEXT(pending, others);
        pending->done(pending->context, error);
        free(pending);
    }
}

void pending_answer_due(struct pending_list *list, uint64_t now, const char *error)
{
    pending_answer(list, pending_is_due, now, error);
}

void pending_answer_covered(struct pending_list *list, const char *error)
{
    pending_answer(list, pending_is_covered, 0, error);
}

void pending_answer_all(struct pending_list *list, const char *error)
{
    pending_answer(list, pending_is_any, 0, error);
}
