/* Members of a quorum are cut off, from all or from one side, in both directions or in one, killed
 * or stopped, while clients on both sides take locks all the time. */
#include "tests/chaos/campaign.h"
#include "tests/support/quorum.h"

#include <signal.h>
#include <stdlib.h>

enum { HOSTS = QUORUM_MEMBERS + SIDES };

/* Member i is on host i. */
struct land {
    struct hosts hosts;
    struct quorum_servers servers;
    struct sides sides;
};

/* Ways to lose members */

static const unsigned ALL = HOST(HOSTS) - 1;

static unsigned batond(const struct land *land, int index)
{
    return HOST(sides_host(&land->sides, index));
}

static int number(int first, int index)
{
    return (first + index) % QUORUM_MEMBERS;
}

/* So many members from this one on. */
static unsigned members(int first, int count)
{
    unsigned set = 0;
    for (int i = 0; i < count; i++)
        set |= HOST(number(first, i));
    return set;
}

static void two_cut_off_with_a_batond(void *engine, int first)
{
    struct land *land = engine;
    unsigned side = members(first, 2) | batond(land, 0);
    hosts_part(&land->hosts, side, ALL & ~side);
}

/* One member hears both. */
static void one_between_two_sides(void *engine, int first)
{
    struct land *land = engine;
    hosts_part(&land->hosts, members(first, 2) | batond(land, 0),
               members(first + 3, 2) | batond(land, 1));
}

static void two_hear_and_are_not_heard(void *engine, int first)
{
    struct land *land = engine;
    hosts_silence(&land->hosts, members(first, 2), batond(land, 0) | batond(land, 1));
}

/* What it asks for, a majority does, and it does not learn of it. */
static void three_hear_a_batond_in_vain(void *engine, int first)
{
    struct land *land = engine;
    hosts_silence(&land->hosts, members(first, 3), batond(land, 0));
}

static void two_deaf(void *engine, int first)
{
    struct land *land = engine;
    hosts_silence(&land->hosts, batond(land, 0) | batond(land, 1), members(first, 2));
}

static void heal(void *engine, int first)
{
    struct land *land = engine;
    (void)first;
    hosts_heal(&land->hosts);
}

static void kill_some(struct land *land, int first, int count)
{
    for (int i = 0; i < count; i++)
        redis_process_kill(&land->servers.members[number(first, i)]);
    for (int i = 0; i < count; i++)
        quorum_servers_resume(&land->servers, number(first, i));
}

static void two_lose_all(void *engine, int first)
{
    kill_some(engine, first, 2);
}

static void three_lose_all(void *engine, int first)
{
    kill_some(engine, first, 3);
}

static void one_loses_all_and_one_is_cut_off(void *engine, int first)
{
    struct land *land = engine;
    unsigned other = members(first + 1, 1);
    hosts_part(&land->hosts, other, ALL & ~other);
    kill_some(land, first, 1);
}

static void two_stop(void *engine, int first)
{
    struct land *land = engine;
    for (int i = 0; i < 2; i++)
        redis_process_freeze(&land->servers.members[number(first, i)]);
}

static void two_go_on(void *engine, int first)
{
    struct land *land = engine;
    for (int i = 0; i < 2; i++)
        redis_process_thaw(&land->servers.members[number(first, i)]);
}

static const struct campaign_fault FAULTS[] = {
    {"two cut off with a batond", .begin = two_cut_off_with_a_batond, .end = heal},
    {"two come back empty", .more = 1, .begin = two_lose_all, .end = heal},
    {"one between two sides", .begin = one_between_two_sides, .end = heal},
    {"three hear a batond and are not heard by it", .begin = three_hear_a_batond_in_vain,
     .end = heal},
    {"two hear and are not heard", .begin = two_hear_and_are_not_heard, .end = heal},
    {"two deaf", .begin = two_deaf, .end = heal},
    {"two SIGSTOP", .begin = two_stop, .end = two_go_on},
    {"one comes back empty, one is cut off", .more = 1, .begin = one_loses_all_and_one_is_cut_off,
     .end = heal},
    {"three come back empty", .more = 1, .begin = three_lose_all, .end = heal},
    {"a batond stands still", .with_a_batond = true},
};

static const struct campaign_setting SETTINGS[] = {
    {.name = "quarantine=off", .doubles = ANY_DOUBLE, .batond = {"--quarantine=off"}},
    {.name = "quarantine=auto",
     .quick = true,
     .keeps = 1,
     .doubles = NO_DOUBLE,
     .batond = {"--quarantine=auto"}},
};

/* The land as a campaign wants it */

static void *start(const struct campaign_setting *setting)
{
    struct land *land = calloc(1, sizeof *land);
    if (!hosts_open(&land->hosts, HOSTS)) {
        free(land);
        return NULL;
    }
    quorum_servers_start_on(&land->servers, &(struct quorum_options){.hosts = &land->hosts});
    sides_start(&land->sides, &land->hosts, QUORUM_MEMBERS, land->servers.url, setting->batond);
    return land;
}

static void stop(void *engine)
{
    struct land *land = engine;
    sides_stop(&land->sides);
    quorum_servers_stop(&land->servers);
    hosts_close(&land->hosts);
    free(land);
}

static struct sides *sides(void *engine)
{
    struct land *land = engine;
    return &land->sides;
}

static int await_peace(void *engine, int round)
{
    struct land *land = engine;
    sides_await_ready(&land->sides, "5 of 5");
    return round % QUORUM_MEMBERS;
}

int main(void)
{
    static const struct campaign CAMPAIGN = {
        .engine = "Quorum",
        .faults = FAULTS,
        .fault_count = sizeof FAULTS / sizeof FAULTS[0],
        .settings = SETTINGS,
        .setting_count = sizeof SETTINGS / sizeof SETTINGS[0],
        .quick_cycles = 4,
        .ttl_ms = 1000,
        .calm_ms = 3000, /* until what was held by three alone has ended */
        .apart_ms = 2500,
        .quarantine_ms = 2500,
        .start = start,
        .stop = stop,
        .sides = sides,
        .await_peace = await_peace,
    };
    return campaign_run(&CAMPAIGN);
}
