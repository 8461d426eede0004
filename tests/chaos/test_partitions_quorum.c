/* Members of a quorum are cut off, from all or from one side, in both directions or in one, killed
 * or stopped, while clients on both sides take locks all the time. */
#include "tests/chaos/campaign.h"
#include "tests/chaos/holders.h"
#include "tests/support/clock.h"
#include "tests/support/fixtures/on_quorum.h"

#include <stdio.h>

/* Ways to lose members */

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

static void two_cut_off_with_a_batond(struct land *land, int first)
{
    land_cut_off(land, members(first, 2) | land_batond(land, 0));
}

/* One member hears both. */
static void one_between_two_sides(struct land *land, int first)
{
    hosts_part(&land->hosts, members(first, 2) | land_batond(land, 0),
               members(first + 3, 2) | land_batond(land, 1));
}

static void two_hear_and_are_not_heard(struct land *land, int first)
{
    hosts_silence(&land->hosts, members(first, 2), land_batond(land, 0) | land_batond(land, 1));
}

/* What it asks for, a majority does, and it does not learn of it. */
static void three_hear_a_batond_in_vain(struct land *land, int first)
{
    hosts_silence(&land->hosts, members(first, 3), land_batond(land, 0));
}

static void two_deaf(struct land *land, int first)
{
    hosts_silence(&land->hosts, land_batond(land, 0) | land_batond(land, 1), members(first, 2));
}

static void kill_some(struct land *land, int first, int count)
{
    for (int i = 0; i < count; i++)
        redis_process_kill(&land->quorum.members[number(first, i)]);
    for (int i = 0; i < count; i++)
        quorum_servers_resume(&land->quorum, number(first, i));
}

static void two_lose_all(struct land *land, int first)
{
    kill_some(land, first, 2);
}

static void three_lose_all(struct land *land, int first)
{
    kill_some(land, first, 3);
}

static void one_loses_all_and_one_is_cut_off(struct land *land, int first)
{
    land_cut_off(land, members(first + 1, 1));
    kill_some(land, first, 1);
}

static void two_stop(struct land *land, int first)
{
    for (int i = 0; i < 2; i++)
        redis_process_freeze(&land->quorum.members[number(first, i)]);
}

static void two_go_on(struct land *land, int first)
{
    for (int i = 0; i < 2; i++)
        redis_process_thaw(&land->quorum.members[number(first, i)]);
}

/* For a moment, which is shorter than any deadline; and shorter than a TTL. */
static void two_are_slow(struct land *land, int first)
{
    static const int LASTS_MS[] = {200, 800};
    for (int i = 0; i < 2; i++) {
        two_stop(land, first);
        clock_sleep_ms(LASTS_MS[i]);
        two_go_on(land, first);
        sides_await_ready(&land->sides, "5 of 5");
    }
}

static const struct campaign_fault FAULTS[] = {
    {"two cut off with a batond", .begin = two_cut_off_with_a_batond, .end = land_heal},
    {"two come back empty", .more = 1, .begin = two_lose_all, .end = land_heal},
    {"two slow", .begin = two_are_slow},
    {"one between two sides", .begin = one_between_two_sides, .end = land_heal},
    {"three hear a batond and are not heard by it", .begin = three_hear_a_batond_in_vain,
     .end = land_heal},
    {"two hear and are not heard", .begin = two_hear_and_are_not_heard, .end = land_heal},
    {"two deaf", .begin = two_deaf, .end = land_heal},
    {"two SIGSTOP", .begin = two_stop, .end = two_go_on},
    {"one comes back empty, one is cut off", .more = 1, .begin = one_loses_all_and_one_is_cut_off,
     .end = land_heal},
    {"three come back empty", .more = 1, .begin = three_lose_all, .end = land_heal},
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

/* The quorum as a campaign wants it */

static const char *start(struct land *land, const struct campaign_setting *setting)
{
    (void)setting;
    quorum_servers_start_on(&land->quorum, &(struct quorum_options){.hosts = &land->hosts});
    return land->quorum.url;
}

/* No member keeps a hold that nobody knows of. */
static void stop(struct land *land)
{
    char name[20];
    for (int i = 0; i < HOLDER_NAMES; i++) {
        snprintf(name, sizeof name, "held-%d", i);
        await_held_at(&land->quorum, name, 0);
    }
    quorum_servers_stop(&land->quorum);
}

static int await_peace(struct land *land, int round)
{
    sides_await_ready(&land->sides, "5 of 5");
    return round % QUORUM_MEMBERS;
}

int main(void)
{
    static const struct campaign CAMPAIGN = {
        .engine = "Quorum",
        .hosts = QUORUM_MEMBERS,
        .faults = FAULTS,
        .fault_count = sizeof FAULTS / sizeof FAULTS[0],
        .settings = SETTINGS,
        .setting_count = sizeof SETTINGS / sizeof SETTINGS[0],
        .quick_cycles = 5,
        .ttl_ms = 1000,
        .calm_ms = 3000, /* until what was held by three alone has ended */
        .apart_ms = 2500,
        .quarantine_ms = 2500,
        .stall_ms = 8000,
        .start = start,
        .stop = stop,
        .await_peace = await_peace,
    };
    return campaign_run(&CAMPAIGN);
}
