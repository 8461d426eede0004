/* Health: a worker that is stuck is noticed by the others, and named; readiness says what it has
 * looked at. */
#include "tests/support/fixtures/service.h"

#include "tests/support/faults/stuck_thread.h"

#include <stdio.h>
#include <string.h>

enum { GLANCE_MS = 1000 };

/* Asks by new connections until another worker than the stuck one answers so. */
static bool comes_to_be_said(struct service *service, const char *target, long status)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    long got;
    do {
        http_client_free(service->client);
        service->client = http_client_new(service->batond.url);
        got = http_request(service->client,
                           &(struct http_call){.path = target, .timeout_ms = GLANCE_MS});
        if (got != status)
            clock_sleep_ms(50);
    } while (got != status && clock_ms() < until);
    return got == status;
}

TEST(stuck_worker_is_named)
{
    struct service service;
    SKIP_UNDER_VALGRIND("its threads take turns");
    service_open(&service, NULL, LIST("--workers=2"));
    pid_t thread = stuck_thread_begin(service.batond.process.pid, "worker 2");
    if (!thread) {
        service_close(&service);
        skip();
    }
    assert_true(comes_to_be_said(&service, "/livez", 503));
    assert_string_equal(member_text(service.client, "code"), "stuck");
    assert_non_null(strstr(member_text(service.client, "detail"), "Worker 2 of 2"));
    assert_true(comes_to_be_said(&service, "/readyz?verbose", 503));
    assert_string_equal(member_text(service.client, "checks.2.name"), "worker 2");
    assert_true(json_is_false(member(service.client, "checks.2.ok")));
    assert_true(json_is_true(member(service.client, "checks.1.ok")));
    assert_true(json_is_true(member(service.client, "checks.3.ok")));
    assert_true(process_wait_line(&service.batond.process, "a worker is stuck", NULL, NULL, 0,
                                  CLOCK_HANG_MS));
    stuck_thread_end(thread);
    assert_true(comes_to_be_said(&service, "/livez", 200));
    assert_true(comes_to_be_said(&service, "/readyz", 200));
    service_close(&service);
}

TEST(verbose_readiness_names_each_check)
{
    static const char *const NAMES[] = {"draining", "worker 1", "worker 2", "redis"};
    struct service service;
    char path[32];
    service_open(&service, NULL, LIST("--workers=2"));
    assert_true(comes_to_answer(service.client, "/readyz?verbose", 200, CLOCK_HANG_MS));
    assert_string_equal(member_text(service.client, "status"), "ready");
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "checks.%zu.name", i);
        assert_string_equal(member_text(service.client, path), NAMES[i]);
        snprintf(path, sizeof path, "checks.%zu.ok", i);
        assert_true(json_is_true(member(service.client, path)));
    }
    assert_null(member(service.client, "checks.4"));
    assert_string_equal(member_text(service.client, "version"), BATON_VERSION);
    redis_process_kill(&service.redis);
    assert_true(comes_to_answer(service.client, "/readyz?verbose", 503, CLOCK_HANG_MS));
    assert_string_equal(member_text(service.client, "code"), "store_unavailable");
    assert_true(json_is_false(member(service.client, "checks.3.ok")));
    assert_non_null(strstr(member_text(service.client, "checks.3.detail"), " to Redis at "));
    assert_null(strstr(service.client->reply.body, "nothing was done"));
    service_close(&service);
}
