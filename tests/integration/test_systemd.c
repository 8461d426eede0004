/* What a service manager is told, and what it passes: the protocols of sd_notify(3) and
 * sd_listen_fds(3), with a socket of the test's own in systemd's place. */
#include "tests/support/fixtures/service.h"

#include "base/file.h"
#include "server/process/sandbox.h"
#include "tests/support/faults/stuck_thread.h"
#include "tests/support/raw.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { TEXT = 1024, KEPT_AS = 9 };

struct manager {
    struct redis_process redis;
    struct temp_dir dir;
    int fd;
    char place[120]; /* NOTIFY_SOCKET=... */
    char said[TEXT]; /* the latest */
};

static const char *sandbox_flag(void)
{
    return sandbox_check(NULL) == 0 ? "--sandbox=true" : "--sandbox=false";
}

/* `name` is a path, or with @ in front of the abstract kind. */
static void listen_at(struct manager *manager, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    assert_true(length < sizeof address.sun_path);
    memcpy(address.sun_path, name, length + 1);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    length += offsetof(struct sockaddr_un, sun_path) + (name[0] == '/');
    manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(manager->fd, (struct sockaddr *)&address, (socklen_t)length), 0);
    snprintf(manager->place, sizeof manager->place, "NOTIFY_SOCKET=%s", name);
}

static void begin(struct manager *manager, bool abstract)
{
    char name[100];
    *manager = (struct manager){.fd = -1};
    temp_dir_make(&manager->dir);
    redis_process_start(&manager->redis, NULL);
    snprintf(name, sizeof name, abstract ? "@%s" : "%s/notify", manager->dir.path);
    listen_at(manager, name);
}

static void end(struct manager *manager)
{
    close(manager->fd);
    redis_process_stop(&manager->redis);
    temp_dir_remove(&manager->dir);
}

/* Whether one comes within this time; it is manager->said then. */
static bool is_notified(struct manager *manager, int timeout_ms)
{
    struct pollfd ready = {.fd = manager->fd, .events = POLLIN};
    if (poll(&ready, 1, timeout_ms) != 1)
        return false;
    ssize_t length = recv(manager->fd, manager->said, TEXT - 1, 0);
    assert_true(length > 0);
    manager->said[length] = '\0';
    return true;
}

/* Waits for one that has this line, whatever is told before. */
static void comes_to_be_notified(struct manager *manager, const char *line)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    size_t length = strlen(line);
    while (clock_ms() < until && is_notified(manager, CLOCK_HANG_MS))
        for (const char *at = manager->said; at; at = strchr(at, '\n'), at += at != NULL)
            if (strncmp(at, line, length) == 0 && (at[length] == '\n' || !at[length]))
                return;
    fail_msg("no %s; last of all it said: %s", line, manager->said);
}

/* The number behind `variable=` in what was told last. */
static int64_t number_notified(const struct manager *manager, const char *variable)
{
    const char *found = strstr(manager->said, variable);
    if (!found || found[strlen(variable)] != '=')
        fail_msg("no %s in: %s", variable, manager->said);
    return strtoll(found + strlen(variable) + 1, NULL, 10);
}

static void launch(struct manager *manager, struct batond_process *batond,
                   const char *const *arguments, const char *variable)
{
    const char *list[8] = {sandbox_flag()};
    for (size_t i = 1; arguments && *arguments; i++)
        list[i] = *arguments++;
    batond_process_launch(batond,
                          &(struct batond_options){.redis_url = manager->redis.url,
                                                   .arguments = list,
                                                   .environment = LIST(manager->place, variable)});
}

/* From its start to its end. */
static void expect_a_life(bool abstract)
{
    struct manager manager;
    struct batond_process batond;
    begin(&manager, abstract);
    launch(&manager, &batond, LIST("--drain=300ms"), NULL);
    comes_to_be_notified(&manager, "READY=1");
    assert_true(batond_process_listening(&batond, CLOCK_HANG_MS));
    assert_non_null(strstr(manager.said, "\nSTATUS=serving on http://127.0.0.1:"));

    int64_t before = clock_ms() * 1000;
    process_signal(&batond.process, SIGHUP);
    comes_to_be_notified(&manager, "RELOADING=1");
    assert_in_range(number_notified(&manager, "MONOTONIC_USEC"), before, clock_ms() * 1000 + 1000);
    comes_to_be_notified(&manager, "READY=1");

    process_signal(&batond.process, SIGTERM);
    comes_to_be_notified(&manager, "STOPPING=1");
    assert_non_null(strstr(manager.said, "STATUS=draining for 300ms"));
    assert_true(number_notified(&manager, "EXTEND_TIMEOUT_USEC") > 300000);
    assert_true(process_wait(&batond.process, CLOCK_HANG_MS));
    comes_to_be_notified(&manager, "STOPPING=1");
    assert_non_null(strstr(manager.said, "STATUS=stopping"));
    assert_false(is_notified(&manager, 0));
    assert_int_equal(batond_process_stop(&batond), 0);
    end(&manager);
}

