#include "cli/run/guard.h"

#include "cli/run/boottime.h"
#include "cli/run/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_FOUND = 127, NOT_RUN = 126, PASS_MS = 2, VAIN_PASS_MS = 1000, LEFT_MS = 1000 };

enum phase { PHASE_RUNNING, PHASE_ASKED, PHASE_KILLING };

struct watch {
    struct guard_plan plan;
    pid_t command; /* 0 once it is reaped */
    enum phase phase;
    bool is_interrupted; /* baton run got a signal */
    int64_t next_ns;     /* when the phase ends, after the descendants were asked */
    int64_t left_ns;     /* when to report what the command left behind, or GUARD_NEVER */
    int64_t vain_ns;     /* when to report what could not be ended; GUARD_NEVER: reported */
    int orders;          /* -1: the front is gone */
    int reports;
    timer_t waker;
    struct tree tree;
    struct guard_report report;
};

void guard_note_inherited(bool inherited[GUARD_DESCRIPTORS])
{
    for (int fd = 0; fd < GUARD_DESCRIPTORS; fd++)
        inherited[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void guard_exec(const struct guard_plan *plan, pid_t guard)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard)
        _exit(NOT_RUN);
    for (int fd = 0; fd < GUARD_DESCRIPTORS; fd++)
        if (!plan->inherited[fd])
            close(fd);
    sigaction(SIGCHLD, &plan->child_action, NULL);
    sigprocmask(SIG_SETMASK, &plan->mask, NULL);
    execvp(plan->command[0], plan->command);
    int error = errno;
    dprintf(STDERR_FILENO, "baton: cannot run %s: %s\n", plan->command[0], strerror(error));
    _exit(error == ENOENT ? NOT_FOUND : NOT_RUN);
}

static void watch_report(const struct watch *watch, enum guard_event event)
{
    struct guard_report report = watch->report;
    report.event = event;
    ssize_t written = write(watch->reports, &report, sizeof report);
    (void)written; /* the front is gone */
}

/* When to begin ending the command because of the lock, unless it has begun. */
static int64_t watch_lose_ns(const struct watch *watch)
{
    const struct guard_plan *plan = &watch->plan;
    return watch->report.was_ended ? GUARD_NEVER
                                   : plan->expires_ns - plan->margin_ns - plan->kill_after_ns;
}

static int64_t watch_kill_ns(const struct watch *watch)
{
    int64_t latest_ns = watch->plan.expires_ns - watch->plan.margin_ns;
    if (watch->phase == PHASE_RUNNING)
        return GUARD_NEVER;
    return watch->phase == PHASE_ASKED ? least(watch->next_ns, latest_ns) : watch->next_ns;
}

/* Asks all descendants to end, once. A later call may shorten their time. */
static void watch_ask(struct watch *watch, int64_t grace_ns)
{
    int64_t next_ns = boottime_ns() + grace_ns;
    if (watch->phase == PHASE_ASKED)
        watch->next_ns = least(watch->next_ns, next_ns);
    if (watch->phase != PHASE_RUNNING)
        return;
    watch->phase = PHASE_ASKED;
    watch->next_ns = next_ns;
    watch->report.asked = tree_signal(&watch->tree, watch->plan.signal);
    tree_signal(&watch->tree, SIGCONT);
}

static void watch_lose(struct watch *watch)
{
    if (watch->report.was_ended)
        return;
    watch->report.was_ended = true;
    watch_report(watch, GUARD_LOST);
    watch_ask(watch, watch->plan.kill_after_ns);
}

/* Sends SIGKILL again and again, to what was forked meanwhile. After a report that it was in vain,
 * looks once a second and at each child that ends. */
static void watch_kill(struct watch *watch)
{
    if (watch->phase == PHASE_ASKED) {
        watch->phase = PHASE_KILLING;
        watch->vain_ns = boottime_ns() + watch->plan.margin_ns;
    }
    tree_kill(&watch->tree, &watch->command, &watch->report.status);
    if (watch->command)
        kill(watch->command, SIGKILL); /* even if /proc does not show it */
    watch->report.killed = watch->tree.killed;
    if (boottime_ns() >= watch->vain_ns && tree_name(&watch->tree, watch->report.names)) {
        watch->vain_ns = GUARD_NEVER;
        watch_report(watch, GUARD_VAIN);
    }
    watch->next_ns =
        boottime_ns() + (watch->vain_ns == GUARD_NEVER ? VAIN_PASS_MS : PASS_MS) * MS_IN_NS;
}

static bool asks_to_end(int signal)
{
    return signal == SIGTERM || signal == SIGHUP || signal == SIGINT;
}

/* Passes the signal on. While the command lives, it and its descendants end in their own time. */
static void watch_pass_on(struct watch *watch, int signal)
{
    if (!asks_to_end(signal)) {
        if (watch->command)
            kill(watch->command, signal);
        return;
    }
    watch->is_interrupted = true;
    if (watch->command)
        tree_signal(&watch->tree, signal);
    else
        watch_ask(watch, watch->plan.grace_ns);
}

