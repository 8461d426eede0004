/* What a process in the sandbox can still do, and what ends it. */
#include "server/process/sandbox.h"

#include "tests/support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WELL = 42, ILL = 43, LOGGED_LENGTH = 1024 };

/* Runs `act` in a process that is in the sandbox; ret_line is what it has logged. Returns its
 * status as waitpid has it. */
static int run_inside(void (*act)(void), char ret_line[LOGGED_LENGTH])
{
    int fds[2], status;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct failure failure;
        struct log log = {.fd = fds[1]};
        alarm(60);
        if (sandbox_harden(&failure) < 0 || sandbox_enter(&log, &failure) < 0)
            _exit(ILL);
        act();
        _exit(WELL);
    }
    close(fds[1]);
    ssize_t length = read(fds[0], ret_line, LOGGED_LENGTH - 1);
    ret_line[length > 0 ? length : 0] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

TEST(without_the_filter_that_is_said)
{
    struct failure failure;
    if (sandbox_check(&failure) == 0)
        skip();
    assert_non_null(strstr(failure.text, "libseccomp"));
    assert_int_equal(sandbox_prepare(&failure), -ENOTSUP);
    assert_int_equal(sandbox_enter(NULL, &failure), -ENOTSUP);
}

/* What is blocked */

static void run_a_program(void)
{
    execl("/bin/true", "true", NULL);
}

