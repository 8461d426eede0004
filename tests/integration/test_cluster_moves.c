/* Slots of a Redis Cluster that move while batond works on it. */
#include "redis/types/result.h"
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <string.h>

enum { HALF_MS = 150 };

/* Nobody has told batond: it hears it from the node that it asks. */
TEST_ON_CLUSTER(a_slot_that_has_moved_is_found)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    for (int i = 0; i < 4; i++) {
        on_cluster_name(all, i % CLUSTERED_PRIMARIES, "moved-", i, name);
        answers(all->client[0], on_cluster_request(line, "POST", name, "?ttl=1m"), NULL, 201, NULL);
        keep_token(all->client[0], token);
        int64_t fence = http_integer(all->client[0], "fence");
        struct slot_move move = on_cluster_plan_move(all, name);
        clustered_move(&all->clustered, &move);
        answers_token(all->client[0], token, on_cluster_request(line, "PUT", name, "?ttl=1m"), NULL,
                      200, NULL);
        answers(all->client[1], on_cluster_request(line, "POST", name, ""), NULL, 409, "locked");
        answers_token(all->client[1], token, on_cluster_request(line, "DELETE", name, ""), NULL,
                      200, NULL);
        answers(all->client[1], on_cluster_request(line, "POST", name, ""), NULL, 201, NULL);
        assert_true(http_integer(all->client[1], "fence") > fence);
        on_cluster_move_back(all, move);
        answers(all->client[0], on_cluster_request(line, "DELETE", name, "?force=true"), NULL, 200,
                NULL);
    }
}

/* The queue goes along, and whoever is in it is woken. */
TEST_ON_CLUSTER(waiter_whose_slot_moves_is_woken)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        on_cluster_name(all, i, "queued-", i, name);
        on_cluster_acquire(all->client[0], name, "?ttl=1m", token);
        struct parked *first = on_cluster_wait(all, 1, name, "?wait=50s&ttl=600ms");
        struct parked *second = on_cluster_wait(all, 0, name, "?wait=50s&ttl=600ms");
        struct slot_move move = on_cluster_plan_move(all, name);
        clustered_move(&all->clustered, &move);
        answers_token(all->client[0], token, on_cluster_request(line, "DELETE", name, ""), NULL,
                      200, NULL);
        assert_int_equal(parked_answer(first, CLOCK_HANG_MS), 201);
        on_cluster_move_back(all, move);
        assert_int_equal(parked_answer(second, CLOCK_HANG_MS), 201); /* by its expiry */
        parked_close(first);
        parked_close(second);
    }
}

/* A request that was sent while a slot was on its way. Where that took longer than batond waits for
 * Redis, it was answered 503, and is repeated. */
struct early {
    struct parked *parked;
    int batond;
    int64_t sent;
    const char *token, *line;
};

static void send_early(struct on_cluster *all, struct early *early)
{
    int port = all->batond[early->batond].port;
    early->sent = clock_ms();
    early->parked = early->token ? parked_send_token(port, early->token, early->line)
                                 : parked_send(port, NULL, early->line, NULL);
}

static long answer_early(struct on_cluster *all, struct early *early)
{
    long status = parked_answer(early->parked, CLOCK_HANG_MS);
    if (status != 503 || clock_ms() - early->sent < redis_patience_ms())
        return status;
    parked_close(early->parked);
    send_early(all, early);
    return parked_answer(early->parked, CLOCK_HANG_MS);
}

/* With its keys in two places it is nowhere as a whole. Who asks meanwhile is answered when it has
 * arrived, and what was held is held. */
