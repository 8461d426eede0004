/* A primary of a Cluster is cut off, from all or from some, killed or stopped, while clients on
 * both sides take locks of all primaries all the time. */
#include "tests/chaos/campaign.h"
#include "tests/support/clock.h"
#include "tests/support/clustered.h"
#include "tests/support/cmocka.h"

#include <signal.h>
#include <stdlib.h>

enum { HOSTS = CLUSTERED_NODES + SIDES, SWITCH_MS = 40000, LOOK_MS = 20 };

/* Node i is on host i. */
struct land {
    struct hosts hosts;
    struct clustered clustered;
    struct sides sides;
    int slot;    /* that the primary in trouble serves */
    int replica; /* its replica */
};

/* Ways to lose a primary */

static const unsigned ALL = HOST(HOSTS) - 1;

static unsigned batond(const struct land *land, int index)
{
    return HOST(sides_host(&land->sides, index));
}

static void cut_off(const struct land *land, unsigned side)
{
    hosts_part(&land->hosts, side, ALL & ~side);
}

static void cut_off_with_a_batond(void *engine, int primary)
{
    struct land *land = engine;
    cut_off(land, HOST(primary) | batond(land, 0));
}

static void cut_off_with_its_replica(void *engine, int primary)
{
    struct land *land = engine;
    cut_off(land, HOST(primary) | HOST(land->replica) | batond(land, 0));
}

/* The batonds hear all sides. */
static void cut_off_alone(void *engine, int primary)
{
    struct land *land = engine;
    unsigned batonds = batond(land, 0) | batond(land, 1);
    hosts_part(&land->hosts, HOST(primary), ALL & ~HOST(primary) & ~batonds);
}

static void cut_off_from_its_replica(void *engine, int primary)
{
    struct land *land = engine;
    hosts_part(&land->hosts, HOST(primary), HOST(land->replica));
}

static void cut_off_from_a_batond(void *engine, int primary)
{
    struct land *land = engine;
    hosts_part(&land->hosts, HOST(primary), batond(land, 0));
}

static void not_heard(void *engine, int primary)
{
    struct land *land = engine;
    unsigned side = HOST(primary) | batond(land, 0);
    hosts_silence(&land->hosts, side, ALL & ~side);
}

static void deaf(void *engine, int primary)
{
    struct land *land = engine;
    unsigned side = HOST(primary) | batond(land, 0);
    hosts_silence(&land->hosts, ALL & ~side, side);
}

static void heal(void *engine, int primary)
{
    struct land *land = engine;
    (void)primary;
    hosts_heal(&land->hosts);
}

static void kill_it(void *engine, int primary)
{
    struct land *land = engine;
    clustered_kill(&land->clustered, primary);
}

static void resume_it(void *engine, int primary)
{
    struct land *land = engine;
    clustered_resume(&land->clustered, primary);
    hosts_heal(&land->hosts);
}

/* What was granted in between, its replica has never heard of. */
static void kill_without_replica(void *engine, int primary)
{
    enum { BEHIND_MS = 1500 };
    cut_off_from_its_replica(engine, primary);
    clock_sleep_ms(BEHIND_MS);
    kill_it(engine, primary);
}

static void freeze_it(void *engine, int primary)
{
    struct land *land = engine;
    clustered_freeze(&land->clustered, primary);
}

static void thaw_it(void *engine, int primary)
{
    struct land *land = engine;
    clustered_thaw(&land->clustered, primary);
}

static void freeze_cut_off(void *engine, int primary)
{
    cut_off_with_a_batond(engine, primary);
    freeze_it(engine, primary);
}

