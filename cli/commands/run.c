/* baton run: holds a lock while a command runs, and ends the command before the lock ends. */
#include "base/memory.h"
#include "base/utf8.h"
#include "cli/commands/commands.h"
#include "cli/problem.h"
#include "cli/run/boottime.h"
#include "cli/run/guard.h"
#include "cli/run/lease.h"
#include "cli/run/messages.h"
#include "cli/run/tree.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST_MARGIN_MS = 250, PASS_MS = 2, VAIN_PASS_MS = 1000 };

/* One run of a command. */
struct run {
    const struct context *context;
    struct guard guard; /* its pid is 0 once it is reaped */
    struct guard_plan plan;
    struct guard_report report; /* the latest */
    struct tree tree;           /* the front's own, for when the guard is gone */
    enum status end;            /* the exit status, if the guard ends the command */
    struct lease lease;
    bool has_lock;           /* otherwise no batond answers, and the command runs without */
    char fence[REPLY_SHOWN]; /* "": none, or several */
    char token[TOKEN_SIZE];
    struct token_file file;
    int death;   /* the signal that ended the command; 0: none */
    int signals; /* a signalfd of the signals that the front handles */
    bool was_stopped;
};

static int run_take_signals(struct run *run)
{
    static const int SIGNALS[] = {SIGCHLD, SIGTERM, SIGHUP,  SIGINT, SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGTSTP, 0};
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    run->plan.mask = run->context->interrupt.former;
    run->signals = interrupt_block(SIGNALS, &none);
    return run->signals < 0 ? -errno : 0;
}

/* A signal by a key reaches the command directly. A hangup may reach only this process. */
static void run_pass_on(const struct run *run, const struct signalfd_siginfo *info)
{
    bool is_key = info->ssi_code == SI_KERNEL && info->ssi_signo != SIGHUP;
    int64_t order = is_key ? GUARD_KEY : -(int64_t)info->ssi_signo;
    if (info->ssi_signo == SIGCHLD || (is_key && info->ssi_signo != SIGINT))
        return;
    ssize_t written = write(run->guard.orders, &order, sizeof order);
    (void)written;
}

/* Ctrl-Z has stopped the command as well. */
static void run_stop(struct run *run)
{
    int64_t end_ns = lease_end(&run->lease) - run->plan.margin_ns - run->plan.kill_after_ns;
    int64_t tenths = (end_ns - boottime_ns()) / (100 * MS_IN_NS); /* rounded down */
    if (!run->was_stopped && run->has_lock && !run->lease.ignores_loss)
        problem_print(STATUS_DONE,
                      "%s: nobody renews the lock of a stopped job. Continue it within %.1f s, or "
                      "the command is ended.",
                      run->lease.name, tenths > 0 ? (double)tenths / 10 : 0.0);
    messages_settle();
    run->was_stopped = true;
    interrupt_take(SIGTSTP);
}

static void run_take_signal(struct run *run)
{
    struct signalfd_siginfo info;
    int status;
    if (read(run->signals, &info, sizeof info) != sizeof info)
        return;
    run_pass_on(run, &info);
    if (info.ssi_signo == SIGTSTP)
        run_stop(run);
    if (info.ssi_signo == SIGCHLD)
        tree_reap(&run->guard.pid, &status);
}

/* "Ended backup.sh (3 processes, 1 of them by SIGKILL), 412 ms before the lock." */
static void run_print_end(const struct run *run)
{
    const struct lease *lease = &run->lease;
    const struct guard_report *report = &run->report;
    bool has_margin = run->has_lock && !lease->is_lost && !lease->ignores_loss;
    long long before_ms = (lease->expires_ns - report->ended_ns) / MS_IN_NS;
    fprintf(stderr, "  Ended %.200s (%d process%s", basename(run->plan.command[0]), report->asked,
            report->asked == 1 ? "" : "es");
    if (report->killed)
        fprintf(stderr, ", %d of them by SIGKILL", report->killed);
    if (has_margin && before_ms >= 0)
        fprintf(stderr, "), %lld ms before the lock.\n", before_ms);
    else
        fprintf(stderr, ").\n");
    if (has_margin && before_ms < 0)
        problem_print(STATUS_LOST,
                      "%s: that was %lld ms too late. The lock may have been another's meanwhile.",
                      lease->name, -before_ms);
}

