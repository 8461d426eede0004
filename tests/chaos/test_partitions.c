/* Servers of each engine are cut off, killed or stopped, while clients of two batonds, on both
 * sides of a cut, take locks all the time. */
#include "tests/chaos/campaign.h"
#include "tests/chaos/holders.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/on_quorum.h"

#include <stdio.h>

enum { SWITCH_MS = 40000, LOOK_MS = 20, BEHIND_MS = 1500 };

/* What happens to a part, in one statement. */
#define WAY(name, happens)                                                                         \
    static void name(struct land *land __attribute__((unused)), int part __attribute__((unused)))  \
    {                                                                                              \
        happens;                                                                                   \
    }

/* Of a primary: alone with a batond, which is not most of anything; of Sentinel also with one
 * sentinel. */
static unsigned small_side(const struct land *land, int part)
{
    return HOST(part) | land_batond(land, 0) | land->beside;
}

WAY(cut_off_with_a_batond, land_cut_off(land, small_side(land, part)))
WAY(silenced, land_silence(land, small_side(land, part)))
WAY(deaf, land_deafen(land, small_side(land, part)))

/* Of Sentinel */
WAY(kill_it, redis_process_kill(&land->watched.servers[part]))
WAY(resume_it, watched_resume(&land->watched, part))
WAY(freeze_it, redis_process_freeze(&land->watched.servers[part]))
WAY(thaw_it, redis_process_thaw(&land->watched.servers[part]))
WAY(freeze_cut_off, (cut_off_with_a_batond(land, part), freeze_it(land, part)))
WAY(ask_for_another, watched_fail_over(&land->watched))
WAY(cut_off_with_a_replica,
    land_cut_off(land, small_side(land, part) | HOST((part + 1) % WATCHED_SERVERS)))

/* Of a Cluster; what was granted in between, a replica that is cut off has never heard of. */
WAY(kill_node, clustered_kill(&land->clustered, part))
WAY(resume_node, (clustered_resume(&land->clustered, part), hosts_heal(&land->hosts)))
WAY(freeze_node, clustered_freeze(&land->clustered, part))
WAY(thaw_node, clustered_thaw(&land->clustered, part))
WAY(freeze_node_cut_off, (cut_off_with_a_batond(land, part), freeze_node(land, part)))
WAY(cut_off_with_its_replica, land_cut_off(land, small_side(land, part) | HOST(land->replica)))
WAY(cut_off_from_its_replica, hosts_part(&land->hosts, HOST(part), HOST(land->replica)))
WAY(cut_off_from_a_batond, hosts_part(&land->hosts, HOST(part), land_batond(land, 0)))
WAY(kill_without_replica,
    (cut_off_from_its_replica(land, part), clock_sleep_ms(BEHIND_MS), kill_node(land, part)))

/* Of one Redis, which is started anew with all that it had */
WAY(is_killed, (redis_process_kill(&land->one), redis_process_resume(&land->one)))
WAY(is_ended, (redis_process_halt(&land->one), redis_process_resume(&land->one)))

/* Of members of a quorum: so many from this one on */

static int number(int first, int index)
{
    return (first + index) % QUORUM_MEMBERS;
}

static unsigned members(int first, int count)
{
    unsigned set = 0;
    for (int i = 0; i < count; i++)
        set |= HOST(number(first, i));
    return set;
}

static unsigned both_batonds(const struct land *land)
{
    return land_batond(land, 0) | land_batond(land, 1);
}

static void lose_all(struct land *land, int first, int count)
{
    for (int i = 0; i < count; i++)
        redis_process_kill(&land->quorum.members[number(first, i)]);
    for (int i = 0; i < count; i++)
        quorum_servers_resume(&land->quorum, number(first, i));
}

static void two_do(struct land *land, int first, void (*act)(struct redis_process *redis))
{
    for (int i = 0; i < 2; i++)
        act(&land->quorum.members[number(first, i)]);
}

