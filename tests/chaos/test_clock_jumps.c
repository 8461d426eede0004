/* The clock of Redis jumps, and back, while clients of two batonds hold locks: whether two count on
 * the same one, and how long it takes until that is noticed. */
#include "tests/chaos/holders.h"
#include "tests/chaos/sides.h"
#include "tests/chaos/stage.h"
#include "tests/chaos/verdict.h"
#include "tests/support/clock.h"
#include "tests/support/clustered.h"
#include "tests/support/cmocka.h"
#include "tests/support/faults/jumping_clock.h"
#include "tests/support/fixtures/service.h"
#include "tests/support/quorum.h"
#include "tests/support/redis_process.h"
#include "tests/support/watched.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    BATONDS = 2,
    CLIENTS = 6, /* of each */
    CALM_MS = 2000,
    NOTICED_MS = 5000,
    AFTER_MS = 6000, /* which a quarantine for the longest TTL leaves grants in */
    READY_MS = 10000,
};

struct engine;

struct jump {
    const char *name;
    const struct engine *engine;
    double seconds;
    bool quick;   /* also in the short form */
    bool noticed; /* and nothing is doubled; else something has to be */
    int servers;  /* of a quorum */
    const char *flags[3];
};

struct scene {
    const struct jump *jump;
    struct jumping_clock clock;
    struct redis_process redis;
    struct clustered clustered;
    struct quorum_servers quorum;
    struct batond_process batond[BATONDS];
    struct http_client *http[BATONDS];
    size_t read[BATONDS]; /* of their logs */
    struct holders holders;
    struct record record;
};

/* Engines; the clock is that of one server, or of as many as the jump says */

struct engine {
    const char *(*start)(struct scene *scene); /* returns its URL */
    void (*stop)(struct scene *scene);
};

static const char *start_one(struct scene *scene)
{
    redis_process_start(&scene->redis,
                        &(struct redis_options){.environment = scene->clock.environment});
    return scene->redis.url;
}

static void stop_one(struct scene *scene)
{
    redis_process_stop(&scene->redis);
}

/* The last third is where most of the names are. */
static const char *start_cluster(struct scene *scene)
{
    struct clustered_options options = {.environment = {NULL}};
    options.environment[CLUSTERED_PRIMARIES - 1] = scene->clock.environment;
    clustered_start(&scene->clustered, &options);
    return scene->clustered.url;
}

static void stop_cluster(struct scene *scene)
{
    clustered_stop(&scene->clustered);
}

static const char *start_quorum(struct scene *scene)
{
    struct quorum_options options = {.environment = {NULL}};
    for (int i = 0; i < scene->jump->servers; i++)
        options.environment[i] = scene->clock.environment;
    quorum_servers_start_on(&scene->quorum, &options);
    return scene->quorum.url;
}

static void stop_quorum(struct scene *scene)
{
    quorum_servers_stop(&scene->quorum);
}

static const struct engine ONE = {start_one, stop_one};
static const struct engine CLUSTER = {start_cluster, stop_cluster};
static const struct engine QUORUM = {start_quorum, stop_quorum};

#define AUTO                                                                                       \
    {                                                                                              \
        "--workers=1", "--quarantine=auto"                                                         \
    }
#define OFF                                                                                        \
    {                                                                                              \
        "--workers=1", "--quarantine=off"                                                          \
    }

static const struct jump JUMPS[] = {
    {"+60 s", &ONE, 60, true, true, 1, AUTO},
    {"-60 s", &ONE, -60, true, true, 1, AUTO},
    {"+1 h", &ONE, 3600, false, true, 1, AUTO},
    {"+60 s, quarantine=off", &ONE, 60, false, false, 1, OFF},
    {"+60 s, a Cluster's primary", &CLUSTER, 60, true, true, 1, AUTO},
    {"-60 s, a Cluster's primary", &CLUSTER, -60, false, true, 1, AUTO},
    {"+1 h, a Cluster's primary", &CLUSTER, 3600, false, true, 1, AUTO},
    {"+60 s, two of a quorum", &QUORUM, 60, true, true, 2, AUTO},
    {"-60 s, two of a quorum", &QUORUM, -60, false, true, 2, AUTO},
    {"+1 h, two of a quorum", &QUORUM, 3600, false, true, 2, AUTO},
    {"+60 s, three of a quorum", &QUORUM, 60, false, true, 3, AUTO},
    {"+60 s, three of a quorum, quarantine=off", &QUORUM, 60, false, false, 3, OFF},
};

/* A jump */

static void open_scene(struct scene *scene)
{
    jumping_clock_open(&scene->clock);
    const char *url = scene->jump->engine->start(scene);
    for (int i = 0; i < BATONDS; i++) {
        scene->http[i] = batond_open(&scene->batond[i], url, scene->jump->flags);
        assert_true(comes_to_answer(scene->http[i], "/readyz", 200, READY_MS));
        holders_add(&scene->holders, CLIENTS, -1, scene->batond[i].url);
    }
}

static void close_scene(struct scene *scene)
{
    for (int i = 0; i < BATONDS; i++)
        batond_close(&scene->batond[i], scene->http[i]);
    scene->jump->engine->stop(scene);
    jumping_clock_close(&scene->clock);
    record_free(&scene->record);
    free(scene);
}

