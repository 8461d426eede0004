/* How long the end of a log waits for a reader that does not read. */
#include "server/log/log.h"
#include "server/log/log_writer.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { CLOSING_MS = 300, SLACK_MS = 50, LINES = 20000 };

static void closing_has_a_bound(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    struct log_writer *log_writer = log_writer_open(fds[1], LOG_JSON);
    struct log log = {.fd = fds[1], .log_writer = log_writer};
    for (int i = 0; i < LINES; i++) {
        struct line line;
        assert_true(log_begin(&log, LOG_INFO, "x", &line));
        log_end(&log, &line);
    }
    int64_t before = clock_ms();
    assert_false(log_writer_close(log_writer, CLOSING_MS));
    assert_in_range(clock_ms() - before, CLOSING_MS - 1, CLOSING_MS + SLACK_MS);
    close(fds[0]); /* so that the thread comes to its end */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_has_a_bound),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
