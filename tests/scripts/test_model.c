/* Tens of thousands of random operations, each answered by the scripts and by a model of the
 * contract. Time is told to both, so that a run is the same again: BATON_SEED=N. */
#include "base/random.h"
#include "tests/scripts/model.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 24000, NAMES = 3, RECENT = 12 };

struct run {
    struct scripts *scripts;
    uint64_t random;
    int64_t now;
    int step;
    unsigned tokens_made;
    const char *name;
    struct model *model;
    struct model models[NAMES];
    char recent[NAMES][RECENT][MODEL_TOKEN];
    int64_t versions[NAMES];
};

/* xorshift64*: the same numbers on every machine. */
static uint32_t below(struct run *run, uint32_t bound)
{
    run->random ^= run->random >> 12;
    run->random ^= run->random << 25;
    run->random ^= run->random >> 27;
    return (uint32_t)((run->random * UINT64_C(2685821657736338717)) >> 33) % bound;
}

static bool chance(struct run *run, uint32_t percent)
{
    return below(run, 100) < percent;
}

static int64_t some_ms(struct run *run)
{
    return chance(run, 50) ? 1 + below(run, 80) : 1000 + below(run, 60000);
}

/* A token that was used lately, or a new one; says whether it is new. */
static bool pick_token(struct run *run, uint32_t percent_new, char token[MODEL_TOKEN])
{
    size_t name = (size_t)(run->model - run->models);
    char *recent = run->recent[name][below(run, RECENT)];
    bool is_new = *recent == '\0' || chance(run, percent_new);
    if (is_new)
        snprintf(recent, MODEL_TOKEN, "t%u", run->tokens_made++);
    strcpy(token, recent);
    return is_new;
}

/* Time goes on: not at all, a little, a lot, or to where something ends, or just before that. */
static void pass_time(struct run *run)
{
    uint32_t kind = below(run, 1000);
    int64_t next = model_next_end(run->model, run->now);
    if (kind < 150)
        run->now = next;
    else if (kind < 250)
        run->now = next > run->now ? next - 1 : run->now;
    else if (kind < 650)
        run->now += below(run, 1000);
    else if (kind < 850)
        run->now += below(run, 50000);
    else if (kind < 860)
        run->now += INT64_C(1000000) * below(run, 70);
}

