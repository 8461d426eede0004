#include "server/http/deadlines.h"

#include <stddef.h>

void deadlines_init(struct deadlines *deadlines, const int64_t lasts_ms[DEADLINE_KINDS])
{
    for (int kind = DEADLINE_NONE + 1; kind < DEADLINE_KINDS; kind++) {
        deadlines->lasts_ms[kind] = lasts_ms[kind];
        TAILQ_INIT(&deadlines->lists[kind]);
    }
}

void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, enum deadline_kind kind,
                   uint64_t now_ms)
{
    if (deadline->kind != DEADLINE_NONE)
        TAILQ_REMOVE(&deadlines->lists[deadline->kind], deadline, others);
    deadline->kind = kind;
    if (kind == DEADLINE_NONE)
        return;
    deadline->at = now_ms + (uint64_t)deadlines->lasts_ms[kind];
    TAILQ_INSERT_TAIL(&deadlines->lists[kind], deadline, others);
}

bool deadlines_next(const struct deadlines *deadlines, uint64_t *ret_at)
{
    bool found = false;
    for (int kind = DEADLINE_NONE + 1; kind < DEADLINE_KINDS; kind++) {
        const struct deadline *first = TAILQ_FIRST(&deadlines->lists[kind]);
        if (first && (!found || first->at < *ret_at)) {
            *ret_at = first->at;
            found = true;
        }
    }
    return found;
}

struct deadline *deadlines_first(const struct deadlines *deadlines, enum deadline_kind kind)
{
    return TAILQ_FIRST(&deadlines->lists[kind]);
}

struct deadline *deadlines_missed(const struct deadlines *deadlines, uint64_t now_ms)
{
    for (int kind = DEADLINE_NONE + 1; kind < DEADLINE_KINDS; kind++) {
        struct deadline *first = TAILQ_FIRST(&deadlines->lists[kind]);
        if (first && first->at <= now_ms)
            return first;
    }
    return NULL;
}
