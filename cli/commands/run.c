/* baton run: holds a lock while a command runs, and ends the command before the lock ends. */
#include "base/memory.h"
#include "cli/commands/commands.h"
#include "cli/problem.h"
#include "cli/run/boottime.h"
#include "cli/run/guard.h"
#include "cli/run/lease.h"
#include "cli/run/tree.h"
#include "cli/run/waker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHORTEST_TTL_MS = 3000, LONGEST_MARGIN_MS = 250, SHELL_WORDS = 4, END_TEXT = 600 };

/* One run of a command. */
struct run {
    const struct context *context;
    struct guard guard;
    struct guard_plan plan;
    struct lease lease;
    bool has_lock; /* or no batond answers, and the command runs without */
    char token[TOKEN_SIZE];
    struct token_file file;
    int death;      /* the signal that ended the command; 0: none */
    sigset_t taken; /* the signals that the front takes itself */
    bool was_stopped;
};

static void run_take_signals(struct run *run)
{
    static const int SIGNALS[] = {SIGCHLD, SIGTERM, SIGHUP,  SIGINT,
                                  SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
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

/* Does what a signal does by default. SIGTSTP stops this process until SIGCONT. */
static void run_default(int signal)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &own, NULL);
    sigprocmask(SIG_BLOCK, &own, NULL);
}

/* Ctrl-Z has stopped the command as well. */
static void run_stop(struct run *run)
{
    int64_t left_ns = lease_end(&run->lease) - run->plan.margin_ns - run->plan.kill_after_ns;
    struct sigaction action;
    sigaction(SIGTSTP, NULL, &action);
    if (action.sa_handler != SIG_DFL)
        return;
    if (!run->was_stopped && run->has_lock && !run->lease.ignores_loss)
        problem_print(STATUS_DONE,
                      "%s: nobody renews the lock of a stopped job. Continue it within %lld s, or "
                      "the command is ended.",
                      run->lease.name, (long long)((left_ns - boottime_ns()) / (1000 * MS_IN_NS)));
    run->was_stopped = true;
    run_default(SIGTSTP);
}

/* Waits until the guard has ended, and with it the command. */
static void run_await_guard(struct run *run)
{
    siginfo_t info;
    while (waitpid(run->guard.pid, NULL, WNOHANG) == 0) {
        if (sigwaitinfo(&run->taken, &info) < 0)
            continue;
        run_pass_on(run, &info);
        if (info.si_signo == SIGTSTP)
            run_stop(run);
    }
}

static void run_die_by(int signal)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    run_default(signal);
}

/* "Ended backup.sh (3 processes, 1 of them by SIGKILL), 412 ms before the lock." */
static void run_describe_end(const struct run *run, const struct guard_report *report,
                             char text[END_TEXT])
{
    char killed[64] = "", spare[64] = "";
    if (report->killed)
        snprintf(killed, sizeof killed, ", %d of them by SIGKILL", report->killed);
    if (run->has_lock && !run->lease.is_lost && !run->lease.ignores_loss)
        snprintf(spare, sizeof spare, ", %lld ms before the lock",
                 (long long)((run->lease.expires_ns - report->ended_ns) / MS_IN_NS));
    snprintf(text, END_TEXT, "Ended %.200s (%d process%s%s)%s.", basename(run->plan.command[0]),
             report->asked, report->asked == 1 ? "" : "es", killed, spare);
}

/* The guard has ended the command: says why, and what that took. */
static enum status run_report_end(struct run *run, const struct guard_report *report)
{
    char end[END_TEXT];
    const struct lease *lease = &run->lease;
    double ago_s = (double)(report->ended_ns - lease->renewed_ns) / 1e9;
    run_describe_end(run, report, end);
    bool ends_by_max_held = lease->has_reached_max_held ||
                            lease->held_until_ns < lease->expires_ns + run->plan.margin_ns;
    if (lease->is_lost && !lease->has_reached_max_held && !lease->ignores_loss)
        return problem_print(STATUS_LOST,
                             "%s: the lock is lost: %s\n  It was last renewed %.1f s ago. %s",
                             lease->name, lease->trouble, ago_s, end);
    if (ends_by_max_held || lease->ignores_loss)
        return problem_print(STATUS_OVERDUE, "%s: max-held is over\n  %s", lease->name, end);
    return problem_print(STATUS_LOST,
                         "%s: no batond has renewed the lock in time%s%s\n  It was last renewed "
                         "%.1f s ago. %s",
                         lease->name, lease->trouble[0] ? ": " : "", lease->trouble, ago_s, end);
}

