/* Tens of thousands of random operations, each answered by the scripts and by a model of the
 * contract. Time is told to both, so that a run is the same again: BATON_SEED=N. */
#include "tests/scripts/inboxes.h"
#include "tests/scripts/model.h"
#include "tests/support/cmocka.h"
#include "tests/support/seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 24000, NAMES = 3, RECENT = 12 };
static const int64_t HOUR_US = INT64_C(3600) * 1000000; /* the retention, too */

static const char *const NAME[NAMES] = {"k", "l", "m"}, *const ATTEMPTS[] = {"p", "q", "r"};

struct run {
    struct scripts *scripts;
    struct inboxes inboxes;
    uint64_t random;
    int64_t now;
    int64_t begun, greatest; /* it never was before, or beyond that */
    int64_t opens;           /* this and the next: as a server stamps its calls */
    struct numbers numbers;
    int step;
    unsigned tokens_made;
    const char *name;
    struct model *model;
    bool is_calm; /* for a while most of what happens is what happens most */
    struct model models[NAMES];
    char recent[NAMES][RECENT][MODEL_TOKEN];
    int64_t versions[NAMES];
    int64_t supervised_until[NAMES]; /* when a server looks whether others did what it asked of
                                        them; INT64_MAX: never */
    int claimed_at_release, with_others_behind, quarantined, late, jumps, lost, supervised;
    int stayed_taken, final;
};

/* xorshift64*: the same numbers on every machine. */
static bool chance(struct run *run, uint32_t percent)
{
    return seed_draw(&run->random, 100) < percent;
}

/* Often all who wait for a name wait at one. */
static size_t some_server(struct run *run)
{
    return chance(run, run->is_calm ? 97 : 40) ? 0 : seed_draw(&run->random, MODEL_SERVERS);
}

static int64_t some_ms(struct run *run)
{
    return chance(run, run->is_calm ? 2 : 30) ? 1 + seed_draw(&run->random, 80)
                                              : 1000 + seed_draw(&run->random, 60000);
}

/* A token that was used lately, or a new one; says whether it is new. */
static bool pick_token(struct run *run, uint32_t percent_new, char token[MODEL_TOKEN])
{
    size_t name = (size_t)(run->model - run->models);
    char *recent = run->recent[name][seed_draw(&run->random, RECENT)];
    bool is_new = *recent == '\0' || chance(run, percent_new);
    if (is_new)
        snprintf(recent, MODEL_TOKEN, "t%u", run->tokens_made++);
    strcpy(token, recent);
    return is_new;
}

/* Time goes on: not at all, a little, a lot, or to where something ends, or just before that. */
static void pass_time(struct run *run)
{
    uint32_t kind = run->is_calm && chance(run, 85) ? 120 : seed_draw(&run->random, 1000);
    int64_t next = model_next_end(run->model, run->now);
    bool is_closed = run->now < run->opens;
    if (is_closed && kind < 30)
        run->now = run->opens - (kind < 15);
    else if (run->numbers.floor > run->now && kind < 35)
        run->now = run->numbers.floor;
    else if (kind < 80)
        run->now = next;
    else if (kind < 120)
        run->now = next > run->now ? next - 1 : run->now;
    else if (kind < 650)
        run->now += seed_draw(&run->random, 1000);
    else if (kind < 750)
        run->now += seed_draw(&run->random, 50000);
    else if (kind < 756)
        run->now += INT64_C(1000000) * seed_draw(&run->random, 70);
}

/* For a while nothing is granted, or for longer than was thought. */
static void begin_quarantine(struct run *run)
{
    int64_t until =
        run->now + 1 +
        (chance(run, 50) ? seed_draw(&run->random, 20000) : seed_draw(&run->random, 90000000));
    if (until > run->opens)
        run->opens = until;
}

/* Whoever notices that stamps its calls accordingly, and looks after all it has. */
static void jump(struct run *run)
{
    int64_t back = run->now - run->begun,
            by = INT64_C(1000) * (1 + seed_draw(&run->random, 3600000));
    if (chance(run, 50))
        by = -(by < back ? by : back);
    run->now += by;
    run->jumps++;
    if (run->opens)
        run->opens += by;
    if (by < 0)
        numbers_raise(&run->numbers, numbers_at(&run->numbers, run->greatest) + INT64_C(2000000),
                      run->now);
    begin_quarantine(run);
    for (size_t i = 0; i < NAMES; i++) {
        if (by < 0)
            model_go_back(&run->models[i]);
        for (size_t j = 0; j < MODEL_SERVERS; j++)
            run->models[i].servers[j].plan = run->now;
    }
}

