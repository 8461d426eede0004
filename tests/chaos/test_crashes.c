/* A replica that is killed or frozen, a Redis that restarts or is frozen, a connection that is cut:
 * with hundreds of waiters parked, straight at both replicas. */
#include "tests/chaos/crew.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TTL_MS = 10000, SHORT_TTL_MS = 500, WAIT_MS = 50000, TIMEOUT_MS = 60000, BATCH = 25 };

/* What a busy machine may add to one claim window: few, where each waiter of a dead replica would
 * cost one if they were not passed over. */
enum { BUSY_MS = 2500 };

struct scene {
    struct stage stage;
    struct crew crew;
    struct member *holder;
    int64_t last_grant;
    int64_t longest_stall;
};

static struct scene *scene_of(struct member *member)
{
    return (struct scene *)((char *)member->crew - offsetof(struct scene, crew));
}

/* Notes how long nobody was granted the lock. */
static void granted(struct member *member)
{
    struct scene *scene = scene_of(member);
    if (scene->last_grant && member->granted - scene->last_grant > scene->longest_stall)
        scene->longest_stall = member->granted - scene->last_grant;
    scene->last_grant = member->granted;
}

/* One holds name 0, and `count` wait for it, in turn at both replicas, in batches whose order is
 * known. */
static void open_scene_for(struct scene *scene, const struct stage_options *options, int count,
                           bool patient, int64_t ttl_ms)
{
    memset(scene, 0, sizeof *scene);
    stage_start(&scene->stage, options);
    crew_start(&scene->crew, &scene->stage);
    struct part holder = {.way = TO_SECOND, .ttl_ms = 60000, .hold_us = FOR_EVER_US};
    scene->holder = crew_send(&scene->crew, &holder);
    assert_true(crew_await_grants(&scene->crew, 1, TIMEOUT_MS));
    for (int i = 0; i < count; i++) {
        struct part part = {.way = i % 2 ? TO_SECOND : TO_FIRST,
                            .ttl_ms = ttl_ms,
                            .wait_ms = WAIT_MS,
                            .keep_ms = patient ? 20000 : 0,
                            .patient = patient,
                            .pause_us = 50000};
        crew_send(&scene->crew, &part);
        if ((i + 1) % BATCH == 0)
            crew_await_queued(&scene->crew, 0, i + 1);
    }
    crew_play(&scene->crew, 200); /* their servers know that they wait, too */
    scene->crew.granted = granted;
}

static void open_scene(struct scene *scene, const struct stage_options *options, int count,
                       bool patient)
{
    open_scene_for(scene, options, count, patient, TTL_MS);
}

static void close_scene(struct scene *scene)
{
    crew_inspect(&scene->crew, 0);
    crew_check(&scene->crew);
    stage_await_free(&scene->stage, 0, WAITER_LEASE_MS + 2 * CLAIM_WINDOW_MS);
    stage_assert_no_leak(&scene->stage);
    print_message("%zu grants, longest stall %" PRId64 " ms\n", scene->crew.grants,
                  scene->longest_stall / 1000);
    crew_free(&scene->crew);
    stage_stop(&scene->stage);
}

/* All are over, and all that asked this way (WAYS: any) were granted the lock. */
static void assert_all_granted(struct scene *scene, enum way way)
{
    if (!crew_finish(&scene->crew, TIMEOUT_MS))
        print_error("not all come to an end\n");
    size_t failed = 0;
    for (size_t i = 0; i < scene->crew.count; i++) {
        const struct member *member = scene->crew.members[i];
        bool concerned = way == WAYS || member->home == way;
        if (concerned && member->act != DONE_WELL && failed++ < 3)
            crew_print(member);
    }
    assert_int_equal(failed, 0);
}

static void assert_stall(const struct scene *scene, int64_t most_ms)
{
    if (scene->longest_stall > most_ms * 1000)
        fail_msg("nobody was granted the lock for %" PRId64 " ms", scene->longest_stall / 1000);
}

/* The TTL is short: if the replica is killed between a claim and its answer, the hold ends with its
 * TTL alone. */
TEST(a_killed_replica_costs_the_others_one_claim_window_and_nobodys_place)
{
    struct scene scene;
    int count = stage_amount(1000, 200);
    open_scene_for(&scene, NULL, count, false, SHORT_TTL_MS);
    crew_release(scene.holder);
    assert_true(crew_await_grants(&scene.crew, (size_t)count / 10, TIMEOUT_MS));
    crew_disturb(&scene.crew, 0);
    stage_kill(&scene.stage, 0);
    crew_turn_to(&scene.crew, TO_SECOND);
    assert_all_granted(&scene, TO_SECOND);
    assert_stall(&scene, CLAIM_WINDOW_MS + BUSY_MS);
    close_scene(&scene);
}

