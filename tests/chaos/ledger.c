#include "tests/chaos/ledger.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024 };

struct claim *ledger_add(struct ledger *ledger, const struct claim *claim)
{
    if (ledger->count == ledger->room) {
        ledger->room = ledger->room ? 2 * ledger->room : FIRST_ROOM;
        ledger->claims = reallocarray(ledger->claims, ledger->room, sizeof *ledger->claims);
        if (!ledger->claims)
            abort();
    }
    ledger->claims[ledger->count] = *claim;
    return &ledger->claims[ledger->count++];
}

void ledger_take(struct ledger *to, struct ledger *from)
{
    for (size_t i = 0; i < from->count; i++)
        ledger_add(to, &from->claims[i]);
    ledger_free(from);
}

static int compare(int64_t one, int64_t other)
{
    return (one > other) - (one < other);
}

static int by_told(const void *a, const void *b)
{
    const struct claim *one = a, *other = b;
    return compare(one->told, other->told);
}

static int by_sent(const void *a, const void *b)
{
    const struct claim *const *one = a, *const *other = b;
    return compare((*one)->sent, (*other)->sent);
}

static int by_fence(const void *a, const void *b)
{
    const struct claim *const *one = a, *const *other = b;
    int order = compare((*one)->name, (*other)->name);
    return order ? order : compare((*one)->fence, (*other)->fence);
}

static const struct claim **sorted(const struct ledger *ledger,
                                   int (*order)(const void *, const void *))
{
    const struct claim **claims = calloc(ledger->count + 1, sizeof(struct claim *));
    if (!claims)
        abort();
    for (size_t i = 0; i < ledger->count; i++)
        claims[i] = &ledger->claims[i];
    qsort(claims, ledger->count, sizeof(struct claim *), order);
    return claims;
}

/* Each claim against those told before it that may have been counted on for so long. */
static void find_doubles(const struct ledger *ledger, int64_t longest, struct verdict *verdict)
{
    for (size_t i = 0; i < ledger->count; i++) {
        const struct claim *claim = &ledger->claims[i], *other = NULL;
        if (claim->until <= claim->told)
            continue;
        for (size_t j = i; !other && j-- > 0 && ledger->claims[j].told + longest > claim->told;)
            if (ledger->claims[j].name == claim->name && ledger->claims[j].until > claim->told)
                other = &ledger->claims[j];
        if (other && verdict->doubles++ == 0) {
            verdict->first_double[0] = *other;
            verdict->first_double[1] = *claim;
        }
    }
}

static void find_backward(const struct ledger *ledger, struct verdict *verdict)
{
    const struct claim **claims = sorted(ledger, by_sent);
    int64_t greatest[LEDGER_NAMES] = {0};
    for (size_t i = 0, told = 0; i < ledger->count; i++) {
        for (; told < ledger->count && ledger->claims[told].told <= claims[i]->sent; told++) {
            const struct claim *claim = &ledger->claims[told];
            if (claim->fence > greatest[claim->name])
                greatest[claim->name] = claim->fence;
        }
        verdict->backward += claims[i]->fence <= greatest[claims[i]->name];
    }
    free(claims);
}

static void find_twins(const struct ledger *ledger, struct verdict *verdict)
{
    const struct claim **claims = sorted(ledger, by_fence);
    for (size_t i = 1; i < ledger->count; i++)
        verdict->twins += by_fence(&claims[i - 1], &claims[i]) == 0;
    free(claims);
}

static void find_pauses(const struct ledger *ledger, struct verdict *verdict)
{
    const struct claim *latest = NULL, *of_name[LEDGER_NAMES] = {NULL};
    for (size_t i = 0; i < ledger->count; i++) {
        const struct claim *claim = &ledger->claims[i], *before = of_name[claim->name];
        if (latest && claim->told - latest->told > verdict->longest_us)
            verdict->longest_us = claim->told - latest->told;
        if (before && claim->told - before->told > verdict->longest_of_name_us)
            verdict->longest_of_name_us = claim->told - before->told;
        latest = of_name[claim->name] = claim;
    }
}

void ledger_judge(struct ledger *ledger, struct verdict *ret)
{
    int64_t longest = 0;
    *ret = (struct verdict){.grants = ledger->count};
    if (ledger->count == 0)
        return;
    qsort(ledger->claims, ledger->count, sizeof *ledger->claims, by_told);
    for (size_t i = 0; i < ledger->count; i++) {
        const struct claim *claim = &ledger->claims[i];
        int64_t counted = claim->until - claim->told;
        longest = counted > longest ? counted : longest;
        ret->lost += claim->lost;
    }
    find_pauses(ledger, ret);
    find_doubles(ledger, longest, ret);
    find_backward(ledger, ret);
    find_twins(ledger, ret);
}

void ledger_free(struct ledger *ledger)
{
    free(ledger->claims);
    *ledger = (struct ledger){.claims = NULL};
}
