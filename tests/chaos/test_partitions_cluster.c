/* A primary of a Cluster is cut off, from all or from some, killed or stopped, while clients on
 * both sides take locks of all primaries all the time. */
#include "tests/chaos/campaign.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

enum { SWITCH_MS = 40000, LOOK_MS = 20 };

/* Ways to lose a primary */

static void cut_off_with_a_batond(struct land *land, int primary)
{
    land_cut_off(land, HOST(primary) | land_batond(land, 0));
}

static void cut_off_with_its_replica(struct land *land, int primary)
{
    land_cut_off(land, HOST(primary) | HOST(land->replica) | land_batond(land, 0));
}

static void cut_off_from_its_replica(struct land *land, int primary)
{
    hosts_part(&land->hosts, HOST(primary), HOST(land->replica));
}

static void cut_off_from_a_batond(struct land *land, int primary)
{
    hosts_part(&land->hosts, HOST(primary), land_batond(land, 0));
}

static void not_heard(struct land *land, int primary)
{
    land_silence(land, HOST(primary) | land_batond(land, 0));
}

static void deaf(struct land *land, int primary)
{
    land_deafen(land, HOST(primary) | land_batond(land, 0));
}

static void kill_it(struct land *land, int primary)
{
    clustered_kill(&land->clustered, primary);
}

static void resume_it(struct land *land, int primary)
{
    clustered_resume(&land->clustered, primary);
    hosts_heal(&land->hosts);
}

/* What was granted in between, its replica has never heard of. */
static void kill_without_replica(struct land *land, int primary)
{
    enum { BEHIND_MS = 1500 };
    cut_off_from_its_replica(land, primary);
    clock_sleep_ms(BEHIND_MS);
    kill_it(land, primary);
}

static void freeze_it(struct land *land, int primary)
{
    clustered_freeze(&land->clustered, primary);
}

static void thaw_it(struct land *land, int primary)
{
    clustered_thaw(&land->clustered, primary);
}

static void freeze_cut_off(struct land *land, int primary)
{
    cut_off_with_a_batond(land, primary);
    freeze_it(land, primary);
}

static const struct campaign_fault FAULTS[] = {
    {"cut off with a batond", .replaced = true, .begin = cut_off_with_a_batond, .end = land_heal},
    {"SIGSTOP, goes on cut off with a batond", .replaced = true, .begin = freeze_cut_off,
     .go_on = thaw_it, .end = land_heal},
    {"cut off from its replica, then SIGKILL", .replaced = true, .begin = kill_without_replica,
     .end = resume_it},
    {"SIGSTOP, together with a batond", .replaced = true, .with_a_batond = true, .begin = freeze_it,
     .end = thaw_it},
    {"SIGKILL", .replaced = true, .begin = kill_it, .end = resume_it},
    {"SIGSTOP", .replaced = true, .begin = freeze_it, .end = thaw_it},
    {"cut off with a batond and its replica", .begin = cut_off_with_its_replica, .end = land_heal},
    {"cut off, the batonds hear both sides", .replaced = true, .begin = land_cut_off_alone,
     .end = land_heal},
    {"cut off from its replica", .begin = cut_off_from_its_replica, .end = land_heal},
    {"cut off from a batond", .begin = cut_off_from_a_batond, .end = land_heal},
    {"not heard, with a batond", .replaced = true, .begin = not_heard, .end = land_heal},
    {"deaf, with a batond", .replaced = true, .begin = deaf, .end = land_heal},
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

/* The Cluster as a campaign wants it */

static const char *start(struct land *land, const struct campaign_setting *setting)
{
    (void)setting;
    clustered_start(&land->clustered, &(struct clustered_options){.hosts = &land->hosts});
    return land->clustered.url;
}

static void stop(struct land *land)
{
    clustered_stop(&land->clustered);
}

/* Primaries fall in turn. */
static int await_peace(struct land *land, int round)
{
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

static void await_other(struct land *land, int primary)
{
    (void)primary;
    if (!clock_wait_until(is_promoted, land, SWITCH_MS))
        fail_msg("the replica does not take its primary's place");
}

int main(void)
{
    static const struct campaign CAMPAIGN = {
        .engine = "Cluster",
        .hosts = CLUSTERED_NODES,
        .faults = FAULTS,
        .fault_count = sizeof FAULTS / sizeof FAULTS[0],
        .settings = SETTINGS,
        .setting_count = sizeof SETTINGS / sizeof SETTINGS[0],
        .quick_cycles = 2,
        .ttl_ms = 2000, /* a primary that is cut off stops before that, and another has started */
        .calm_ms = 1500,
        .apart_ms = 3000,
        .quarantine_ms = 7000,
        .stall_ms = 15000,
        .start = start,
        .stop = stop,
        .await_peace = await_peace,
        .await_other = await_other,
    };
    return campaign_run(&CAMPAIGN);
}