/* The guard has begun to end the command: says why. */
static void run_report_loss(struct run *run)
{
    struct lease *lease = &run->lease;
    char trouble[LEASE_TROUBLE];
    bool is_overdue =
        lease->ignores_loss || lease->has_reached_max_held ||
        (!lease->is_lost && lease->held_until_ns < lease->expires_ns + run->plan.margin_ns);
    lease_trouble(lease, trouble);
    run->end = is_overdue ? STATUS_OVERDUE : STATUS_LOST;
    if (is_overdue)
        problem_print(run->end, "%s: max-held is over", lease->name);
    else
        problem_print(
            run->end, "%s: %s%s%s\n  It was last renewed %.1f s ago.", lease->name,
            lease->is_lost ? "the lock is lost" : "no batond has renewed the lock in time",
            trouble[0] ? ": " : "", trouble, (double)(boottime_ns() - lease->renewed_ns) / 1e9);
}

/* Escapes the names: other people chose them. */
static void run_print_names(const struct run *run, enum guard_event event, const char *names)
{
    static const struct {
        const char *what, *advice;
    } TEXTS[] = {
        [GUARD_LEFT] = {"the command has ended, and left behind",
                        "The lock is held until they end. SIGTERM to baton ends them; with "
                        "--only-command, baton does not wait for them."},
        [GUARD_VAIN] = {"could not be ended",
                        "A process of another user, or one that waits in the kernel, takes no "
                        "SIGKILL. baton tries again each second."},
    };
    char shown[TREE_NAMES];
    utf8_show_all(slice_of(names), shown, sizeof shown);
    problem_print(STATUS_LOST, "%s: %s: %s\n  %s", run->lease.name, TEXTS[event].what, shown,
                  TEXTS[event].advice);
}

static void run_read_reports(struct run *run)
{
    const struct guard_report *report = &run->report;
    while (read(run->guard.reports, &run->report, sizeof *report) == sizeof *report) {
        if (report->event == GUARD_LOST)
            run_report_loss(run);
        else if (report->event == GUARD_VAIN ||
                 (report->event == GUARD_LEFT && !run->context->options->quiet))
            run_print_names(run, report->event, report->names);
    }
}

/* Waits until the guard, and with it the command, has ended. */
static void run_await_guard(struct run *run)
{
    struct pollfd polled[] = {{.fd = run->signals, .events = POLLIN},
                              {.fd = run->guard.reports, .events = POLLIN}};
    while (run->guard.pid) {
        poll(polled, 2, -1);
        run_read_reports(run);
        run_take_signal(run);
    }
    run_read_reports(run);
}

/* Ends what the guard has left. */
static void run_end_tree(struct run *run)
{
    int64_t vain_ns = boottime_ns() + run->plan.margin_ns;
    char names[TREE_NAMES];
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (int64_t pause_ms = PASS_MS; tree_kill(&run->tree, &run->guard.pid, &run->report.status);) {
        struct timespec pause = boottime_spec(pause_ms * MS_IN_NS);
        if (pause_ms == PASS_MS && boottime_ns() >= vain_ns && tree_name(&run->tree, names)) {
            pause_ms = VAIN_PASS_MS;
            run_print_names(run, GUARD_VAIN, names);
        }
        sigtimedwait(&child, NULL, &pause);
    }
}

static enum status run_conclude(struct run *run)
{
    const struct guard_report *report = &run->report;
    if (report->event == GUARD_FAILED)
        return problem_print(STATUS_FAULT, "%s: %s", run->lease.name, report->names);
    if (report->event != GUARD_ENDED)
        return problem_print(STATUS_FAULT,
                             "%s: the guard of the command was killed, and the command with it",
                             run->lease.name);
    if (report->was_ended) {
        run_print_end(run);
        return run->end;
    }
    if (WIFSIGNALED(report->status))
        run->death = WTERMSIG(report->status);
    return (enum status)(WIFEXITED(report->status) ? WEXITSTATUS(report->status)
                                                   : 128 + WTERMSIG(report->status));
}

