/* Nodes of a Redis Cluster whose clocks differ: it is told of, whoever comes later goes by it, and
 * a promoted replica ends nothing before its time. */
#include "tests/support/fixtures/on_clocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { SHORT_MS = 100, LASTS_MS = 2500, STRANGE = 1 };

static struct slot_move move_of(const char *name, int from, int to)
{
    return (struct slot_move){on_cluster_slot(name), from, to};
}

static void check_says(struct http_client *client, bool differ)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
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
static void batond_that_comes_later_reads_the_quarantine(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT], target[ON_CLUSTER_LINE];
    struct batond_process late;
    (void)state;
    stage_open(&stage, STRANGE, 3600, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&stage.all, 0, "later-", 0, name);
    on_cluster_acquire(stage.all.client[0], name, "?ttl=10m", token);
    struct slot_move move = move_of(name, 0, STRANGE);
    clustered_move(&stage.all.clustered, &move);
    assert_true(clock_wait_until(is_on_record, &stage, CLOCK_HANG_MS)); /* though nobody asks */
    struct http_client *client =
        batond_open(&late, stage.all.clustered.url, LIST("--quarantine=auto"));
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    answers(client, on_cluster_request(target, "POST", name, ""), NULL, 503, "quarantined");
    batond_close(&late, client);
    stage_close(&stage);
}

/* The slot moved while no batond ran, so that nobody has written anything of it; and where it went,
 * it is the first one, so that no record is found either. */
static void batond_that_comes_alone_notices_a_move_to_a_clock_ahead(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT], target[ON_CLUSTER_LINE];
    (void)state;
    stage_open(&stage, STRANGE, 3600, true);
    struct batond_options options = {.redis_url = stage.all.clustered.url,
                                     .arguments = LIST("--quarantine=auto")};
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        batond_process_start(&stage.all.batond[i], &options);
        stage.all.client[i] = http_client_new(stage.all.batond[i].url);
        assert_true(comes_to_answer(stage.all.client[i], "/readyz", 200, CLOCK_HANG_MS));
        if (i == 0) {
            on_cluster_name(&stage.all, 0, "alone-", 0, name);
            on_cluster_acquire(stage.all.client[0], name, "?ttl=10m", token);
            struct slot_move move = move_of(name, 0, STRANGE);
            assert_int_equal(batond_process_stop(&stage.all.batond[0]), 0);
            clustered_move(&stage.all.clustered, &move);
        }
    }
    answers(stage.all.client[1], on_cluster_request(target, "POST", name, ""), NULL, 503,
            "quarantined");
    stage_close(&stage);
}

/* Between nodes whose clocks agree nothing is held up, and where they differ nobody is before
 * something moves. */
static void differing_clocks_are_reported_and_cost_nothing(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME], line[ON_CLUSTER_LINE], token[TOKEN_TEXT];
    (void)state;
    stage_open(&stage, STRANGE, 3, true);
    on_cluster_start_batonds(&stage.all, LIST("--workers=2", "--quarantine=auto"));
    check_says(stage.all.client[0], true);
    assert_true(clock_wait_until(was_warned, &stage.all.batond[0], CLOCK_HANG_MS));
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        on_cluster_name(&stage.all, i, "any-", i, name);
        answers(stage.all.client[0], on_cluster_request(line, "POST", name, ""), NULL, 201, NULL);
    }
    on_cluster_name(&stage.all, 0, "agrees-", 0, name);
    on_cluster_acquire(stage.all.client[0], name, "?ttl=10m", token);
    struct slot_move move = move_of(name, 0, 2);
    clustered_move(&stage.all.clustered, &move);
    answers(stage.all.client[1], on_cluster_request(line, "POST", name, ""), NULL, 409, "locked");
    answers_token(stage.all.client[1], token, on_cluster_request(line, "DELETE", name, ""), NULL,
                  200, NULL);
    answers(stage.all.client[1], on_cluster_request(line, "POST", name, ""), NULL, 201, NULL);
    stage_close(&stage);
}

/* Clocks that agree are not spoken of. */
static void clocks_that_agree_are_not_told_of(void **state)
{
    struct on_cluster *all = *state;
    check_says(all->client[0], false);
    assert_false(was_warned(&all->batond[0]));
}

/* It has all that was granted, but ends it before its time. */
static void a_promoted_replica_whose_clock_is_ahead_grants_nothing_early(void **state)
{
    struct stage stage = {0};
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    (void)state;
    stage_open(&stage, CLUSTERED_PRIMARIES, 3600, false); /* the replica of the first */
    on_cluster_start_batonds(&stage.all,
                             LIST("--workers=1", "--quarantine=auto", "--confirm=replicas:1"));
    on_cluster_name(&stage.all, 0, "promoted-", 0, name);
    on_cluster_acquire(stage.all.client[0], name, "?ttl=10m", token);
    clock_sleep_ms(15L * SHORT_MS);
    clustered_kill(&stage.all.clustered, 0);
    clustered_await_other(&stage.all.clustered, on_cluster_slot(name), 0);
    int64_t until = clock_ms() + LASTS_MS;
    char target[ON_CLUSTER_LINE];
    snprintf(target, sizeof target, "/locks/%s?confirm=none", name);
    bool is_told = false;
    while (clock_ms() < until || (!is_told && clock_ms() < until + CLOCK_HANG_MS)) {
        struct http_client *client = stage.all.client[clock_ms() % 2];
        assert_int_not_equal(http_call(client, "POST", target, NULL), 201);
        const char *code = http_text(client, "code");
        is_told |= code && strcmp(code, "quarantined") == 0;
        clock_sleep_ms(SHORT_MS);
    }
    assert_true(is_told);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batond_that_comes_later_reads_the_quarantine),
        cmocka_unit_test(batond_that_comes_alone_notices_a_move_to_a_clock_ahead),
        cmocka_unit_test(differing_clocks_are_reported_and_cost_nothing),
        cmocka_unit_test_setup_teardown(clocks_that_agree_are_not_told_of, on_cluster_start,
                                        on_cluster_stop),
        cmocka_unit_test(a_promoted_replica_whose_clock_is_ahead_grants_nothing_early),
    };
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return cmocka_run_group_tests_name("cluster_clocks_known", tests, NULL, NULL);
}