/* Long after everything ended: no key is to live so long, and all are gone. */
static void let_all_be_forgotten(struct run *run)
{
    int64_t ahead_ms = (run->now - redis_now(run->scripts)) / 1000;
    run->now += 2 * run->scripts->retention_ms * 1000;
    for (int i = 0; i < NAMES; i++) {
        const char name[] = {(char)('k' + i), '\0'};
        int64_t pttl =
            redis_process_integer(&run->scripts->redis, "PTTL %s", key_of(name, "").text);
        assert_true(pttl < ahead_ms + 2 * run->scripts->retention_ms);
        run->models[i] = (struct model){.retention_us = run->scripts->retention_ms * 1000};
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
    differ(run, what, "limit", is->limit, should_be->limit);
    differ(run, what, "waiters", is->waiters, should_be->waiters);
    differ(run, what, "mine", is->mine, should_be->mine);
    differ(run, what, "last fence", is->last_fence, should_be->last_fence);
    differ(run, what, "last ago", is->last_ago_ms, should_be->last_ago_ms);
    differ_in_text(run, what, "last reason", is->last_reason, should_be->last_reason);
    differ(run, what, "shown", (int64_t)is->shown, (int64_t)should_be->shown);
    for (size_t i = 0; i < is->shown; i++) {
        const struct seen_hold *a = &is->shown_holds[i], *b = &should_be->shown_holds[i];
        differ_in_text(run, what, "a holder's owner", a->owner, b->owner);
        differ_in_text(run, what, "a holder's mode", a->mode, b->mode);
        differ(run, what, "a holder's fence", a->fence, b->fence);
        differ(run, what, "a holder's TTL", a->ttl_ms, b->ttl_ms);
        differ(run, what, "a holder's time", a->held_ms, b->held_ms);
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
    differ(run, what, "count", is->count, should_be->count);
    differ_in_text(run, what, "owner", is->owner, should_be->owner);
    differ_in_text(run, what, "mode", is->mode, should_be->mode);
    compare_views(run, what, &is->view, &should_be->view);
}

/* The steps. */

/* Whether a release of 30 s ago or more is still known is open: such a token is not used again. */
static bool is_in_doubt(const struct run *run, const char *token)
{
    struct model_release released;
    return model_remembers(run->model, run->now, token, &released) == MODEL_PERHAPS;
}

static void step_acquire(struct run *run)
{
    static const char *const OWNERS[] = {"A", "B", "C"}, *const ATTEMPTS[] = {"p", "q", "r"};
    static const int64_t LIMITS[] = {0, 0, 0, 0, 0, 2, 2, 2, 2, 3};
    char token[MODEL_TOKEN];
    bool is_new = pick_token(run, 60, token);
    if (is_in_doubt(run, token))
        return;
    struct acquiring acquiring = {.name = run->name,
                                  .token = token,
                                  .owner = OWNERS[below(run, 3)],
                                  .mode = chance(run, 65) ? "shared" : "exclusive",
                                  .ttl_ms = some_ms(run),
                                  .attempt = ATTEMPTS[below(run, 3)],
                                  .token_is_new = is_new && chance(run, 70)};
    if (acquiring.mode[0] == 's')
        acquiring.limit = LIMITS[below(run, 10)];
    if (chance(run, 30)) {
        acquiring.lease_ms = some_ms(run);
        acquiring.claim_ms = 1 + below(run, 2000);
    }
    struct answer is = acquire_with(run->scripts, &acquiring);
    struct answer should_be = model_acquire(run->model, run->now, &acquiring);
    compare(run, "acquire", &is, &should_be);
}

static void step_renew(struct run *run)
{
    char token[MODEL_TOKEN];
    pick_token(run, 5, token);
    int64_t ttl_ms = chance(run, 30) ? 0 : some_ms(run);
    struct answer is = renew(run->scripts, run->name, token, ttl_ms);
    struct answer should_be = model_renew(run->model, run->now, token, ttl_ms);
    compare(run, "renew", &is, &should_be);
}

static void step_release(struct run *run)
{
    char token[MODEL_TOKEN];
    pick_token(run, 5, token);
    if (is_in_doubt(run, token))
        return;
    struct answer is = release(run->scripts, run->name, token);
    struct answer should_be = model_release(run->model, run->now, token, "");
    compare(run, "release", &is, &should_be);
}

static void step_take_back(struct run *run)
{
    static const char *const ATTEMPTS[] = {"p", "q", "r"};
    char token[MODEL_TOKEN];
    pick_token(run, 5, token);
    if (model_waits(run->model, token))
        return;
    const char *attempt = ATTEMPTS[below(run, 3)];
    struct answer is = take_back(run->scripts, run->name, token, attempt);
    struct answer should_be = model_release(run->model, run->now, token, attempt);
    compare(run, "take back", &is, &should_be);
}

static void step_break(struct run *run)
{
    struct answer is = break_all(run->scripts, run->name);
    struct answer should_be = model_break(run->model, run->now);
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

static const struct {
    uint32_t percent;
    void (*run)(struct run *run);
} KINDS[] = {{45, step_acquire},  {12, step_renew}, {20, step_release},
             {6, step_take_back}, {1, step_break},  {16, step_inspect}};

static void step(struct run *run)
{
    static const char *const NAME[NAMES] = {"k", "l", "m"};
    uint32_t name = below(run, NAMES), kind = below(run, 100), i = 0;
    run->name = NAME[name];
    run->model = &run->models[name];
    pass_time(run);
    run->scripts->clock_us = run->now;
    run->scripts->unwatched = !chance(run, 25);
    while (kind >= KINDS[i].percent)
        kind -= KINDS[i++].percent;
    KINDS[i].run(run);
    assert_true(model_is_compatible(run->model));
    assert_true(run->model->version >= run->versions[name]);
    run->versions[name] = run->model->version;
}

static uint64_t seed_of_this_run(void)
{
    const char *given = getenv("BATON_SEED");
    if (given)
        return strtoull(given, NULL, 10);
    uint32_t seed;
    random_bytes(&seed, sizeof seed);
    return seed;
}

static void the_scripts_do_what_the_model_says(void **state)
{
    struct scripts *scripts = *state;
    struct run *run = calloc(1, sizeof *run);
    uint64_t seed = seed_of_this_run();
    print_message("BATON_SEED=%" PRIu64 " repeats this run\n", seed);
    run->scripts = scripts;
    run->random = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    run->now = redis_now(scripts);
    for (int i = 0; i < NAMES; i++)
        run->models[i].retention_us = scripts->retention_ms * 1000;
    for (run->step = 0; run->step < STEPS; run->step++) {
        if (below(run, 1500) == 0)
            let_all_be_forgotten(run);
        step(run);
    }
    free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_scripts_do_what_the_model_says, scripts_clean),
    };
    return cmocka_run_group_tests(tests, scripts_start, scripts_stop);
}