/* Long after everything ended: no key is to live so long, and all are gone. */
static void let_all_be_forgotten(struct run *run)
{
    /* A version that is ahead of all clocks, after one was set back, keeps its key as long. */
    for (int i = 0; i < NAMES; i++)
        if (run->versions[i] > run->greatest)
            return;
    int64_t ahead_ms = (run->greatest - redis_now(run->scripts)) / 1000;
    run->now = run->greatest;
    run->now += 2 * run->scripts->retention_ms * 1000;
    for (int i = 0; i < NAMES; i++) {
        int64_t pttl =
            redis_process_integer(&run->scripts->redis, "PTTL %s", key_of(NAME[i], "").text);
        assert_true(pttl < ahead_ms + 2 * run->scripts->retention_ms);
        run->models[i] = (struct model){.retention_us = run->scripts->retention_ms * 1000,
                                        .version = run->versions[i]};
    }
    redis_process_flush(&run->scripts->redis);
}

/* Comparing. */

static void differ(const struct run *run, const char *what, const char *field, int64_t is,
                   int64_t should_be)
{
    if (is != should_be)
        fail_msg("step %d, %s of %s: %s is %" PRId64 ", should be %" PRId64, run->step, what,
                 run->name, field, is, should_be);
}

static void differ_in_text(const struct run *run, const char *what, const char *field,
                           const char *is, const char *should_be)
{
    if (strcmp(is, should_be) != 0)
        fail_msg("step %d, %s of %s: %s is %s, should be %s", run->step, what, run->name, field, is,
                 should_be);
}

static void compare_views(const struct run *run, const char *what, const struct seen *is,
                          const struct seen *should_be)
{
    differ(run, what, "version", is->version, should_be->version);
    differ(run, what, "holds", is->holds, should_be->holds);
    differ(run, what, "extra permits", is->extra_permits, should_be->extra_permits);
    differ(run, what, "limit", is->limit, should_be->limit);
    differ(run, what, "waiters", is->waiters, should_be->waiters);
    differ(run, what, "mine", is->mine, should_be->mine);
    differ(run, what, "position", is->position, should_be->position);
    differ(run, what, "last fence", is->last_fence, should_be->last_fence);
    differ(run, what, "last ago", is->last_ago_ms, should_be->last_ago_ms);
    differ_in_text(run, what, "last reason", is->last_reason, should_be->last_reason);
    differ_in_text(run, what, "last owner", is->last_owner, should_be->last_owner);
    differ(run, what, "shown", (int64_t)is->shown, (int64_t)should_be->shown);
    for (size_t i = 0; i < is->shown; i++) {
        const struct seen_hold *a = &is->shown_holds[i], *b = &should_be->shown_holds[i];
        differ_in_text(run, what, "a holder's owner", a->owner, b->owner);
        differ_in_text(run, what, "a holder's mode", a->mode, b->mode);
        differ(run, what, "a holder's fence", a->fence, b->fence);
        differ(run, what, "a holder's TTL", a->ttl_ms, b->ttl_ms);
        differ(run, what, "a holder's time", a->held_ms, b->held_ms);
        differ(run, what, "a holder's release", a->released, b->released);
        differ(run, what, "a holder's at_least", a->at_least_ms, b->at_least_ms);
        differ(run, what, "a holder's max_held", a->max_held_ms, b->max_held_ms);
    }
    differ(run, what, "line", (int64_t)is->line, (int64_t)should_be->line);
    for (size_t i = 0; i < is->line; i++) {
        const struct seen_waiter *a = &is->in_line[i], *b = &should_be->in_line[i];
        differ_in_text(run, what, "a waiter's owner", a->owner, b->owner);
        differ_in_text(run, what, "a waiter's mode", a->mode, b->mode);
        differ(run, what, "a waiter's time", a->waited_ms, b->waited_ms);
    }
}

