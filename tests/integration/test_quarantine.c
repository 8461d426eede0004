/* While Redis may have lost locks that are still held, nothing is granted: however it came to that,
 * and to nobody. */
#include "tests/support/fixtures/pair.h"
#include "tests/support/fixtures/parked.h"

#include <stdlib.h>
#include <string.h>

enum {
    TTL_MS = 5000,
    LONG_TTL_MS = 8000,
    LONGEST_MS = TTL_MS + 2000 + 1500, /* of a quarantine after that, with what is rounded */
    NOTICED_MS = 1300,                 /* one look each second */
    GRACE_MS = 3000,
    PATIENCE_MS = CLOCK_HANG_MS,
};

static const char AUTO[] = "--quarantine=auto";
static const char FIRST[] = "0123456789012345678901", OTHER[] = "abcdefghijklmnopqrstuv",
                  THIRD[] = "ABCDEFGHIJKLMNOPQRSTUV";

TEST(a_redis_that_comes_back_empty_grants_nothing_for_a_while)
{
    struct pair pair;
    char token[TOKEN_TEXT];
    pair_open(&pair, NULL, AUTO);
    int64_t ends = clock_ms() + TTL_MS; /* at least */
    answers(pair.client[0], "POST /locks/n?ttl=5s", NULL, 201, NULL);
    int64_t fence = member_integer(pair.client[0], "fence");
    keep_token(pair.client[0], token);
    pair_restart(&pair);
    for (int i = 0; i < 2; i++) {
        answers(pair.client[i], "POST /locks/n?ttl=1s", NULL, 503, "quarantined");
        assert_string_equal(member_text(pair.client[i], "reason"), "server");
        assert_in_range(atoi(http_header(pair.client[i], "Retry-After")), 1, 10);
        /* A worker that was not told of the hold yet says less, until it hears of it. */
        while (quarantine_left_ms(pair.client[i]) < ends - clock_ms())
            answers(pair.client[i], "POST /locks/n?ttl=1s", NULL, 503, "quarantined");
        assert_in_range(quarantine_left_ms(pair.client[i]), 0, LONGEST_MS);
        answers(pair.client[i], "POST /locks", "{\"names\":[\"n\",\"m\"]}", 503, "quarantined");
        answers(pair.client[i], "GET /locks/n", NULL, 200, NULL);
        answers(pair.client[i], "GET /readyz?verbose", NULL, 200, NULL);
        assert_non_null(strstr(pair.client[i]->reply.body, "\"quarantine\""));
    }
    answers_token(pair.client[0], token, "PUT /locks/n", NULL, 409, "not_held");
    assert_granted_between(pair.client[1], "/locks/n?ttl=1s", ends, ends + PATIENCE_MS);
    assert_true(member_integer(pair.client[1], "fence") > fence);
    answers(pair.client[0], "POST /locks/m?ttl=1s", NULL, 201, NULL);
    pair_close(&pair);
}

/* Whoever asks all the while is not let in before it is known what Redis has lost. */
TEST(loss_that_is_not_yet_known_lets_nobody_in)
{
    struct pair pair;
    pair_open(&pair, NULL, "--quarantine=60s");
    answers(pair.client[0], "POST /locks/n?ttl=60s", NULL, 201, NULL);
    for (int cycle = 0; cycle < 5; cycle++) {
        int reported = 0;
        redis_process_kill(&pair.redis);
        redis_process_resume(&pair.redis);
        for (int64_t begun = clock_ms(); reported < 20 && clock_ms() < begun + PATIENCE_MS;) {
            http_call(pair.client[reported % 2], "POST", "/locks/n?ttl=60s", NULL);
            assert_int_equal(pair.client[reported % 2]->reply.status, 503);
            reported += is_quarantined(pair.client[reported % 2]);
        }
        assert_int_equal(reported, 20);
    }
    pair_close(&pair);
}

/* Whether this batond knows of the place of one that waits: Redis shows it earlier. */
static bool knows_who_waits(void *client)
{
    answers(client, "GET /stats", NULL, 200, NULL);
    return member(client, "waiting.0");
}

