#include "tests/scripts/model.h"

#include <stdio.h>
#include <string.h>

const char *const MODEL_SERVER_NAMES[MODEL_SERVERS] = {"one", "two", "three", "four"};

static const int64_t ENTRY = 4503599627370496, REMEMBERED_US = 30000000;

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t model_ms(int64_t us)
{
    return us >= 0 ? us / 1000 : -((999 - us) / 1000);
}

static bool is_closed(const struct model *model, int64_t now)
{
    return now < model->closed_until;
}

/* A hold that was ended by a clock which was ahead runs on by the one that is right again. */
static bool last_runs_on(const struct model *model, int64_t now)
{
    return model->hold_count == 0 && !strcmp(model->last_reason, "expired") &&
           now < model->last.at && now >= model->last.at - model->last.held_ms * 1000;
}

/* Holds. */

static size_t count_shared(const struct model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->hold_count; i++)
        count += model->holds[i].shared;
    return count;
}

/* Without those that were released. */
static size_t count_live(const struct model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->hold_count; i++)
        count += !model->holds[i].released;
    return count;
}

static size_t count_owned(const struct model *model, const char *owner)
{
    size_t count = 0;
    for (size_t i = 0; i < model->hold_count; i++)
        count += !model->holds[i].released && !strcmp(model->holds[i].owner, owner);
    return count;
}

/* What counts by a limit. */
static int64_t count_permits(const struct model *model)
{
    int64_t permits = 0;
    for (size_t i = 0; i < model->hold_count; i++)
        permits += model->holds[i].shared ? model->holds[i].permits : 0;
    return permits;
}

/* That of the newest grant of a shared hold. */
static int64_t limit_of(const struct model *model)
{
    return count_shared(model) > 0 ? model->limit : 0;
}

/* How many holds let this one in. */
static size_t count_own(const struct model *model, const struct model_hold *hold)
{
    return hold->reenters ? count_owned(model, hold->owner) : 0;
}

/* Whether `hold` goes with one that is there. */
static bool goes_with(const struct model_hold *hold, const struct model_hold *other)
{
    return (hold->shared && other->shared) ||
           (hold->reenters && !strcmp(hold->owner, other->owner));
}

/* What keeps the name taken is of nobody: its owner does not enter past it. */
static bool admits(const struct model *model, const struct model_hold *hold)
{
    size_t others = model->hold_count - count_own(model, hold);
    size_t exclusive = model->hold_count - count_shared(model);
    if (others > 0 && (!hold->shared || exclusive > 0))
        return false;
    if (!hold->shared)
        return true;
    return hold->limit == 0 || count_permits(model) + hold->permits <= hold->limit;
}

/* Whether it was granted beside those that were there before and are there still. */
static bool was_admitted(const struct model *model, const struct model_hold *hold)
{
    int64_t shared = hold->permits;
    for (size_t i = 0; i < model->hold_count; i++) {
        const struct model_hold *other = &model->holds[i];
        if (other->fence >= hold->fence)
            continue;
        if (!goes_with(hold, other))
            return false;
        shared += other->shared ? other->permits : 0;
    }
    return !hold->shared || hold->limit == 0 || shared <= hold->limit;
}

bool model_is_compatible(const struct model *model)
{
    for (size_t i = 0; i < model->hold_count; i++)
        if (!was_admitted(model, &model->holds[i]))
            return false;
    return true;
}

static struct model_hold *find_hold(struct model *model, const char *token)
{
    for (size_t i = 0; i < model->hold_count; i++)
        if (!model->holds[i].released && !strcmp(model->holds[i].token, token))
            return &model->holds[i];
    return NULL;
}

/* What keeps the name taken after this hold was released. Its token may have released another one
 * since. */
static const struct model_hold *find_released(const struct model *model, int64_t fence)
{
    for (size_t i = 0; i < model->hold_count; i++)
        if (model->holds[i].released && model->holds[i].fence == fence)
            return &model->holds[i];
    return NULL;
}

static bool is_before(const struct model_hold *a, const struct model_hold *b)
{
    if (a->ends != b->ends)
        return a->ends < b->ends;
    return a->released != b->released ? a->released : strcmp(a->token, b->token) < 0;
}

/* Ends the soonest first; of those that end together, those that were released, then by token. */
static void sort(struct model *model)
{
    for (size_t i = 1; i < model->hold_count; i++)
        for (size_t j = i; j > 0; j--) {
            struct model_hold *a = &model->holds[j - 1], *b = &model->holds[j], swap = *a;
            if (is_before(a, b))
                break;
            *a = *b;
            *b = swap;
        }
}

/* The end of a lease that begins now: at_least makes it longer, max_held shorter. */
static int64_t end_of_lease(const struct model_hold *hold, int64_t now, int64_t ms)
{
    int64_t ends = now + ms * 1000;
    if (hold->at_least_ms)
        ends = max(ends, hold->since + hold->at_least_ms * 1000);
    return hold->max_held_ms ? min(ends, hold->since + hold->max_held_ms * 1000) : ends;
}

static int64_t at_least_left(const struct model_hold *hold, int64_t now)
{
    int64_t left = hold->since + hold->at_least_ms * 1000 - now;
    return hold->at_least_ms ? max(left + 999, 0) / 1000 : 0;
}

static int64_t max_held_left(const struct model_hold *hold, int64_t now)
{
    int64_t left = model_ms(hold->since - now + hold->max_held_ms * 1000);
    return hold->max_held_ms ? max(left, 1) : 0;
}