TEST(its_life_is_notified_by_a_path)
{
    expect_a_life(false);
}

TEST(its_life_is_notified_by_an_abstract_name)
{
    expect_a_life(true);
}

TEST(the_status_reports_that_redis_is_away)
{
    struct manager manager;
    struct batond_process batond;
    begin(&manager, false);
    launch(&manager, &batond, NULL, NULL);
    comes_to_be_notified(&manager, "READY=1");
    redis_process_halt(&manager.redis);
    assert_true(is_notified(&manager, CLOCK_HANG_MS));
    assert_non_null(strstr(manager.said, "but Redis is away"));
    redis_process_resume(&manager.redis);
    assert_true(is_notified(&manager, CLOCK_HANG_MS));
    assert_null(strstr(manager.said, "away"));
    assert_int_equal(batond_process_stop(&batond), 0);
    end(&manager);
}

TEST(the_watchdog_is_notified_while_all_loops_turn)
{
    enum { EACH_MS = 200, SIGNS = 5, SILENT_MS = 4 * EACH_MS };
    struct manager manager;
    struct batond_process batond;
    SKIP_UNDER_VALGRIND("its threads take turns");
    begin(&manager, false);
    int64_t begun = clock_ms();
    launch(&manager, &batond, LIST("--workers=2"), "WATCHDOG_USEC=400000");
    comes_to_be_notified(&manager, "READY=1");
    for (int i = 0; i < SIGNS; i++)
        comes_to_be_notified(&manager, "WATCHDOG=1");
    assert_true(clock_ms() - begun >= (SIGNS - 2) * EACH_MS);

    pid_t thread = stuck_thread_begin(batond.process.pid, "worker 1");
    if (thread) {
        int64_t until = clock_ms() + CLOCK_HANG_MS;
        while (is_notified(&manager, SILENT_MS))
            assert_true(clock_ms() < until);
        stuck_thread_end(thread);
        comes_to_be_notified(&manager, "WATCHDOG=1");
    }
    assert_int_equal(batond_process_stop(&batond), 0);
    end(&manager);
}

/* Such variables are inherited by mistake. */
TEST(variables_of_another_process_are_ignored)
{
    struct manager manager;
    struct batond_process batond;
    begin(&manager, false);
    batond_process_launch(
        &batond, &(struct batond_options){.redis_url = manager.redis.url,
                                          .environment = LIST(manager.place, "WATCHDOG_USEC=100000",
                                                              "WATCHDOG_PID=1", "LISTEN_PID=1",
                                                              "LISTEN_FDS=1")});
    assert_true(batond_process_listening(&batond, CLOCK_HANG_MS));
    comes_to_be_notified(&manager, "READY=1");
    assert_false(is_notified(&manager, 300)); /* it would be told every 50 ms */
    assert_int_equal(batond_process_stop(&batond), 0);
    end(&manager);
}

