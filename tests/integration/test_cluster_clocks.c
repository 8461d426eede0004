/* Nodes of a Redis Cluster whose clocks differ: what moves from one to another, or is promoted, is
 * judged by another clock, and nobody is granted what somebody holds. */
#include "tests/support/faults/jumping_clock.h"
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { PATIENCE_MS = 15000, TTL_MS = 3000, LONG_MS = 6000, SHORT_MS = 100, STRANGE = 1 };

struct stage {
    struct on_cluster all;
    struct jumping_clock clock;
};

/* The clock of that node is so far ahead, or behind. */
static void open_stage(struct stage *stage, int strange, double seconds, bool no_replicas)
{
    jumping_clock_open(&stage->clock);
    jumping_clock_set(&stage->clock, seconds);
    struct clustered_options options = {.partial = no_replicas, .no_replicas = no_replicas};
    options.environment[strange] = stage->clock.environment;
    clustered_start(&stage->all.clustered, &options);
}

static void close_stage(struct stage *stage)
{
    on_cluster_close(&stage->all);
    jumping_clock_close(&stage->clock);
}

static struct slot_move move_of(const char *name, int from, int to)
{
    return (struct slot_move){on_cluster_slot(name), from, to};
}

/* Takes it, and returns the fence. Until `ret_ends` it is held for certain: that long after it was
 * asked for. */
static int64_t hold(struct stage *stage, const char *name, int ttl_ms, int64_t *ret_ends)
{
    char query[32], token[TOKEN_TEXT];
    snprintf(query, sizeof query, "?ttl=%dms", ttl_ms);
    *ret_ends = clock_ms() + ttl_ms;
    return on_cluster_acquire(stage->all.client[0], name, query, token);
}

/* Asks for it, and fails the test where that is granted before `ends`. */
static long ask_for(struct http_client *client, const char *name, int64_t ends)
{
    char target[ON_CLUSTER_LINE];
    snprintf(target, sizeof target, "/locks/%s?ttl=100ms", name);
    long status = http_call(client, "POST", target, NULL);
    if (status == 201 && clock_ms() < ends)
        fail_msg("granted %lld ms too early", (long long)(ends - clock_ms()));
    return status;
}

/* From now until `ends` nobody gets it, and then everybody does, by a greater fence. Returns
 * whether anybody was told of a quarantine. */
static bool is_granted_from(struct stage *stage, const char *name, int64_t ends, int64_t fence)
{
    int64_t until = ends + PATIENCE_MS;
    bool is_told = false;
    for (int i = 0; i < ON_CLUSTER_BATONDS;) {
        struct http_client *client = stage->all.client[i];
        int64_t begun = clock_ms();
        long status = ask_for(client, name, ends);
        const char *code = http_text(client, "code");
        is_told |= status == 503 && code && strcmp(code, "quarantined") == 0;
        if (status == 201 && http_integer(client, "fence") <= fence)
            fail_msg("a fence of %lld after %lld", (long long)http_integer(client, "fence"),
                     (long long)fence);
        if (begun >= until)
            fail_msg("not granted: %s", client->reply.body);
        if (status == 201)
            fence = http_integer(client, "fence");
        if (status == 201 || begun < ends)
            i = begun < ends ? (i + 1) % ON_CLUSTER_BATONDS : i + 1;
        clock_sleep_ms(SHORT_MS / 10);
    }
    return is_told;
}

static void check_says(struct http_client *client, bool differ)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    do {
        assert_true(clock_ms() < until);
        clock_sleep_ms(SHORT_MS);
        answers(client, "GET /readyz?verbose", NULL, 200, NULL);
    } while (!strstr(client->reply.body, "the clocks of the nodes of Redis differ by") == differ);
}

static bool was_warned(void *context)
{
    const struct batond_process *batond = context;
    clock_sleep_ms(SHORT_MS);
    char *output = process_output(&batond->process);
    bool was = strstr(output, "ahead of that of Redis at") != NULL;
    free(output);
    return was;
}

