/* How long the end of a log waits for a reader that does not read. */
#include "server/log/log.h"
#include "server/log/log_writer.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { CLOSING_MS = 300, SLACK_MS = 50, LINES = 20000 };

TEST(closing_has_a_bound)
{
    int fds[2];
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
    signal(SIGPIPE, SIG_IGN);
    return tests_run(NULL, NULL);
}