/* A redis-server that notes what it is told, in front of the real one in PATH. */
static void put_in_front(const struct temp_dir *dir)
{
    char path[120];
    snprintf(path, sizeof path, "%s/redis-server", dir->path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\nenv >'%s/env'\nPATH=${PATH#*:}\nexec redis-server \"$@\"\n",
            dir->path);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

/* The embedded Redis would tell that it is ready, and take its parent's place. */
TEST(children_do_not_inherit_the_notify_socket)
{
    struct manager manager;
    struct batond_process batond;
    char path[4096], file[120], *text;
    begin(&manager, false);
    put_in_front(&manager.dir);
    snprintf(path, sizeof path, "PATH=%s:%s", manager.dir.path, getenv("PATH"));
    batond_process_launch(&batond,
                          &(struct batond_options){
                              .environment = LIST(manager.place, "WATCHDOG_USEC=9000000", path)});
    comes_to_be_notified(&manager, "READY=1");
    snprintf(file, sizeof file, "%s/env", manager.dir.path);
    assert_int_equal(
        file_read(&(struct file_options){.path = file, .longest = 65536}, &text, NULL, NULL), 0);
    assert_non_null(strstr(text, "PATH="));
    assert_null(strstr(text, "NOTIFY_SOCKET="));
    assert_null(strstr(text, "WATCHDOG_USEC="));
    free(text);
    assert_int_equal(batond_process_stop(&batond), 0);
    end(&manager);
}

TEST(an_address_that_nobody_knows_is_no_reason_to_stop)
{
    struct batond_process batond;
    batond_process_launch(
        &batond, &(struct batond_options){.environment = LIST("NOTIFY_SOCKET=vsock:2:1234")});
    assert_true(batond_process_listening(&batond, CLOCK_HANG_MS));
    assert_true(process_wait_line(&batond.process, "NOTIFY_SOCKET=vsock:2:1234", NULL, NULL, 0,
                                  CLOCK_HANG_MS));
    assert_int_equal(batond_process_stop(&batond), 0);
}

/* A socket on a free port, and the port. */
static int listening_socket(int type, int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    if (type == SOCK_STREAM)
        assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    int kept = fcntl(fd, F_DUPFD_CLOEXEC, KEPT_AS + 1);
    close(fd);
    return kept;
}

/* No other descriptor of the test gets that number, which is the last that dash(1) knows. */
static void reserve(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup3(fd, KEPT_AS, O_CLOEXEC), KEPT_AS);
    close(fd);
}

/* Starts batond as systemd does: its socket is descriptor 3, and the variables name its process. */
static void pass(struct process *process, const struct manager *manager, int fd, int count,
                 const char *log)
{
    static const char COMMAND[] = "LISTEN_PID=$$ LISTEN_FDNAMES=http exec \"$0\" \"$@\" 3<&9";
    char fds[24];
    const char *program = getenv("BATON_TEST_BATOND");
    assert_non_null(program);
    snprintf(fds, sizeof fds, "LISTEN_FDS=%d", count);
    assert_int_equal(dup2(fd, KEPT_AS), KEPT_AS);
    process_start(process,
                  LIST("sh", "-c", COMMAND, program, sandbox_flag(), "--workers=3", "--drain=0",
                       "--listen=192.0.2.1:1", "--redis-url", manager->redis.url),
                  LIST(fds), log);
    reserve();
}

TEST(a_socket_that_is_passed_is_served_by_all_workers)
{
    enum { CLIENTS = 30 };
    struct manager manager;
    struct process process;
    struct http_client *clients[CLIENTS];
    char url[40], log[120];
    int port;
    begin(&manager, false);
    int fd = listening_socket(SOCK_STREAM, &port);
    snprintf(log, sizeof log, "%s/log", manager.dir.path);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    pass(&process, &manager, fd, 1, log);
    assert_true(process_wait_line(&process, "\"listening\"", NULL, NULL, 0, CLOCK_HANG_MS));
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = http_client_new(url);
        assert_true(comes_to_answer(clients[i], "/readyz", 200, CLOCK_HANG_MS));
        answers(clients[i], "POST /locks/passed?owner=me&reentrant", NULL, 201, NULL);
    }

    /* Between its end and the next start, who comes waits in the kernel. */
    assert_int_equal(process_stop(&process), 0);
    for (int i = 0; i < CLIENTS; i++)
        http_client_free(clients[i]);
    int early = raw_connect(port);
    char reply[512];
    static const char REQUEST[] = "GET /readyz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    assert_true(early >= 0 && raw_send(early, REQUEST, strlen(REQUEST)));
    pass(&process, &manager, fd, 1, log);
    raw_receive(early, reply, sizeof reply, NULL, CLOCK_HANG_MS, NULL);
    assert_int_equal(strncmp(reply, "HTTP/1.1 200", 12), 0);
    close(early);
    assert_int_equal(process_stop(&process), 0);
    close(fd);
    end(&manager);
}

TEST(socket_that_cannot_be_served_is_refused)
{
    static const struct {
        int type, count;
        const char *said;
    } WRONG[] = {
        {SOCK_STREAM, 2, "LISTEN_FDS: systemd passed 2 sockets"},
        {SOCK_DGRAM, 1, "LISTEN_FDS: the socket that systemd passed is not a listening TCP socket"},
    };
    struct manager manager;
    begin(&manager, false);
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        struct process process;
        char log[120];
        int port, fd = listening_socket(WRONG[i].type, &port);
        snprintf(log, sizeof log, "%s/log%zu", manager.dir.path, i);
        pass(&process, &manager, fd, WRONG[i].count, log);
        assert_true(process_wait(&process, CLOCK_HANG_MS));
        assert_int_equal(process_exit_code(&process), 2);
        char *output = process_output(&process);
        if (!strstr(output, WRONG[i].said))
            fail_msg("no %s in %s", WRONG[i].said, output);
        free(output);
        close(fd);
    }
    end(&manager);
}

int main(void)
{
    reserve();
    return tests_run(NULL, NULL);
}
