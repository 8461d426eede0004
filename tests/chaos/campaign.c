#include "tests/chaos/campaign.h"

#include "tests/chaos/holders.h"
#include "tests/chaos/stage.h"
#include "tests/chaos/verdict.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 6, /* of each batond */
    CYCLES_MOST = 1000,
    SETTINGS_MOST = 20,
    SILENT_ONE_IN = 100, /* replies: more than a machine explains that others use, too */
};

/* The land */

unsigned land_all(const struct land *land)
{
    return HOST(land->hosts.count) - 1;
}

unsigned land_batond(const struct land *land, int index)
{
    return HOST(sides_host(&land->sides, index));
}

void land_cut_off(struct land *land, unsigned side)
{
    hosts_part(&land->hosts, side, land_all(land) & ~side);
}

void land_cut_off_alone(struct land *land, int part)
{
    unsigned batonds = land_batond(land, 0) | land_batond(land, 1);
    hosts_part(&land->hosts, HOST(part), land_all(land) & ~HOST(part) & ~batonds);
}

void land_silence(struct land *land, unsigned side)
{
    hosts_silence(&land->hosts, side, land_all(land) & ~side);
}

void land_deafen(struct land *land, unsigned side)
{
    hosts_silence(&land->hosts, land_all(land) & ~side, side);
}

void land_heal(struct land *land, int part)
{
    (void)part;
    hosts_heal(&land->hosts);
}

/* One setting */

struct cycle {
    const struct campaign_fault *fault;
    int64_t begun, switched; /* us */
    struct verdict verdict;  /* until the next one begins */
};

struct run {
    const struct campaign *campaign;
    const struct campaign_setting *setting;
    struct land land;
    struct holders holders;
    struct cycle cycles[CYCLES_MOST];
    int count;
};

static int cycles(const struct campaign *campaign)
{
    const char *text = getenv("BATON_TEST_CYCLES");
    int count = text ? (int)strtol(text, NULL, 10)
                     : stage_amount((int)campaign->fault_count, campaign->quick_cycles);
    return count < CYCLES_MOST ? count : CYCLES_MOST;
}

/* Locks can be had, so that there is something to lose. */
static int await_peace(struct run *run)
{
    int part = run->campaign->await_peace(&run->land, run->count);
    sides_await_grants(&run->land.sides);
    run->holders.patient = false;
    clock_sleep_ms(run->campaign->calm_ms);
    return part;
}

static void begin(struct run *run, const struct campaign_fault *fault, int part)
{
    run->holders.patient = fault->with_a_batond;
    if (fault->with_a_batond)
        process_signal(&run->land.sides.batond[0].process, SIGSTOP);
    if (fault->begin)
        fault->begin(&run->land, part);
}

static void end(struct run *run, const struct campaign_fault *fault, int part)
{
    if (fault->with_a_batond)
        process_signal(&run->land.sides.batond[0].process, SIGCONT);
    if (fault->end)
        fault->end(&run->land, part);
}

static void go_round(struct run *run, const struct campaign_fault *fault)
{
    const struct campaign *campaign = run->campaign;
    int part = await_peace(run);
    struct cycle *cycle = &run->cycles[run->count++];
    *cycle = (struct cycle){.fault = fault, .begun = clock_us()};
    begin(run, fault, part);
    if (fault->replaced)
        campaign->await_other(&run->land, part);
    cycle->switched = clock_us();
    clock_sleep_ms(run->setting->doubles == NO_DOUBLE ? campaign->quarantine_ms
                                                      : campaign->apart_ms);
    if (fault->go_on) {
        fault->go_on(&run->land, part);
        clock_sleep_ms(campaign->apart_ms);
    }
    end(run, fault, part);
}

/* When the next cycle begins. */
static int64_t end_of(const struct run *run, int index)
{
    return index + 1 < run->count ? run->cycles[index + 1].begun : INT64_MAX;
}

/* What was found between one cycle's beginning and the next, of each. */
static void judge_cycles(struct run *run, const struct record *record)
{
    struct verdict before, until;
    verdict_until(record, run->cycles[0].begun, &before);
    for (int i = 0; i < run->count; i++, before = until) {
        struct verdict *part = &run->cycles[i].verdict;
        verdict_until(record, end_of(run, i), &until);
        *part = (struct verdict){.grants = until.grants - before.grants,
                                 .lost = until.lost - before.lost,
                                 .doubles = until.doubles - before.doubles};
        verdict_pauses(record, run->cycles[i].begun, end_of(run, i), part);
    }
}

