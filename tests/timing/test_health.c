/* When a worker counts as stuck: soon, and not where the whole process was stopped. */
#include "tests/support/faults/stuck_thread.h"
#include "tests/support/fixtures/service.h"

#include <signal.h>

enum { GLANCE_MS = 200, STOPPED_MS = 7000, WELL_MS = 1500, NOTICED_MS = 8000 };

/* By new connections, of which one comes to the other worker. */
TEST(a_worker_that_is_stuck_is_noticed)
{
    struct service service;
    long status;
    service_open(&service, NULL, LIST("--workers=2"));
    pid_t thread = stuck_thread_begin(service.batond.process.pid, "worker 2");
    if (!thread) {
        service_close(&service);
        skip();
    }
    int64_t begun = clock_ms();
    do {
        struct http_client *client = http_client_new(service.batond.url);
        status =
            http_request(client, &(struct http_call){.path = "/livez", .timeout_ms = GLANCE_MS});
        http_client_free(client);
        clock_sleep_ms(20);
    } while (status != 503 && clock_ms() - begun < CLOCK_HANG_MS);
    assert_in_range(clock_ms() - begun, 0, NOTICED_MS);
    stuck_thread_end(thread);
    service_close(&service);
}

/* As by a machine that sleeps, or a shell's job control. That looks count and not time, shows
 * tests/unit/test_health.c. */
TEST(all_that_were_stopped_together_are_well)
{
    struct service service;
    service_open(&service, NULL, LIST("--workers=2"));
    answers(service.client, "GET /livez", NULL, 200, NULL);
    process_signal(&service.batond.process, SIGSTOP);
    clock_sleep_ms(STOPPED_MS);
    process_signal(&service.batond.process, SIGCONT);
    int64_t until = clock_ms() + WELL_MS;
    while (clock_ms() < until)
        answers(service.client, "GET /livez", NULL, 200, NULL);
    service_close(&service);
}