/* A clock that jumps is that of its node, whoever has answered last. */
static void a_jump_is_held_against_nobody_else(void **state)
{
    struct stage stage = {0};
    char jumps[ON_CLUSTER_NAME], stays[ON_CLUSTER_NAME], line[ON_CLUSTER_LINE], token[TOKEN_TEXT];
    (void)state;
    open_stage(&stage, STRANGE, 0, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&stage.all, STRANGE, "jumps-", 0, jumps);
    on_cluster_name(&stage.all, 0, "stays-", 0, stays);
    on_cluster_acquire(stage.all.client[0], jumps, "?ttl=20s", token);
    on_cluster_acquire(stage.all.client[0], stays, "?ttl=20s", token);
    clock_sleep_ms(15L * SHORT_MS);
    jumping_clock_set(&stage.clock, 60);
    answers(stage.all.client[0], on_cluster_request(line, "GET", stays, ""), NULL, 200, NULL);
    answers(stage.all.client[0], on_cluster_request(line, "POST", jumps, "?wait=0s"), NULL, 503,
            NULL);
    for (int i = 1; i < 20; i++) {
        on_cluster_name(&stage.all, 0, "stays-", i, stays);
        answers(stage.all.client[0], on_cluster_request(line, "POST", stays, ""), NULL, 201, NULL);
        clock_sleep_ms(SHORT_MS);
    }
    answers(stage.all.client[0], on_cluster_request(line, "POST", jumps, ""), NULL, 503,
            "quarantined");
    close_stage(&stage);
}

/* The very first who asks is sent away by the old node, and may not be granted it by the new one.
 */
static void a_hold_that_moves_to_a_clock_that_is_ahead_ends_no_earlier(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME];
    int64_t ends;
    (void)state;
    open_stage(&stage, STRANGE, 60, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&stage.all, 0, "moves-", 0, name);
    int64_t fence = hold(&stage, name, TTL_MS, &ends);
    struct slot_move move = move_of(name, 0, STRANGE);
    clustered_move(&stage.all.clustered, &move);
    assert_true(is_granted_from(&stage, name, ends, fence));
    close_stage(&stage);
}

/* Sent there as an exception, while the slot is on its way: to a node that has served nothing yet,
 * so that nobody has asked it for the time. */
static void nor_one_that_is_on_its_way(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME];
    int64_t ends;
    (void)state;
    open_stage(&stage, CLUSTERED_PRIMARIES, 60, true);
    int node = clustered_add(&stage.all.clustered);
    on_cluster_start_batonds(&stage.all, LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&stage.all, 0, "goes-", 0, name);
    int64_t fence = hold(&stage, name, LONG_MS, &ends);
    struct slot_move move = move_of(name, 0, node);
    clustered_begin_move(&stage.all.clustered, &move);
    while (clustered_carry(&stage.all.clustered, &move, 1)) {
    }
    for (int i = 0; i < 4; i++) {
        ask_for(stage.all.client[i % 2], name, ends);
        clock_sleep_ms(SHORT_MS);
    }
    clustered_end_move(&stage.all.clustered, &move);
    is_granted_from(&stage, name, ends, fence);
    close_stage(&stage);
}

/* Whoever waited for it is not handed it either. */
static void who_waits_gets_it_when_it_has_ended(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME];
    int64_t ends;
    (void)state;
    open_stage(&stage, STRANGE, 60, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&stage.all, 0, "queued-", 0, name);
    hold(&stage, name, LONG_MS, &ends);
    struct parked *waits = on_cluster_wait(&stage.all, 1, name, "?wait=40s&ttl=1s");
    struct slot_move move = move_of(name, 0, STRANGE);
    clustered_move(&stage.all.clustered, &move);
    assert_int_equal(parked_answer(waits, LONG_MS + PATIENCE_MS), 201);
    assert_true(clock_ms() >= ends);
    parked_close(waits);
    close_stage(&stage);
}