/* Plans the times that the lease allows. Without a lock, its TTL may be longer than --max-held. */
static void run_plan(struct run *run)
{
    const struct options *options = run->context->options;
    int64_t ttl_ms = run->lease.ttl_ms;
    if (options->max_held_ms > 0) {
        ttl_ms = least(ttl_ms, options->max_held_ms);
        run->lease.held_until_ns =
            least(run->lease.held_until_ns, boottime_ns() + options->max_held_ms * MS_IN_NS);
    }
    run->plan.expires_ns = lease_end(&run->lease);
    run->plan.kill_after_ns = least(options->kill_after_ms, ttl_ms / 4) * MS_IN_NS;
    run->plan.grace_ns = options->kill_after_ms * MS_IN_NS;
    run->plan.margin_ns = least(LONGEST_MARGIN_MS, ttl_ms / 8) * MS_IN_NS;
    run->plan.outlives_front = run->lease.ignores_loss;
    run->lease.margin_ns = run->plan.margin_ns;
}

/* Sets the variables of the command: its lock, and nothing of an outer baton run. */
static void run_export(const struct run *run)
{
    setenv("BATON_NAME", run->lease.name, 1);
    unsetenv("BATON_TOKEN_FILE");
    unsetenv("BATON_FENCE");
    if (run->has_lock && run->fence[0])
        setenv("BATON_FENCE", run->fence, 1);
    if (run->has_lock && run->file.path)
        setenv("BATON_TOKEN_FILE", run->file.path, 1);
}

/* Starts the guard, and what the front needs besides. If that fails, nothing of the command has
 * started. */
static enum status run_start(struct run *run)
{
    int result = waker_make(&run->lease.waker);
    if (result < 0)
        return problem_print(STATUS_FAULT, WAKER_FAULT ": %s", strerror(-result));
    result = run_take_signals(run);
    messages_settle(); /* before what the command prints */
    if (result == 0)
        result = guard_start(&run->guard, &run->plan);
    if (result < 0)
        return problem_print(STATUS_FAULT, "cannot start a process: %s", strerror(-result));
    return STATUS_DONE;
}

/* Runs the command. */
static enum status run_guarded(struct run *run)
{
    run_plan(run);
    run_export(run);
    client_set_timeout(run->context->client,
                       least(run->context->options->connect_timeout_ms, run->lease.ttl_ms / 4));
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    enum status status = run_start(run);
    if (status != STATUS_DONE)
        return status;
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    run->lease.orders = run->guard.orders;
    lease_order_end(&run->lease);
    bool renews = run->has_lock && lease_start(&run->lease) == 0;
    if (run->has_lock && !renews)
        close(run->guard.orders); /* this makes the guard end the command */
    run_await_guard(run);
    if (run->report.event != GUARD_ENDED && run->report.event != GUARD_FAILED)
        run_end_tree(run); /* while the lock is renewed */
    if (renews)
        lease_stop(&run->lease);
    timer_delete(run->lease.waker); /* its signals would go on until the process has ended */
    return run_conclude(run);
}

/* Begins the lease. If the request waited long, a part of the TTL in its reply is over. */
static enum status run_begin(struct run *run, const struct reply *reply, int64_t sent_ns)
{
    struct lease *lease = &run->lease;
    const json_t *fence = json_object_get(reply->json, "fence");
    struct failure failure;
    reply_show(json_is_integer(fence) ? fence : NULL, "", run->fence);
    if (lease->is_verbose)
        problem_print(STATUS_DONE, "%s: granted, fence %s", lease->name,
                      run->fence[0] ? run->fence : "-");
    lease_take(lease, reply, sent_ns);
    bool is_fresh = boottime_ns() - sent_ns < lease->ttl_ms * MS_IN_NS / 10;
    if (!is_fresh && !lease_renew(lease))
        return problem_print(STATUS_LOST, "%s: the lock is lost: %s", lease->name, lease->trouble);
    if (lease->expires_ns - boottime_ns() < lease->ttl_ms * MS_IN_NS / 2)
        return problem_print(STATUS_UNANSWERED,
                             "%s: no batond has renewed the lock, so the command "
                             "was not started",
                             lease->name);
    if (run->file.path && token_file_put(&run->file, run->token, &failure) < 0)
        return problem_print(STATUS_FAULT, "%s", failure.text);
    return STATUS_DONE;
}