static struct verdict judge_fault(const struct run *run, const struct campaign_fault *fault)
{
    struct verdict sum = {.grants = 0};
    for (int i = 0; i < run->count; i++) {
        const struct verdict *part = &run->cycles[i].verdict;
        if (run->cycles[i].fault != fault)
            continue;
        sum.grants += part->grants;
        sum.lost += part->lost;
        sum.doubles += part->doubles;
        if (part->longest_us > sum.longest_us)
            sum.longest_us = part->longest_us;
        if (part->longest_of_name_us > sum.longest_of_name_us)
            sum.longest_of_name_us = part->longest_of_name_us;
    }
    return sum;
}

static void print_fault(const struct run *run, const struct campaign_fault *fault,
                        const struct verdict *sum)
{
    int64_t switching = 0;
    int count = 0;
    for (int i = 0; i < run->count; i++)
        if (run->cycles[i].fault == fault) {
            switching += run->cycles[i].switched - run->cycles[i].begun;
            count++;
        }
    if (count > 0)
        print_message("    %-44s %4d %8zu %6zu %6zu %9" PRId64 " %8" PRId64 " %8" PRId64 "\n",
                      fault->name, count, sum->grants, sum->lost, sum->doubles,
                      sum->longest_us / 1000, sum->longest_of_name_us / 1000,
                      switching / count / 1000);
}

/* How long it took at most until the first grant that was asked for after a switch; us. */
static int64_t until_first_grant(const struct run *run, const struct record *record)
{
    int64_t longest = 0;
    for (int i = 0; i < run->count; i++) {
        int64_t switched = run->cycles[i].switched, first = INT64_MAX;
        for (size_t j = 0; j < record->count && first == INT64_MAX; j++)
            if (is_grant(&record->events[j]) && record->events[j].sent >= switched)
                first = record->events[j].received;
        if (first != INT64_MAX && first - switched > longest)
            longest = first - switched;
    }
    return longest;
}

static void print_row(const struct run *run, const struct record *record,
                      const struct verdict *verdict, size_t lost_by_one)
{
    print_message("| %s | %s | %d | %zu | %zu | %zu | %zu | %zu | %.1f s | %.1f s | %.1f s |\n",
                  run->campaign->engine, run->setting->name, run->count, verdict->grants,
                  lost_by_one, verdict->lost - lost_by_one, verdict->doubles,
                  verdict->backward + verdict->twins, (double)verdict->longest_us / 1e6,
                  (double)verdict->longest_of_name_us / 1e6,
                  (double)until_first_grant(run, record) / 1e6);
}

static void report(struct run *run, struct record *record, struct verdict *ret)
{
    size_t broken = 0, by_one = 0;
    verdict_sort(record);
    judge_cycles(run, record);
    verdict_until(record, INT64_MAX, ret);
    verdict_pauses(record, record->count ? record->events[0].received : 0, INT64_MAX, ret);
    print_message("%s, %s\n    %-44s %4s %8s %6s %6s %9s %8s %8s\n", run->campaign->engine,
                  run->setting->name, "", "times", "grants", "lost", "double", "pause ms", "of one",
                  "switch");
    for (size_t i = 0; i < run->campaign->fault_count; i++) {
        const struct campaign_fault *fault = &run->campaign->faults[i];
        struct verdict sum = judge_fault(run, fault);
        print_fault(run, fault, &sum);
        if (fault->more < run->setting->keeps)
            broken += sum.lost;
        if (fault->more == 0)
            by_one += sum.lost;
    }
    print_message("    fences that fell %zu, given twice %zu; 409 %zu, 503 %zu, no reply %zu; "
                  "slowest reply %" PRId64 " ms\n",
                  ret->backward, ret->twins, run->holders.refusals, run->holders.away,
                  run->holders.silent, run->holders.slowest_us / 1000);
    if (ret->lost > 0)
        print_message("    first loss: %s\n", ret->first_loss);
    if (ret->doubles > 0)
        print_message("    first double: %s\n", ret->first_double);
    print_row(run, record, ret, by_one);
    assert_int_equal(broken, 0);
}