/* For a moment, which is shorter than any deadline; and shorter than a TTL. */
static void two_are_slow(struct land *land, int first)
{
    static const int LASTS_MS[] = {200, 800};
    for (int i = 0; i < 2; i++) {
        two_do(land, first, redis_process_freeze);
        clock_sleep_ms(LASTS_MS[i]);
        two_do(land, first, redis_process_thaw);
        sides_await_ready(&land->sides, "5 of 5");
    }
}

WAY(two_cut_off_with_a_batond, land_cut_off(land, members(part, 2) | land_batond(land, 0)))
/* One member hears both. */
WAY(one_between_two_sides, hosts_part(&land->hosts, members(part, 2) | land_batond(land, 0),
                                      members(part + 3, 2) | land_batond(land, 1)))
WAY(two_are_silenced, hosts_silence(&land->hosts, members(part, 2), both_batonds(land)))
/* What it asks for, a majority does, and it does not learn of it. */
WAY(three_receive_in_vain, hosts_silence(&land->hosts, members(part, 3), land_batond(land, 0)))
WAY(two_deaf, hosts_silence(&land->hosts, both_batonds(land), members(part, 2)))
WAY(two_lose_all, lose_all(land, part, 2))
WAY(three_lose_all, lose_all(land, part, 3))
WAY(one_loses_all_and_one_is_cut_off,
    (land_cut_off(land, members(part + 1, 1)), lose_all(land, part, 1)))
WAY(two_stop, two_do(land, part, redis_process_freeze))
WAY(two_go_on, two_do(land, part, redis_process_thaw))

static const struct campaign_fault SENTINEL_FAULTS[] = {
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
    {"not heard, with a batond", .replaced = true, .begin = silenced, .end = land_heal},
    {"deaf, with a batond", .replaced = true, .begin = deaf, .end = land_heal},
    {"a batond stands still", .with_a_batond = true},
};

static const struct campaign_fault CLUSTER_FAULTS[] = {
    {"cut off with a batond", .replaced = true, .begin = cut_off_with_a_batond, .end = land_heal},
    {"SIGSTOP, goes on cut off with a batond", .replaced = true, .begin = freeze_node_cut_off,
     .go_on = thaw_node, .end = land_heal},
    {"cut off from its replica, then SIGKILL", .replaced = true, .begin = kill_without_replica,
     .end = resume_node},
    {"SIGSTOP, together with a batond", .replaced = true, .with_a_batond = true,
     .begin = freeze_node, .end = thaw_node},
    {"SIGKILL", .replaced = true, .begin = kill_node, .end = resume_node},
    {"SIGSTOP", .replaced = true, .begin = freeze_node, .end = thaw_node},
    {"cut off with a batond and its replica", .begin = cut_off_with_its_replica, .end = land_heal},
    {"cut off, the batonds hear both sides", .replaced = true, .begin = land_cut_off_alone,
     .end = land_heal},
    {"cut off from its replica", .begin = cut_off_from_its_replica, .end = land_heal},
    {"cut off from a batond", .begin = cut_off_from_a_batond, .end = land_heal},
    {"not heard, with a batond", .replaced = true, .begin = silenced, .end = land_heal},
    {"deaf, with a batond", .replaced = true, .begin = deaf, .end = land_heal},
    {"a batond stands still", .with_a_batond = true},
};

static const struct campaign_fault ONE_FAULTS[] = {
    {"SIGKILL, and started anew", .begin = is_killed},
    {"SIGTERM, and started anew", .begin = is_ended},
};

static const struct campaign_fault QUORUM_FAULTS[] = {
    {"two cut off with a batond", .begin = two_cut_off_with_a_batond, .end = land_heal},
    {"two come back empty", .more = 1, .begin = two_lose_all, .end = land_heal},
    {"two slow", .begin = two_are_slow},
    {"one between two sides", .begin = one_between_two_sides, .end = land_heal},
    {"three hear a batond and are not heard by it", .begin = three_receive_in_vain,
     .end = land_heal},
    {"two hear and are not heard", .begin = two_are_silenced, .end = land_heal},
    {"two deaf", .begin = two_deaf, .end = land_heal},
    {"two SIGSTOP", .begin = two_stop, .end = two_go_on},
    {"one comes back empty, one is cut off", .more = 1, .begin = one_loses_all_and_one_is_cut_off,
     .end = land_heal},
    {"three come back empty", .more = 1, .begin = three_lose_all, .end = land_heal},
    {"a batond stands still", .with_a_batond = true},
};

