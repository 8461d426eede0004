#include "tests/scripts/model.h"

#include <stdio.h>
#include <string.h>

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static size_t count_shared(const struct model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->hold_count; i++)
        count += model->holds[i].shared;
    return count;
}

static size_t count_owned(const struct model *model, const char *owner)
{
    size_t count = 0;
    for (size_t i = 0; i < model->hold_count; i++)
        count += !strcmp(model->holds[i].owner, owner);
    return count;
}

static int64_t limit_of(const struct model *model)
{
    for (size_t i = 0; i < model->hold_count; i++)
        if (model->holds[i].shared)
            return model->holds[i].limit;
    return 0;
}

static bool go_together(const struct model_hold *a, const struct model_hold *b)
{
    return !strcmp(a->owner, b->owner) || (a->shared && b->shared);
}

static bool admits(const struct model *model, const struct model_hold *hold)
{
    for (size_t i = 0; i < model->hold_count; i++)
        if (!go_together(&model->holds[i], hold))
            return false;
    if (!hold->shared)
        return true;
    size_t shared = count_shared(model);
    return (shared == 0 || limit_of(model) == hold->limit) &&
           (hold->limit == 0 || (int64_t)shared < hold->limit);
}

bool model_is_compatible(const struct model *model)
{
    for (size_t i = 0; i < model->hold_count; i++)
        for (size_t j = 0; j < i; j++)
            if (!go_together(&model->holds[i], &model->holds[j]))
                return false;
    int64_t limit = limit_of(model);
    return limit == 0 || (int64_t)count_shared(model) <= limit;
}

static struct model_hold *find(struct model_hold *among, size_t count, const char *token)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(among[i].token, token))
            return &among[i];
    return NULL;
}

static struct model_hold *find_hold(struct model *model, const char *token)
{
    return find(model->holds, model->hold_count, token);
}

bool model_waits(const struct model *model, const char *token)
{
    return find((struct model_hold *)(uintptr_t)model->waiters, model->waiter_count, token) != NULL;
}

static void remove_at(struct model_hold *among, size_t *count, size_t i)
{
    (*count)--;
    memmove(among + i, among + i + 1, (*count - i) * sizeof *among);
}

static bool leave(struct model *model, const char *token)
{
    struct model_hold *waiter = find(model->waiters, model->waiter_count, token);
    if (waiter)
        remove_at(model->waiters, &model->waiter_count, (size_t)(waiter - model->waiters));
    return waiter != NULL;
}

/* Ends the soonest first; of those that end together, by token. */
static void sort(struct model *model)
{
    for (size_t i = 1; i < model->hold_count; i++)
        for (size_t j = i; j > 0; j--) {
            struct model_hold *a = &model->holds[j - 1], *b = &model->holds[j], swap = *a;
            if (a->ends < b->ends || (a->ends == b->ends && strcmp(a->token, b->token) < 0))
                break;
            *a = *b;
            *b = swap;
        }
}

static void add(struct model *model, int64_t now, struct model_hold hold, int64_t ms)
{
    model->version = max(model->version + 1, now);
    model->known = true;
    hold.fence = model->version;
    hold.since = now;
    hold.ends = now + ms * 1000;
    model->holds[model->hold_count++] = hold;
    sort(model);
}

static void end(struct model *model, size_t i, int64_t at, const char *reason, bool repeatable)
{
    struct model_hold hold = model->holds[i];
    remove_at(model->holds, &model->hold_count, i);
    model->version = max(model->version + 1, at);
    model->last = (struct model_release){.fence = hold.fence,
                                         .at = at,
                                         .held_ms = (at - hold.since) / 1000,
                                         .holds = (int64_t)count_owned(model, hold.owner)};
    strcpy(model->last.token, hold.token);
    strcpy(model->last_reason, reason);
    model->last_is_repeatable = repeatable;
    if (repeatable)
        model->released[model->released_count++ % MODEL_MOST] = model->last;
}