static void fork_a_process(void)
{
    syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void share_the_files_of_a_process(void)
{
    syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
}

static void be_traced(void)
{
    ptrace(PTRACE_TRACEME, 0, 0, 0);
}

static void read_the_memory_of_another(void)
{
    syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static void make_a_raw_socket(void)
{
    close(socket(AF_PACKET, SOCK_RAW, 0));
}

static void make_an_ip_raw_socket(void)
{
    close(socket(AF_INET, SOCK_RAW, 1));
}

static void listen_to_the_kernel(void)
{
    close(socket(AF_NETLINK, SOCK_RAW, 15)); /* NETLINK_KOBJECT_UEVENT */
}

static void serve_on_another_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    listen(fd, 1);
    close(fd);
}

static void write_a_file(void)
{
    close(open("/tmp/not-to-be-made", O_WRONLY | O_CLOEXEC));
}

static void make_a_file(void)
{
    close(open("/tmp/not-to-be-made", O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void remove_a_file(void)
{
    unlink("/tmp/not-to-be-made");
}

static void change_a_mode(void)
{
    chmod("/tmp/not-to-be-made", 0777);
}

static void make_code(void)
{
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 4096);
}

static void turn_data_into_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static void stop_another(void)
{
    kill(getppid(), SIGSTOP);
}

static void be_dumpable_again(void)
{
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void raise_a_limit(void)
{
    const struct rlimit some = {4096, 4096};
    setrlimit(RLIMIT_CORE, &some);
}

static void type_into_a_terminal(void)
{
    ioctl(0, TIOCSTI, "x");
}

static void be_another_user(void)
{
    syscall(SYS_setuid, 1);
}

static void *start_a_program(void *context)
{
    run_a_program();
    return context;
}

static void run_in_another_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, start_a_program, NULL);
    pthread_join(thread, NULL);
}

static const struct blocked {
    void (*act)(void);
    const char *call;
} BLOCKED[] = {
    {run_a_program, "execve"},
    {fork_a_process, "clone"},
    {share_the_files_of_a_process, "clone"},
    {be_traced, "ptrace"},
    {read_the_memory_of_another, "process_vm_readv"},
    {make_a_raw_socket, "socket"},
    {make_an_ip_raw_socket, "socket"},
    {listen_to_the_kernel, "socket"},
    {serve_on_another_port, "listen"},
    {write_a_file, "openat"},
    {make_a_file, "openat"},
    {remove_a_file, "unlink"},
    {change_a_mode, "chmod"},
    {make_code, "mmap"},
    {turn_data_into_code, "mprotect"},
    {stop_another, "kill"},
    {be_dumpable_again, "prctl"},
    {raise_a_limit, "prlimit64"},
    {type_into_a_terminal, "ioctl"},
    {be_another_user, "setuid"},
    {run_in_another_thread, "execve"},
};

TEST(calls_that_serving_does_not_need_end_the_process)
{
    char line[LOGGED_LENGTH], expected[64];
    if (sandbox_check(NULL) < 0)
        skip();
    for (size_t i = 0; i < sizeof BLOCKED / sizeof *BLOCKED; i++) {
        int status = run_inside(BLOCKED[i].act, line);
        snprintf(expected, sizeof expected, "\"call\":\"%s\"}\n", BLOCKED[i].call);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("%s (%zu) is not blocked: status %x", BLOCKED[i].call, i, (unsigned)status);
        if (!strstr(line, expected) || !strstr(line, "the sandbox has blocked"))
            fail_msg("%s (%zu) is told as: %s", BLOCKED[i].call, i, line);
    }
}

/* What is not */

static void check(bool well)
{
    if (!well)
        _exit(ILL);
}

static void *say_hello(void *place)
{
    *(int *)place = 1;
    return NULL;
}

static void start_a_thread(void)
{
    pthread_t thread;
    int greeted = 0;
    check(pthread_create(&thread, NULL, say_hello, &greeted) == 0);
    pthread_join(thread, NULL);
    check(greeted);
}

static void look_a_host_up(void)
{
    struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
    check(getaddrinfo("localhost", "1", &hints, &found) == 0);
    freeaddrinfo(found);
    (void)getaddrinfo("no-such-host.invalid", "1", &hints, &found);
}

static void read_a_file(void)
{
    char text[16];
    FILE *file = fopen("/etc/hosts", "re");
    check(file && fread(text, 1, sizeof text, file) > 0);
    fclose(file);
}

static void do_without_what_is_missing(void)
{
    check(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
    check(syscall(425, 1, NULL) < 0 && errno == ENOSYS); /* io_uring_setup */
}

static void use_much_memory(void)
{
    for (size_t size = 16; size < 64 << 20; size *= 4) {
        char *block = malloc(size);
        check(block != NULL);
        memset(block, 1, size);
        void *larger = realloc(block, size * 2);
        check(larger != NULL);
        free(larger);
    }
}

static void give_up(void)
{
    signal(SIGABRT, SIG_DFL);
    abort();
}

TEST(the_rest_goes_on)
{
    static void (*const FINE[])(void) = {start_a_thread, look_a_host_up, read_a_file,
                                         do_without_what_is_missing, use_much_memory};
    char line[LOGGED_LENGTH];
    if (sandbox_check(NULL) < 0)
        skip();
    for (size_t i = 0; i < sizeof FINE / sizeof *FINE; i++) {
        int status = run_inside(FINE[i], line);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != WELL)
            fail_msg("number %zu: status %x, %s", i, (unsigned)status, line);
    }
    int status = run_inside(give_up, line);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(line, "");
}

/* Threads that were there before */

static int gates[2];

static void *run_when_asked(void *context)
{
    char word;
    (void)context;
    if (read(gates[0], &word, 1) == 1)
        run_a_program();
    return NULL;
}

TEST(the_sandbox_is_for_all_threads)
{
    int status;
    if (sandbox_check(NULL) < 0)
        skip();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pthread_t thread;
        struct failure failure;
        struct log log = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
        check(pipe2(gates, O_CLOEXEC) == 0);
        check(pthread_create(&thread, NULL, run_when_asked, NULL) == 0);
        check(sandbox_enter(&log, &failure) == 0);
        check(write(gates[1], "", 1) == 1);
        sleep(60);
        _exit(WELL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

/* What is given up in any case */

TEST(a_hardened_process_dumps_no_core)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct failure failure;
        struct rlimit limit;
        check(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 &&
              prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
        check(sandbox_harden(&failure) == 0);
        check(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 &&
              prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
        check(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0 && limit.rlim_max == 0);
        _exit(WELL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == WELL);
}