/* Re-entry is no way round the max_held of what it enters. */
static void bound_by_entered(const struct model *model, int64_t now, struct model_hold *hold)
{
    for (size_t i = 0; hold->reenters && i < model->hold_count; i++) {
        const struct model_hold *entered = &model->holds[i];
        int64_t left = max_held_left(entered, now);
        if (left == 0 || entered->released || strcmp(entered->owner, hold->owner) != 0)
            continue;
        hold->max_held_ms = hold->max_held_ms ? min(hold->max_held_ms, left) : left;
        hold->at_least_ms = min(hold->at_least_ms, hold->max_held_ms);
    }
}

static void add(struct model *model, int64_t now, struct model_hold hold, int64_t ms)
{
    bound_by_entered(model, now, &hold);
    model->version = max(model->version + 1, numbers_at(&model->numbers, now));
    model->known = true;
    hold.fence = model->version;
    hold.since = now;
    hold.ends = hold.attempt[0] ? end_of_lease(&hold, now, ms) : now + ms * 1000;
    model->holds[model->hold_count++] = hold;
    if (hold.shared)
        model->limit = hold.limit;
    sort(model);
}

static void remember(struct model *model, int64_t now, const struct model_release *release)
{
    struct model_release *kept = &model->released[model->released_count++ % MODEL_MOST];
    *kept = *release;
    kept->until = now + REMEMBERED_US;
}

/* The last release makes room for the next one, if it was not long ago. */
static void remember_last(struct model *model, int64_t now)
{
    if (!model->last_is_repeatable || now - model->last.at >= REMEMBERED_US)
        return;
    remember(model, now, &model->last);
    model->last_is_repeatable = false;
}

/* What has expired ended at a time of its own, however late that is noticed. */
static void end(struct model *model, size_t i, int64_t now, const char *reason, bool repeatable)
{
    struct model_hold hold = model->holds[i];
    int64_t at = min(hold.ends, now);
    model->hold_count--;
    memmove(model->holds + i, model->holds + i + 1, (model->hold_count - i) * sizeof hold);
    bool is_expired = strcmp(reason, "expired") == 0;
    model->version = max(model->version + 1, is_expired ? at : numbers_at(&model->numbers, now));
    if (hold.released && is_expired)
        return; /* its end was reported when it was released */
    remember_last(model, now);
    model->last = (struct model_release){.fence = hold.fence,
                                         .at = at,
                                         .held_ms = model_ms(at - hold.since),
                                         .holds = (int64_t)count_owned(model, hold.owner)};
    strcpy(model->last.token, hold.token);
    strcpy(model->last_reason, reason);
    strcpy(model->last_owner, hold.owner);
    model->last_is_repeatable = repeatable;
}

/* Servers, and what they are notified of. */

static void notify(struct model *model, size_t server, const char *what, const char *more)
{
    snprintf(model->messages.text[model->messages.count++], sizeof model->messages.text[0],
             "%s %s%s%s", MODEL_SERVER_NAMES[server], what, *more ? " " : "", more);
}

/* A server is to look after this attempt. */
static void notify_of_grant(struct model *model, size_t server, const struct model_hold *hold)
{
    char both[2 * MODEL_TOKEN];
    snprintf(both, sizeof both, "%s %s", hold->attempt, hold->token);
    notify(model, server, "g", both);
}

static size_t server_number(const char *name)
{
    size_t i = 0;
    while (strcmp(MODEL_SERVER_NAMES[i], name) != 0)
        i++;
    return i;
}

static void enlist(struct model *model, int64_t now, size_t number, int64_t lease_ms)
{
    struct model_server *server = &model->servers[number];
    if (!server->listed)
        *server = (struct model_server){.listed = true, .plan = INT64_MAX};
    server->suspect = false;
    server->ends = max(server->ends, now + lease_ms * 1000);
    model->known = true;
}

/* Waiters. */

static struct model_waiter *find_waiter(struct model *model, const char *token)
{
    for (size_t i = 0; i < model->waiter_count; i++)
        if (!strcmp(model->waiters[i].hold.token, token))
            return &model->waiters[i];
    return NULL;
}

static void drop(struct model *model, struct model_waiter *waiter)
{
    size_t i = (size_t)(waiter - model->waiters);
    model->waiter_count--;
    memmove(waiter, waiter + 1, (model->waiter_count - i) * sizeof *waiter);
}

static size_t count_granted(const struct model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->waiter_count; i++)
        count += model->waiters[i].place == GRANTED;
    return count;
}

static size_t count_waiting(const struct model *model)
{
    return model->waiter_count - count_granted(model);
}

static bool has_parked(const struct model *model, size_t server)
{
    for (size_t i = 0; i < model->waiter_count; i++) {
        const struct model_waiter *waiter = &model->waiters[i];
        if (waiter->place == PARKED && waiter->server == server)
            return true;
    }
    return false;
}

/* Of an owner that is not this one. */
static bool entry_waits(const struct model *model, const char *owner)
{
    for (size_t i = 0; i < model->waiter_count; i++)
        if (model->waiters[i].place != GRANTED && model->waiters[i].arrival < 0 &&
            strcmp(model->waiters[i].hold.owner, owner) != 0)
            return true;
    return false;
}

/* Whether it is in line, and not to be passed over. */
static bool is_in_line(const struct model *model, const struct model_waiter *waiter)
{
    return waiter->place == ABSENT ||
           (waiter->place == PARKED && !model->servers[waiter->server].suspect);
}

static struct model_waiter *head(struct model *model)
{
    struct model_waiter *first = NULL;
    for (size_t i = 0; i < model->waiter_count; i++) {
        struct model_waiter *waiter = &model->waiters[i];
        if (is_in_line(model, waiter) && (!first || waiter->arrival < first->arrival))
            first = waiter;
    }
    return first;
}

