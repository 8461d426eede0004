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

/* Time, and answers */

static bool pending_is(const struct pending *pending, enum pending_which which)
{
    return which == PENDING_ANY || pending->covered;
}

uint64_t pending_due(const struct pending_list *list, enum pending_which which)
{
    uint64_t due = UINT64_MAX;
    for (const struct pending *pending = TAILQ_FIRST(&list->all); pending;
         pending = TAILQ_NEXT(pending, others))
        if (pending->due < due && pending_is(pending, which))
            due = pending->due;
    return due;
}

/* Takes those that are over out of the list before it runs the first callback, which may add
 * another. */
void pending_answer(struct pending_list *list, enum pending_which which, uint64_t by,
                    const char *error)
{
    struct pending_list over;
    pending_init(&over);
    for (struct pending *pending = TAILQ_FIRST(&list->all), *next; pending; pending = next) {
        next = TAILQ_NEXT(pending, others);
        if (!pending_is(pending, which) || pending->due > by)
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