static void compare(const struct run *run, const char *what, const struct answer *is,
                    const struct answer *should_be)
{
    differ_in_text(run, what, "status", is->status, should_be->status);
    differ(run, what, "fence", is->fence, should_be->fence);
    differ(run, what, "TTL", is->ttl_ms, should_be->ttl_ms);
    differ(run, what, "held", is->held_ms, should_be->held_ms);
    differ(run, what, "holds", is->holds, should_be->holds);
    differ(run, what, "version", is->version, should_be->version);
    differ(run, what, "limit", is->limit, should_be->limit);
    differ(run, what, "free in", is->free_in_ms, should_be->free_in_ms);
    differ(run, what, "at_least", is->at_least_ms, should_be->at_least_ms);
    differ(run, what, "max_held", is->max_held_ms, should_be->max_held_ms);
    differ(run, what, "count", is->count, should_be->count);
    differ(run, what, "permits", is->permits, should_be->permits);
    differ(run, what, "reentry", is->reentry, should_be->reentry);
    differ(run, what, "other limit", is->other_limit, should_be->other_limit);
    differ_in_text(run, what, "next attempt", is->next_attempt, should_be->next_attempt);
    differ_in_text(run, what, "next owner", is->next_owner, should_be->next_owner);
    differ_in_text(run, what, "owner", is->owner, should_be->owner);
    differ_in_text(run, what, "mode", is->mode, should_be->mode);
    compare_views(run, what, &is->view, &should_be->view);
}

/* "SERVER g ATTEMPT TOKEN MS KEY" without the milliseconds, which only concern ticks. */
static void leave_out_tick(const char *text, char ret[MESSAGE])
{
    int at = 0, after = 0;
    if (sscanf(text, "%*s g %*s %*s %n%*s%n", &at, &after) < 0 || after == 0)
        at = after = 0;
    snprintf(ret, MESSAGE, "%.*s%s", at, text, text + (after ? after + 1 : 0));
}

/* What the servers were told, but for ticks. */
static void compare_messages(struct run *run)
{
    size_t count = 0;
    inboxes_read(&run->inboxes);
    for (size_t i = 0; i < run->inboxes.count; i++) {
        char expected[MESSAGE], text[MESSAGE], found = 0;
        leave_out_tick(run->inboxes.text[i], text);
        if (strstr(text, " n "))
            continue;
        for (size_t j = 0; j < run->model->messages.count; j++) {
            snprintf(expected, sizeof expected, "%s baton:{%s}", run->model->messages.text[j],
                     run->name);
            found |= strcmp(text, expected) == 0;
        }
        if (!found)
            fail_msg("step %d: nobody should be told: %s", run->step, text);
        count++;
    }
    differ(run, "messages", "count", (int64_t)count, (int64_t)run->model->messages.count);
}

/* Each hold that had been claimed, once, and in the order in which they ended. */
static void compare_expired(const struct run *run)
{
    const struct scripts *scripts = run->scripts;
    const struct model *model = run->model;
    differ(run, "expired", "count", (int64_t)scripts->expired_count, (int64_t)model->expired_count);
    for (size_t i = 0; i < scripts->expired_count; i++) {
        const struct seen_expiry *is = &scripts->expired[i];
        const struct model_hold *should_be = &model->expired[i];
        differ_in_text(run, "expired", "key", is->key, key_of(run->name, "").text);
        differ_in_text(run, "expired", "owner", is->owner, should_be->owner);
        differ_in_text(run, "expired", "mode", is->mode,
                       should_be->shared ? "shared" : "exclusive");
        differ(run, "expired", "fence", is->fence, should_be->fence);
        differ(run, "expired", "held", is->held_ms, model_ms(should_be->ends - should_be->since));
    }
}

/* Ticks. A server plans the next one by the last reply, or sooner if it is told to. */

static void plan(struct run *run, size_t server, int64_t next_ms)
{
    if (next_ms == 0 || next_ms < -1)
        fail_msg("step %d: a tick in %" PRId64 " ms", run->step, next_ms);
    run->model->servers[server].plan = next_ms < 0 ? INT64_MAX : run->now + next_ms * 1000;
}

static void plan_at(struct run *run, size_t server, int64_t ms)
{
    int64_t at = run->now + ms * 1000, *plan = &run->model->servers[server].plan;
    if (*plan > at)
        *plan = at;
}

