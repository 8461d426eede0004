/* baton run: holds a lock while a command runs, and ends the command before the lock ends. */
#include "base/duration.h"
#include "base/memory.h"
#include "cli/commands/acquire.h"
#include "cli/problem.h"
#include "cli/run/boottime.h"
#include "cli/run/guard.h"
#include "cli/run/lease.h"
#include "cli/run/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHORTEST_TTL_MS = 3000, LONGEST_MARGIN_MS = 250, SHELL_WORDS = 4 };

/* One run of a command. */
struct run {
    const struct context *context;
    struct guard guard;
    struct guard_plan plan;
    struct lease lease;
    char token[TOKEN_SIZE];
    int death;      /* the signal that ended the command; 0: none */
    sigset_t taken; /* the signals that the front takes itself */
};

static void run_take_signals(struct run *run)
{
    static const int SIGNALS[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
    sigemptyset(&run->taken);
    for (size_t i = 0; i < sizeof SIGNALS / sizeof SIGNALS[0]; i++)
        sigaddset(&run->taken, SIGNALS[i]);
    sigprocmask(SIG_BLOCK, &run->taken, &run->plan.mask);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &run->plan.child_action);
}

/* What the terminal sends reaches the command as well, so only what a process sends is passed on.
 */
static void run_pass_on(const struct run *run, const siginfo_t *info)
{
    int64_t order = -info->si_signo;
    if (info->si_signo == SIGCHLD || info->si_code == SI_KERNEL)
        return;
    ssize_t written = write(run->guard.orders, &order, sizeof order);
    (void)written;
}

/* Waits until the guard has ended, and with it the command. */
static void run_await_guard(const struct run *run)
{
    siginfo_t info;
    while (waitpid(run->guard.pid, NULL, WNOHANG) == 0)
        if (sigwaitinfo(&run->taken, &info) > 0)
            run_pass_on(run, &info);
}

static void run_die_by(int signal)
{
    sigset_t own;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigemptyset(&own);
    sigaddset(&own, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &own, NULL);
}

static enum status run_conclude(struct run *run)
{
    const char *name = run->context->options->names[0];
    struct guard_report report;
    if (read(run->guard.reports, &report, sizeof report) != sizeof report) {
        tree_end();
        bool is_late = boottime_ns() > run->lease.expires_ns - run->plan.margin_ns;
        return problem_print(is_late ? STATUS_LOST : STATUS_FAULT,
                             "%s: the guard of the command was killed, and the command with it",
                             name);
    }
    if (report.was_ended && run->lease.is_lost)
        return problem_print(STATUS_LOST, "%s: the lock is lost. The command was ended.", name);
    if (report.was_ended)
        return problem_print(STATUS_LOST,
                             "%s: no batond has renewed the lock in time. The command was ended, "
                             "%lld ms before the lock.",
                             name, (long long)(report.spare_ns / MS_IN_NS));
    if (WIFSIGNALED(report.status))
        run->death = WTERMSIG(report.status);
    return (enum status)(WIFEXITED(report.status) ? WEXITSTATUS(report.status)
                                                  : 128 + WTERMSIG(report.status));
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run_plan(struct run *run, char *const *command)
{
    const struct options *options = run->context->options;
    int64_t ttl_ms = run->lease.ttl_ms;
    run->plan.expires_ns = run->lease.expires_ns;
    run->plan.kill_after_ns = least(options->kill_after_ms, ttl_ms / 4) * MS_IN_NS;
    run->plan.margin_ns = least(LONGEST_MARGIN_MS, ttl_ms / 8) * MS_IN_NS;
    run->plan.signal = SIGTERM;
    run->plan.command = command;
}

/* What the command can tell its database. */
static void run_export(const struct options *options, const struct reply *reply)
{
    char fence[24];
    json_int_t number = json_integer_value(json_object_get(reply->json, "fence"));
    snprintf(fence, sizeof fence, "%" JSON_INTEGER_FORMAT, number);
    setenv("BATON_NAME", options->names[0], 1);
    if (number)
        setenv("BATON_FENCE", fence, 1);
}

/* The lock is granted: runs the command. */
static enum status run_guarded(struct run *run, char *const *command)
{
    run_plan(run, command);
    client_set_timeout(run->context->client,
                       least(run->context->options->connect_timeout_ms, run->lease.ttl_ms / 4));
    run_take_signals(run);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int result = guard_start(&run->guard, &run->plan);
    if (result < 0)
        return problem_print(STATUS_FAULT, "cannot start a process: %s", strerror(-result));
    run->lease.orders = run->guard.orders;
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    bool renews = lease_start(&run->lease) == 0;
    if (!renews)
        close(run->guard.orders); /* so that the guard ends the command */
    run_await_guard(run);
    enum status status = run_conclude(run);
    if (renews && !lease_stop(&run->lease))
        _exit((int)status); /* a resolver that does not answer holds the thread up */
    return status;
}

/* A request that waited has used up a part of the TTL that its reply tells. */
static enum status run_begin_lease(struct run *run, const struct reply *reply, int64_t sent_ns)
{
    struct lease *lease = &run->lease;
    lease->orders = -1;
    lease->expires_ns = lease_expiry(reply, sent_ns, &lease->ttl_ms);
    bool is_fresh = boottime_ns() - sent_ns < lease->ttl_ms * MS_IN_NS / 10;
    if (!is_fresh && !lease_renew(lease))
        return STATUS_LOST;
    if (lease->expires_ns - boottime_ns() < lease->ttl_ms * MS_IN_NS / 2)
        return problem_print(STATUS_UNANSWERED,
                             "%s: no batond has renewed the lock, so the command "
                             "was not started",
                             lease->name);
    return STATUS_DONE;
}

static enum status run_with_lock(struct run *run, char *const *command, const struct reply *reply,
                                 int64_t sent_ns)
{
    const struct context *context = run->context;
    json_t *body = memory_checked(json_object());
    char *path = command_path(context->options, body);
    run->lease.path = path;
    run->lease.body = body;
    run->lease.token = run->token;
    run->lease.name = context->options->names[0];
    run->lease.client = context->client;
    run_export(context->options, reply);
    enum status status = run_begin_lease(run, reply, sent_ns);
    if (status == STATUS_DONE)
        status = run_guarded(run, command);
    if (!run->lease.is_lost)
        command_release_token(context, run->token);
    json_decref(body);
    free(path);
    return status;
}

enum status command_run(const struct context *context)
{
    const struct options *options = context->options;
    static char shell[] = "sh", flag[] = "-c";
    char *const line[SHELL_WORDS] = {shell, flag, (char *)options->shell_line, NULL};
    char *const *command = options->shell_line ? line : options->command;
    struct run run = {.context = context};
    int64_t sent_ns;
    int64_t ttl_ms = SHORTEST_TTL_MS;
    if (duration_parse(slice_of(options->ttl), &ttl_ms) == 0 && ttl_ms < SHORTEST_TTL_MS)
        return problem_print(STATUS_USAGE, "--ttl: the shortest for baton run is 3s.");
    if (!command || !command[0] || (options->shell_line && options->command))
        return problem_print(STATUS_USAGE,
                             "Give a command: baton run NAME -- COMMAND, or -c LINE.");
    struct reply reply = acquire_lock(context, run.token, &sent_ns);
    enum status status = acquire_report(options, &reply);
    if (problem_status(&reply) == STATUS_DONE)
        status = run_with_lock(&run, command, &reply, sent_ns);
    reply_free(&reply);
    if (run.death)
        run_die_by(run.death);
    return status;
}