static void judge(const struct run *run, const struct verdict *verdict)
{
    assert_true(verdict->grants > (size_t)run->count * CLIENTS); /* or nothing was shown */
    assert_int_equal(run->holders.strange, 0);
    assert_true(run->holders.silent * SILENT_ONE_IN <= verdict->grants + run->holders.away);
    assert_in_range(verdict->longest_us, 0, run->campaign->stall_ms * 1000);
    assert_int_equal(verdict->backward, 0);
    assert_int_equal(verdict->twins, 0);
    if (run->setting->doubles == SOME_DOUBLE)
        assert_true(verdict->doubles > 0);
    if (run->setting->doubles == NO_DOUBLE)
        assert_int_equal(verdict->doubles, 0);
}

static const struct campaign_fault *choose_fault(const struct campaign *campaign, int *next)
{
    const char *text = getenv("BATON_TEST_FAULT");
    for (size_t i = 0; i < campaign->fault_count; i++) {
        const struct campaign_fault *fault =
            &campaign->faults[(size_t)(*next)++ % campaign->fault_count];
        if (!text || strstr(fault->name, text))
            return fault;
    }
    fail_msg("no fault is called %s", text);
    return NULL;
}

static void go_through_faults(struct run *run)
{
    int next = 0;
    struct record record = {.events = NULL};
    struct verdict verdict;
    run->holders.hosts = &run->land.hosts;
    run->holders.ttl_ms = run->campaign->ttl_ms;
    for (int i = 0; i < SIDES; i++)
        holders_add(&run->holders, CLIENTS, sides_host(&run->land.sides, i),
                    run->land.sides.batond[i].url);
    holders_start(&run->holders);
    for (int i = 0; i < cycles(run->campaign); i++)
        go_round(run, choose_fault(run->campaign, &next));
    await_peace(run);
    holders_end(&run->holders, &record);
    report(run, &record, &verdict);
    judge(run, &verdict);
    record_free(&record);
}

/* What somebody held or forgot has ended, and nobody waits. */
static void await_free(struct run *run)
{
    char path[40];
    for (int i = 0; i < HOLDER_NAMES; i++) {
        snprintf(path, sizeof path, "/locks/held-%d", i);
        sides_await_free(&run->land.sides, path);
    }
}

struct task {
    const struct campaign *campaign;
    const struct campaign_setting *setting;
};

static void do_task(void **state)
{
    const struct task *task = *state;
    struct run *run = calloc(1, sizeof *run);
    *run = (struct run){.campaign = task->campaign, .setting = task->setting};
    struct land *land = &run->land;
    if (!hosts_open(&land->hosts, task->campaign->hosts + SIDES)) {
        free(run);
        skip();
        return;
    }
    const char *url = task->campaign->start(land, task->setting);
    sides_start(&land->sides, &land->hosts, task->campaign->hosts, url, task->setting->batond);
    go_through_faults(run);
    await_free(run);
    sides_stop(&land->sides);
    task->campaign->stop(land);
    hosts_close(&land->hosts);
    free(run);
}

static const struct campaign *campaign_of(const struct campaign *campaigns, size_t count,
                                          const char *engine)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(campaigns[i].engine, engine) == 0)
            return &campaigns[i];
    abort();
}

int campaigns_run(const struct campaign *campaigns, size_t campaign_count,
                  const struct campaign_setting *settings, size_t setting_count)
{
    struct CMUnitTest tests[SETTINGS_MOST];
    struct task tasks[SETTINGS_MOST];
    char names[SETTINGS_MOST][100];
    size_t count = 0;
    for (size_t i = 0; i < setting_count && count < SETTINGS_MOST; i++) {
        const struct campaign_setting *setting = &settings[i];
        if (!setting->quick && stage_amount(0, 1))
            continue;
        tasks[count] =
            (struct task){campaign_of(campaigns, campaign_count, setting->engine), setting};
        snprintf(names[count], sizeof names[count], "%s: %s", setting->engine, setting->name);
        tests[count] = (struct CMUnitTest){
            .name = names[count], .test_func = do_task, .initial_state = &tasks[count]};
        count++;
    }
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return _cmocka_run_group_tests("partitions", tests, count, NULL, NULL);
}