TEST_ON_CLUSTER(half_a_move_tears_nothing_apart)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    char renewal[ON_CLUSTER_LINE], acquire[ON_CLUSTER_LINE];
    on_cluster_name(all, 0, "torn-", 0, name);
    on_cluster_request(renewal, "PUT", name, "?ttl=2m");
    on_cluster_request(acquire, "POST", name, "");
    for (int carried = 0; carried < 3; carried++) {
        answers(all->client[0], on_cluster_request(line, "POST", name, "?ttl=1m&mode=shared"), NULL,
                201, NULL);
        keep_token(all->client[0], token);
        answers(all->client[0], on_cluster_request(line, "POST", name, "?ttl=1m&mode=shared"), NULL,
                201, NULL);
        struct parked *waits = on_cluster_wait(all, 1, name, "?wait=50s");
        struct slot_move move = on_cluster_plan_move(all, name);
        clustered_begin_move(&all->clustered, &move);
        for (int i = 0; i < carried; i++)
            clustered_carry(&all->clustered, &move, 1);
        struct early renews = {.batond = 0, .token = token, .line = renewal};
        struct early asks = {.batond = 1, .line = acquire};
        send_early(all, &renews);
        send_early(all, &asks);
        clock_sleep_ms(HALF_MS);
        while (clustered_carry(&all->clustered, &move, 1)) {
        }
        clustered_end_move(&all->clustered, &move);
        assert_int_equal(answer_early(all, &renews), 200);
        assert_int_equal(answer_early(all, &asks), 409);
        answers(all->client[0], on_cluster_request(line, "GET", name, ""), NULL, 200, NULL);
        assert_int_equal(http_integer(all->client[0], "hold_count"), 2);
        assert_int_equal(http_integer(all->client[0], "queue_length"), 1);
        answers(all->client[1], on_cluster_request(line, "DELETE", name, "?force=true"), NULL, 200,
                NULL);
        assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
        parked_close(renews.parked);
        parked_close(asks.parked);
        parked_close(waits);
        answers(all->client[1], on_cluster_request(line, "DELETE", name, "?force=true"), NULL, 200,
                NULL);
        on_cluster_move_back(all, move);
    }
}

/* A name that nobody has used has nothing at the old side, and may have something at the new one:
 * while the slot rests so, it is granted once at most, and then it stays granted. */
TEST_ON_CLUSTER(a_new_name_of_a_slot_that_moves_is_granted_once)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], target[ON_CLUSTER_LINE], token[TOKEN_TEXT];
    on_cluster_name(all, 1, "fresh-", 0, name);
    snprintf(target, sizeof target, "/locks/%s?ttl=1m", name);
    struct slot_move move = on_cluster_plan_move(all, name);
    int64_t fence = 0;
    clustered_begin_move(&all->clustered, &move);
    for (int i = 0; i < 4; i++) {
        struct http_client *client = all->client[i % 2];
        long status = http_call(client, "POST", target, NULL);
        assert_true(i == 0 ? status == 201 : status == 503 || status == 409);
        if (status != 201)
            continue;
        fence = http_integer(client, "fence");
        keep_token(client, token);
    }
    while (clustered_carry(&all->clustered, &move, 1)) {
    }
    clustered_end_move(&all->clustered, &move);
    answers_token(all->client[1], token, on_cluster_request(line, "PUT", name, "?ttl=1m"), NULL,
                  200, NULL);
    assert_int_equal(http_integer(all->client[1], "fence"), fence);
    answers(all->client[0], on_cluster_request(line, "POST", name, ""), NULL, 409, "locked");
    on_cluster_move_back(all, move);
}

/* What is in one key is in one place, at the old side or at the new one, where whoever is sent
 * there has to say so. However long the slot rests, such a lock is released there, and taken again.
 */
TEST_ON_CLUSTER(single_hold_is_served_on_its_way)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    for (int carried = 0; carried < 2; carried++) {
        on_cluster_name(all, 0, "lone-", carried, name);
        int64_t fence = on_cluster_take(all, 0, name, token);
        struct slot_move move = on_cluster_plan_move(all, name);
        clustered_begin_move(&all->clustered, &move);
        while (carried && clustered_carry(&all->clustered, &move, 1)) {
        }
        on_cluster_give(all, 1, name, token);
        assert_true(on_cluster_take(all, 0, name, token) > fence);
        while (clustered_carry(&all->clustered, &move, 1)) {
        }
        clustered_end_move(&all->clustered, &move);
        answers(all->client[1], on_cluster_request(line, "POST", name, ""), NULL, 409, "locked");
        on_cluster_give(all, 0, name, token);
        on_cluster_move_back(all, move);
    }
}

/* Replicas are asked for a key of Baton's own in a slot of their primary, the first ones of it:
 * these may move away. */
TEST_ON_CLUSTER(grants_are_confirmed_when_slots_have_moved)
{
    char name[ON_CLUSTER_NAME], line[ON_CLUSTER_LINE];
    for (int i = 0; i < 4; i++) {
        struct slot_move move = {i, 0, 1};
        on_cluster_name(all, 0, "marked-", i, name);
        clustered_move(&all->clustered, &move);
        answers(all->client[i % 2], on_cluster_request(line, "POST", name, "?confirm=replicas:1"),
                NULL, 201, NULL);
    }
    for (int i = 0; i < 4; i++)
        clustered_move(&all->clustered, &(struct slot_move){i, 1, 0});
    on_cluster_name(all, 1, "marked-", 4, name);
    answers(all->client[0], on_cluster_request(line, "POST", name, "?confirm=replicas:1"), NULL,
            201, NULL);
}

RUN_TESTS(on_cluster_start, on_cluster_stop)