TEST(quarantine_end_grants_waiters_in_order)
{
    struct pair pair;
    struct parked *waits[3];
    pair_open(&pair, NULL, AUTO);
    int64_t ends = clock_ms() + LONG_TTL_MS; /* at least; a busy machine takes some of it */
    answers(pair.client[0], "POST /locks/n?ttl=8s", NULL, 201, NULL);
    waits[0] = parked_send(pair.batond[0].port, NULL, "POST /locks/n?ttl=500ms&wait=50s", NULL);
    assert_true(clock_wait_until(knows_who_waits, pair.client[0], PATIENCE_MS));
    pair_restart(&pair);
    assert_true(parked_waits(waits[0], 200));
    waits[1] = parked_send(pair.batond[1].port, NULL, "POST /locks/n?ttl=500ms&wait=50s", NULL);
    assert_true(parked_waits(waits[1], 100));
    waits[2] = parked_send(pair.batond[0].port, NULL, "POST /locks/n?wait=300ms", NULL);
    assert_int_equal(parked_answer(waits[2], PATIENCE_MS), 503);
    assert_string_equal(http_text(&waits[2]->client, "code"), "quarantined");
    assert_int_equal(parked_answer(waits[0], PATIENCE_MS), 201);
    assert_true(clock_ms() >= ends);
    assert_int_equal(parked_answer(waits[1], PATIENCE_MS), 201);
    assert_true(http_integer(&waits[1]->client, "fence") >
                http_integer(&waits[0]->client, "fence"));
    for (size_t i = 0; i < 3; i++)
        parked_close(waits[i]);
    pair_close(&pair);
}

/* At a place that is kept, and behind it. Nor does the version fall that the lock had before. */
static void assert_nobody_calls_it_locked(struct http_client *client, int64_t version)
{
    answers_token(client, OTHER, "POST /locks/kept?wait=1ms&keep=10s", NULL, 503, "quarantined");
    answers_token(client, OTHER, "POST /locks/kept?wait=0", NULL, 503, "quarantined");
    answers_token(client, THIRD, "POST /locks/kept", NULL, 503, "quarantined");
    answers_token(client, THIRD, "POST /locks/kept?wait=1ms", NULL, 503, "quarantined");
    answers(client, "GET /locks/kept", NULL, 200, NULL);
    assert_int_equal(member_integer(client, "queue_length"), 1);
    assert_true(member_integer(client, "version") > version);
}

TEST(redis_that_is_emptied_grants_nothing_from_then_on)
{
    struct pair pair;
    pair_open(&pair, NULL, AUTO);
    int64_t ends = clock_ms() + TTL_MS; /* at least */
    answers(pair.client[0], "POST /locks/n?ttl=5s", NULL, 201, NULL);
    answers_token(pair.client[0], FIRST, "POST /locks/kept?ttl=5s", NULL, 201, NULL);
    release_lock(pair.client[0], FIRST, "kept");
    int64_t version = member_integer(pair.client[0], "version");
    redis_process_flush(&pair.redis);
    for (int i = 0; i < 2; i++) {
        answers(pair.client[i], "POST /locks/n", NULL, 503, "quarantined");
        assert_string_equal(member_text(pair.client[i], "reason"), "epoch");
    }
    assert_nobody_calls_it_locked(pair.client[0], version);
    clock_sleep_ms(NOTICED_MS);
    answers(pair.client[0], "POST /locks/n", NULL, 503, "quarantined");
    assert_nobody_calls_it_locked(pair.client[1], version);
    assert_granted_between(pair.client[1], "/locks/n?ttl=1s", ends, ends + PATIENCE_MS);
    pair_close(&pair);
}

static bool has_epoch(void *context)
{
    redisReply *reply = redis_process_command(context, "EXISTS baton:epoch");
    bool found = reply->integer == 1;
    freeReplyObject(reply);
    return found;
}

static bool has_span_of_an_hour(void *context)
{
    redisReply *reply = redis_process_command(context, "HGET baton:epoch span");
    bool has = reply->type == REDIS_REPLY_STRING && strcmp(reply->str, "3600000000") == 0;
    freeReplyObject(reply);
    return has;
}

/* As if an older epoch had come back. */
TEST(span_that_an_epoch_has_lost_is_written_again)
{
    struct pair pair;
    pair_open(&pair, NULL, AUTO);
    answers(pair.client[0], "POST /locks/n?ttl=1h", NULL, 201, NULL);
    assert_true(has_span_of_an_hour(&pair.redis));
    freeReplyObject(redis_process_command(&pair.redis, "HSET baton:epoch span 0 before 0"));
    assert_true(clock_wait_until(has_span_of_an_hour, &pair.redis, PATIENCE_MS));
    pair_close(&pair);
}

/* Else nobody could release what fills it. */
TEST(a_full_redis_takes_the_epoch)
{
    struct pair pair;
    pair_open(&pair, NULL, "--quarantine=off");
    freeReplyObject(redis_process_command(&pair.redis, "CONFIG SET maxmemory 1"));
    freeReplyObject(redis_process_command(&pair.redis, "DEL baton:epoch"));
    assert_true(clock_wait_until(has_epoch, &pair.redis, PATIENCE_MS));
    pair_close(&pair);
}

