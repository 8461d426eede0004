/* Redis away, stuck, full, forgetful or of the wrong kind: what clients hear, and that it passes.
 * How soon they hear it is asserted in tests/timing/test_redis_losses.c. */
#include "tests/support/faults/wire_delay.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/fixtures/service.h"
#include "tests/support/free_port.h"
#include "tests/support/raw.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char TOKEN[] = "my-token-0123456789abcdef";

/* Every operation that needs Redis. */
static const char *const OPERATIONS[] = {
    "POST /locks/a", "PUT /locks/a", "DELETE /locks/a", "DELETE /locks/a?force=true",
    "GET /locks/a",  "GET /locks",   "GET /readyz",
};

static bool is_forced(const char *request)
{
    return strstr(request, "force") != NULL;
}

/* Each operation answers 503, and says when to come again. */
static void all_get_503(struct http_client *client)
{
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++) {
        const char *token =
            is_forced(OPERATIONS[i]) ? "X-None: 1" : "Lock-Token: my-token-0123456789abcdef";
        answers_with(client, token, OPERATIONS[i], NULL, 503, "store_unavailable");
        assert_string_equal(http_header(client, "Retry-After"), "1");
        if (strncmp(OPERATIONS[i], "POST", 4) == 0)
            assert_string_equal(http_text(client, "token"), TOKEN);
        else
            assert_null(member(client, "token"));
    }
    answers(client, "POST /locks/a", NULL, 503, "store_unavailable");
    assert_int_equal(strlen(http_text(client, "token")), 22);
    answers_with(client, "Accept: text/plain", "POST /locks/a", NULL, 503, NULL);
    assert_int_equal(strncmp(client->reply.body, "store_unavailable: ", 19), 0);
    answers(client, "GET /livez", NULL, 200, NULL);
    answers(client, "GET /metrics", NULL, 200, NULL);
    answers(client, "GET /locks/%00", NULL, 400, "invalid_name");
    assert_int_equal(http_call(client, "HEAD", "/readyz", NULL), 503);
}

/* Redis is there again: the service resumes by itself. */
static void resumes(struct http_client *client)
{
    if (!comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS))
        fail_msg("not ready: %s", client->reply.body);
}

TEST(a_redis_that_goes_and_comes_back)
{
    struct service service;
    char token[TOKEN_TEXT];
    service_open(&service, &(struct redis_options){.durable = true}, NULL);
    acquire_lock(service.client, "kept?ttl=10m", token);
    int64_t fence = http_integer(service.client, "fence");
    redis_process_halt(&service.redis);
    all_get_503(service.client);

    redis_process_resume(&service.redis);
    resumes(service.client);
    answers_token(service.client, token, "PUT /locks/kept", NULL, 200, NULL);
    assert_int_equal(http_integer(service.client, "fence"), fence);
    release_lock(service.client, token, "kept");
    answers(service.client, "POST /locks/kept", NULL, 201, NULL);
    assert_true(http_integer(service.client, "fence") > fence);
    service_close(&service);
}

/* It stands still for longer than batond waits without the setting. */
TEST(redis_timeout_is_a_setting)
{
    struct service service;
    service_open(&service, NULL, LIST("--redis-timeout=1m"));
    answers(service.client, "GET /readyz", NULL, 200, NULL);
    redis_process_freeze(&service.redis);
    struct parked *asks = parked_send(service.batond.port, NULL, "POST /locks/a", NULL);
    clock_sleep_ms(2000);
    redis_process_thaw(&service.redis);
    assert_int_equal(parked_answer(asks, CLOCK_HANG_MS), 201);
    parked_close(asks);
    service_close(&service);
}

/* Each of the first answers comes in its time, and all together take longer than a second. */
TEST(slow_redis_at_the_start_gives_no_503)
{
    enum { EACH_WAY_MS = 300 };
    struct redis_process redis;
    struct batond_process batond;
    struct wire_delay wire = {0};
    char url[64];
    redis_process_start(&redis, &(struct redis_options){.port = true});
    wire_delay_start(&wire, redis.port, EACH_WAY_MS);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", wire.port);
    struct http_client *client = batond_open(&batond, url, NULL);
    answers(client, "POST /locks/a", NULL, 201, NULL);
    batond_close(&batond, client);
    wire_delay_stop(&wire);
    redis_process_stop(&redis);
}