/* An owner that has got a hold lets those in that re-enter, before all others. */
static void promote(struct model *model, const char *owner)
{
    for (size_t i = 0; i < model->waiter_count && !entry_waits(model, owner); i++) {
        struct model_waiter *waiter = &model->waiters[i];
        if (waiter->hold.reenters && waiter->place != GRANTED && waiter->arrival == waiter->came &&
            strcmp(waiter->hold.owner, owner) == 0)
            waiter->arrival -= ENTRY;
    }
}

/* An owner that holds nothing any more has nothing to enter. */
static void demote(struct model *model)
{
    for (size_t i = 0; i < model->waiter_count; i++) {
        struct model_waiter *waiter = &model->waiters[i];
        if (waiter->arrival < 0 && waiter->place != GRANTED &&
            count_owned(model, waiter->hold.owner) == 0)
            waiter->arrival = waiter->came;
    }
}

static void hand_over(struct model *model, int64_t now)
{
    struct model_waiter *waiter;
    demote(model);
    while (!is_closed(model, now) && (waiter = head(model)) && admits(model, &waiter->hold)) {
        struct model_hold hold = waiter->hold;
        bool is_parked = waiter->place == PARKED;
        if (is_parked)
            notify_of_grant(model, waiter->server, &hold);
        waiter->place = GRANTED;
        hold.attempt[0] = '\0';
        add(model, now, hold,
            is_parked ? (waiter->claim_ms + 1) / 2
                      : min(waiter->claim_ms, (waiter->ends - now + 999) / 1000));
        promote(model, hold.owner);
    }
}

/* One that is away stays until its end, if that is still to come. */
static void be_away(struct model *model, int64_t now, struct model_waiter *waiter,
                    enum model_place place, int64_t ends)
{
    waiter->is_away = true;
    waiter->place = place;
    waiter->ends = ends;
    if (ends <= now)
        drop(model, waiter);
}

static void all_absent_have_missed(struct model *model)
{
    for (size_t i = 0; i < model->waiter_count; i++)
        if (model->waiters[i].place == ABSENT)
            model->waiters[i].place = MISSED;
}

/* Its server may not know of its turn, and has another one. */
static void miss_turn(struct model *model, struct model_waiter *waiter)
{
    if (++waiter->missed < 2 || model->servers[waiter->server].suspect)
        return;
    model->servers[waiter->server].suspect = true;
    notify(model, waiter->server, "s", "");
}

/* An unclaimed hold has ended. */
static void put_back(struct model *model, int64_t now, const struct model_hold *hold, bool missed)
{
    struct model_waiter *waiter = find_waiter(model, hold->token);
    if (waiter->arrival < 0 && entry_waits(model, waiter->hold.owner))
        waiter->arrival = waiter->came;
    if (waiter->is_away) {
        if (missed)
            all_absent_have_missed(model);
        be_away(model, now, waiter, missed ? MISSED : ABSENT, waiter->ends);
    } else if (model->servers[waiter->server].listed) {
        waiter->place = PARKED;
        if (missed)
            miss_turn(model, waiter);
    } else {
        be_away(model, now, waiter, MISSED, hold->ends + waiter->keep_ms * 1000);
    }
}

static void bury(struct model *model, int64_t now, size_t number)
{
    struct model_server *server = &model->servers[number];
    for (size_t i = model->waiter_count; i-- > 0;) {
        struct model_waiter *waiter = &model->waiters[i];
        if (waiter->place == PARKED && waiter->server == number)
            be_away(model, now, waiter, server->suspect ? MISSED : ABSENT,
                    server->ends + waiter->keep_ms * 1000);
    }
    server->listed = false;
}

static void settle(struct model *model, int64_t now)
{
    model->messages.count = 0;
    model->expired_count = 0;
    if (!model->known) /* nobody watches it who could have to hear of the floor */
        model->version = max(now - now % model->retention_us, model->numbers.floor);
    model->version_before = model->version;
    model->version = max(model->version, model->numbers.floor); /* later ones may be lost */
    model->was_wanted = count_waiting(model) > 0;
    while (model->hold_count > 0 && model->holds[0].ends <= now) {
        struct model_hold hold = model->holds[0];
        end(model, 0, now, "expired", false);
        if (hold.attempt[0] == '\0')
            put_back(model, now, &hold, true);
        else if (!hold.released)
            model->expired[model->expired_count++] = hold;
    }
    model->closed_until = max(model->opens, last_runs_on(model, now) ? model->last.at : 0);
    for (size_t i = 0; i < MODEL_SERVERS; i++)
        if (model->servers[i].listed && model->servers[i].ends <= now)
            bury(model, now, i);
    for (size_t i = model->waiter_count; i-- > 0;) {
        struct model_waiter *waiter = &model->waiters[i];
        if ((waiter->place == ABSENT || waiter->place == MISSED) && waiter->ends <= now)
            drop(model, waiter);
    }
}

static void open_name(struct model *model, int64_t now)
{
    settle(model, now);
    hand_over(model, now);
}

/* The end of every operation. */
static void close_name(struct model *model)
{
    for (size_t i = 0; i < MODEL_SERVERS; i++) {
        struct model_server *server = &model->servers[i];
        if (!server->watching && !has_parked(model, i) && count_granted(model) == 0)
            server->listed = false;
        if (!server->listed || !server->watching)
            continue;
        char version[24];
        snprintf(version, sizeof version, "%lld", (long long)model->version);
        if (model->version != model->version_before)
            notify(model, i, "c", version);
        else if (model->was_wanted != (count_waiting(model) > 0))
            notify(model, i, "w", "");
    }
}

/* Answers. */

/* Who waits goes before another: nobody is granted before whoever stands in front, but for those
 * who are passed over. */