static void hand_over(struct model *model, int64_t now)
{
    while (model->waiter_count > 0) {
        struct model_hold head = model->waiters[0];
        if (head.ends > now && !admits(model, &head))
            return;
        remove_at(model->waiters, &model->waiter_count, 0);
        if (head.ends > now)
            add(model, now, head, head.claim_ms);
    }
}

static void settle(struct model *model, int64_t now)
{
    if (!model->known)
        model->version = now - now % model->retention_us;
    while (model->hold_count > 0 && model->holds[0].ends <= now)
        end(model, 0, model->holds[0].ends, "expired", false);
    hand_over(model, now);
}

static struct seen view(const struct model *model, int64_t now, const char *token)
{
    struct seen seen = {.version = model->version,
                        .holds = (int64_t)model->hold_count,
                        .limit = limit_of(model),
                        .waiters = (int64_t)model->waiter_count,
                        .last_fence = model->last.fence};
    if (seen.last_fence) {
        strcpy(seen.last_reason, model->last_reason);
        seen.last_ago_ms = (now - model->last.at) / 1000;
    }
    for (size_t i = 0; i < model->hold_count; i++) {
        const struct model_hold *hold = &model->holds[i];
        seen.mine |= !strcmp(hold->token, token);
        if (i >= SHOWN)
            continue;
        struct seen_hold *shown = &seen.shown_holds[seen.shown++];
        strcpy(shown->owner, hold->owner);
        strcpy(shown->mode, hold->shared ? "shared" : "exclusive");
        shown->fence = hold->fence;
        shown->ttl_ms = (hold->ends - now) / 1000;
        shown->held_ms = (now - hold->since) / 1000;
    }
    return seen;
}

static struct answer told(const struct model *model, int64_t now, const char *status,
                          const struct model_hold *hold)
{
    struct answer answer = {.fence = hold->fence,
                            .ttl_ms = (hold->ends - now) / 1000,
                            .holds = (int64_t)count_owned(model, hold->owner),
                            .version = model->version,
                            .limit = hold->shared ? hold->limit : 0};
    strcpy(answer.status, status);
    strcpy(answer.owner, hold->owner);
    strcpy(answer.mode, hold->shared ? "shared" : "exclusive");
    return answer;
}

static struct answer refuse(const struct model *model, int64_t now, const char *status)
{
    struct answer answer = {.version = model->version, .view = view(model, now, "")};
    strcpy(answer.status, status);
    if (!strcmp(status, "limit_mismatch"))
        answer.limit = answer.view.limit;
    return answer;
}

/* Its token came again. */
static struct answer repeat(struct model *model, int64_t now, struct model_hold *hold,
                            const char *attempt)
{
    if (hold->attempt[0] == '\0') {
        strcpy(hold->attempt, attempt);
        hold->ends = now + hold->ttl_ms * 1000;
    } else {
        strcpy(hold->attempt, "repeated");
    }
    struct answer answer = told(model, now, "holding", hold);
    sort(model);
    return answer;
}

static void wait(struct model *model, int64_t now, struct model_hold waiter, int64_t lease_ms)
{
    waiter.ends = now + lease_ms * 1000;
    waiter.attempt[0] = '\0';
    struct model_hold *known = find(model->waiters, model->waiter_count, waiter.token);
    if (known)
        *known = waiter;
    else
        model->waiters[model->waiter_count++] = waiter;
}

enum model_memory model_remembers(const struct model *model, int64_t now, const char *token,
                                  struct model_release *ret)
{
    size_t kept = model->released_count < MODEL_MOST ? model->released_count : MODEL_MOST;
    for (size_t i = 0; i < kept; i++) {
        if (strcmp(model->released[i].token, token) != 0)
            continue;
        *ret = model->released[i];
        bool is_last = model->last_is_repeatable && !strcmp(model->last.token, token);
        return is_last || now - ret->at < 30000000 ? MODEL_REMEMBERED : MODEL_PERHAPS;
    }
    return MODEL_FORGOTTEN;
}

