/* A Redis Cluster of six, and clients of two batonds that take hundreds of locks all the time: all
 * slots move from primary to primary and back, key by key; a primary comes and goes; primaries are
 * asked to step down, are killed, or stand still. */
#include "tests/chaos/patrol.h"
#include "tests/chaos/stage.h"
#include "tests/history/checker.h"
#include "tests/support/clock.h"
#include "tests/support/clustered.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/service.h"
#include "tests/support/seed.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 24,
    NAMES = 300,
    TTL_MS = 10000,
    READY_MS = 10000,
    CALM_MS = 1500,    /* before and after */
    MINUTE_MS = 60000, /* of moving */
    QUICK_MS = 10000,
    SPARSE = 64,     /* in the short form, of the slots without a name every so many */
    TORN_EVERY = 16, /* of the slots with a name, so many rest half moved */
    TORN_MS = 40,
    STALL_MS = 20000,
    ANSWER_MS = 2000, /* beyond the wait: "503 within a second", on a machine that is busy */
};

struct scene {
    struct clustered clustered;
    struct batond_process batond[PATROL_SERVERS];
    struct http_client *http[PATROL_SERVERS];
    struct patrol patrol;
    uint64_t seed;
    bool has_name[CLUSTERED_SLOTS];
    signed char owner[CLUSTERED_SLOTS];
    size_t moved, torn, rounds;
};

static void start(struct scene *scene, const char *confirm)
{
    scene->seed = seed_choose();
    clustered_start(&scene->clustered, NULL);
    struct patrol_plan plan = {
        .seed = scene->seed, .clients = CLIENTS, .names = NAMES, .ttl_ms = TTL_MS};
    for (int i = 0; i < PATROL_SERVERS; i++) {
        scene->http[i] = batond_open(&scene->batond[i], scene->clustered.url,
                                     LIST("--workers=2", "--claim-window=1s", "--waiter-lease=5s",
                                          "--confirm-timeout=1s", confirm));
        plan.urls[i] = scene->batond[i].url;
        assert_true(comes_to_answer(scene->http[i], "/readyz", 200, READY_MS));
    }
    for (int name = 0; name < NAMES; name++) {
        char key[40];
        patrol_key(name, key, sizeof key);
        scene->has_name[clustered_slot(key)] = true;
    }
    for (int slot = 0; slot < CLUSTERED_SLOTS; slot++)
        scene->owner[slot] =
            (signed char)(((slot + 1) * CLUSTERED_PRIMARIES - 1) / CLUSTERED_SLOTS);
    patrol_start(&scene->patrol, &plan);
    clock_sleep_ms(CALM_MS);
}

/* The names come free, as all that was acquired was released or has run out. */
static void await_free(struct scene *scene)
{
    struct http_client *http = scene->http[0];
    int64_t until = clock_ms() + TTL_MS + 10000;
    for (int name = 0; name < NAMES; name++) {
        char path[40];
        patrol_path(name, path, sizeof path);
        while (http_call(http, "GET", path, NULL) != 200 || http_integer(http, "hold_count") != 0 ||
               http_integer(http, "queue_length") != 0) {
            if (clock_ms() > until)
                fail_msg("%s does not come free: %s", path, http->reply.body);
            clock_sleep_ms(20);
        }
    }
}

static void check_history(const struct record *record, int64_t since, bool is_calm)
{
    struct findings findings;
    struct disturbance all = {.server = 0, .from = since, .to = clock_us() + TTL_MS * 1000};
    struct terms terms = {.claim_us = 1000000,
                          .slack_us = 1000000,
                          .settle_us = 1000000,
                          .is_confirmed = !is_calm,
                          .disturbances = is_calm ? NULL : &all,
                          .disturbance_count = is_calm ? 0 : 1};
    history_check_on(&terms, record->events, record->count, &findings);
    char *text = findings_text(&findings);
    print_message("%zu requests checked\n", record->count);
    if (findings.total)
        print_error("%s", text);
    free(text);
    assert_int_equal(findings.total, 0);
}

static void stop(struct scene *scene, struct record *ret)
{
    clock_sleep_ms(CALM_MS);
    patrol_stop(&scene->patrol, ret);
    await_free(scene);
    const struct patrol_counts *counts = &scene->patrol.counts;
    assert_true(counts->grants > 500);
    assert_true(counts->renewals > 50);
    assert_int_equal(counts->strange, 0);
    assert_int_equal(counts->silent, 0);
}

static void clean_up(struct scene *scene, struct record *record)
{
    record_free(record);
    for (int i = 0; i < PATROL_SERVERS; i++)
        batond_close(&scene->batond[i], scene->http[i]);
    clustered_stop(&scene->clustered);
    free(scene);
}

/* Where no server is lost, the order of those who wait is kept, too. */
static void end(struct scene *scene, int64_t since, bool is_calm)
{
    struct record record;
    stop(scene, &record);
    check_history(&record, since, is_calm);
    clean_up(scene, &record);
}

/* Key by key, resting before the first, between, and after the last. */
static void move_torn(struct scene *scene, const struct slot_move *move)
{
    clustered_begin_move(&scene->clustered, move);
    clock_sleep_ms(TORN_MS);
    bool more = clustered_carry(&scene->clustered, move, 1);
    clock_sleep_ms(TORN_MS);
    while (more)
        more = clustered_carry(&scene->clustered, move, 1);
    clock_sleep_ms(TORN_MS);
    while (clustered_carry(&scene->clustered, move, 1)) {
    }
    clustered_end_move(&scene->clustered, move);
    scene->torn++;
}

