/* The primary is cut off, killed or stopped, and Sentinel promotes another, while clients on both
 * sides take locks all the time. */
#include "tests/chaos/campaign.h"
#include "tests/chaos/land.h"

#include <signal.h>
#include <stdlib.h>

/* Ways to lose the primary */

static const unsigned ALL = HOST(LAND_HOSTS) - 1;

/* The primary, and one sentinel and one batond, which are not most of anything. */
static unsigned small_side(const struct land *land, int primary)
{
    return HOST(primary) | HOST(land_sentinel_host(0)) | HOST(sides_host(&land->sides, 0));
}

static void cut_off_with_a_batond(void *engine, int primary)
{
    struct land *land = engine;
    hosts_part(&land->hosts, small_side(land, primary), ALL & ~small_side(land, primary));
}

/* The batonds hear all sides. */
static void cut_off_alone(void *engine, int primary)
{
    struct land *land = engine;
    unsigned batonds = HOST(sides_host(&land->sides, 0)) | HOST(sides_host(&land->sides, 1));
    hosts_part(&land->hosts, HOST(primary), ALL & ~HOST(primary) & ~batonds);
}

static void cut_off_with_a_replica(void *engine, int primary)
{
    struct land *land = engine;
    unsigned side = small_side(land, primary) | HOST((primary + 1) % LAND_SERVERS);
    hosts_part(&land->hosts, side, ALL & ~side);
}

static void not_heard(void *engine, int primary)
{
    struct land *land = engine;
    hosts_silence(&land->hosts, small_side(land, primary), ALL & ~small_side(land, primary));
}

static void deaf(void *engine, int primary)
{
    struct land *land = engine;
    hosts_silence(&land->hosts, ALL & ~small_side(land, primary), small_side(land, primary));
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
    redis_process_kill(&land->servers[primary]);
}

static void freeze_it(void *engine, int primary)
{
    struct land *land = engine;
    redis_process_freeze(&land->servers[primary]);
}

static void thaw_it(void *engine, int primary)
{
    struct land *land = engine;
    redis_process_thaw(&land->servers[primary]);
}

static void freeze_cut_off(void *engine, int primary)
{
    cut_off_with_a_batond(engine, primary);
    freeze_it(engine, primary);
}

static void resume_it(void *engine, int primary)
{
    land_resume(engine, primary);
}

static const struct campaign_fault FAULTS[] = {
    {"cut off with a batond", .replaced = true, .begin = cut_off_with_a_batond, .end = heal},
    {"SIGKILL", .replaced = true, .begin = kill_it, .end = resume_it},
    {"cut off with a batond and a replica", .more = 1, .replaced = true,
     .begin = cut_off_with_a_replica, .end = heal},
    {"SIGSTOP", .replaced = true, .begin = freeze_it, .end = thaw_it},
    {"SIGSTOP, goes on cut off with a batond", .replaced = true, .begin = freeze_cut_off,
     .go_on = thaw_it, .end = heal},
    {"SIGSTOP, together with a batond", .replaced = true, .with_a_batond = true, .begin = freeze_it,
     .end = thaw_it},
    {"cut off, the batonds hear both sides", .replaced = true, .begin = cut_off_alone, .end = heal},
    {"not heard, with a batond", .replaced = true, .begin = not_heard, .end = heal},
    {"deaf, with a batond", .replaced = true, .begin = deaf, .end = heal},
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

/* The land as a campaign wants it */

static void *start(const struct campaign_setting *setting)
{
    struct land *land = calloc(1, sizeof *land);
    struct land_options options = {.redis = setting->redis, .batond = setting->batond};
    if (land_start(land, &options))
        return land;
    free(land);
    return NULL;
}

static void stop(void *engine)
{
    land_stop(engine);
    free(engine);
}

static struct sides *sides(void *engine)
{
    struct land *land = engine;
    return &land->sides;
}

static int await_peace(void *engine, int round)
{
    (void)round;
    return land_await_peace(engine);
}

static void await_other(void *engine, int primary)
{
    land_await_other(engine, primary);
}

int main(void)
{
    static const struct campaign CAMPAIGN = {
        .engine = "Sentinel",
        .faults = FAULTS,
        .fault_count = sizeof FAULTS / sizeof FAULTS[0],
        .settings = SETTINGS,
        .setting_count = sizeof SETTINGS / sizeof SETTINGS[0],
        .quick_cycles = 2,
        .ttl_ms = 1000,
        .calm_ms = 1000,
        .apart_ms = 2500,
        .quarantine_ms = 7000,
        .start = start,
        .stop = stop,
        .sides = sides,
        .await_peace = await_peace,
        .await_other = await_other,
    };
    return campaign_run(&CAMPAIGN);
}
