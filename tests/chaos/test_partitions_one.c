/* One Redis is killed or ended and started anew, with all that it had, while clients of two batonds
 * take locks all the time. */
#include "tests/chaos/campaign.h"
#include "tests/support/redis_process.h"

static void is_killed(struct land *land, int part)
{
    (void)part;
    redis_process_kill(&land->one);
    redis_process_resume(&land->one);
}

static void is_ended(struct land *land, int part)
{
    (void)part;
    redis_process_halt(&land->one);
    redis_process_resume(&land->one);
}

static const struct campaign_fault FAULTS[] = {
    {"SIGKILL, and started anew", .begin = is_killed},
    {"SIGTERM, and started anew", .begin = is_ended},
};

static const struct campaign_setting SETTINGS[] = {
    {.name = "redis-keeps=unknown",
     .quick = true,
     .keeps = 1,
     .doubles = NO_DOUBLE,
     .batond = {"--quarantine=auto"}},
    {.name = "redis-keeps=all",
     .quick = true,
     .keeps = 1,
     .doubles = NO_DOUBLE,
     .batond = {"--quarantine=auto", "--redis-keeps=all"}},
};

/* It writes each change to its disk before it answers. Its socket is on all hosts. */
static const char *start(struct land *land, const struct campaign_setting *setting)
{
    (void)setting;
    redis_process_start(&land->one, &(struct redis_options){.durable = true});
    return land->one.url;
}

static void stop(struct land *land)
{
    redis_process_stop(&land->one);
}

static int await_peace(struct land *land, int round)
{
    (void)round;
    sides_await_ready(&land->sides, NULL);
    return 0;
}

int main(void)
{
    static const struct campaign CAMPAIGN = {
        .engine = "One Redis",
        .faults = FAULTS,
        .fault_count = sizeof FAULTS / sizeof FAULTS[0],
        .settings = SETTINGS,
        .setting_count = sizeof SETTINGS / sizeof SETTINGS[0],
        .quick_cycles = 2,
        .ttl_ms = 1000,
        .calm_ms = 1000,
        .apart_ms = 2500,
        .quarantine_ms = 6000,
        .stall_ms = 30000,
        .start = start,
        .stop = stop,
        .await_peace = await_peace,
    };
    return campaign_run(&CAMPAIGN);
}