static void plan_sooner(struct run *run)
{
    for (size_t i = 0; i < run->inboxes.count; i++) {
        char name[16];
        long long ms;
        if (sscanf(run->inboxes.text[i], "%15s n %lld", name, &ms) != 2 &&
            (sscanf(run->inboxes.text[i], "%15s g %*s %*s %lld", name, &ms) != 2 || ms < 0))
            continue;
        if (chance(run, 20)) {
            run->lost++;
            continue;
        }
        for (size_t j = 0; j < MODEL_SERVERS; j++)
            if (!strcmp(MODEL_SERVER_NAMES[j], name))
                plan_at(run, j, ms);
    }
}

static int64_t *supervision_of(struct run *run)
{
    return &run->supervised_until[run->model - run->models];
}

static void supervise(struct run *run, int64_t ms)
{
    int64_t at = run->now + ms * 1000;
    if (ms >= 0 && at < *supervision_of(run))
        *supervision_of(run) = at;
}

/* Who has told others of something looks whether it was done, and does it where it was not. */
static void look_after(struct run *run)
{
    struct standing standing;
    if (*supervision_of(run) > run->now)
        return;
    *supervision_of(run) = INT64_MAX;
    heartbeat(run->scripts, "asker", 1000, 1, &run->name, &standing);
    if (standing.next_ms > 0)
        supervise(run, standing.next_ms);
    if (standing.next_ms != 0)
        return;
    run->supervised++;
    struct answer is = tick(run->scripts, run->name, "asker");
    differ(run, "tick of who looks", "version", is.version, model_tick(run->model, run->now));
}

/* Each server has a tick planned, or due, no later than something ends; or it was told of
 * that by a message that may be lost, and who told it looks then. */
static void check_plans(struct run *run)
{
    if (*supervision_of(run) <= run->now)
        return;
    int64_t next = model_next_tick(run->model, run->now);
    if (next == INT64_MAX)
        return;
    for (size_t i = 0; i < MODEL_SERVERS; i++) {
        const struct model_server *server = &run->model->servers[i];
        if (server->listed && server->plan > run->now && server->plan >= next + 1000 &&
            *supervision_of(run) >= next + 1000)
            fail_msg("step %d: server %s of %s ticks %" PRId64 " us late", run->step,
                     MODEL_SERVER_NAMES[i], run->name,
                     server->plan == INT64_MAX ? -1 : server->plan - next);
    }
}

/* The steps. */

/* The common cases of acquire and release leave it to a later operation to strike off a server that
 * has nothing to do with the name any more: whether they did is open. `before` are the servers as
 * they were. */
static void find_out_who_is_listed(struct run *run, const struct model_server *before)
{
    for (size_t i = 0; i < MODEL_SERVERS; i++) {
        struct model_server *server = &run->model->servers[i];
        if (before[i].listed && !server->listed && before[i].ends > run->now)
            server->listed =
                redis_process_integer(&run->scripts->redis, "HEXISTS %s %s",
                                      key_of(run->name, ":servers").text, MODEL_SERVER_NAMES[i]);
    }
}

/* Whether a release of 30 s ago or more is still known is open: such a token is not used again. */
static bool is_in_doubt(const struct run *run, const char *token)
{
    struct model_release released;
    return model_remembers(run->model, run->now, token, &released) == MODEL_PERHAPS;
}

static void make_wait(struct run *run, struct acquiring *acquiring)
{
    acquiring->server = MODEL_SERVER_NAMES[some_server(run)];
    acquiring->lease_ms = some_ms(run);
    acquiring->claim_ms = 1 + seed_draw(&run->random, 2000);
    acquiring->keep_ms = chance(run, 50) ? 0 : some_ms(run);
    acquiring->bound = chance(run, 85) ? 50 : 2;
}

/* While it is calm, some shared holds stay alone, with a queue behind. */
static const char *some_mode(struct run *run)
{
    const struct model *model = run->model;
    bool is_alone = model->hold_count == 1 && model->holds[0].shared && model->waiter_count == 0;
    uint32_t percent_shared = 50;
    if (run->is_calm)
        percent_shared = model->hold_count == 0 ? 70 : is_alone ? 10 : 40;
    return chance(run, percent_shared) ? "shared" : "exclusive";
}