static bool goes_before(const struct model *model, const struct model_waiter *a,
                        const struct model_waiter *b)
{
    bool in_line = is_in_line(model, a);
    if (in_line != is_in_line(model, b))
        return in_line;
    return a->arrival != b->arrival ? a->arrival < b->arrival
                                    : strcmp(a->hold.token, b->hold.token) < 0;
}

static size_t position(const struct model *model, const struct model_waiter *waiter)
{
    size_t before = 0;
    for (size_t i = 0; i < model->waiter_count; i++) {
        const struct model_waiter *other = &model->waiters[i];
        before += other->place != GRANTED && other != waiter && goes_before(model, other, waiter);
    }
    return before;
}

static struct seen view(const struct model *model, int64_t now, const char *token)
{
    struct seen seen = {.version = model->version,
                        .holds = (int64_t)model->hold_count,
                        .extra_permits = count_permits(model) - (int64_t)count_shared(model),
                        .limit = limit_of(model),
                        .waiters = (int64_t)count_waiting(model),
                        .last_fence = model->last.fence};
    if (seen.last_fence) {
        strcpy(seen.last_reason, model->last_reason);
        strcpy(seen.last_owner, model->last_owner);
        seen.last_ago_ms = model_ms(now - model->last.at);
    }
    for (size_t i = 0; i < model->waiter_count; i++) {
        const struct model_waiter *waiter = &model->waiters[i];
        if (waiter->place != GRANTED && !strcmp(waiter->hold.token, token))
            seen.position = (int64_t)position(model, waiter) + 1;
    }
    for (size_t i = 0; i < model->hold_count; i++) {
        const struct model_hold *hold = &model->holds[i];
        seen.mine |= !hold->released && !strcmp(hold->token, token);
        if (i >= SHOWN)
            continue;
        struct seen_hold *shown = &seen.shown_holds[seen.shown++];
        strcpy(shown->owner, hold->owner);
        strcpy(shown->mode, hold->shared ? "shared" : "exclusive");
        shown->fence = hold->fence;
        shown->ttl_ms = (hold->ends - now) / 1000;
        shown->held_ms = model_ms(now - hold->since);
        shown->released = hold->released;
        shown->at_least_ms = at_least_left(hold, now);
        shown->max_held_ms = max_held_left(hold, now);
    }
    return seen;
}

/* Those who wait are shown to whoever looks, not to whoever is refused. */
static struct seen whole_view(const struct model *model, int64_t now, const char *token)
{
    struct seen seen = view(model, now, token);
    seen.line = count_waiting(model) < SHOWN ? count_waiting(model) : SHOWN;
    for (size_t i = 0; i < model->waiter_count; i++) {
        const struct model_waiter *waiter = &model->waiters[i];
        size_t at = position(model, waiter);
        if (waiter->place == GRANTED || at >= SHOWN)
            continue;
        strcpy(seen.in_line[at].owner, waiter->hold.owner);
        strcpy(seen.in_line[at].mode, waiter->hold.shared ? "shared" : "exclusive");
        seen.in_line[at].waited_ms = max(now - waiter->came, 0) / 1000;
    }
    return seen;
}

static struct answer reported(const struct model *model, int64_t now, const char *status,
                              const struct model_hold *hold)
{
    struct answer answer = {.fence = hold->fence,
                            .ttl_ms = (hold->ends - now) / 1000,
                            .holds = (int64_t)count_owned(model, hold->owner),
                            .version = model->version,
                            .limit = hold->shared ? hold->limit : 0,
                            .permits = hold->permits > 1 ? hold->permits : 0,
                            .at_least_ms = at_least_left(hold, now),
                            .max_held_ms = max_held_left(hold, now)};
    strcpy(answer.status, status);
    strcpy(answer.owner, hold->owner);
    strcpy(answer.mode, hold->shared ? "shared" : "exclusive");
    return answer;
}

static struct answer refuse(const struct model *model, int64_t now, const char *status,
                            const char *token)
{
    struct answer answer = {.version = model->version, .view = view(model, now, token)};
    strcpy(answer.status, status);
    return answer;
}

static struct answer say(const char *status)
{
    struct answer answer = {.count = 0};
    strcpy(answer.status, status);
    return answer;
}

enum model_memory model_remembers(const struct model *model, int64_t now, const char *token,
                                  struct model_release *ret)
{
    if (model->last_is_repeatable && !strcmp(model->last.token, token)) {
        *ret = model->last;
        return MODEL_REMEMBERED;
    }
    size_t kept = model->released_count < MODEL_MOST ? model->released_count : MODEL_MOST;
    for (size_t i = 0; i < kept; i++) {
        if (strcmp(model->released[i].token, token) != 0)
            continue;
        *ret = model->released[i];
        return now < ret->until ? MODEL_REMEMBERED : MODEL_PERHAPS;
    }
    return MODEL_FORGOTTEN;
}

static bool was_released(const struct model *model, int64_t now, const char *token)
{
    struct model_release released;
    return model_remembers(model, now, token, &released) == MODEL_REMEMBERED;
}

/* The hold becomes that of the request. */
static void claim(struct model *model, int64_t now, struct model_hold *hold, const char *attempt)
{
    const struct model_waiter *waiter = find_waiter(model, hold->token);
    int64_t left = max_held_left(hold, now);
    if (waiter && waiter->hold.max_held_ms != hold->max_held_ms) { /* it was bounded when granted */
        hold->max_held_ms = min(hold->max_held_ms, left); /* not more after the clock went back */
        hold->at_least_ms = min(hold->at_least_ms, hold->max_held_ms);
    }
    drop(model, find_waiter(model, hold->token));
    strcpy(hold->attempt, attempt);
    hold->since = now;
    hold->ends = end_of_lease(hold, now, hold->ttl_ms);
}