/* Takes the lock and runs the command, with it or, if the options say so, without. */
static enum status run_locked(struct run *run)
{
    const struct options *options = run->context->options;
    int64_t sent_ns;
    struct reply reply = acquire_lock(run->context, run->token, &sent_ns);
    enum status status = acquire_report(run->context, &reply), found = reply_status(&reply);
    bool is_granted = found == STATUS_DONE;
    if (is_granted)
        status = found = run_begin(run, &reply, sent_ns);
    run->death = reply.signal;
    run->has_lock = found == STATUS_DONE;
    run->lease.ignores_loss |= !run->has_lock;
    reply_free(&reply);
    if (found == STATUS_UNANSWERED && options->runs_unlocked)
        problem_print(found, "%s: the command runs without the lock", run->lease.name);
    if (run->has_lock || (found == STATUS_UNANSWERED && options->runs_unlocked))
        status = run_guarded(run);
    if (is_granted && !run->lease.is_lost)
        command_release_token(run->context, run->token);
    if (run->has_lock && run->file.path)
        unlink(run->file.path);
    return status;
}

/* Checks the command line and this machine, and prints what is wrong. */
static enum status run_check(const struct options *options, struct tree *tree)
{
    if (options->token_file && strcmp(options->token_file, "-") == 0)
        return problem_print(STATUS_USAGE, "--token-file: baton run needs the name of a file.");
    if (!options->shell_line == !options->command || (options->command && !options->command[0]))
        return problem_print(
            STATUS_USAGE,
            "Give a command behind \"--\", or else with -c: baton run NAME -- COMMAND.");
    if (tree_open(tree) < 0)
        return problem_print(STATUS_FAULT, "/proc does not show the children of this process, so "
                                           "the command could not be ended. Mount /proc of this "
                                           "namespace; the kernel needs CONFIG_PROC_CHILDREN.");
    return STATUS_DONE;
}

enum status command_run(struct context *context)
{
    const struct options *options = context->options;
    static char shell[] = "sh", flag[] = "-c";
    char *const line[] = {shell, flag, (char *)options->shell_line, NULL};
    struct failure failure;
    struct messages messages;
    struct run run = {.context = context,
                      .plan = {.command = options->shell_line ? line : options->command,
                               .inherited = context->inherited,
                               .signal = (int)options->signal,
                               .only_command = options->only_command},
                      .lease = {.client = context->client,
                                .path = context->path,
                                .body = context->body,
                                .token = run.token,
                                .name = options->names[0],
                                .is_watched = options->name_count == 1,
                                .is_verbose = options->verbose,
                                .ignores_loss = options->ignores_loss,
                                .held_until_ns = GUARD_NEVER,
                                .ttl_ms = options->ttl_ms,
                                .lock = PTHREAD_MUTEX_INITIALIZER,
                                .orders = -1}};
    enum status status = run_check(options, &run.tree);
    if (status != STATUS_DONE)
        return status;
    int result = messages_open(&messages);
    if (result < 0)
        return problem_print(STATUS_FAULT, "cannot start a thread: %s", strerror(-result));
    /* Orphans that this process inherits meanwhile leave no zombie. */
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_IGN}, &run.plan.child_action);
    interrupt_open(&context->interrupt);
    if (options->token_file && token_file_open(&run.file, options->token_file, &failure) < 0)
        status = problem_print(STATUS_CONFIG, "%s", failure.text);
    else
        status = run_locked(&run);
    token_file_close(&run.file);
    tree_close(&run.tree);
    messages_close(&messages);
    if (run.death)
        interrupt_die(run.death);
    return status;
}