/* What the token was used for before, if it has anything; now and then but for re-entry. */
static void ask_as_before(struct run *run, struct acquiring *acquiring, char *owner)
{
    const struct model *model = run->model;
    const struct model_hold *used = NULL;
    for (size_t i = 0; i < model->waiter_count; i++)
        if (!strcmp(model->waiters[i].hold.token, acquiring->token))
            used = &model->waiters[i].hold;
    for (size_t i = 0; i < model->hold_count; i++)
        if (!strcmp(model->holds[i].token, acquiring->token))
            used = &model->holds[i];
    if (!used)
        return;
    strcpy(owner, used->owner);
    acquiring->owner = owner;
    acquiring->mode = used->shared ? "shared" : "exclusive";
    acquiring->limit = used->limit;
    acquiring->set = used->set;
    acquiring->reenters = used->reenters != chance(run, 10);
    acquiring->permits = used->permits > 1 ? used->permits : 0;
}

/* What bounds a hold besides its TTL, of some. */
static void make_terms(struct run *run, struct acquiring *acquiring)
{
    if (chance(run, 12))
        acquiring->at_least_ms = some_ms(run);
    if (chance(run, 12))
        acquiring->max_held_ms = acquiring->at_least_ms + (chance(run, 50) ? 1 : some_ms(run));
}