/* Attempts are one letter each. */
static bool was_reported(const struct model_hold *hold, const char *attempt)
{
    return strcmp(hold->attempt, "known") != 0 && strstr(hold->attempt, attempt);
}

static bool was_reported_alone(const struct model_hold *hold, const char *attempt)
{
    return !strcmp(hold->attempt, attempt);
}

static struct answer report_hold(struct model *model, int64_t now, struct model_hold *hold,
                                 const char *attempt)
{
    const char *status = "claimed";
    if (hold->attempt[0] == '\0')
        claim(model, now, hold, attempt);
    else if (!was_reported_alone(hold, attempt))
        status = "holding";
    if (strcmp(hold->attempt, "known") != 0 && !was_reported(hold, attempt))
        strcat(hold->attempt, attempt);
    struct answer answer = reported(model, now, status, hold);
    sort(model);
    return answer;
}

void model_go_back(struct model *model)
{
    for (size_t i = 0; i < MODEL_MOST; i++)
        model->released[i].until = 0;
}

/* What was handed over may not be claimed: its waiter goes back to its place. */
static void ungrant(struct model *model, int64_t now, struct model_hold *hold)
{
    struct model_hold gone = *hold;
    end(model, (size_t)(hold - model->holds), now, "forced", false);
    strcpy(model->last_reason, "expired");
    put_back(model, now, &gone, false);
}

/* The operations. */

/* A waiter came again. */
static void attach(struct model *model, struct model_waiter *waiter,
                   const struct acquiring *acquiring)
{
    waiter->hold.ttl_ms = acquiring->ttl_ms;
    waiter->hold.at_least_ms = acquiring->at_least_ms;
    waiter->hold.max_held_ms = acquiring->max_held_ms;
    if (acquiring->server) {
        if (waiter->place == PARKED && strcmp(waiter->hold.attempt, acquiring->attempt) != 0)
            notify_of_grant(model, waiter->server, &waiter->hold);
        strcpy(waiter->hold.attempt, acquiring->attempt);
        waiter->place = PARKED;
        waiter->is_away = false;
        waiter->server = server_number(acquiring->server);
        waiter->keep_ms = acquiring->keep_ms;
        waiter->claim_ms = acquiring->claim_ms;
        waiter->missed = 0;
    } else if (waiter->place == MISSED) {
        waiter->place = ABSENT;
    }
}

static struct answer grant_new(struct model *model, int64_t now, const struct model_hold *hold,
                               bool enters)
{
    add(model, now, *hold, hold->ttl_ms);
    if (!enters)
        promote(model, hold->owner);
    const struct model_hold *got = find_hold(model, hold->token);
    return reported(model, now, got->max_held_ms == hold->max_held_ms ? "granted" : "claimed", got);
}

static struct answer queue(struct model *model, int64_t now, const struct model_hold *hold,
                           const struct acquiring *acquiring, bool enters)
{
    size_t server = server_number(acquiring->server);
    model->arrival = max(model->arrival + 1, now);
    remember_last(model, now);
    if (!model->known) /* an earlier record may be lost */
        model->version = max(model->version, numbers_at(&model->numbers, now));
    enlist(model, now, server, acquiring->lease_ms);
    struct model_waiter *waiter = &model->waiters[model->waiter_count++];
    *waiter = (struct model_waiter){.hold = *hold,
                                    .server = server,
                                    .arrival = enters ? model->arrival - ENTRY : model->arrival,
                                    .came = model->arrival,
                                    .keep_ms = acquiring->keep_ms,
                                    .claim_ms = acquiring->claim_ms};
    return say("waiting");
}

/* A token that has nothing yet. */
static struct answer ask_anew(struct model *model, int64_t now, const struct model_hold *hold,
                              const struct acquiring *acquiring)
{
    bool holds = count_own(model, hold) > 0;
    bool is_admitted = admits(model, hold);
    if (is_admitted && is_closed(model, now) && (holds || !acquiring->server))
        return say("quarantined");
    if (is_admitted && !is_closed(model, now) && (!head(model) || holds))
        return grant_new(model, now, hold, holds);
    if (holds && entry_waits(model, hold->owner))
        return say("upgrade_conflict");
    if (!acquiring->server)
        return refuse(model, now, "locked", "");
    if ((int64_t)count_waiting(model) >= acquiring->bound) {
        struct answer answer = say("too_many_waiters");
        answer.count = (int64_t)count_waiting(model);
        return answer;
    }
    return queue(model, now, hold, acquiring, holds);
}

/* The same, with the limit of shared holds that have another one. */
static struct answer acquire_new(struct model *model, int64_t now, const struct model_hold *hold,
                                 const struct acquiring *acquiring)
{
    bool differs = hold->shared && count_shared(model) > 0 && limit_of(model) != hold->limit;
    int64_t limit = limit_of(model);
    struct answer answer = ask_anew(model, now, hold, acquiring);
    bool reports = !strcmp(answer.status, "granted") || !strcmp(answer.status, "waiting") ||
                   !strcmp(answer.status, "locked");
    answer.other_limit = differs && reports ? limit + 1 : 0;
    return answer;
}

static struct answer acquire_waiter(struct model *model, int64_t now, struct model_waiter *waiter,
                                    const struct acquiring *acquiring)
{
    struct model_hold hold = waiter->hold;
    if (!is_closed(model, now) && count_own(model, &hold) > 0 && admits(model, &hold)) {
        drop(model, waiter);
        strcpy(hold.attempt, acquiring->attempt);
        add(model, now, hold, hold.ttl_ms);
        return reported(model, now, "claimed", find_hold(model, hold.token));
    }
    if (acquiring->server)
        return say("waiting");
    if (is_closed(model, now) && admits(model, &hold))
        return say("quarantined");
    return refuse(model, now, "locked", hold.token);
}

