/* How long batond --check waits for a batond that is stuck. */
#include "tests/support/fixtures/service.h"

#include <signal.h>
#include <string.h>

enum { LEAST_MS = 1000, MOST_MS = 6000 };

TEST_ON(struct service *service, one_that_is_stuck_is_not_waited_for, service_start, service_stop)
{
    struct batond_process check;
    const char *const arguments[] = {"--check", "--listen", service->batond.url + strlen("http://"),
                                     NULL};
    process_signal(&service->batond.process, SIGSTOP);
    int64_t begun = clock_ms();
    batond_process_launch(&check, &(struct batond_options){.arguments = arguments});
    assert_true(process_wait(&check.process, CLOCK_HANG_MS));
    assert_in_range(clock_ms() - begun, LEAST_MS, MOST_MS);
    assert_int_equal(process_exit_code(&check.process), 1);
    batond_process_stop(&check);
    process_signal(&service->batond.process, SIGCONT);
}