static const struct campaign_setting SETTINGS[] = {
    {"Sentinel", "confirm=none, quarantine=off", .doubles = SOME_DOUBLE,
     .batond = {"--confirm=none", "--quarantine=off"}},
    {"Sentinel", "confirm=none, quarantine=off, min-replicas-to-write 1", .doubles = ANY_DOUBLE,
     .batond = {"--confirm=none", "--quarantine=off"},
     .redis = {"--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"}},
    {"Sentinel", "confirm=none", .quick = true, .doubles = NO_DOUBLE,
     .batond = {"--confirm=none", "--quarantine=auto"}},
    {"Sentinel", "confirm=replicas:1, quarantine=off", .keeps = 1, .doubles = ANY_DOUBLE,
     .batond = {"--confirm=replicas:1", "--quarantine=off"}},
    {"Sentinel", "confirm=replicas:1", .quick = true, .keeps = 1, .doubles = NO_DOUBLE,
     .batond = {"--confirm=replicas:1", "--quarantine=auto"}},
    {"Sentinel", "confirm=replicas:2", .keeps = 2, .doubles = NO_DOUBLE,
     .batond = {"--confirm=replicas:2", "--quarantine=auto"}},
    {"Cluster", "confirm=none, quarantine=off", .doubles = SOME_DOUBLE,
     .batond = {"--confirm=none", "--quarantine=off"}},
    {"Cluster", "confirm=none", .quick = true, .doubles = NO_DOUBLE,
     .batond = {"--confirm=none", "--quarantine=auto"}},
    {"Cluster", "confirm=replicas:1, quarantine=off", .keeps = 1, .doubles = ANY_DOUBLE,
     .batond = {"--confirm=replicas:1", "--quarantine=off"}},
    {"Cluster", "confirm=replicas:1", .quick = true, .keeps = 1, .doubles = NO_DOUBLE,
     .batond = {"--confirm=replicas:1", "--quarantine=auto"}},
    {"One Redis", "redis-keeps=unknown", .quick = true, .keeps = 1, .doubles = NO_DOUBLE,
     .batond = {"--quarantine=auto"}},
    {"One Redis", "redis-keeps=all", .quick = true, .keeps = 1, .doubles = NO_DOUBLE,
     .batond = {"--quarantine=auto", "--redis-keeps=all"}},
    {"Quorum", "quarantine=off", .doubles = ANY_DOUBLE, .batond = {"--quarantine=off"}},
    {"Quorum", "quarantine=auto", .quick = true, .keeps = 1, .doubles = NO_DOUBLE,
     .batond = {"--quarantine=auto"}},
};

/* The engines as a campaign wants them; primaries of a Cluster fall in turn */

static const char *start_sentinel(struct land *land, const struct campaign_setting *setting)
{
    land->beside = HOST(WATCHED_SERVERS);
    watched_start(&land->watched,
                  &(struct watched_options){.hosts = &land->hosts, .redis = setting->redis});
    return land->watched.url;
}

static const char *start_cluster(struct land *land, const struct campaign_setting *setting)
{
    (void)setting;
    clustered_start(&land->clustered, &(struct clustered_options){.hosts = &land->hosts});
    return land->clustered.url;
}

/* It writes each change to its disk before it answers. Its socket is on all hosts. */
static const char *start_one(struct land *land, const struct campaign_setting *setting)
{
    (void)setting;
    redis_process_start(&land->one, &(struct redis_options){.durable = true});
    return land->one.url;
}

static const char *start_quorum(struct land *land, const struct campaign_setting *setting)
{
    (void)setting;
    quorum_servers_start_on(&land->quorum, &(struct quorum_options){.hosts = &land->hosts});
    return land->quorum.url;
}