static bool is_anothers(const struct model_hold *hold, const struct model_waiter *waiter,
                        const char *attempt)
{
    if (hold && hold->attempt[0] != '\0')
        return !was_reported(hold, attempt);
    return waiter && waiter->hold.attempt[0] != '\0' && strcmp(waiter->hold.attempt, attempt) != 0;
}

/* How a waiter was asked for differs: 1: to re-enter, -1: not to. Nobody knows that of a place that
 * was made of a hold. */
static int differs_in_reentry(const struct model_waiter *waiter, const struct model_hold *wanted)
{
    return waiter && !waiter->had_hold ? waiter->hold.reenters - wanted->reenters : 0;
}

/* Whether the token was used for something else than this. */
static bool is_other_use(const struct model_hold *used, const struct model_hold *wanted)
{
    bool is_made = strncmp(wanted->owner, MADE, 1) == 0;
    return used->shared != wanted->shared || used->limit != wanted->limit ||
           used->set != wanted->set || used->permits != wanted->permits ||
           (!is_made && strcmp(used->owner, wanted->owner) != 0);
}

static struct answer report_use(const struct model_hold *used, const struct model_hold *wanted)
{
    struct answer answer = say("token_in_use");
    strcpy(answer.mode, used->shared ? "shared" : "exclusive");
    strcpy(answer.owner, used->owner);
    answer.limit = used->limit;
    answer.count = used->set != wanted->set;
    answer.permits = used->permits;
    return answer;
}

static struct answer acquire_settled(struct model *model, int64_t now,
                                     const struct model_hold *wanted,
                                     const struct acquiring *acquiring)
{
    struct model_hold *hold = find_hold(model, wanted->token);
    struct model_waiter *waiter = find_waiter(model, wanted->token);
    if (acquiring->again && is_anothers(hold, waiter, wanted->attempt)) {
        hand_over(model, now);
        return say("superseded");
    }
    const struct model_hold *used = hold ? hold : waiter ? &waiter->hold : NULL;
    int reentry = differs_in_reentry(waiter, wanted);
    if (used && !acquiring->again && (reentry || is_other_use(used, wanted))) {
        struct answer answer = report_use(used, wanted);
        answer.reentry = reentry;
        hand_over(model, now);
        return answer;
    }
    if (!used && was_released(model, now, wanted->token)) {
        hand_over(model, now);
        return say("released");
    }
    if (hold && hold->attempt[0] == '\0' && is_closed(model, now)) {
        ungrant(model, now, hold);
        hold = NULL;
        waiter = find_waiter(model, wanted->token);
    }
    if (acquiring->server) {
        size_t server = server_number(acquiring->server);
        bool is_suspect = model->servers[server].listed && model->servers[server].suspect;
        if (is_suspect || (waiter && !hold))
            enlist(model, now, server, acquiring->lease_ms);
    }
    if (waiter && !hold)
        attach(model, waiter, acquiring);
    hand_over(model, now);
    hold = find_hold(model, wanted->token);
    if (hold)
        return report_hold(model, now, hold, wanted->attempt);
    if (waiter)
        return acquire_waiter(model, now, waiter, acquiring);
    return acquire_new(model, now, wanted, acquiring);
}

struct answer model_acquire(struct model *model, int64_t now, const struct acquiring *acquiring)
{
    struct model_hold hold = {.shared = !strcmp(acquiring->mode, "shared"),
                              .reenters = acquiring->reenters,
                              .ttl_ms = acquiring->ttl_ms,
                              .at_least_ms = acquiring->at_least_ms,
                              .max_held_ms = acquiring->max_held_ms,
                              .limit = acquiring->limit,
                              .set = acquiring->set,
                              .permits = acquiring->permits ? acquiring->permits : 1};
    strcpy(hold.token, acquiring->token);
    strcpy(hold.owner, acquiring->owner);
    strcpy(hold.attempt, acquiring->attempt);
    settle(model, now);
    struct answer answer = acquire_settled(model, now, &hold, acquiring);
    close_name(model);
    return answer;
}

/* Whether no renewal makes it longer. */
static bool is_final(const struct model_hold *hold)
{
    return hold->max_held_ms && hold->ends >= hold->since + hold->max_held_ms * 1000;
}

struct answer model_renew(struct model *model, int64_t now, const char *token, int64_t ttl_ms)
{
    struct answer answer = say("not_held");
    open_name(model, now);
    struct model_hold *hold = find_hold(model, token);
    if (hold && (hold->attempt[0] != '\0' || !is_closed(model, now))) {
        hold->ttl_ms = ttl_ms ? ttl_ms : hold->ttl_ms;
        if (hold->attempt[0] == '\0')
            claim(model, now, hold, "");
        strcpy(hold->attempt, "known");
        bool was_final = is_final(hold);
        hold->ends = end_of_lease(hold, now, hold->ttl_ms);
        answer = reported(model, now, was_final && is_final(hold) ? "final" : "renewed", hold);
        sort(model);
    }
    close_name(model);
    return answer;
}

/* A hold was released. The name stays taken for the rest of its at_least. */
static void stay_taken(struct model *model, int64_t now, struct model_hold hold)
{
    hold.ends = hold.since + hold.at_least_ms * 1000;
    if (hold.at_least_ms == 0 || hold.ends <= now)
        return;
    hold.released = true;
    model->holds[model->hold_count++] = hold;
    sort(model);
}