/* It is killed while somebody else has the lock: at its turn, one of its waiters is granted it. */
TEST(a_replica_killed_while_all_wait_costs_the_others_one_claim_window)
{
    struct scene scene;
    open_scene(&scene, NULL, stage_amount(400, 100), false);
    crew_disturb(&scene.crew, 0);
    stage_kill(&scene.stage, 0);
    crew_play(&scene.crew, 200);
    crew_release(scene.holder);
    assert_all_granted(&scene, TO_SECOND);
    assert_stall(&scene, CLAIM_WINDOW_MS + BUSY_MS);
    close_scene(&scene);
}

/* Its waiters come back to the other replica with their tokens, and have their places. */
TEST(waiters_of_a_killed_replica_go_on_at_the_other)
{
    struct scene scene;
    open_scene(&scene, NULL, stage_amount(400, 100), true);
    crew_turn_to(&scene.crew, TO_SECOND);
    crew_disturb(&scene.crew, 0);
    stage_kill(&scene.stage, 0);
    crew_play(&scene.crew, 1000);
    crew_calm(&scene.crew, 0);
    crew_release(scene.holder);
    assert_all_granted(&scene, WAYS);
    assert_stall(&scene, CLAIM_WINDOW_MS + BUSY_MS);
    close_scene(&scene);
}

/* A replica that stands still for a time costs a claim window; its waiters keep their places. */
static void freeze(int64_t ms, bool released_before)
{
    struct scene scene;
    int count = stage_amount(400, 100);
    open_scene(&scene, NULL, count, false);
    if (released_before) {
        crew_release(scene.holder);
        crew_await_grants(&scene.crew, (size_t)count / 10, TIMEOUT_MS);
    }
    crew_disturb(&scene.crew, 0);
    process_signal(&scene.stage.batond[0].process, SIGSTOP);
    if (!released_before)
        crew_release(scene.holder);
    crew_play(&scene.crew, ms);
    process_signal(&scene.stage.batond[0].process, SIGCONT);
    scene.last_grant = 0; /* those left behind are all of the frozen one */
    assert_all_granted(&scene, WAYS);
    crew_calm(&scene.crew, 0);
    if (!released_before) /* else it may be a client of the frozen one that has the lock */
        assert_stall(&scene, CLAIM_WINDOW_MS + BUSY_MS);
    close_scene(&scene);
}

TEST(a_replica_frozen_for_longer_than_the_claim_window_loses_nobodys_place)
{
    freeze(CLAIM_WINDOW_MS * 2, false);
    freeze(CLAIM_WINDOW_MS * 2, true);
}

TEST(a_replica_frozen_for_longer_than_its_lease_loses_nobody)
{
    freeze(WAITER_LEASE_MS * 3 / 2, false);
}

/* Redis stands still, or restarts; whoever waits goes on waiting, and is granted the lock. */
static void assert_all_survive(struct scene *scene, int64_t settle_ms)
{
    crew_play(&scene->crew, settle_ms);
    crew_calm(&scene->crew, -1);
    crew_release(scene->holder);
    assert_all_granted(scene, WAYS);
    close_scene(scene);
}

static void freeze_redis(int64_t ms)
{
    struct scene scene;
    open_scene(&scene, NULL, stage_amount(400, 100), false);
    crew_disturb(&scene.crew, -1);
    redis_process_freeze(&scene.stage.redis);
    crew_play(&scene.crew, ms);
    redis_process_thaw(&scene.stage.redis);
    assert_all_survive(&scene, WAITER_LEASE_MS);
}

TEST(waiters_survive_a_redis_that_is_frozen_for_a_while)
{
    freeze_redis(2500);
}

TEST(waiters_survive_a_redis_that_is_frozen_for_longer_than_the_lease)
{
    freeze_redis(WAITER_LEASE_MS + 2000);
}

TEST(waiters_survive_a_redis_that_freezes_while_the_lock_goes_round)
{
    struct scene scene;
    int count = stage_amount(400, 100);
    open_scene(&scene, NULL, count, true);
    crew_release(scene.holder);
    crew_await_grants(&scene.crew, (size_t)count / 10, TIMEOUT_MS);
    crew_disturb(&scene.crew, -1);
    for (int i = 0; i < 3; i++) {
        redis_process_freeze(&scene.stage.redis);
        crew_play(&scene.crew, 300 + 700 * i);
        redis_process_thaw(&scene.stage.redis);
        crew_play(&scene.crew, 30);
    }
    crew_play(&scene.crew, 2000);
    crew_calm(&scene.crew, -1);
    assert_all_granted(&scene, WAYS);
    close_scene(&scene);
}