TEST(quarantine_is_as_long_as_set)
{
    struct pair pair;
    pair_open(&pair, NULL, "--quarantine=60s");
    answers(pair.client[0], "POST /locks/n?ttl=2s", NULL, 201, NULL);
    pair_restart(&pair);
    answers(pair.client[0], "POST /locks/n", NULL, 503, "quarantined");
    assert_in_range(quarantine_left_ms(pair.client[0]), LONGEST_MS + 1, 60000);
    /* Somebody may end it, so asking again makes sense sooner. */
    assert_int_equal(member_integer(pair.client[0], "retry_after_ms"), 10000);
    assert_string_equal(http_header(pair.client[0], "Retry-After"), "10");
    pair_close(&pair);
    pair_open(&pair, NULL, "--quarantine=off");
    answers(pair.client[0], "POST /locks/n", NULL, 201, NULL);
    pair_restart(&pair);
    answers(pair.client[0], "POST /locks/n", NULL, 201, NULL);
    pair_close(&pair);
}

/* But for what others have granted just now, which they must say. */
static void assert_granted_without_quarantine(struct http_client *client, const char *path,
                                              int64_t but_ms)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    while (http_call(client, "POST", path, NULL) != 201) {
        assert_int_equal(client->reply.status, 503);
        if (is_quarantined(client))
            assert_in_range(quarantine_left_ms(client), 0, but_ms);
        assert_true(clock_ms() < until);
        clock_sleep_ms(10);
    }
}

TEST(there_is_none_where_nothing_can_be_lost)
{
    struct pair pair;
    pair_open(&pair, NULL, AUTO); /* a new Redis */
    answers(pair.client[0], "POST /locks/n?ttl=100ms", NULL, 201, NULL);
    clock_sleep_ms(2L * NOTICED_MS); /* all is over */
    pair_restart(&pair);
    assert_granted_without_quarantine(pair.client[0], "/locks/n?ttl=2s", GRACE_MS);
    /* Another connection to the same run. */
    freeReplyObject(redis_process_command(&pair.redis, "CLIENT KILL TYPE normal SKIPME yes"));
    for (int i = 0; i < 2; i++)
        assert_granted_without_quarantine(pair.client[i], i ? "/locks/m" : "/locks/o", 0);
    pair_close(&pair);
}

/* What the operator says holds for a restart, and for nothing else. */
TEST(redis_that_keeps_all_is_quarantined_only_without_its_epoch)
{
    struct pair pair;
    char token[TOKEN_TEXT];
    pair_open_with(&pair, &(struct redis_options){.durable = true},
                   LIST(AUTO, "--redis-keeps=all"));
    acquire_lock(pair.client[0], "n?ttl=10m", token);
    for (int i = 0; i < 2; i++) {
        pair_restart(&pair);
        answers(pair.client[i], "POST /locks/n", NULL, 409, "locked");
        answers_token(pair.client[1 - i], token, "PUT /locks/n", NULL, 200, NULL);
        assert_granted_without_quarantine(pair.client[i], i ? "/locks/m" : "/locks/o", 0);
    }
    redis_process_flush(&pair.redis);
    for (int i = 0; i < 2; i++)
        answers(pair.client[i], "POST /locks/n", NULL, 503, "quarantined");
    pair_close(&pair);
}

static int64_t loss_would_cost(struct http_client *client)
{
    answers(client, "GET /quarantine", NULL, 200, NULL);
    return member_integer(client, "loss_would_cost_ms");
}

static bool costs_as_for_ten_minutes(void *client)
{
    int64_t ms = loss_would_cost(client);
    return ms > 600000 && ms <= 600000 + 2000;
}

/* What a loss would cost is known before, to all; and that is what it costs. */
TEST(cost_of_a_loss_is_reported_before_it)
{
    struct pair pair;
    pair_open(&pair, NULL, AUTO);
    assert_int_equal(loss_would_cost(pair.client[0]), 0);
    answers(pair.client[0], "POST /locks/n?ttl=10m", NULL, 201, NULL);
    for (int i = 0; i < 2; i++)
        assert_true(clock_wait_until(costs_as_for_ten_minutes, pair.client[i], PATIENCE_MS));
    clock_sleep_ms(NOTICED_MS);
    int64_t begun = clock_ms(), cost = loss_would_cost(pair.client[0]);
    int64_t seconds = metric_of(pair.client[0], "baton_loss_would_cost_seconds");
    assert_in_range(seconds, (cost - (clock_ms() - begun)) / 1000 - 2, cost / 1000 + 3);
    pair_restart(&pair);
    answers(pair.client[0], "POST /locks/n", NULL, 503, "quarantined");
    int64_t left = quarantine_left_ms(pair.client[0]);
    assert_true(left + clock_ms() - begun >= cost - 500);
    assert_true(left <= cost + 1000); /* it is rounded up */
    pair_close(&pair);
}
