/* SIGTERM: who is being served is served, nobody is left behind, and the exit code says so. */
#include "tests/support/fixtures/service.h"

#include "redis/types/result.h"
#include "tests/support/free_port.h"
#include "tests/support/raw.h"

#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN_FLIGHT = 20, ROUNDS = 9 };

static void stopping_is_announced(const struct service *service, int signal)
{
    process_signal(&service->batond.process, signal);
    assert_true(
        process_wait_line(&service->batond.process, "\"stopping\"", NULL, NULL, 0, CLOCK_HANG_MS));
}

TEST(stop_finishes_requests_in_flight)
{
    struct service service;
    int fds[IN_FLIGHT];
    char request[200], reply[4096];
    service_open(&service, NULL, NULL);
    answers(service.client, "GET /readyz", NULL, 200, NULL);
    for (int i = 0; i < IN_FLIGHT; i++)
        assert_true((fds[i] = raw_connect(service.batond.port)) >= 0);
    int given_up = 0;
    int64_t begun = clock_ms();
    redis_process_freeze(&service.redis);
    for (int i = 0; i < IN_FLIGHT; i++) {
        int length = snprintf(request, sizeof request,
                              "POST /locks/flight%d HTTP/1.1\r\nHost: h\r\n\r\n", i);
        assert_true(raw_send(fds[i], request, (size_t)length));
    }
    stopping_is_announced(&service, SIGTERM);
    redis_process_thaw(&service.redis);
    for (int i = 0; i < IN_FLIGHT; i++) {
        bool closed;
        raw_receive(fds[i], reply, sizeof reply, NULL, CLOCK_HANG_MS, &closed);
        bool may_give_up = clock_ms() - begun >= redis_patience_ms(); /* on a slow machine */
        if (may_give_up && strncmp(reply, "HTTP/1.1 503", 12) == 0)
            given_up++;
        else if (strncmp(reply, "HTTP/1.1 201", 12) != 0 || !strstr(reply, "Connection: close"))
            fail_msg("request %d: %s", i, reply);
        assert_true(closed);
        close(fds[i]);
    }
    assert_true(process_wait(&service.batond.process, CLOCK_HANG_MS));
    assert_int_equal(process_exit_code(&service.batond.process), 0);
    if (given_up == 0)
        assert_int_equal(
            redis_process_integer(&service.redis, "EXISTS baton:{flight0} baton:{flight19}"), 2);
    service_close(&service);
}

TEST(stop_does_not_wait_for_redis)
{
    struct service service;
    char reply[4096];
    static const char REQUEST[] = "POST /locks/away HTTP/1.1\r\nHost: h\r\n\r\n";
    service_open(&service, NULL, NULL);
    answers(service.client, "GET /readyz", NULL, 200, NULL);
    int fd = raw_connect(service.batond.port);
    redis_process_freeze(&service.redis);
    assert_true(raw_send(fd, REQUEST, strlen(REQUEST)));
    stopping_is_announced(&service, SIGINT);
    raw_receive(fd, reply, sizeof reply, NULL, CLOCK_HANG_MS, NULL);
    assert_int_equal(strncmp(reply, "HTTP/1.1 503", 12), 0);
    assert_non_null(strstr(reply, "\"token\":"));
    assert_true(process_wait(&service.batond.process, CLOCK_HANG_MS));
    assert_int_equal(process_exit_code(&service.batond.process), 0);
    close(fd);
    redis_process_thaw(&service.redis);
    service_close(&service);
}

TEST(signals_during_the_stop_change_nothing)
{
    static const int SIGNALS[] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < ROUNDS; i++) {
        struct service service;
        service_open(&service, NULL, NULL);
        process_signal(&service.batond.process, SIGTERM);
        while (!process_wait(&service.batond.process, 0)) {
            process_signal(&service.batond.process, SIGNALS[i % 3]);
            usleep(100); /* signals without end would let it do nothing else */
        }
        assert_int_equal(process_exit_code(&service.batond.process), 0);
        service_close(&service);
    }
}

static bool comes_to_listen(int port)
{
    int fd = -1;
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (fd < 0 && clock_ms() < until)
        if ((fd = raw_connect(port)) < 0)
            usleep(20000);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Where batond was given no standard descriptors, its log must not go into its own sockets. */
TEST(batond_serves_without_standard_descriptors)
{
    struct service service;
    struct process process;
    char listen[40], log[120];
    int port = free_port();
    const char *program = getenv("BATON_TEST_BATOND");
    service_open(&service, NULL, NULL);
    snprintf(listen, sizeof listen, "--listen=127.0.0.1:%d", port);
    snprintf(log, sizeof log, "%s/closed.log", service.batond.dir.path);
    process_start(&process,
                  LIST("sh", "-c", "exec \"$0\" \"$@\" <&- >&- 2>&-",
                       program ? program : "build/batond", listen, "--drain=0", "--redis-url",
                       service.redis.url),
                  NULL, log);
    assert_true(comes_to_listen(port));
    assert_int_equal(process_stop(&process), 0);
    service_close(&service);
}

/* All places are taken by connections that do nothing, and more clients wait behind them. The last
 * test, as a process cannot raise such a limit again. */
TEST(stop_does_not_wait_for_a_backlog)
{
    enum { FILES = 200, CROWD = 160 }; /* 64 of the files are not for connections */
    struct service service;
    int fds[CROWD];
    SKIP_UNDER_VALGRIND("valgrind keeps the limit of descriptors to itself");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES, FILES}), 0);
    service_open(&service, NULL, LIST("--workers=1"));
    for (int i = 0; i < CROWD; i++)
        assert_true((fds[i] = raw_connect(service.batond.port)) >= 0);
    process_signal(&service.batond.process, SIGTERM);
    bool ended = process_wait(&service.batond.process, CLOCK_HANG_MS);
    for (int i = 0; i < CROWD; i++)
        close(fds[i]);
    assert_true(ended);
    assert_int_equal(process_exit_code(&service.batond.process), 0);
    service_close(&service);
}

/* Whoever starts batond by hand and closes the window does not leave it behind. */
TEST(closed_terminal_ends_batond)
{
    struct redis_process redis;
    char seen[4096];
    size_t length = 0;
    ssize_t count;
    int terminal, status;
    const char *program = getenv("BATON_TEST_BATOND");
    assert_non_null(program);
    redis_process_start(&redis, NULL);
    pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    if (pid == 0) {
        execl(program, "batond", "--listen=127.0.0.1:0", "--redis-url", redis.url, (char *)NULL);
        _exit(127);
    }
    do {
        count = read(terminal, seen + length, sizeof seen - 1 - length);
        assert_true(count > 0);
        length += (size_t)count;
        seen[length] = '\0';
    } while (!strstr(seen, "\"listening\""));
    kill(pid, SIGHUP);   /* the terminal is there: it goes on */
    clock_sleep_ms(100); /* only time can show it */
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    close(terminal);
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (waitpid(pid, &status, WNOHANG) == 0 && clock_ms() < until)
        clock_sleep_ms(10);
    assert_true(clock_ms() < until);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    redis_process_stop(&redis);
}