static void restart_redis(bool killed)
{
    struct scene scene;
    open_scene(&scene, &(struct stage_options){.durable = true}, stage_amount(400, 100), false);
    crew_disturb(&scene.crew, -1);
    if (killed)
        redis_process_kill(&scene.stage.redis);
    else
        redis_process_halt(&scene.stage.redis);
    crew_play(&scene.crew, 500);
    redis_process_resume(&scene.stage.redis);
    assert_all_survive(&scene, WAITER_LEASE_MS);
}

TEST(waiters_survive_a_restart_of_redis)
{
    restart_redis(false);
    restart_redis(true);
}

TEST(waiters_survive_the_loss_of_all_data)
{
    struct scene scene;
    open_scene(&scene, NULL, stage_amount(400, 100), false);
    crew_disturb(&scene.crew, -1);
    redis_process_kill(&scene.stage.redis);
    crew_play(&scene.crew, 300);
    redis_process_resume(&scene.stage.redis);
    crew_leave(scene.holder, true);  /* nothing is left of its hold */
    scene.holder->home = BY_HAPROXY; /* none of those that must be granted it */
    assert_all_granted(&scene, TO_FIRST);
    assert_all_granted(&scene, TO_SECOND);
    stage_await_free(&scene.stage, 0, 2 * CLAIM_WINDOW_MS);
    stage_assert_no_leak(&scene.stage);
    crew_free(&scene.crew);
    stage_stop(&scene.stage);
}

/* Wake-ups are lost while the inboxes are away; what was missed is looked for afterwards. */
TEST(a_cut_inbox_loses_no_wake_up)
{
    struct scene scene;
    int count = stage_amount(600, 150);
    open_scene(&scene, NULL, count, false);
    crew_release(scene.holder);
    crew_disturb(&scene.crew, -1);
    for (int i = 1; i <= 10; i++) {
        crew_await_grants(&scene.crew, (size_t)(count * i / 12), TIMEOUT_MS);
        freeReplyObject(redis_process_command(&scene.stage.redis, "CLIENT KILL TYPE pubsub"));
    }
    assert_all_granted(&scene, WAYS);
    crew_calm(&scene.crew, -1);
    assert_stall(&scene, CLAIM_WINDOW_MS + BUSY_MS);
    close_scene(&scene);
}

/* nftables: what one connection carries is dropped, without either side noticing. */
static bool drop(const struct stage *stage, const char *table)
{
    char script[600], rules[300] = "";
    redisReply *list =
        redis_process_command((struct redis_process *)&stage->redis, "CLIENT LIST TYPE pubsub");
    char *line = list->str, *address = strstr(line, "addr=127.0.0.1:");
    int port = address ? atoi(address + strlen("addr=127.0.0.1:")) : 0;
    freeReplyObject(list);
    assert_true(port > 0);
    snprintf(rules, sizeof rules,
             "add rule inet %s input tcp dport %d tcp sport %d drop; "
             "add rule inet %s input tcp dport %d tcp sport %d drop",
             table, port, stage->redis.port, table, stage->redis.port, port);
    snprintf(script, sizeof script,
             "PATH=$PATH:/usr/sbin:/sbin; nft 'add table inet %s; add chain inet %s input { type "
             "filter hook input priority 0; }; %s' 2>/dev/null",
             table, table, rules);
    return system(script) == 0; /* NOLINT(cert-env33-c): a fixed command */
}

TEST(a_dropped_inbox_loses_no_wake_up)
{
    struct scene scene;
    char table[40], undo[120];
    snprintf(table, sizeof table, "baton_chaos_%d", getpid());
    snprintf(undo, sizeof undo, "PATH=$PATH:/usr/sbin:/sbin; nft delete table inet %s 2>/dev/null",
             table);
    open_scene(&scene, &(struct stage_options){.redis_port = true, .workers = 1},
               stage_amount(400, 100), false);
    crew_disturb(&scene.crew, -1);
    if (!drop(&scene.stage, table)) {
        print_message("nftables may not be used here: skipped\n");
        crew_free(&scene.crew);
        stage_stop(&scene.stage);
        skip();
    }
    crew_release(scene.holder);
    crew_play(&scene.crew, 4000);
    assert_int_equal(system(undo), 0); /* NOLINT(cert-env33-c): a fixed command */
    assert_all_granted(&scene, WAYS);
    crew_calm(&scene.crew, -1);
    assert_stall(&scene, CLAIM_WINDOW_MS + 2000);
    close_scene(&scene);
}