static const struct campaign_fault FAULTS[] = {
    {"cut off with a batond", .replaced = true, .begin = cut_off_with_a_batond, .end = heal},
    {"SIGSTOP, goes on cut off with a batond", .replaced = true, .begin = freeze_cut_off,
     .go_on = thaw_it, .end = heal},
    {"cut off from its replica, then SIGKILL", .replaced = true, .begin = kill_without_replica,
     .end = resume_it},
    {"SIGSTOP, together with a batond", .replaced = true, .with_a_batond = true, .begin = freeze_it,
     .end = thaw_it},
    {"SIGKILL", .replaced = true, .begin = kill_it, .end = resume_it},
    {"SIGSTOP", .replaced = true, .begin = freeze_it, .end = thaw_it},
    {"cut off with a batond and its replica", .begin = cut_off_with_its_replica, .end = heal},
    {"cut off, the batonds hear both sides", .replaced = true, .begin = cut_off_alone, .end = heal},
    {"cut off from its replica", .begin = cut_off_from_its_replica, .end = heal},
    {"cut off from a batond", .begin = cut_off_from_a_batond, .end = heal},
    {"not heard, with a batond", .replaced = true, .begin = not_heard, .end = heal},
    {"deaf, with a batond", .replaced = true, .begin = deaf, .end = heal},
    {"a batond stands still", .with_a_batond = true},
};

static const struct campaign_setting SETTINGS[] = {
    {.name = "confirm=none, quarantine=off",
     .doubles = SOME_DOUBLE,
     .batond = {"--confirm=none", "--quarantine=off"}},
    {.name = "confirm=none",
     .quick = true,
     .doubles = NO_DOUBLE,
     .batond = {"--confirm=none", "--quarantine=auto"}},
    {.name = "confirm=replicas:1, quarantine=off",
     .keeps = 1,
     .doubles = ANY_DOUBLE,
     .batond = {"--confirm=replicas:1", "--quarantine=off"}},
    {.name = "confirm=replicas:1",
     .quick = true,
     .keeps = 1,
     .doubles = NO_DOUBLE,
     .batond = {"--confirm=replicas:1", "--quarantine=auto"}},
};

/* The land as a campaign wants it */

static void *start(const struct campaign_setting *setting)
{
    struct land *land = calloc(1, sizeof *land);
    if (!hosts_open(&land->hosts, HOSTS)) {
        free(land);
        return NULL;
    }
    clustered_start(&land->clustered, &(struct clustered_options){.hosts = &land->hosts});
    sides_start(&land->sides, &land->hosts, CLUSTERED_NODES, land->clustered.url, setting->batond);
    return land;
}

static void stop(void *engine)
{
    struct land *land = engine;
    sides_stop(&land->sides);
    clustered_stop(&land->clustered);
    hosts_close(&land->hosts);
    free(land);
}

static struct sides *sides(void *engine)
{
    struct land *land = engine;
    return &land->sides;
}

/* Primaries fall in turn. */
static int await_peace(void *engine, int round)
{
    struct land *land = engine;
    clustered_await_calm(&land->clustered);
    sides_await_ready(&land->sides, NULL);
    land->slot = round % CLUSTERED_PRIMARIES * CLUSTERED_SLOTS / CLUSTERED_PRIMARIES;
    int primary = clustered_primary(&land->clustered, land->slot);
    land->replica = clustered_replica(&land->clustered, primary);
    assert_true(land->replica >= 0);
    return primary;
}

/* It is on the other side, and takes the place. */
static bool is_promoted(void *context)
{
    struct land *land = context;
    clock_sleep_ms(LOOK_MS);
    return clustered_view(&land->clustered, land->replica, land->slot) == land->replica;
}

static void await_other(void *engine, int primary)
{
    (void)primary;
    if (!clock_wait_until(is_promoted, engine, SWITCH_MS))
        fail_msg("the replica does not take its primary's place");
}

int main(void)
{
    static const struct campaign CAMPAIGN = {
        .engine = "Cluster",
        .faults = FAULTS,
        .fault_count = sizeof FAULTS / sizeof FAULTS[0],
        .settings = SETTINGS,
        .setting_count = sizeof SETTINGS / sizeof SETTINGS[0],
        .quick_cycles = 2,
        .ttl_ms = 2000, /* a primary that is cut off stops before that, and another has started */
        .calm_ms = 1500,
        .apart_ms = 3000,
        .quarantine_ms = 7000,
        .start = start,
        .stop = stop,
        .sides = sides,
        .await_peace = await_peace,
        .await_other = await_other,
    };
    return campaign_run(&CAMPAIGN);
}
