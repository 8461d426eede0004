/* How long a quarantine has to be: nobody is told of a hold before Redis knows how long it lasts,
 * and what nobody was granted makes none longer. */
#include "tests/support/faults/wire_delay.h"
#include "tests/support/fixtures/pair.h"
#include "tests/support/fixtures/parked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAY_MS = 40, FAR_MS = 200, TTL_MS = 60000, LONGEST_MS = TTL_MS + 2000 + 1500 };

static const char NO_TOKEN[] = "a-token-that-holds-nothing";

/* A batond that is far away from its Redis. */
struct far {
    struct redis_process redis;
    struct wire_delay wire;
    struct batond_process batond;
    struct http_client *client;
};

static void far_open(struct far *far, int ms, const char *flag)
{
    char url[64];
    redis_process_start(&far->redis, &(struct redis_options){.port = true});
    wire_delay_start(&far->wire, far->redis.port, ms);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", far->wire.port);
    far->client = batond_open(&far->batond, url, LIST("--workers=1", "--max-ttl=24h", flag));
    assert_true(comes_to_answer(far->client, "/readyz", 200, CLOCK_HANG_MS));
}

static void far_close(struct far *far)
{
    batond_close(&far->batond, far->client);
    wire_delay_stop(&far->wire);
    redis_process_stop(&far->redis);
}

/* No hold that may still run has a longer TTL, as the epoch has it. */
static int64_t remembered_ms(struct redis_process *redis)
{
    redisReply *reply = redis_process_command(redis, "HMGET baton:epoch span before");
    int64_t longest = 0;
    for (size_t i = 0; i < reply->elements; i++) {
        const char *text = reply->element[i]->str;
        int64_t ms = text ? strtoll(text, NULL, 10) / 1000 : 0;
        longest = ms > longest ? ms : longest;
    }
    freeReplyObject(reply);
    return longest;
}

/* A hold that was asked for at `begun` (by clock_ms) is in the epoch. */
#define assert_remembered(far, begun, ms)                                                          \
    assert_true(remembered_ms(&(far)->redis) >= (ms) - (clock_ms() - (begun)))

TEST(reported_hold_is_remembered)
{
    struct far far;
    char token[TOKEN_TEXT], second[TOKEN_TEXT];
    far_open(&far, WAY_MS, "--quarantine=auto");
    int64_t begun = clock_ms();
    answers(far.client, "POST /locks/n?ttl=2m", NULL, 201, NULL);
    assert_remembered(&far, begun, 120000);
    keep_token(far.client, token);
    begun = clock_ms();
    answers_token(far.client, token, "PUT /locks/n?ttl=4m", NULL, 200, NULL);
    assert_remembered(&far, begun, 240000);

    /* Who waits: let in by the release of another one at the same server. */
    struct parked *waits =
        parked_send(far.batond.port, NULL, "POST /locks/n?ttl=10m&wait=50s", NULL);
    assert_true(parked_waits(waits, 300));
    assert_true(remembered_ms(&far.redis) < 600000);
    begun = clock_ms();
    release_lock(far.client, token, "n");
    assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
    assert_remembered(&far, begun, 600000);
    keep_token(&waits->client, token);
    parked_close(waits);

    /* By one that ends by itself. */
    begun = clock_ms();
    answers(far.client, "POST /locks/m?ttl=500ms", NULL, 201, NULL);
    waits = parked_send(far.batond.port, NULL, "POST /locks/m?ttl=15m&wait=50s", NULL);
    assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
    assert_remembered(&far, begun, 900000);
    parked_close(waits);

    /* Of several names the last one, and then all of them. */
    begun = clock_ms();
    answers(far.client, "POST /locks", "{\"names\": [\"a\", \"b\"], \"ttl_ms\": 1200000}", 201,
            NULL);
    assert_remembered(&far, begun, 1200000);
    keep_token(far.client, second);
    begun = clock_ms();
    answers_token(far.client, token, "PUT /locks/n?ttl=30m", NULL, 200, NULL);
    assert_remembered(&far, begun, 1800000);

    begun = clock_ms();
    answers(far.client, "POST /locks/long?ttl=24h", NULL, 201, NULL);
    assert_remembered(&far, begun, 86400000);
    assert_int_equal(remembered_ms(&far.redis), 86400000);
    far_close(&far);
}