static void step_acquire(struct run *run)
{
    static const char *const OWNERS[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J"};
    static const int64_t LIMITS[] = {0, 0, 0, 0, 0, 2, 2, 2, 2, 3};
    char token[MODEL_TOKEN], owner[MODEL_TOKEN];
    bool is_new = pick_token(run, run->is_calm ? 70 : 25, token);
    if (is_in_doubt(run, token))
        return;
    struct acquiring acquiring = {.name = run->name,
                                  .token = token,
                                  .owner = OWNERS[seed_draw(&run->random, run->is_calm ? 10 : 3)],
                                  .reenters = chance(run, run->is_calm ? 10 : 50),
                                  .mode = some_mode(run),
                                  .ttl_ms = some_ms(run),
                                  .attempt = ATTEMPTS[seed_draw(&run->random, 3)],
                                  .token_is_new = is_new && chance(run, 70),
                                  .again = chance(run, 40)};
    acquiring.again &= !acquiring.token_is_new; /* nobody sends both */
    if (acquiring.mode[0] == 's')
        acquiring.limit = run->is_calm ? 0 : LIMITS[seed_draw(&run->random, 10)];
    make_terms(run, &acquiring);
    acquiring.set = chance(run, 90) ? 0 : 7;
    if (acquiring.limit > 0 && chance(run, 30))
        acquiring.permits = 2 + seed_draw(&run->random, (uint32_t)acquiring.limit - 1);
    if (!chance(run, 10))
        ask_as_before(run, &acquiring, owner);
    if (chance(run, 10))
        acquiring.owner = MADE "A";
    if (acquiring.owner[0] == MADE[0]) /* no request without an owner re-enters */
        acquiring.reenters = false;
    if (run->is_calm || chance(run, 70))
        make_wait(run, &acquiring);
    struct answer is = acquire_with(run->scripts, &acquiring);
    struct model_server before[MODEL_SERVERS];
    memcpy(before, run->model->servers, sizeof before);
    struct answer should_be = model_acquire(run->model, run->now, &acquiring);
    should_be.next_ms = is.next_ms;
    compare(run, "acquire", &is, &should_be);
    if (strcmp(is.status, "quarantined") == 0) {
        differ(run, "acquire", "time left", is.next_ms,
               (run->model->closed_until - run->now + 999) / 1000);
        run->quarantined++;
    }
    if (strcmp(is.status, acquiring.again ? "claimed" : "waiting") == 0)
        find_out_who_is_listed(run, before);
    if (strcmp(is.status, "waiting") == 0)
        assert_true(is.next_ms >= 0);
    if (acquiring.server && strcmp(is.status, "waiting") == 0)
        for (size_t i = 0; i < MODEL_SERVERS; i++)
            if (!strcmp(MODEL_SERVER_NAMES[i], acquiring.server))
                plan(run, i, is.next_ms);
}

/* Of a hold that cannot be carried on for ever, if there is one. */
static void pick_bounded(const struct run *run, char token[MODEL_TOKEN])
{
    for (size_t i = 0; i < run->model->hold_count; i++)
        if (run->model->holds[i].max_held_ms && !run->model->holds[i].released)
            strcpy(token, run->model->holds[i].token);
}

static void step_renew(struct run *run)
{
    char token[MODEL_TOKEN];
    pick_token(run, 5, token);
    if (chance(run, 50))
        pick_bounded(run, token);
    int64_t ttl_ms = chance(run, 30) ? 0 : some_ms(run);
    struct answer is = renew(run->scripts, run->name, token, ttl_ms);
    struct answer should_be = model_renew(run->model, run->now, token, ttl_ms);
    compare(run, "renew", &is, &should_be);
    run->final += !strcmp(is.status, "final");
}

static void step_release(struct run *run)
{
    char token[MODEL_TOKEN];
    if (run->is_calm && run->model->hold_count > 0)
        strcpy(token, run->model->holds[0].token);
    else
        pick_token(run, 5, token);
    if (is_in_doubt(run, token))
        return;
    struct model_server before[MODEL_SERVERS];
    memcpy(before, run->model->servers, sizeof before);
    size_t server = some_server(run);
    struct answer is = release_at(run->scripts, run->name, token, MODEL_SERVER_NAMES[server]);
    struct answer should_be = model_release(run->model, run->now, token);
    if (is.next_attempt[0])
        model_claim_at_release(run->model, run->now, server, &should_be);
    if (run->scripts->due_ms >= 0)
        plan_at(run, server, run->scripts->due_ms);
    if (is.next_attempt[0]) {
        plan_at(run, server, is.ttl_ms);
        run->claimed_at_release++;
        run->with_others_behind += run->model->waiter_count > 0;
    }
    compare(run, "release", &is, &should_be);
    run->stayed_taken += is.free_in_ms > 0;
    if (strcmp(is.status, "released") == 0)
        find_out_who_is_listed(run, before);
}

/* Whose wait ends while it may not claim what it was handed over. */
static void pick_unclaimed(const struct run *run, char token[MODEL_TOKEN], struct leaving *leaving)
{
    for (size_t i = 0; i < run->model->hold_count; i++) {
        const struct model_hold *hold = &run->model->holds[i];
        if (hold->attempt[0] != '\0')
            continue;
        strcpy(token, hold->token);
        leaving->why = "timeout";
    }
}

static void step_leave(struct run *run)
{
    static const char *const WHY[] = {"timeout", "gone", "gone", "drain", "stale"};
    char token[MODEL_TOKEN], attempt[MODEL_TOKEN];
    pick_token(run, 5, token);
    if (is_in_doubt(run, token))
        return;
    struct leaving leaving = {.name = run->name,
                              .token = token,
                              .attempt = ATTEMPTS[seed_draw(&run->random, 3)],
                              .why = WHY[seed_draw(&run->random, 5)],
                              .keep_ms = chance(run, 50) ? 0 : some_ms(run),
                              .lease_ms = some_ms(run),
                              .claim_ms = 1 + seed_draw(&run->random, 2000)};
    if (run->is_calm && run->model->waiter_count > 0) {
        uint32_t place =
            chance(run, 60) ? 0 : seed_draw(&run->random, (uint32_t)run->model->waiter_count);
        const struct model_waiter *some = &run->model->waiters[place];
        strcpy(token, some->hold.token);
        strcpy(attempt, some->hold.attempt);
        leaving.attempt = *attempt ? attempt : leaving.attempt;
        leaving.keep_ms = chance(run, 90) ? 0 : leaving.keep_ms;
    }
    if (run->now < run->opens && chance(run, 50))
        pick_unclaimed(run, token, &leaving);
    struct answer is = leave_with(run->scripts, &leaving);
    struct answer should_be = model_leave(run->model, run->now, &leaving);
    compare(run, "leave", &is, &should_be);
}

static void step_break(struct run *run)
{
    const struct model *model = run->model;
    size_t which = model->hold_count > 0 ? seed_draw(&run->random, (uint32_t)model->hold_count) : 0;
    int64_t fence = chance(run, 50) ? 0 : model->hold_count > 0 ? model->holds[which].fence : 1;
    struct answer is =
        fence ? break_hold(run->scripts, run->name, fence) : break_all(run->scripts, run->name);
    struct answer should_be = model_break(run->model, run->now, fence);
    compare(run, "break", &is, &should_be);
}

static void step_inspect(struct run *run)
{
    char token[MODEL_TOKEN];
    pick_token(run, 5, token);
    struct seen is = inspect(run->scripts, run->name, token);
    struct seen should_be = model_inspect(run->model, run->now, token);
    compare_views(run, "inspect", &is, &should_be);
}

static void step_tick(struct run *run)
{
    size_t server = seed_draw(&run->random, MODEL_SERVERS);
    struct answer is = tick(run->scripts, run->name, MODEL_SERVER_NAMES[server]);
    differ(run, "tick", "version", is.version, model_tick(run->model, run->now));
    plan(run, server, is.next_ms);
}

static void step_watch(struct run *run)
{
    size_t server = seed_draw(&run->random, MODEL_SERVERS);
    int64_t lease_ms = some_ms(run);
    struct answer is = watch(run->scripts, run->name, MODEL_SERVER_NAMES[server], lease_ms);
    struct seen should_be = model_watch(run->model, run->now, server, lease_ms);
    compare_views(run, "watch", &is.view, &should_be);
    plan(run, server, is.next_ms);
}

/* What a server is told of a name is what it should have heard of: also what no message has said.
 */
static void compare_standing(struct run *run, struct model *model, size_t server,
                             const struct standing *is)
{
    struct standing should_be = {.waits = -1};
    model_stand(model, run->now, server, &should_be);
    if (is->waits < 0 && (should_be.waits < 0 || model_is_unclaimed(model)))
        return; /* all of it have to ask: of what a hold set had become nobody says more */
    differ(run, "heartbeat", "requests", is->waits, should_be.waits);
    differ_in_text(run, "heartbeat", "attempt", is->attempt, should_be.attempt);
    int64_t floor = model->numbers.floor;
    int64_t version = model->version > floor ? model->version : floor;
    differ(run, "heartbeat", "version", is->version, version);
    if (is->next_ms >= 0 && model->servers[server].plan > run->now + is->next_ms * 1000)
        model->servers[server].plan = run->now + is->next_ms * 1000;
}

static void step_heartbeat(struct run *run)
{
    struct standing standing[NAMES];
    size_t server = seed_draw(&run->random, MODEL_SERVERS);
    int64_t lease_ms = some_ms(run);
    heartbeat(run->scripts, MODEL_SERVER_NAMES[server], lease_ms, NAMES, NAME, standing);
    for (size_t i = 0; i < NAMES; i++) {
        model_heartbeat(&run->models[i], run->now, server, lease_ms);
        compare_standing(run, &run->models[i], server, &standing[i]);
    }
    run->model->messages.count = 0;
}

static const struct {
    uint32_t percent, when_calm;
    void (*run)(struct run *run);
} KINDS[] = {{42, 50, step_acquire}, {6, 3, step_renew}, {14, 31, step_release},
             {14, 10, step_leave},   {2, 0, step_break}, {6, 1, step_inspect},
             {6, 2, step_tick},      {2, 0, step_watch}, {8, 3, step_heartbeat}};

/* What comes too late changes nothing, and says what time it is. */
static void step_late(struct run *run)
{
    struct scripts *scripts = run->scripts;
    const char *server = MODEL_SERVER_NAMES[some_server(run)];
    char token[MODEL_TOKEN], status[32];
    pick_token(run, 25, token);
    struct answer answer;
    scripts->latest_us =
        run->now - 1 - seed_draw(&run->random, 2) * (int64_t)seed_draw(&run->random, 5000000);
    snprintf(status, sizeof status, "LATE %" PRId64, run->now);
    switch (seed_draw(&run->random, 8)) {
    case 0:
        answer = acquire(scripts, .name = run->name, .token = token, .token_is_new = true);
        break;
    case 1:
        answer = acquire(scripts, .name = run->name, .token = token, .server = server,
                         .again = chance(run, 50));
        break;
    case 2:
        answer = release_at(scripts, run->name, token, server);
        break;
    case 3:
        answer = renew(scripts, run->name, token, 1000);
        break;
    case 4:
        answer = leave(scripts, .name = run->name, .token = token, .attempt = ATTEMPTS[0],
                       .why = "timeout");
        break;
    case 5:
        answer = break_all(scripts, run->name);
        break;
    case 6:
        answer = tick(scripts, run->name, server);
        break;
    default:
        answer = watch(scripts, run->name, server, 1000);
        break;
    }
    differ_in_text(run, "late call", "status", answer.status, status);
    scripts->latest_us = 0;
    run->late++;
}

static void step_of_any_kind(struct run *run)
{
    if (chance(run, 3)) {
        step_late(run);
        return;
    }
    int64_t left = seed_draw(&run->random, 100);
    size_t i = 0;
    while ((left -= run->is_calm ? KINDS[i].when_calm : KINDS[i].percent) >= 0)
        i++;
    KINDS[i].run(run);
}

static void step(struct run *run)
{
    uint32_t name = seed_draw(&run->random, NAMES);
    run->is_calm ^= seed_draw(&run->random, 300) == 0;
    run->name = NAME[name];
    run->model = &run->models[name];
    pass_time(run);
    if (seed_draw(&run->random, 200) == 0)
        begin_quarantine(run);
    if (seed_draw(&run->random, 900) == 0)
        jump(run);
    if (run->now > run->greatest)
        run->greatest = run->now;
    for (size_t i = 0; i < NAMES; i++) {
        run->models[i].opens = run->opens;
        run->models[i].numbers = run->numbers;
    }
    run->scripts->opens_us = run->opens;
    run->scripts->floor_us = run->numbers.floor;
    run->scripts->level_us = run->numbers.level;
    run->scripts->latest_us = chance(run, 10) ? run->now : 0; /* just in time */
    run->model->messages.count = 0;
    run->model->expired_count = 0;
    run->scripts->expired_count = 0;
    run->scripts->due_ms = -1;
    run->scripts->clock_us = run->now;
    run->scripts->unwatched = !chance(run, 25);
    if (*supervision_of(run) <= run->now && chance(run, 50))
        look_after(run);
    else
        step_of_any_kind(run);
    compare_messages(run);
    compare_expired(run);
    plan_sooner(run);
    supervise(run, run->scripts->due_ms);
    check_plans(run);
    assert_true(model_is_compatible(run->model));
    assert_true(run->model->version >= run->versions[name]);
    run->versions[name] = run->model->version;
}

TEST_ON_REDIS_TIME(the_scripts_do_what_the_model_says)
{
    struct run *run = calloc(1, sizeof *run);
    run->scripts = scripts;
    run->random = seed_choose();
    /* The same place in its hour and below, whatever the time is. */
    run->now = (redis_now(scripts) / HOUR_US + 1) * HOUR_US +
               seed_draw(&run->random, 3600) * INT64_C(1000000) + seed_draw(&run->random, 1000000);
    run->begun = run->greatest = run->now;
    inboxes_open(&run->inboxes, scripts);
    for (int i = 0; i < NAMES; i++)
        run->supervised_until[i] = INT64_MAX;
    for (int i = 0; i < NAMES; i++)
        run->models[i].retention_us = scripts->retention_ms * 1000;
    for (run->step = 0; run->step < STEPS; run->step++) {
        if (seed_draw(&run->random, 1500) == 0)
            let_all_be_forgotten(run);
        step(run);
    }
    inboxes_close(&run->inboxes);
    print_message("claimed at a release: %d, with others behind: %d\n", run->claimed_at_release,
                  run->with_others_behind);
    print_message("quarantined: %d, late: %d, jumps of the clock: %d\n", run->quarantined,
                  run->late, run->jumps);
    assert_true(run->with_others_behind > 20); /* the commonest case is among all these */
    print_message("names that stayed taken: %d, renewals at max_held: %d\n", run->stayed_taken,
                  run->final);
    assert_true(run->stayed_taken > 20 && run->final > 2);
    print_message("messages lost: %d, looked after: %d\n", run->lost, run->supervised);
    assert_true(run->lost > 20 && run->supervised > 20);
    assert_true(run->quarantined > 20 && run->late > 100 && run->jumps > 2);
    free(run);
}

RUN_SCRIPT_TESTS
