/* The primary is cut off, killed or stopped, or Sentinel is asked to promote another, while clients
 * on both sides take locks all the time. */
#include "tests/chaos/campaign.h"

/* Ways to lose the primary */

/* The primary, and one sentinel and one batond, which are not most of anything. */
static unsigned small_side(const struct land *land, int primary)
{
    return HOST(primary) | HOST(WATCHED_SERVERS) | land_batond(land, 0);
}

static void cut_off_with_a_batond(struct land *land, int primary)
{
    land_cut_off(land, small_side(land, primary));
}

static void cut_off_with_a_replica(struct land *land, int primary)
{
    land_cut_off(land, small_side(land, primary) | HOST((primary + 1) % WATCHED_SERVERS));
}

static void not_heard(struct land *land, int primary)
{
    land_silence(land, small_side(land, primary));
}

static void deaf(struct land *land, int primary)
{
    land_deafen(land, small_side(land, primary));
}

static void ask_for_another(struct land *land, int primary)
{
    (void)primary;
    watched_fail_over(&land->watched);
}

static void kill_it(struct land *land, int primary)
{
    redis_process_kill(&land->watched.servers[primary]);
}

static void resume_it(struct land *land, int primary)
{
    watched_resume(&land->watched, primary);
}

static void freeze_it(struct land *land, int primary)
{
    redis_process_freeze(&land->watched.servers[primary]);
}

static void thaw_it(struct land *land, int primary)
{
    redis_process_thaw(&land->watched.servers[primary]);
}

static void freeze_cut_off(struct land *land, int primary)
{
    cut_off_with_a_batond(land, primary);
    freeze_it(land, primary);
}

static const struct campaign_fault FAULTS[] = {
    {"cut off with a batond", .replaced = true, .begin = cut_off_with_a_batond, .end = land_heal},
    {"SIGKILL", .replaced = true, .begin = kill_it, .end = resume_it},
    {"cut off with a batond and a replica", .more = 1, .replaced = true,
     .begin = cut_off_with_a_replica, .end = land_heal},
    {"SIGSTOP", .replaced = true, .begin = freeze_it, .end = thaw_it},
    /* The other replica goes on confirming what the old primary grants. */
    {"SENTINEL FAILOVER", .more = 1, .replaced = true, .begin = ask_for_another},
    {"SIGSTOP, goes on cut off with a batond", .replaced = true, .begin = freeze_cut_off,
     .go_on = thaw_it, .end = land_heal},
    {"SIGSTOP, together with a batond", .replaced = true, .with_a_batond = true, .begin = freeze_it,
     .end = thaw_it},
    {"cut off, the batonds hear both sides", .replaced = true, .begin = land_cut_off_alone,
     .end = land_heal},
    {"not heard, with a batond", .replaced = true, .begin = not_heard, .end = land_heal},
    {"deaf, with a batond", .replaced = true, .begin = deaf, .end = land_heal},
    {"a batond stands still", .with_a_batond = true},
};

static const struct campaign_setting SETTINGS[] = {
    {.name = "confirm=none, quarantine=off",
     .doubles = SOME_DOUBLE,
     .batond = {"--confirm=none", "--quarantine=off"}},
    {.name = "confirm=none, quarantine=off, min-replicas-to-write 1",
     .doubles = ANY_DOUBLE,
     .batond = {"--confirm=none", "--quarantine=off"},
     .redis = {"--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"}},
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
    {.name = "confirm=replicas:2",
     .keeps = 2,
     .doubles = NO_DOUBLE,
     .batond = {"--confirm=replicas:2", "--quarantine=auto"}},
};

/* Sentinel as a campaign wants it */

static const char *start(struct land *land, const struct campaign_setting *setting)
{
    watched_start(&land->watched,
                  &(struct watched_options){.hosts = &land->hosts, .redis = setting->redis});
    return land->watched.url;
}

static void stop(struct land *land)
{
    watched_stop(&land->watched);
}

static int await_peace(struct land *land, int round)
{
    (void)round;
    int primary = watched_await_peace(&land->watched);
    sides_await_ready(&land->sides, NULL);
    return primary;
}

static void await_other(struct land *land, int primary)
{
    watched_await_other(&land->watched, primary);
}

int main(void)
{
    static const struct campaign CAMPAIGN = {
        .engine = "Sentinel",
        .hosts = WATCHED_SERVERS + WATCHED_SENTINELS,
        .faults = FAULTS,
        .fault_count = sizeof FAULTS / sizeof FAULTS[0],
        .settings = SETTINGS,
        .setting_count = sizeof SETTINGS / sizeof SETTINGS[0],
        .quick_cycles = 2,
        .ttl_ms = 1000,
        .calm_ms = 1000,
        .apart_ms = 2500,
        .quarantine_ms = 7000,
        .stall_ms = 30000,
        .start = start,
        .stop = stop,
        .await_peace = await_peace,
        .await_other = await_other,
    };
    return campaign_run(&CAMPAIGN);
}
