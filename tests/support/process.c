#include "tests/support/process.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void change_environment(const char *const *changes)
{
    for (; changes && *changes; changes++) {
        if (strchr(*changes, '='))
            putenv(strdup(*changes));
        else
            unsetenv(*changes);
    }
}

static void run_child(pid_t parent, const char *const *arguments, const char *const *environment,
                      int log)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    change_environment(environment);
    signal(SIGPIPE, SIG_DFL); /* whatever the test does with it */
    execvp(arguments[0], (char *const *)arguments);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

void process_start(struct process *process, const char *const *arguments,
                   const char *const *environment, const char *log)
{
    *process = (struct process){.exit_fd = -1};
    snprintf(process->log, sizeof process->log, "%s", log);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        fail_msg("cannot open %s: %s", log, strerror(errno));
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        run_child(parent, arguments, environment, fd);
    close(fd);
    if (pid < 0)
        fail_msg("cannot fork: %s", strerror(errno));
    process->pid = pid;
    process->exit_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process->exit_fd < 0 && errno != ENOSYS) /* valgrind 3.19 has none */
        fail_msg("pidfd_open: %s", strerror(errno));
}

static bool has_ended(void *context)
{
    struct process *process = context;
    return waitpid(process->pid, &process->status, WNOHANG) == process->pid;
}

static bool await_end(struct process *process, int timeout_ms)
{
    struct pollfd ended = {.fd = process->exit_fd, .events = POLLIN};
    if (process->exit_fd < 0)
        return clock_wait_until(has_ended, process, timeout_ms < 0 ? INT_MAX : timeout_ms);
    return poll(&ended, 1, timeout_ms) == 1 && waitpid(process->pid, &process->status, 0) > 0;
}

bool process_wait(struct process *process, int timeout_ms)
{
    if (!process->pid)
        return true;
    if (!await_end(process, timeout_ms))
        return false;
    if (process->exit_fd >= 0)
        close(process->exit_fd);
    process->pid = 0;
    return true;
}

int process_exit_code(const struct process *process)
{
    return WIFEXITED(process->status) ? WEXITSTATUS(process->status)
                                      : 128 + WTERMSIG(process->status);
}

void process_signal(const struct process *process, int signal)
{
    if (!process->pid)
        return;
    kill(process->pid, signal);
    siginfo_t info; /* kill returns before all of its threads stand still */
    while (signal == SIGSTOP &&
           waitid(P_PID, (id_t)process->pid, &info, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
           errno == EINTR)
        continue;
}

void process_kill(struct process *process)
{
    process_signal(process, SIGKILL);
    process_wait(process, -1);
}

int process_stop(struct process *process)
{
    process_signal(process, SIGTERM);
    if (!process_wait(process, 10000))
        process_kill(process);
    return process_exit_code(process);
}

char *process_output(const struct process *process)
{
    char *text = NULL;
    size_t size;
    FILE *copy = open_memstream(&text, &size);
    FILE *log = fopen(process->log, "re");
    char buffer[4096];
    for (size_t n; log && (n = fread(buffer, 1, sizeof buffer, log)) > 0;)
        fwrite(buffer, 1, n, copy);
    if (log)
        fclose(log);
    fclose(copy);
    return text;
}

/* Looks through the whole lines from *offset on, and moves it behind those looked at. */
static bool find_line(const struct process *process, const char *text, size_t *offset, char *line,
                      size_t size)
{
    bool found = false;
    char *output = process_output(process);
    char *start = output + *offset;
    for (char *end; !found && (end = strchr(start, '\n')); start = end + 1) {
        *end = '\0';
        found = strstr(start, text);
        if (found && line)
            snprintf(line, size, "%s", start);
    }
    *offset = (size_t)(start - output);
    free(output);
    return found;
}

bool process_wait_line(const struct process *process, const char *text, size_t *offset, char *line,
                       size_t size, int timeout_ms)
{
    size_t from_start = 0;
    int64_t deadline = clock_ms() + timeout_ms;
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    inotify_add_watch(watch, process->log, IN_MODIFY);
    bool found = false;
    for (bool last = false; !found;) {
        found = find_line(process, text, offset ? offset : &from_start, line, size);
        int64_t left = deadline - clock_ms();
        if (last || left < 0)
            break;
        struct pollfd news[] = {{.fd = watch, .events = POLLIN},
                                {.fd = process->pid ? process->exit_fd : -1, .events = POLLIN}};
        poll(news, 2, found ? 0 : (int)left);
        last = !process->pid || news[1].revents; /* what it wrote before it ended still counts */
        char events[4096];
        while (read(watch, events, sizeof events) > 0)
            continue;
    }
    close(watch);
    return found;
}