static void move_on(struct scene *scene, int slot, int to)
{
    struct slot_move move = {slot, scene->owner[slot], to};
    if (move.from == to)
        return;
    scene->moved++;
    if (scene->has_name[slot] && scene->moved % TORN_EVERY == 0)
        move_torn(scene, &move);
    else
        clustered_move(&scene->clustered, &move);
    scene->owner[slot] = (signed char)to;
}

static bool is_chosen(const struct scene *scene, int slot)
{
    return stage_amount(1, 0) || scene->has_name[slot] || slot % SPARSE == 0;
}

/* Of every slot from this one on, before the other. One primary gives and one takes: where several
 * took at the same time, two might claim a slot with the same epoch, and the nodes would not agree.
 */
static void move_range(struct scene *scene, int first, int last)
{
    int step = scene->rounds % 2 ? CLUSTERED_PRIMARIES - 1 : 1;
    for (int slot = first; slot < last; slot++)
        if (is_chosen(scene, slot))
            move_on(scene, slot, (scene->owner[slot] + step) % CLUSTERED_PRIMARIES);
    clustered_await_calm(&scene->clustered);
}

/* Every slot goes one primary on, then every slot comes back; half of each primary's first, since
 * one that has given its last slot away would become a replica. */
static void move_all(struct scene *scene)
{
    int64_t until = clock_ms() + stage_amount(MINUTE_MS, QUICK_MS);
    int parts = 2 * CLUSTERED_PRIMARIES;
    for (; clock_ms() < until || scene->rounds % 2; scene->rounds++)
        for (int i = 0; i < parts; i++) {
            int part = i % CLUSTERED_PRIMARIES * 2 + i / CLUSTERED_PRIMARIES;
            move_range(scene, part * CLUSTERED_SLOTS / parts, (part + 1) * CLUSTERED_SLOTS / parts);
        }
}

static void look(struct scene *scene, const char *what)
{
    struct patrol_counts counts = patrol_look(&scene->patrol);
    patrol_print(what, &counts);
    assert_in_range(counts.longest_stall, 0, STALL_MS);
    assert_in_range(counts.slowest, 0, ANSWER_MS + 2 * counts.longest_nap);
}

TEST(all_slots_move_back_and_forth)
{
    struct scene *scene = calloc(1, sizeof *scene);
    int64_t since = clock_us();
    start(scene, NULL);
    look(scene, "before");
    move_all(scene);
    print_message("%zu slots moved in %zu rounds, %zu of them slowly\n", scene->moved,
                  scene->rounds, scene->torn);
    look(scene, "slots that move");
    assert_true(scene->torn > 5);
    end(scene, since, true);
}

/* Of each primary a fourth of the slots that names are in, and back. */
TEST(a_primary_comes_and_goes)
{
    struct scene *scene = calloc(1, sizeof *scene);
    int64_t since = clock_us();
    start(scene, NULL);
    int node = clustered_add(&scene->clustered);
    static signed char before[CLUSTERED_SLOTS];
    memcpy(before, scene->owner, sizeof before);
    for (int slot = 0; slot < CLUSTERED_SLOTS; slot++)
        if (scene->has_name[slot] && slot % 4 == 0)
            move_on(scene, slot, node);
    clock_sleep_ms(CALM_MS);
    look(scene, "a fourth primary");
    for (int slot = 0; slot < CLUSTERED_SLOTS; slot++)
        move_on(scene, slot, before[slot]);
    clustered_await_calm(&scene->clustered);
    clustered_remove(&scene->clustered, node);
    clock_sleep_ms(CALM_MS);
    look(scene, "and without it");
    end(scene, since, true);
}

static void ask_for_it(struct clustered *clustered, int primary)
{
    clustered_fail_over(clustered, clustered_replica(clustered, primary));
}

static void nothing(struct clustered *clustered, int primary)
{
    (void)clustered, (void)primary;
}

static const struct way_out {
    const char *name;
    void (*go)(struct clustered *clustered, int primary);
    void (*come_back)(struct clustered *clustered, int primary);
} WAYS_OUT[] = {
    {"CLUSTER FAILOVER", ask_for_it, nothing},
    {"SIGKILL", clustered_kill, clustered_resume},
    {"SIGSTOP", clustered_freeze, clustered_thaw},
};

enum { WAYS_OUT_COUNT = sizeof WAYS_OUT / sizeof WAYS_OUT[0] };

static void fail_over(struct scene *scene, const struct way_out *way, int third)
{
    struct clustered *clustered = &scene->clustered;
    int slot = third * CLUSTERED_SLOTS / CLUSTERED_PRIMARIES;
    int old = clustered_primary(clustered, slot);
    way->go(clustered, old);
    clustered_await_other(clustered, slot, old);
    clock_sleep_ms(CALM_MS); /* with an old one that does not know of it */
    way->come_back(clustered, old);
    clustered_await_calm(clustered);
    clock_sleep_ms(CALM_MS);
    look(scene, way->name);
}

/* Where each grant is confirmed by a replica, what a client was told of is there after it. */
TEST(primaries_fall_in_turn)
{
    struct scene *scene = calloc(1, sizeof *scene);
    int64_t since = clock_us();
    start(scene, "--confirm=replicas:1");
    for (int i = 0; i < stage_amount(8, 1) * WAYS_OUT_COUNT; i++)
        fail_over(scene, &WAYS_OUT[i % WAYS_OUT_COUNT], i % CLUSTERED_PRIMARIES);
    end(scene, since, false);
}