static void watch_obey(struct watch *watch)
{
    int64_t order;
    ssize_t length = read(watch->orders, &order, sizeof order);
    if (length < 0)
        return;
    if (length == 0) { /* the front is gone, so the lock is no longer renewed */
        close(watch->orders);
        watch->orders = -1;
        if (!watch->plan.outlives_front)
            watch_lose(watch);
    } else if (order > 0) {
        watch->plan.expires_ns = order;
    } else if (order == GUARD_END) {
        watch_lose(watch);
    } else if (order != GUARD_KEY) {
        watch_pass_on(watch, (int)-order);
    } else if (!watch->command) {
        watch_ask(watch, watch->plan.grace_ns);
    }
}

/* The command has just ended. */
static void watch_leave(struct watch *watch)
{
    int status = watch->report.status;
    watch->left_ns = boottime_ns() + LEFT_MS * MS_IN_NS;
    if (watch->is_interrupted || (WIFSIGNALED(status) && asks_to_end(WTERMSIG(status))))
        watch_ask(watch, watch->plan.grace_ns);
}

static void watch_report_left(struct watch *watch)
{
    watch->left_ns = GUARD_NEVER;
    tree_signal(&watch->tree, 0);
    if (tree_name(&watch->tree, watch->report.names))
        watch_report(watch, GUARD_LEFT);
}

/* Returns false when there is nothing left to wait for. */
static bool watch_reap(struct watch *watch)
{
    bool had_command = watch->command;
    int reaped = tree_reap(&watch->command, &watch->report.status);
    if (reaped < 0 ||
        (!watch->command && watch->plan.only_command && watch->phase == PHASE_RUNNING))
        return false;
    if (had_command && !watch->command)
        watch_leave(watch);
    if (reaped > 0 && watch->phase == PHASE_KILLING)
        watch->next_ns = boottime_ns(); /* its children are ours now */
    return true;
}

/* Does what is due. */
static void watch_act(struct watch *watch)
{
    int64_t now_ns = boottime_ns();
    if (now_ns >= watch_lose_ns(watch))
        watch_lose(watch);
    if (now_ns >= watch_kill_ns(watch))
        watch_kill(watch);
    if (now_ns >= watch->left_ns)
        watch_report_left(watch);
}

/* SIGCHLD arrives only in ppoll. If this process is stopped, the waker makes the kernel continue
 * it. */
static void watch_run(struct watch *watch)
{
    sigset_t others;
    sigfillset(&others);
    sigdelset(&others, SIGCHLD);
    sigdelset(&others, SIGCONT);
    while (watch_reap(watch)) {
        struct pollfd orders = {.fd = watch->orders, .events = POLLIN};
        int64_t next_ns = least(least(watch_lose_ns(watch), watch_kill_ns(watch)), watch->left_ns);
        int64_t left_ns = next_ns - boottime_ns();
        struct timespec left = boottime_spec(left_ns > 0 ? left_ns : 0);
        waker_set(watch->waker, next_ns);
        ppoll(&orders, 1, &left, &others);
        /* Orders first: one may postpone the end. A signal hides them from ppoll. */
        if (poll(&orders, 1, 0) > 0)
            watch_obey(watch);
        else
            watch_act(watch);
    }
}

/* Ends the guard before the command has started. */
static void watch_fail(struct watch *watch, const char *what, int error)
{
    snprintf(watch->report.names, TREE_NAMES, "%s: %s", what, strerror(error));
    watch_report(watch, GUARD_FAILED);
    _exit(NOT_RUN);
}

static void guard_main(const struct guard_plan *plan, int orders, int reports)
{
    pid_t guard = getpid();
    sigset_t all;
    struct watch watch = {
        .plan = *plan, .orders = orders, .reports = reports, .left_ns = GUARD_NEVER};
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int result = prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ? -errno : tree_open(&watch.tree);
    if (result < 0)
        watch_fail(&watch, "cannot look after a process", -result);
    result = waker_make(&watch.waker);
    if (result < 0)
        watch_fail(&watch, WAKER_FAULT, -result);
    watch.command = fork();
    if (watch.command == 0)
        guard_exec(plan, guard);
    if (watch.command < 0)
        watch_fail(&watch, "cannot start a process (ulimit -u bounds them)", errno);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = waker_on_signal}, NULL);
    setpgid(0, 0); /* so that signals of the terminal do not reach this process */
    watch_run(&watch);
    watch.report.ended_ns = boottime_ns();
    watch_report(&watch, GUARD_ENDED);
    _exit(0);
}

int guard_start(struct guard *ret, const struct guard_plan *plan)
{
    int orders[2], reports[2];
    if (pipe2(orders, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(reports, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        close(orders[1]);
        close(reports[0]);
        guard_main(plan, orders[0], reports[1]);
    }
    int error = errno;
    close(orders[0]);
    close(reports[1]);
    *ret = (struct guard){.pid = pid, .orders = orders[1], .reports = reports[0]};
    return pid < 0 ? -error : 0;
}