/* Whether a record of the strange node says that there is a quarantine. */
static bool is_on_record(void *context)
{
    struct clustered *clustered = &((struct stage *)context)->all.clustered;
    bool is_written = false;
    clock_sleep_ms(SHORT_MS);
    redisReply *keys = clustered_ask(clustered, STRANGE, "KEYS baton:epoch*");
    for (size_t i = 0; !is_written && i < keys->elements; i++) {
        redisReply *until =
            clustered_ask(clustered, STRANGE, "HGET %s until", keys->element[i]->str);
        is_written = until->type == REDIS_REPLY_STRING && strtoll(until->str, NULL, 10) > 0;
        freeReplyObject(until);
    }
    freeReplyObject(keys);
    return is_written;
}

/* A batond that has seen nothing of it goes by what the others have written. */
static void a_batond_that_comes_later_knows_of_it(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT], target[ON_CLUSTER_LINE];
    struct batond_process late;
    (void)state;
    open_stage(&stage, STRANGE, 60, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&stage.all, 0, "later-", 0, name);
    on_cluster_acquire(stage.all.client[0], name, "?ttl=1m", token);
    struct slot_move move = move_of(name, 0, STRANGE);
    clustered_move(&stage.all.clustered, &move);
    assert_true(clock_wait_until(is_on_record, &stage, PATIENCE_MS)); /* though nobody asks */
    batond_process_start(&late, &(struct batond_options){.redis_url = stage.all.clustered.url,
                                                         .arguments = LIST("--quarantine=auto")});
    struct http_client *client = http_client_new(late.url);
    assert_true(comes_to_answer(client, "/readyz", 200, PATIENCE_MS));
    answers(client, on_cluster_request(target, "POST", name, ""), NULL, 503, "quarantined");
    http_client_free(client);
    assert_int_equal(batond_process_stop(&late), 0);
    close_stage(&stage);
}

/* The slot moved while no batond ran, so that nobody has written anything of it; and where it went,
 * it is the first one, so that no record is found either. */
static void so_does_one_that_comes_alone(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT], target[ON_CLUSTER_LINE];
    (void)state;
    open_stage(&stage, STRANGE, 60, true);
    struct batond_options options = {.redis_url = stage.all.clustered.url,
                                     .arguments = LIST("--quarantine=auto")};
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        batond_process_start(&stage.all.batond[i], &options);
        stage.all.client[i] = http_client_new(stage.all.batond[i].url);
        assert_true(comes_to_answer(stage.all.client[i], "/readyz", 200, PATIENCE_MS));
        if (i == 0) {
            on_cluster_name(&stage.all, 0, "alone-", 0, name);
            on_cluster_acquire(stage.all.client[0], name, "?ttl=1m", token);
            struct slot_move move = move_of(name, 0, STRANGE);
            assert_int_equal(batond_process_stop(&stage.all.batond[0]), 0);
            clustered_move(&stage.all.clustered, &move);
        }
    }
    answers(stage.all.client[1], on_cluster_request(target, "POST", name, ""), NULL, 503,
            "quarantined");
    close_stage(&stage);
}

/* Between nodes whose clocks agree nothing is held up, and where they differ nobody is before
 * something moves. */
static void it_is_told_and_costs_nothing_meanwhile(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME], line[ON_CLUSTER_LINE], token[TOKEN_TEXT];
    (void)state;
    open_stage(&stage, STRANGE, 3, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=2", "--quarantine=auto"));
    check_says(stage.all.client[0], true);
    assert_true(clock_wait_until(was_warned, &stage.all.batond[0], PATIENCE_MS));
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        on_cluster_name(&stage.all, i, "any-", i, name);
        answers(stage.all.client[0], on_cluster_request(line, "POST", name, ""), NULL, 201, NULL);
    }
    on_cluster_name(&stage.all, 0, "agrees-", 0, name);
    on_cluster_acquire(stage.all.client[0], name, "?ttl=1m", token);
    struct slot_move move = move_of(name, 0, 2);
    clustered_move(&stage.all.clustered, &move);
    answers(stage.all.client[1], on_cluster_request(line, "POST", name, ""), NULL, 409, "locked");
    answers_token(stage.all.client[1], token, on_cluster_request(line, "DELETE", name, ""), NULL,
                  200, NULL);
    answers(stage.all.client[1], on_cluster_request(line, "POST", name, ""), NULL, 201, NULL);
    close_stage(&stage);
}