static struct answer end_by_client(struct model *model, int64_t now, struct model_hold *hold)
{
    struct answer answer = say("released");
    struct model_hold gone = *hold;
    strcpy(answer.owner, hold->owner);
    end(model, (size_t)(hold - model->holds), now, "released", true);
    answer.fence = model->last.fence;
    answer.held_ms = model->last.held_ms;
    answer.holds = model->last.holds;
    stay_taken(model, now, gone);
    return answer;
}

static struct answer cancel(struct model *model, int64_t now, struct model_hold *hold,
                            struct model_waiter *waiter)
{
    struct model_release cancelled = {.cancelled = true};
    strcpy(cancelled.token, waiter->hold.token);
    if (!waiter->is_away && model->servers[waiter->server].listed)
        notify(model, waiter->server, "x", waiter->hold.attempt);
    drop(model, waiter);
    if (hold)
        end(model, (size_t)(hold - model->holds), now, "released", false);
    remember(model, now, &cancelled);
    return say("cancelled");
}

static struct answer repeat_release(const struct model *model, int64_t now, const char *token)
{
    struct model_release released;
    if (model_remembers(model, now, token, &released) != MODEL_REMEMBERED)
        return say("not_held");
    struct answer answer = say(released.cancelled ? "cancelled" : "released");
    answer.fence = released.fence;
    answer.held_ms = released.held_ms;
    answer.holds = released.holds;
    return answer;
}

struct answer model_release(struct model *model, int64_t now, const char *token)
{
    open_name(model, now);
    struct model_hold *hold = find_hold(model, token);
    struct model_waiter *waiter = find_waiter(model, token);
    struct answer answer = waiter ? cancel(model, now, hold, waiter)
                           : hold ? end_by_client(model, now, hold)
                                  : repeat_release(model, now, token);
    const struct model_hold *kept = find_released(model, answer.fence);
    if (!strcmp(answer.status, "released") && kept)
        answer.free_in_ms = at_least_left(kept, now);
    hand_over(model, now);
    if (strcmp(answer.status, "not_held") != 0)
        answer.version = model->version;
    close_name(model);
    return answer;
}

void model_claim_at_release(struct model *model, int64_t now, size_t server, struct answer *answer)
{
    struct model_hold *hold = &model->holds[0];
    struct model_waiter *waiter = model->hold_count == 1 ? find_waiter(model, hold->token) : NULL;
    if (is_closed(model, now) || !waiter || hold->shared || hold->attempt[0] || waiter->is_away ||
        waiter->server != server)
        return;
    strcpy(answer->next_attempt, waiter->hold.attempt);
    strcpy(answer->next_owner, hold->owner);
    claim(model, now, hold, answer->next_attempt);
    answer->ttl_ms = (hold->ends - now) / 1000;
    answer->at_least_ms = at_least_left(hold, now);
    answer->max_held_ms = max_held_left(hold, now);
    model->messages.count--; /* the answer reports it; watchers make it another release */
    for (size_t i = 0; i < MODEL_SERVERS; i++)
        model->servers[i].listed &= model->servers[i].watching || has_parked(model, i);
}

/* A hold that its client cannot have learnt of is given back, or kept for one more window. */
static void give_back(struct model *model, int64_t now, struct model_hold *hold, int64_t keep_ms,
                      int64_t claim_ms)
{
    struct model_waiter *waiter = find_waiter(model, hold->token);
    if (keep_ms == 0) {
        if (waiter)
            drop(model, waiter);
        end(model, (size_t)(hold - model->holds), now, "released", false);
        return;
    }
    if (!waiter) {
        waiter = &model->waiters[model->waiter_count++];
        *waiter = (struct model_waiter){.hold = *hold,
                                        .arrival = hold->fence - (INT64_C(1) << 50),
                                        .came = now,
                                        .had_hold = true,
                                        .claim_ms = claim_ms,
                                        .keep_ms = keep_ms};
        waiter->hold.reenters = count_live(model) > 1 && count_shared(model) < model->hold_count;
    }
    waiter->hold.attempt[0] = '\0';
    waiter->place = GRANTED;
    waiter->is_away = true;
    waiter->ends = now + keep_ms * 1000;
    hold->attempt[0] = '\0';
    hold->ends = now + min(waiter->claim_ms, keep_ms) * 1000;
    sort(model);
}

static void leave_queue(struct model *model, int64_t now, struct model_waiter *waiter, int64_t ms)
{
    waiter->hold.attempt[0] = '\0';
    if (waiter->place == GRANTED) {
        waiter->is_away = true;
        waiter->ends = now + ms * 1000;
        find_hold(model, waiter->hold.token)->ends = now + min(waiter->claim_ms, ms) * 1000;
        sort(model);
    } else {
        be_away(model, now, waiter, ABSENT, now + ms * 1000);
    }
}

static struct answer leave_at_timeout(struct model *model, int64_t now,
                                      const struct leaving *leaving)
{
    struct model_hold *hold = find_hold(model, leaving->token);
    if (hold && hold->attempt[0] == '\0' && is_closed(model, now)) {
        ungrant(model, now, hold);
        hold = NULL;
    }
    struct model_waiter *waiter = find_waiter(model, leaving->token);
    bool is_own = waiter && !strcmp(waiter->hold.attempt, leaving->attempt);
    if (hold && (is_own || !waiter))
        return report_hold(model, now, hold, leaving->attempt);
    if (!hold && !waiter && was_released(model, now, leaving->token))
        return say("released");
    bool is_admitted = waiter ? admits(model, &waiter->hold) : model->hold_count == 0;
    if (!hold && is_own)
        leave_queue(model, now, waiter, leaving->keep_ms);
    hand_over(model, now);
    if (is_admitted && is_closed(model, now))
        return say("quarantined");
    return refuse(model, now, "timeout", leaving->keep_ms > 0 ? leaving->token : "");
}