/* `report` is NULL if the guard made none. */
static enum status run_conclude(struct run *run, const struct guard_report *report)
{
    if (!report)
        return problem_print(STATUS_FAULT,
                             "%s: the guard of the command was killed, and the command with it",
                             run->lease.name);
    if (report->was_ended)
        return run_report_end(run, report);
    if (WIFSIGNALED(report->status))
        run->death = WTERMSIG(report->status);
    return (enum status)(WIFEXITED(report->status) ? WEXITSTATUS(report->status)
                                                   : 128 + WTERMSIG(report->status));
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run_plan(struct run *run, char *const *command)
{
    const struct options *options = run->context->options;
    int64_t ttl_ms = run->lease.ttl_ms;
    int64_t held_until_ns = boottime_ns() + options->max_held_ms * MS_IN_NS;
    if (options->max_held_ms > 0)
        run->lease.held_until_ns = least(run->lease.held_until_ns, held_until_ns);
    run->plan.expires_ns = lease_end(&run->lease);
    run->plan.kill_after_ns = least(options->kill_after_ms, ttl_ms / 4) * MS_IN_NS;
    run->plan.margin_ns = least(LONGEST_MARGIN_MS, ttl_ms / 8) * MS_IN_NS;
    run->plan.signal = (int)options->signal;
    run->plan.outlives_front = run->lease.ignores_loss;
    run->plan.command = command;
    run->plan.inherited = run->context->inherited;
}

/* Tells the command its lock, and nothing of a run around this one. `hold` is NULL without a lock.
 */
static void run_export(const struct options *options, const json_t *hold)
{
    char fence[24];
    json_int_t number = json_integer_value(json_object_get(hold, "fence"));
    snprintf(fence, sizeof fence, "%" JSON_INTEGER_FORMAT, number);
    setenv("BATON_NAME", options->names[0], 1);
    unsetenv("BATON_TOKEN_FILE");
    unsetenv("BATON_FENCE");
    if (number)
        setenv("BATON_FENCE", fence, 1);
}

/* Runs the command. */
static enum status run_guarded(struct run *run, char *const *command)
{
    struct guard_report report;
    run_plan(run, command);
    client_set_timeout(run->context->client,
                       least(run->context->options->connect_timeout_ms, run->lease.ttl_ms / 4));
    run_take_signals(run);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int result = guard_start(&run->guard, &run->plan);
    if (result < 0)
        return problem_print(STATUS_FAULT, "cannot start a process: %s", strerror(-result));
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    run->lease.orders = run->guard.orders;
    run->lease.margin_ns = run->plan.margin_ns;
    if (waker_make(&run->lease.waker) == 0)
        lease_tell_end(&run->lease);
    bool renews = run->has_lock && lease_start(&run->lease) == 0;
    if (run->has_lock && !renews)
        close(run->guard.orders); /* so that the guard ends the command */
    run_await_guard(run);
    bool is_told = read(run->guard.reports, &report, sizeof report) == sizeof report;
    if (!is_told)
        tree_end(); /* while the lock is renewed */
    if (renews)
        lease_stop(&run->lease);
    timer_delete(run->lease.waker); /* its signals would go on until the process has ended */
    return run_conclude(run, is_told ? &report : NULL);
}

static enum status run_without_lock(struct run *run, char *const *command)
{
    problem_print(STATUS_UNANSWERED, "%s: the command runs without the lock", run->lease.name);
    run->has_lock = false;
    run->lease.ignores_loss = true;
    run_export(run->context->options, NULL);
    return run_guarded(run, command);
}

/* A request that waited has used up a part of the TTL that its reply tells. */
static enum status run_begin_lease(struct run *run, const struct reply *reply, int64_t sent_ns)
{
    struct lease *lease = &run->lease;
    lease->expires_ns = lease_expiry(reply, sent_ns, &lease->ttl_ms);
    lease->renewed_ns = sent_ns;
    lease_bound(lease, reply, sent_ns);
    bool is_fresh = boottime_ns() - sent_ns < lease->ttl_ms * MS_IN_NS / 10;
    if (!is_fresh && !lease_renew(lease))
        return problem_print(STATUS_LOST, "%s: the lock is lost: %s", lease->name, lease->trouble);
    if (lease->expires_ns - boottime_ns() < lease->ttl_ms * MS_IN_NS / 2)
        return problem_print(STATUS_UNANSWERED,
                             "%s: no batond has renewed the lock, so the command "
                             "was not started",
                             lease->name);
    return STATUS_DONE;
}

/* Gives the command its token, if the options ask for that. */
static enum status run_put_token(struct run *run)
{
    const char *path = run->file.path;
    struct failure failure;
    if (!path)
        return STATUS_DONE;
    if (token_file_put(&run->file, run->token, &failure) < 0)
        return problem_print(STATUS_FAULT, "%s", failure.text);
    setenv("BATON_TOKEN_FILE", path, 1);
    return STATUS_DONE;
}

static enum status run_with_lock(struct run *run, char *const *command, const struct reply *reply,
                                 int64_t sent_ns)
{
    const struct options *options = run->context->options;
    json_t *body = memory_checked(json_object());
    char *path = command_path(options, body);
    run->has_lock = true;
    run->lease.path = path;
    run->lease.is_watched = options->name_count == 1;
    run->lease.body = body;
    run_export(options, reply->json);
    if (options->verbose)
        problem_print(STATUS_DONE, "%s: granted, fence %s", run->lease.name,
                      getenv("BATON_FENCE") ? getenv("BATON_FENCE") : "-");
    enum status status = run_begin_lease(run, reply, sent_ns);
    if (status == STATUS_DONE)
        status = run_put_token(run);
    if (status == STATUS_DONE)
        status = run_guarded(run, command);
    else if (status == STATUS_UNANSWERED && options->runs_unlocked)
        status = run_without_lock(run, command);
    if (!run->lease.is_lost)
        command_release_token(run->context, run->token);
    if (run->file.path && !run->file.draft)
        unlink(run->file.path);
    json_decref(body);
    free(path);
    return status;
}

/* Takes the lock and runs the command. */
static enum status run_locked(struct run *run, char *const *command)
{
    const struct options *options = run->context->options;
    int64_t sent_ns;
    struct reply reply = acquire_lock(run->context, run->token, &sent_ns);
    enum status status = acquire_report(options, &reply), found = problem_status(&reply);
    run->lease = (struct lease){.client = run->context->client,
                                .token = run->token,
                                .name = options->names[0],
                                .is_verbose = options->verbose,
                                .ignores_loss = options->ignores_loss,
                                .held_until_ns = GUARD_NEVER,
                                .ttl_ms = options->ttl_ms,
                                .orders = -1};
    if (found == STATUS_DONE)
        status = run_with_lock(run, command, &reply, sent_ns);
    else if (found == STATUS_UNANSWERED && options->runs_unlocked)
        status = run_without_lock(run, command);
    reply_free(&reply);
    return status;
}

/* Says what is wrong with the command line. */
static enum status run_check(const struct options *options)
{
    if (options->ttl_ms < SHORTEST_TTL_MS)
        return problem_print(STATUS_USAGE, "--ttl: the shortest for baton run is 3s.");
    if (options->token_file && strcmp(options->token_file, "-") == 0)
        return problem_print(STATUS_USAGE, "--token-file: baton run needs the name of a file.");
    if (!options->shell_line == !options->command || (options->command && !options->command[0]))
        return problem_print(STATUS_USAGE,
                             "Give a command: baton run NAME -- COMMAND, or -c LINE.");
    return STATUS_DONE;
}

enum status command_run(struct context *context)
{
    const struct options *options = context->options;
    static char shell[] = "sh", flag[] = "-c";
    char *const line[SHELL_WORDS] = {shell, flag, (char *)options->shell_line, NULL};
    struct run run = {.context = context};
    struct failure failure;
    enum status status = run_check(options);
    if (status != STATUS_DONE)
        return status;
    if (options->token_file && token_file_open(&run.file, options->token_file, &failure) < 0)
        return problem_print(STATUS_CONFIG, "%s", failure.text);
    status = run_locked(&run, options->shell_line ? line : options->command);
    token_file_close(&run.file);
    if (run.death)
        run_die_by(run.death);
    return status;
}