/* The connection stands, and nothing comes back. */
TEST(a_redis_that_is_stuck)
{
    struct service service;
    service_open(&service, NULL, NULL);
    answers(service.client, "GET /readyz", NULL, 200, NULL);
    redis_process_freeze(&service.redis);
    all_get_503(service.client);
    redis_process_thaw(&service.redis);
    resumes(service.client);
    int64_t deadline = clock_ms() + CLOCK_HANG_MS; /* all that was in doubt is taken back */
    do
        answers(service.client, "GET /locks/a", NULL, 200, NULL);
    while (http_integer(service.client, "hold_count") > 0 && clock_ms() < deadline);
    answers(service.client, "POST /locks/a", NULL, 201, NULL);
    service_close(&service);
}

TEST(a_full_redis_grants_nothing_and_releases)
{
    struct service service;
    char token[TOKEN_TEXT];
    service_open(&service, NULL, NULL);
    acquire_lock(service.client, "full", token);
    freeReplyObject(redis_process_command(&service.redis, "CONFIG SET maxmemory 1"));
    answers(service.client, "POST /locks/other", NULL, 503, "store_unavailable");
    static const char FULL[] =
        "Redis is full, so nothing was done. Raise its maxmemory, or wait until "
        "locks have ended (Redis says: OOM ";
    assert_int_equal(strncmp(http_text(service.client, "detail"), FULL, sizeof FULL - 1), 0);
    assert_string_equal(http_header(service.client, "Retry-After"), "1");
    assert_non_null(http_text(service.client, "token"));
    answers(service.client, "GET /readyz", NULL, 503, "store_unavailable");
    answers_token(service.client, token, "GET /locks/full", NULL, 200, NULL);
    assert_true(json_is_true(member(service.client, "mine")));
    answers_token(service.client, token, "PUT /locks/full", NULL, 200, NULL);
    release_lock(service.client, token, "full");
    answers(service.client, "GET /locks/full", NULL, 200, NULL);
    assert_string_equal(http_text(service.client, "state"), "free");

    freeReplyObject(redis_process_command(&service.redis, "CONFIG SET maxmemory 0"));
    answers(service.client, "GET /readyz", NULL, 200, NULL);
    answers(service.client, "POST /locks/other", NULL, 201, NULL);
    service_close(&service);
}

TEST(a_redis_that_comes_later)
{
    struct redis_process redis;
    struct batond_process batond;
    redis_process_start(&redis, &(struct redis_options){.port = true});
    redis_process_halt(&redis);
    struct http_client *client = batond_open(&batond, redis.port_url, NULL);
    answers(client, "POST /locks/a", NULL, 503, "store_unavailable");
    assert_null(strstr(client->reply.body, redis.port_url)); /* that is for the log */
    assert_true(process_wait_line(&batond.process, redis.port_url, NULL, NULL, 0, CLOCK_HANG_MS));
    all_get_503(client);
    redis_process_resume(&redis);
    resumes(client);
    answers(client, "POST /locks/a", NULL, 201, NULL);
    batond_close(&batond, client);
    redis_process_stop(&redis);
}

/* Asks as soon as anybody listens, which is before batond says so. */
TEST(request_right_after_the_start_is_served)
{
    enum { STARTS = 10 };
    static const char REQUEST[] = "POST /locks/first?mode=shared HTTP/1.1\r\nHost: h\r\n\r\n";
    struct redis_process redis;
    redis_process_start(&redis, NULL);
    for (int i = 0; i < STARTS; i++) {
        struct batond_process batond;
        char listen[64], reply[4096];
        int port = free_port(), fd = -1;
        snprintf(listen, sizeof listen, "--listen=127.0.0.1:%d", port);
        batond_process_launch(
            &batond, &(struct batond_options){.redis_url = redis.url, .arguments = LIST(listen)});
        int64_t deadline = clock_ms() + CLOCK_HANG_MS;
        while ((fd = raw_connect(port)) < 0 && clock_ms() < deadline)
            sched_yield();
        assert_true(raw_send(fd, REQUEST, strlen(REQUEST)));
        raw_receive(fd, reply, sizeof reply, "}", CLOCK_HANG_MS, NULL);
        if (strncmp(reply, "HTTP/1.1 201", 12) != 0)
            fail_msg("start %d: %s", i, reply);
        close(fd);
        assert_int_equal(batond_process_stop(&batond), 0);
    }
    redis_process_stop(&redis);
}
