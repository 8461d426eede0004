#include "redis/sentinel/electorate.h"

#include <errno.h>
#include <string.h>

static bool is_same(const struct scout *scout, const struct scout *other)
{
    bool counts = !other->is_dropped && !other->is_left_out;
    return counts && scout->id[0] && strcmp(other->id, scout->id) == 0;
}

bool electorate_is_twin(const struct scout *scouts, const struct scout *scout)
{
    bool is_before = true;
    for (const struct scout *other = scouts; other; other = other->next) {
        bool is_as_good = scout_answers(other) == scout_answers(scout);
        if (other == scout)
            is_before = false;
        else if (is_same(scout, other) && (is_as_good ? is_before : scout_answers(other)))
            return true;
    }
    return false;
}

static bool counts(const struct scout *scouts, const struct scout *scout)
{
    return !scout->is_dropped && !scout->is_left_out && !electorate_is_twin(scouts, scout);
}

/* The next one that counts, from `scout` on. */
static const struct scout *elector(const struct scout *scouts, const struct scout *scout)
{
    while (scout && !counts(scouts, scout))
        scout = scout->next;
    return scout;
}

/* One that does not know the primary names nobody. */
static bool most_answer(const struct scout *scouts)
{
    size_t sentinels = 0, answer = 0;
    const struct scout *scout = elector(scouts, scouts);
    for (; scout; scout = elector(scouts, scout->next)) {
        sentinels++;
        answer += scout->has_vote;
    }
    return answer > sentinels / 2;
}

void electorate_renew(struct scout *scouts, uint64_t now)
{
    if (!most_answer(scouts))
        return;
    for (struct scout *scout = scouts; scout; scout = scout->next)
        scout->is_left_out |=
            !scout_answers(scout) && now - scout->mentioned >= ELECTORATE_FORGET_MS;
}

static void hear(struct hearing *hearing, const struct scout *scout)
{
    hearing->sentinels++;
    hearing->all_heard &= scout->is_heard;
    hearing->strangers += scout->knows_no_such_name;
    if (scout->has_vote)
        hearing->votes[hearing->count++] = &scout->vote;
    if (scout_answers(scout))
        return;
    if (!hearing->worst || (scout->code == -EPROTO && hearing->worst->code != -EPROTO))
        hearing->worst = scout;
    hearing->all_need_mending &= scout->code == -EPROTO;
}

struct hearing electorate_hear(const struct scout *scouts)
{
    struct hearing hearing = {.all_heard = true, .all_need_mending = true};
    const struct scout *scout = elector(scouts, scouts);
    for (; scout; scout = elector(scouts, scout->next))
        hear(&hearing, scout);
    return hearing;
}

uint64_t electorate_named(const struct scout *scouts, const struct vote *primary)
{
    uint64_t named[SENTINELS_MOST]; /* the latest first */
    size_t count = 0, sentinels = 0;
    const struct scout *scout = elector(scouts, scouts);
    for (; scout; scout = elector(scouts, scout->next)) {
        sentinels++;
        if (!scout->voted || !vote_equals(&scout->vote, primary))
            continue;
        size_t place = count++;
        for (; place > 0 && named[place - 1] < scout->voted; place--)
            named[place] = named[place - 1];
        named[place] = scout->voted;
    }
    return count > sentinels / 2 ? named[sentinels / 2] : 0;
}