/* Returns the milliseconds until a batond logs it. */
static int64_t jump_to(struct scene *scene, double seconds, bool is_noticed)
{
    int64_t begun = clock_ms(), noticed = -1;
    jumping_clock_set(&scene->clock, seconds);
    for (int i = 0; is_noticed && i < BATONDS; i++) {
        if (!process_wait_line(&scene->batond[i].process, "clock", &scene->read[i], NULL, 0,
                               NOTICED_MS))
            fail_msg("a batond does not notice that the clock jumped");
        noticed = clock_ms() - begun;
    }
    clock_sleep_ms(AFTER_MS);
    return noticed;
}

static size_t reported_since(const struct record *record, int64_t us)
{
    size_t count = 0;
    for (size_t i = 0; i < record->count; i++)
        count += is_grant(&record->events[i]) && record->events[i].received >= us;
    return count;
}

static void go_on_through_a_jump(void **state)
{
    const struct jump *jump = *state;
    struct scene *scene = calloc(1, sizeof *scene);
    struct verdict verdict;
    scene->jump = jump;
    open_scene(scene);
    holders_start(&scene->holders);
    clock_sleep_ms(CALM_MS);
    int64_t there = jump_to(scene, jump->seconds, jump->noticed);
    int64_t back = jump_to(scene, 0, jump->noticed);
    int64_t late = clock_us() - (int64_t)CALM_MS * 1000;
    holders_end(&scene->holders, &scene->record);
    verdict_sort(&scene->record);
    verdict_until(&scene->record, INT64_MAX, &verdict);
    verdict_pauses(&scene->record, 0, INT64_MAX, &verdict);
    print_message("| %s | %" PRId64 " ms, %" PRId64 " ms | %zu | %zu | %zu | %zu | %.1f s |\n",
                  jump->name, there, back, verdict.grants, verdict.lost, verdict.doubles,
                  verdict.backward + verdict.twins, (double)verdict.longest_of_name_us / 1e6);
    assert_true(reported_since(&scene->record, late) > 0);
    assert_int_equal(scene->holders.strange, 0);
    assert_int_equal(verdict.backward + verdict.twins, 0);
    assert_true((verdict.doubles == 0) == jump->noticed);
    close_scene(scene);
}

/* The replicas have another time than their primary, and the hold: who is promoted must not end it
 * by its own clock. */
static void a_replica_with_another_time_is_promoted(void **state)
{
    enum { TTL_MS = 6000, AHEAD_S = 60, TRIES_MS = 60000 };
    struct jumping_clock clock;
    enum { SERVERS = WATCHED_SERVERS + WATCHED_SENTINELS };
    struct hosts hosts;
    struct watched watched;
    struct sides sides;
    struct watched_options options = {.hosts = &hosts};
    (void)state;
    if (!hosts_open(&hosts, SERVERS + SIDES))
        skip();
    jumping_clock_open(&clock);
    jumping_clock_set(&clock, AHEAD_S);
    for (int i = 1; i < WATCHED_SERVERS; i++)
        options.environment[i] = clock.environment;
    watched_start(&watched, &options);
    sides_start(&sides, &hosts, SERVERS, watched.url,
                LIST("--confirm=replicas:2", "--quarantine=auto"));
    sides_await_ready(&sides, NULL);
    hosts_enter(&hosts, sides_host(&sides, 0));
    struct http_client *http = http_client_new(sides.batond[0].url);
    int64_t begun = clock_ms();
    assert_int_equal(http_call(http, "POST", "/locks/kept?ttl=6s", NULL), 201);
    int64_t fence = http_integer(http, "fence");
    redis_process_kill(&watched.servers[0]);
    watched_await_other(&watched, 0);
    watched_resume(&watched, 0); /* there have to be two that confirm */
    hosts_enter(&hosts, sides_host(&sides, 0));
    while (http_call(http, "POST", "/locks/kept?ttl=1s", NULL) != 201 &&
           clock_ms() - begun < TRIES_MS)
        clock_sleep_ms(20);
    int64_t ended = clock_ms();
    assert_int_equal(http->reply.status, 201);
    print_message(
        "a hold of %d ms, and a primary whose clock is ahead by %d s: granted to the next "
        "after %" PRId64 " ms\n",
        TTL_MS, AHEAD_S, ended - begun);
    assert_true(http_integer(http, "fence") > fence);
    http_client_free(http);
    hosts_leave(&hosts);
    sides_stop(&sides);
    watched_stop(&watched);
    hosts_close(&hosts);
    jumping_clock_close(&clock);
    assert_true(ended - begun >= TTL_MS);
}

int main(void)
{
    enum { JUMP_COUNT = sizeof JUMPS / sizeof JUMPS[0] };
    struct CMUnitTest tests[JUMP_COUNT + 1];
    size_t count = 0;
    for (int i = 0; i < JUMP_COUNT; i++)
        if (JUMPS[i].quick || stage_amount(1, 0))
            tests[count++] = (struct CMUnitTest){.name = JUMPS[i].name,
                                                 .test_func = go_on_through_a_jump,
                                                 .initial_state = (void *)(uintptr_t)&JUMPS[i]};
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_replica_with_another_time_is_promoted);
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return _cmocka_run_group_tests("clock jumps", tests, count, NULL, NULL);
}