struct answer model_acquire(struct model *model, int64_t now, const struct acquiring *acquiring)
{
    struct model_hold hold = {.shared = !strcmp(acquiring->mode, "shared"),
                              .ttl_ms = acquiring->ttl_ms,
                              .limit = acquiring->limit,
                              .claim_ms = acquiring->claim_ms};
    strcpy(hold.token, acquiring->token);
    strcpy(hold.owner, acquiring->owner);
    strcpy(hold.attempt, acquiring->attempt);
    struct model_release released;

    settle(model, now);
    struct model_hold *same = find_hold(model, hold.token);
    if (same)
        return repeat(model, now, same, hold.attempt);
    if (model_remembers(model, now, hold.token, &released) == MODEL_REMEMBERED)
        return (struct answer){.status = "released"};
    if (hold.shared && count_shared(model) > 0 && limit_of(model) != hold.limit)
        return refuse(model, now, "limit_mismatch");
    if (admits(model, &hold) && (model->waiter_count == 0 || count_owned(model, hold.owner) > 0)) {
        leave(model, hold.token);
        add(model, now, hold, hold.ttl_ms);
        return told(model, now, "granted", find_hold(model, hold.token));
    }
    if (acquiring->lease_ms == 0)
        return refuse(model, now, "locked");
    wait(model, now, hold, acquiring->lease_ms);
    return refuse(model, now, "waiting");
}

struct answer model_renew(struct model *model, int64_t now, const char *token, int64_t ttl_ms)
{
    settle(model, now);
    struct model_hold *hold = find_hold(model, token);
    if (!hold)
        return (struct answer){.status = "not_held"};
    hold->ttl_ms = ttl_ms ? ttl_ms : hold->ttl_ms;
    hold->ends = now + hold->ttl_ms * 1000;
    strcpy(hold->attempt, "repeated");
    struct answer answer = told(model, now, "renewed", hold);
    sort(model);
    return answer;
}

static struct answer released_now(struct model *model, int64_t now, struct model_hold *hold,
                                  bool repeatable)
{
    end(model, (size_t)(hold - model->holds), now, "released", repeatable);
    struct answer answer = {.status = "released",
                            .fence = model->last.fence,
                            .held_ms = model->last.held_ms,
                            .holds = model->last.holds};
    hand_over(model, now);
    answer.version = model->version;
    return answer;
}

struct answer model_release(struct model *model, int64_t now, const char *token,
                            const char *attempt)
{
    bool own = attempt[0] == '\0';
    settle(model, now);
    struct model_hold *hold = find_hold(model, token);
    if (hold && (own || !strcmp(hold->attempt, attempt)))
        return released_now(model, now, hold, own);
    if (!hold && leave(model, token)) {
        hand_over(model, now);
        return (struct answer){.status = "cancelled", .version = model->version};
    }
    struct model_release released;
    if (own && model_remembers(model, now, token, &released) == MODEL_REMEMBERED)
        return (struct answer){.status = "released",
                               .fence = released.fence,
                               .held_ms = released.held_ms,
                               .holds = released.holds,
                               .version = model->version};
    return (struct answer){.status = "not_held"};
}

struct answer model_break(struct model *model, int64_t now)
{
    settle(model, now);
    struct answer answer = {.status = "broken", .count = (int64_t)model->hold_count};
    while (model->hold_count > 0)
        end(model, 0, now, "forced", false);
    if (answer.count > 0)
        hand_over(model, now);
    answer.version = model->version;
    return answer;
}

struct seen model_inspect(struct model *model, int64_t now, const char *token)
{
    settle(model, now);
    return view(model, now, token);
}

int64_t model_next_end(const struct model *model, int64_t now)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < model->hold_count; i++)
        if (model->holds[i].ends > now && model->holds[i].ends < next)
            next = model->holds[i].ends;
    for (size_t i = 0; i < model->waiter_count; i++)
        if (model->waiters[i].ends > now && model->waiters[i].ends < next)
            next = model->waiters[i].ends;
    return next == INT64_MAX ? now : next;
}
