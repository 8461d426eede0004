/* SIGTERM with a time to drain: clients are sent elsewhere, and lose nothing by it. Most of it is
 * told with a time that never passes, which another signal ends. */
#include "tests/support/fixtures/parked.h"

#include <signal.h>
#include <string.h>

enum { GRACE_MS = 500, SLACK_MS = 20 };

#define TOKEN "abcdefghijklmnopqrstuvwx"

/* What is sent to whom: one of them is about to stop, the other stays. */
struct stage {
    struct service service;
    struct batond_process stopping;
    struct http_client *client; /* of the one that stops */
    int64_t begun;
};

static void enter(struct stage *stage, const char *drain)
{
    service_open(&stage->service, NULL, NULL);
    stage->client = batond_open(&stage->stopping, stage->service.redis.url, LIST("--drain", drain));
    answers(stage->client, "GET /readyz", NULL, 200, NULL);
}

static bool is_said(struct stage *stage, const char *text)
{
    return process_wait_line(&stage->stopping.process, text, NULL, NULL, 0, CLOCK_HANG_MS);
}

static void begin_draining(struct stage *stage)
{
    stage->begun = clock_ms();
    process_signal(&stage->stopping.process, SIGTERM);
    assert_true(is_said(stage, "\"draining"));
}

/* Ended well, and not before its time. */
static void ends_after(struct stage *stage, int64_t least_ms)
{
    assert_true(process_wait(&stage->stopping.process, CLOCK_HANG_MS));
    int64_t took = clock_ms() - stage->begun;
    if (took < least_ms)
        fail_msg("it ended after %d ms", (int)took);
}

/* The grace is over. */
static void end_draining(struct stage *stage)
{
    process_signal(&stage->stopping.process, SIGTERM);
}

static void leave(struct stage *stage)
{
    batond_close(&stage->stopping, stage->client);
    service_close(&stage->service);
}

TEST(readiness_is_denied_and_all_else_served)
{
    struct stage stage;
    enter(&stage, "10m");
    begin_draining(&stage);
    answers(stage.client, "GET /readyz", NULL, 503, "draining");
    answers(stage.client, "GET /livez", NULL, 200, NULL);
    answers(stage.client, "GET /metrics", NULL, 200, NULL);
    assert_non_null(strstr(stage.client->reply.body, "\nbaton_draining 1\n"));
    answers(stage.client, "POST /locks/late?owner=me&reentrant", NULL, 201, NULL);
    assert_string_equal(http_header(stage.client, "Connection"), "close");
    struct http_client *newcomer = http_client_new(stage.stopping.url);
    answers(newcomer, "POST /locks/late?owner=me&reentrant", NULL, 201, NULL);
    http_client_free(newcomer);
    end_draining(&stage);
    ends_after(&stage, 0);
    leave(&stage);
}

TEST(waiter_may_still_be_granted)
{
    struct stage stage;
    char token[TOKEN_TEXT];
    enter(&stage, "10m");
    acquire_lock(stage.service.client, "turn?ttl=10m", token);
    struct parked *before =
        parked_send(stage.stopping.port, NULL, "POST /locks/turn?wait=50s", NULL);
    comes_to_queue(stage.service.client, "turn", 1);
    begin_draining(&stage);
    release_lock(stage.service.client, token, "turn");
    assert_int_equal(parked_answer(before, CLOCK_HANG_MS), 201);
    parked_close(before);
    end_draining(&stage);
    ends_after(&stage, 0);
    leave(&stage);
}

/* Before, a balancer might send them to the same batond again. */
TEST(waiter_is_answered_at_the_end)
{
    struct stage stage;
    char token[TOKEN_TEXT];
    enter(&stage, "10m");
    acquire_lock(stage.service.client, "turn?ttl=10m", token);
    struct parked *waits =
        parked_send_token(stage.stopping.port, TOKEN, "POST /locks/turn?wait=50s");
    begin_draining(&stage);
    struct parked *late = parked_send(stage.stopping.port, NULL, "POST /locks/turn?wait=50s", NULL);
    comes_to_queue(stage.service.client, "turn", 2);
    assert_true(parked_waits(waits, 0));
    end_draining(&stage);
    assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 503);
    assert_string_equal(http_text(&waits->client, "code"), "draining");
    assert_string_equal(http_text(&waits->client, "token"), TOKEN);
    assert_int_equal(parked_answer(late, CLOCK_HANG_MS), 503);
    parked_close(waits);
    waits = parked_send_token(stage.service.batond.port, TOKEN, "POST /locks/turn?wait=50s");
    release_lock(stage.service.client, token, "turn");
    assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
    parked_close(waits);
    parked_close(late);
    leave(&stage);
}

TEST(streams_go_on_until_the_end)
{
    struct stage stage;
    enter(&stage, "10m");
    struct parked *old =
        parked_send_token(stage.stopping.port, TOKEN, "POST /locks/stream?hold=connection&ttl=6s");
    assert_true(parked_receives(old, "granted", CLOCK_HANG_MS));
    begin_draining(&stage);
    struct parked *late =
        parked_send(stage.stopping.port, NULL, "POST /locks/late?hold=connection&ttl=6s", NULL);
    assert_true(parked_receives(late, "granted", CLOCK_HANG_MS));
    assert_true(parked_receives(late, "heartbeat", CLOCK_HANG_MS));
    assert_true(parked_receives(old, "heartbeat", CLOCK_HANG_MS));
    end_draining(&stage);
    assert_true(parked_receives(old, "draining", CLOCK_HANG_MS));
    assert_true(parked_receives(late, "draining", CLOCK_HANG_MS));
    assert_true(parked_ends(old, CLOCK_HANG_MS));
    parked_close(old);
    parked_close(late);
    leave(&stage);
}

TEST(the_grace_lasts_as_long_as_it_is_set)
{
    struct stage stage;
    enter(&stage, "500ms");
    begin_draining(&stage);
    ends_after(&stage, GRACE_MS - SLACK_MS);
    leave(&stage);
}

TEST(another_signal_ends_the_grace)
{
    static const int SIGNALS[] = {SIGTERM, SIGINT};
    struct stage stage;
    for (int i = 0; i < 2; i++) {
        enter(&stage, "10m");
        begin_draining(&stage);
        process_signal(&stage.stopping.process, SIGNALS[i]);
        ends_after(&stage, 0);
        leave(&stage);
    }
}

TEST(ctrl_c_does_not_wait)
{
    struct stage stage;
    enter(&stage, "10m");
    stage.begun = clock_ms();
    process_signal(&stage.stopping.process, SIGINT);
    assert_true(is_said(&stage, "\"stopping\""));
    ends_after(&stage, 0);
    leave(&stage);
}

TEST(a_batond_with_a_redis_of_its_own_does_not_drain)
{
    struct batond_process batond;
    batond_process_start(&batond, &(struct batond_options){.arguments = LIST("--drain=10m")});
    process_signal(&batond.process, SIGTERM);
    assert_true(process_wait(&batond.process, CLOCK_HANG_MS));
    assert_int_equal(batond_process_stop(&batond), 0);
}