static bool is_granted(struct redis_process *redis)
{
    redisReply *held = redis_process_command(redis, "GET baton:{n}");
    bool is = held->type == REDIS_REPLY_STRING;
    freeReplyObject(held);
    return is;
}

/* Its answer says nothing of it before Redis has it, and then there is none. */
TEST(hold_that_redis_may_not_remember_is_not_reported)
{
    struct far far;
    far_open(&far, FAR_MS, "--quarantine=auto");
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (http_call(far.client, "POST", "/locks/short?ttl=1s", NULL) != 201)
        assert_true(clock_ms() < until); /* the way takes half the time that batond has for it */
    struct parked *asks = parked_send(far.batond.port, NULL, "POST /locks/n?ttl=1h", NULL);
    int64_t granted = clock_ms(); /* at the earliest */
    for (int64_t asked = granted; !is_granted(&far.redis) && parked_waits(asks, 1);) {
        granted = asked;
        asked = clock_ms();
    }
    clock_sleep_ms(FAR_MS + FAR_MS / 2); /* batond has heard so, and Redis not yet for how long */
    wire_delay_stop(&far.wire);
    far.wire = (struct wire_delay){0};
    int64_t took = clock_ms() - granted;
    long status = parked_answer(asks, CLOCK_HANG_MS);
    if (status == 201 && took > 2 * FAR_MS) {
        print_message("the machine is too slow\n");
    } else {
        assert_int_equal(status, 503);
        assert_string_equal(http_text(&asks->client, "code"), "store_unavailable");
    }
    parked_close(asks);
    far_close(&far);
}

/* As where Redis' data is other data by the time that it is to remember the hold. */
TEST(epoch_that_cannot_be_written_covers_no_longer_hold)
{
    struct service service;
    service_open(&service, NULL, LIST("--quarantine=auto", "--workers=1"));
    answers(service.client, "POST /locks/n?ttl=2s", NULL, 201, NULL);
    freeReplyObject(redis_process_command(
        &service.redis, "ACL SETUSER default resetkeys ~baton:[^e]* %%R~baton:epoch"));
    answers(service.client, "POST /locks/m?ttl=1m", NULL, 503, "store_unavailable");
    assert_non_null(strstr(service.client->reply.body, "not certain that Redis remembers"));
    answers(service.client, "GET /locks/m", NULL, 200, NULL); /* it was taken back */
    assert_string_equal(member_text(service.client, "state"), "free");
    answers(service.client, "POST /locks/m?ttl=1s", NULL, 201, NULL);
    service_close(&service);
}

TEST(refused_hold_makes_no_quarantine_longer)
{
    struct service service;
    char token[TOKEN_TEXT];
    service_open(&service, NULL, LIST("--quarantine=auto", "--max-ttl=24h"));
    struct http_client *client = service.client;
    int64_t ends = clock_ms() + TTL_MS; /* at least */
    acquire_lock(client, "n?ttl=1m", token);
    answers(client, "POST /locks/n?ttl=24h", NULL, 409, "locked");
    answers(client, "POST /locks/n?ttl=24h&wait=100ms", NULL, 409, "wait_timeout");
    answers_token(client, NO_TOKEN, "PUT /locks/n?ttl=24h", NULL, 409, "not_held");
    answers(client, "POST /locks", "{\"names\": [\"n\", \"o\"], \"ttl_ms\": 86400000}", 409,
            "locked");
    struct parked *gone =
        parked_send(service.batond.port, NULL, "POST /locks/n?ttl=24h&wait=50s", NULL);
    assert_true(parked_waits(gone, 100));
    parked_close(gone);
    assert_int_equal(remembered_ms(&service.redis), TTL_MS);
    redis_process_kill(&service.redis);
    redis_process_resume(&service.redis);
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    answers(client, "POST /locks/n", NULL, 503, "quarantined");
    assert_in_range(quarantine_left_ms(client), ends - clock_ms(), LONGEST_MS);
    service_close(&service);
}