static void stop_sentinel(struct land *land)
{
    watched_stop(&land->watched);
}

static void stop_cluster(struct land *land)
{
    clustered_stop(&land->clustered);
}

static void stop_one(struct land *land)
{
    redis_process_stop(&land->one);
}

/* No member keeps a hold that nobody knows of. */
static void stop_quorum(struct land *land)
{
    char name[20];
    for (int i = 0; i < HOLDER_NAMES; i++) {
        snprintf(name, sizeof name, "held-%d", i);
        await_held_at(&land->quorum, name, 0);
    }
    quorum_servers_stop(&land->quorum);
}

static int next_of_sentinel(struct land *land, int round)
{
    (void)round;
    int primary = watched_await_peace(&land->watched);
    sides_await_ready(&land->sides, NULL);
    return primary;
}

static int next_of_cluster(struct land *land, int round)
{
    clustered_await_calm(&land->clustered);
    sides_await_ready(&land->sides, NULL);
    land->slot = round % CLUSTERED_PRIMARIES * CLUSTERED_SLOTS / CLUSTERED_PRIMARIES;
    int primary = clustered_primary(&land->clustered, land->slot);
    land->replica = clustered_replica(&land->clustered, primary);
    assert_true(land->replica >= 0);
    return primary;
}

static int next_of_one(struct land *land, int round)
{
    (void)round;
    sides_await_ready(&land->sides, NULL);
    return 0;
}

static int next_of_quorum(struct land *land, int round)
{
    sides_await_ready(&land->sides, "5 of 5");
    return round % QUORUM_MEMBERS;
}

WAY(other_of_sentinel, watched_await_other(&land->watched, part))

/* It is on the other side, and takes the place. */
static bool is_promoted(void *context)
{
    struct land *land = context;
    clock_sleep_ms(LOOK_MS);
    return clustered_view(&land->clustered, land->replica, land->slot) == land->replica;
}

static void other_of_cluster(struct land *land, int part)
{
    if (!clock_wait_until(is_promoted, land, SWITCH_MS))
        fail_msg("the replica of %d does not take its place", part);
}

/* A primary of a Cluster that is cut off stops before its TTL of 2 s, and another has started. In a
 * quorum it is calm when what was held by three alone has ended. */
static const struct campaign CAMPAIGNS[] = {
    {"Sentinel", WATCHED_SERVERS + WATCHED_SENTINELS, SENTINEL_FAULTS, LENGTH(SENTINEL_FAULTS), 2,
     .ttl_ms = 1000, .calm_ms = 1000, .apart_ms = 2500, .quarantine_ms = 7000, .stall_ms = 30000,
     start_sentinel, stop_sentinel, next_of_sentinel, other_of_sentinel},
    {"Cluster", CLUSTERED_NODES, CLUSTER_FAULTS, LENGTH(CLUSTER_FAULTS), 2, .ttl_ms = 2000,
     .calm_ms = 1500, .apart_ms = 3000, .quarantine_ms = 7000, .stall_ms = 15000, start_cluster,
     stop_cluster, next_of_cluster, other_of_cluster},
    {"One Redis", 0, ONE_FAULTS, LENGTH(ONE_FAULTS), 2, .ttl_ms = 1000, .calm_ms = 1000,
     .apart_ms = 2500, .quarantine_ms = 6000, .stall_ms = 30000, start_one, stop_one, next_of_one,
     NULL},
    {"Quorum", QUORUM_MEMBERS, QUORUM_FAULTS, LENGTH(QUORUM_FAULTS), 5, .ttl_ms = 1000,
     .calm_ms = 3000, .apart_ms = 2500, .quarantine_ms = 2500, .stall_ms = 8000, start_quorum,
     stop_quorum, next_of_quorum, NULL},
};

int main(void)
{
    return campaigns_run(CAMPAIGNS, LENGTH(CAMPAIGNS), SETTINGS, LENGTH(SETTINGS));
}