/* Clocks that agree are not spoken of. */
static void clocks_that_agree_are_not_told_of(void **state)
{
    struct on_cluster *all = *state;
    check_says(all->client[0], false);
    assert_false(was_warned(&all->batond[0]));
}

/* The other way round: a slot of a node that is lost with all that it had, and whose clock was
 * ahead, goes to one that numbers by its own. */
static void numbers_grow_where_the_clock_is_behind(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME];
    int64_t ends;
    (void)state;
    open_stage(&stage, STRANGE, 3600, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&stage.all, STRANGE, "numbered-", 0, name);
    int slot = on_cluster_slot(name);
    int64_t fence = hold(&stage, name, LONG_MS, &ends);
    clock_sleep_ms(15L * SHORT_MS); /* so that both know */
    clustered_kill(&stage.all.clustered, STRANGE);
    clock_sleep_ms(3L * CLUSTERED_DOWN_MS);
    for (int node = 0; node < CLUSTERED_PRIMARIES; node += 2)
        freeReplyObject(clustered_ask(&stage.all.clustered, node, "CLUSTER SETSLOT %d NODE %s",
                                      slot, stage.all.clustered.ids[0]));
    freeReplyObject(clustered_ask(&stage.all.clustered, 0, "CLUSTER BUMPEPOCH"));
    assert_true(is_granted_from(&stage, name, ends, fence));
    close_stage(&stage);
}

/* It has all that was granted, but ends it before its time. */
static void a_promoted_replica_whose_clock_is_ahead_grants_nothing_early(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    (void)state;
    open_stage(&stage, CLUSTERED_PRIMARIES, 60, false); /* the replica of the first */
    on_cluster_start_batonds(&stage.all,
                             LIST("--workers=1", "--quarantine=auto", "--confirm=replicas:1"));
    on_cluster_name(&stage.all, 0, "promoted-", 0, name);
    on_cluster_acquire(stage.all.client[0], name, "?ttl=1m", token);
    clock_sleep_ms(15L * SHORT_MS);
    clustered_kill(&stage.all.clustered, 0);
    clustered_await_other(&stage.all.clustered, on_cluster_slot(name), 0);
    int64_t until = clock_ms() + 5000;
    char target[ON_CLUSTER_LINE];
    snprintf(target, sizeof target, "/locks/%s?confirm=none", name);
    bool is_told = false;
    while (clock_ms() < until || (!is_told && clock_ms() < until + PATIENCE_MS)) {
        struct http_client *client = stage.all.client[clock_ms() % 2];
        assert_int_not_equal(http_call(client, "POST", target, NULL), 201);
        const char *code = http_text(client, "code");
        is_told |= code && strcmp(code, "quarantined") == 0;
        clock_sleep_ms(SHORT_MS);
    }
    assert_true(is_told);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_is_held_against_nobody_else),
        cmocka_unit_test(a_hold_that_moves_to_a_clock_that_is_ahead_ends_no_earlier),
        cmocka_unit_test(nor_one_that_is_on_its_way),
        cmocka_unit_test(who_waits_gets_it_when_it_has_ended),
        cmocka_unit_test(a_batond_that_comes_later_knows_of_it),
        cmocka_unit_test(so_does_one_that_comes_alone),
        cmocka_unit_test(it_is_told_and_costs_nothing_meanwhile),
        cmocka_unit_test_setup_teardown(clocks_that_agree_are_not_told_of, on_cluster_start,
                                        on_cluster_stop),
        cmocka_unit_test(numbers_grow_where_the_clock_is_behind),
        cmocka_unit_test(a_promoted_replica_whose_clock_is_ahead_grants_nothing_early),
    };
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return cmocka_run_group_tests_name("cluster_clocks", tests, NULL, NULL);
}
