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

/* As the kernel gets it. */
struct blocked {
    const char *call;
    long number;
    long arguments[6];
};

static const struct blocked *blocked; /* what a process in the sandbox is to call */

static void call_it(void)
{
    const long *with = blocked->arguments;
    syscall(blocked->number, with[0], with[1], with[2], with[3], with[4], with[5]);
}

static void is_blocked(void (*act)(void), const char *call, size_t number)
{
    char line[LOGGED_LENGTH], expected[64];
    int status = run_inside(act, line);
    snprintf(expected, sizeof expected, "\"call\":\"%s\"}\n", call);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
        fail_msg("%s (%zu) is not blocked: status %x", call, number, (unsigned)status);
    if (!strstr(line, expected) || !strstr(line, "the sandbox has blocked"))
        fail_msg("%s (%zu) is told as: %s", call, number, line);
}

TEST(calls_that_serving_does_not_need_end_the_process)
{
    static const struct rlimit SOME = {4096, 4096};
    const long file = (long)"/tmp/not-to-be-made", limit = (long)&SOME, another = getpid();
    const int private = MAP_PRIVATE | MAP_ANONYMOUS;
    const int kernel_events = 15; /* NETLINK_KOBJECT_UEVENT */
    const struct blocked all[] = {
        {"clone", SYS_clone, {SIGCHLD}}, /* a process */
        {"clone", SYS_clone, {CLONE_FILES | SIGCHLD}},
        {"ptrace", SYS_ptrace, {PTRACE_TRACEME}},
        {"process_vm_readv", SYS_process_vm_readv, {another}},
        {"socket", SYS_socket, {AF_PACKET, SOCK_RAW}},
        {"socket", SYS_socket, {AF_INET, SOCK_RAW, 1}},
        {"socket", SYS_socket, {AF_NETLINK, SOCK_RAW, kernel_events}},
        {"listen", SYS_listen, {0, 1}},
        {"openat", SYS_openat, {AT_FDCWD, file, O_WRONLY}},
        {"openat", SYS_openat, {AT_FDCWD, file, O_RDONLY | O_CREAT, 0600}},
#ifdef SYS_unlink /* newer architectures have the two below alone */
        {"unlink", SYS_unlink, {file}},
        {"chmod", SYS_chmod, {file, 0777}},
#endif
        {"unlinkat", SYS_unlinkat, {AT_FDCWD, file}},
        {"fchmodat", SYS_fchmodat, {AT_FDCWD, file, 0777}},
        {"mmap", SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, private, -1}},
        {"mprotect", SYS_mprotect, {0, 4096, PROT_READ | PROT_EXEC}}, /* data into code */
        {"kill", SYS_kill, {another, SIGSTOP}},
        {"prctl", SYS_prctl, {PR_SET_DUMPABLE, 1}},
        {"prlimit64", SYS_prlimit64, {0, RLIMIT_CORE, limit}},
        {"ioctl", SYS_ioctl, {0, TIOCSTI, (long)"x"}},
        {"setuid", SYS_setuid, {1}},
    };
    if (sandbox_check(NULL) < 0)
        skip();
    for (size_t i = 0; i < LENGTH(all); i++) {
        blocked = &all[i];
        is_blocked(call_it, all[i].call, i);
    }
    is_blocked(run_a_program, "execve", LENGTH(all));
    is_blocked(run_in_another_thread, "execve", LENGTH(all) + 1);
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