/* Its server has forgotten it: nothing is claimed yet, or nothing happens. */
static void leave_stale(struct model *model, int64_t now, struct model_hold *hold,
                        struct model_waiter *waiter)
{
    if (waiter->keep_ms > 0 || !hold) {
        leave_queue(model, now, waiter, waiter->keep_ms);
        return;
    }
    drop(model, waiter);
    end(model, (size_t)(hold - model->holds), now, "released", false);
}

static void be_untold(struct model_hold *hold, const char *attempt)
{
    char *at = strstr(hold->attempt, attempt);
    memmove(at, at + 1, strlen(at));
}

static struct answer leave_otherwise(struct model *model, int64_t now,
                                     const struct leaving *leaving)
{
    struct model_hold *hold = find_hold(model, leaving->token);
    struct model_waiter *waiter = find_waiter(model, leaving->token);
    bool is_own = waiter && !strcmp(waiter->hold.attempt, leaving->attempt);
    bool has_gone = !strcmp(leaving->why, "gone"), is_stale = !strcmp(leaving->why, "stale");
    bool has_claimed = hold && !is_stale && was_reported(hold, leaving->attempt);
    int64_t keep_ms = has_gone ? leaving->keep_ms : max(leaving->keep_ms, leaving->lease_ms);
    if (has_claimed && !was_reported_alone(hold, leaving->attempt))
        be_untold(hold, leaving->attempt);
    else if (has_claimed || (hold && has_gone && is_own))
        give_back(model, now, hold, keep_ms, leaving->claim_ms);
    else if (is_own && is_stale)
        leave_stale(model, now, hold, waiter);
    else if (is_own)
        leave_queue(model, now, waiter, keep_ms);
    hand_over(model, now);
    return say("left");
}

struct answer model_leave(struct model *model, int64_t now, const struct leaving *leaving)
{
    open_name(model, now);
    struct answer answer = !strcmp(leaving->why, "timeout") ? leave_at_timeout(model, now, leaving)
                                                            : leave_otherwise(model, now, leaving);
    close_name(model);
    return answer;
}

struct answer model_break(struct model *model, int64_t now, int64_t fence)
{
    struct answer answer = say("broken");
    struct model_hold broken[MODEL_MOST] = {0};
    open_name(model, now);
    for (size_t i = 0; i < model->hold_count;) {
        if (fence && model->holds[i].fence != fence) {
            i++;
            continue;
        }
        broken[answer.count++] = model->holds[i];
        end(model, i, now, BROKEN, false);
    }
    strcpy(answer.owner, answer.count > 0 ? broken[0].owner : "");
    for (int64_t i = 0; i < answer.count; i++)
        if (broken[i].attempt[0] == '\0')
            put_back(model, now, &broken[i], false);
    hand_over(model, now);
    answer.version = model->version;
    close_name(model);
    return answer;
}

struct seen model_inspect(struct model *model, int64_t now, const char *token)
{
    open_name(model, now);
    close_name(model);
    return whole_view(model, now, token);
}

int64_t model_tick(struct model *model, int64_t now)
{
    open_name(model, now);
    close_name(model);
    return model->version;
}

struct seen model_watch(struct model *model, int64_t now, size_t server, int64_t lease_ms)
{
    settle(model, now);
    enlist(model, now, server, lease_ms);
    model->servers[server].watching = true;
    hand_over(model, now);
    close_name(model);
    return whole_view(model, now, "");
}

void model_heartbeat(struct model *model, int64_t now, size_t server, int64_t lease_ms)
{
    struct model_server *one = &model->servers[server];
    if (one->listed && one->ends > now)
        one->ends = max(one->ends, now + lease_ms * 1000);
}

bool model_is_unclaimed(const struct model *model)
{
    return count_granted(model) > 0;
}

void model_stand(const struct model *model, int64_t now, size_t server, struct standing *ret)
{
    const struct model_server *one = &model->servers[server];
    if (!one->listed || one->ends <= now || one->suspect)
        return;
    ret->waits = 0;
    for (size_t i = 0; i < model->waiter_count; i++) {
        const struct model_waiter *waiter = &model->waiters[i];
        if (waiter->is_away || waiter->server != server)
            continue;
        ret->waits++;
        if (waiter->place == GRANTED)
            strcpy(ret->attempt, waiter->hold.attempt);
    }
}

int64_t model_next_tick(const struct model *model, int64_t now)
{
    struct model copy = *model;
    struct model_waiter *first = head(&copy);
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < model->hold_count; i++)
        next = min(next, model->holds[i].ends);
    if (!first)
        return next;
    if (is_closed(model, now) && admits(model, &first->hold))
        next = min(next, model->closed_until);
    if (first->place == ABSENT)
        return min(next, first->ends);
    for (size_t i = 0; i < model->waiter_count; i++)
        if (is_in_line(model, &model->waiters[i]) &&
            (model->waiters[i].place == ABSENT || model->waiters[i].server != first->server))
            next = min(next, model->servers[first->server].ends);
    return next;
}

int64_t model_next_end(const struct model *model, int64_t now)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < model->hold_count; i++)
        if (model->holds[i].ends > now)
            next = min(next, model->holds[i].ends);
    for (size_t i = 0; i < model->waiter_count; i++)
        if (model->waiters[i].is_away && model->waiters[i].ends > now)
            next = min(next, model->waiters[i].ends);
    for (size_t i = 0; i < MODEL_SERVERS; i++)
        if (model->servers[i].listed && model->servers[i].ends > now)
            next = min(next, model->servers[i].ends);
    return next == INT64_MAX ? now : next;
}
