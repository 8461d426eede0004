#include "server/process/supervisor.h"

#include "base/duration.h"
#include "base/monotonic.h"
#include "server/process/readings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RESTART_PAUSE_MS = 500,
    LOOK_MS = 1000,
    END_MS = 20000, /* longer than batond and the embedded Redis take to end after the drain */
};

/* Blocks or unblocks (SIG_BLOCK, SIG_UNBLOCK) the signals that stop batond, in the main thread. The
 * other threads start while these signals are blocked, so only the loop gets them. supervisor_stop
 * blocks them again: once the loop has closed, a signal would kill the process. */
static void supervisor_mask_signals(int how)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(how, &signals, NULL);
}

static void supervisor_stop(struct process *process, const char *reason)
{
    supervisor_mask_signals(SIG_BLOCK);
    log_line(&process->log, LOG_INFO, "stopping", "reason", reason, NULL);
    notify_say(&process->notify,
               "STOPPING=1\nSTATUS=stopping: finishes what is under way\n"
               "EXTEND_TIMEOUT_USEC=%d",
               END_MS * 1000);
    uv_stop(&process->loop);
}

static void supervisor_on_grace_over(uv_timer_t *timer)
{
    supervisor_stop(timer->data, "the drain time is over");
}

/* Whether the signal starts a drain. With an embedded Redis a drain is of no use: Redis ends with
 * this batond, so no other batond could serve. After Ctrl-C or a closed terminal batond ends at
 * once. */
static bool supervisor_is_graceful(const struct process *process, int number)
{
    return number == SIGTERM && process->settings.redis_url && process->settings.drain_ms > 0;
}

static void supervisor_leave(struct process *process)
{
    char lasts[DURATION_TEXT];
    atomic_store(&process->health.leaving, true);
    duration_format(process->settings.drain_ms, lasts);
    log_line(&process->log, LOG_INFO,
             "draining: /readyz says 503, so that requests go to other batonds; requests that "
             "still come are served",
             "for", lasts, NULL);
    notify_say(&process->notify, "STOPPING=1\nSTATUS=draining for %s\nEXTEND_TIMEOUT_USEC=%" PRId64,
               lasts, (process->settings.drain_ms + END_MS) * 1000);
    for (size_t i = 0; i < process->worker_count; i++)
        metrics_set(&process->metrics[i].draining, 1);
    uv_timer_start(&process->grace, supervisor_on_grace_over, (uint64_t)process->settings.drain_ms,
                   0);
}

/* The first signal drains, the second stops. */
static void supervisor_on_stop_signal(uv_signal_t *signal, int number)
{
    struct process *process = signal->data;
    if (supervisor_is_graceful(process, number) && !health_is_leaving(&process->health))
        supervisor_leave(process);
    else
        supervisor_stop(process, strsignal(number));
}

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Whether closing the terminal ends batond, as it ends other programs; not under nohup(1). */
static bool ends_with_terminal(void)
{
    struct sigaction action;
    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler != SIG_IGN && has_terminal();
}

static void supervisor_reload(struct process *process)
{
    notify_say(&process->notify, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, monotonic_us());
    readings_again(process);
    notify_say(&process->notify, "READY=1");
}

/* SIGHUP asks to read files again, or says that the terminal was closed. */
static void supervisor_on_hangup_signal(uv_signal_t *signal, int number)
{
    struct process *process = signal->data;
    if (process->ends_with_terminal && !has_terminal())
        supervisor_on_stop_signal(signal, number);
    else
        supervisor_reload(process);
}

static void supervisor_on_restart(uv_timer_t *timer)
{
    struct process *process = timer->data;
    struct failure failure;
    if (embedded_restart(process->embedded, &failure) == 0)
        return;
    log_line(&process->log, LOG_ERROR, "cannot start redis-server again", "reason", failure.text,
             NULL);
    uv_timer_start(timer, supervisor_on_restart, RESTART_PAUSE_MS, 0);
}

static void supervisor_on_child_signal(uv_signal_t *signal, int number)
{
    struct process *process = signal->data;
    (void)number;
    if (!process->embedded || !embedded_has_ended(process->embedded))
        return;
    char pause[DURATION_TEXT];
    int pause_ms = embedded_pause_ms(process->embedded);
    duration_format(pause_ms, pause);
    log_line(&process->log, LOG_ERROR, "redis-server ended by itself; starting it again", "in",
             pause, "reason", embedded_why(process->embedded), "directory",
             process->settings.state_dir, NULL);
    uv_timer_start(&process->restart, supervisor_on_restart, (uint64_t)pause_ms, 0);
}

static void supervisor_report_status(struct process *process)
{
    bool away = false;
    for (size_t i = 0; i < process->worker_count; i++)
        away |= !atomic_load(&process->metrics[i].redis_up);
    if (away != process->redis_is_away && !health_is_leaving(&process->health))
        notify_say(&process->notify, "STATUS=serving on %s%s", process->url,
                   away ? ", but Redis is away" : "");
    process->redis_is_away = away;
}

static void supervisor_on_watchdog(uv_timer_t *timer)
{
    const struct process *process = timer->data;
    if (health_first_stuck(&process->health) == health_loops(&process->health))
        notify_say(&process->notify, "WATCHDOG=1");
}

static void supervisor_check_loops(struct process *process)
{
    char worker[24];
    for (size_t i = 0; i < process->health.loops; i++) {
        if (!health_look(&process->health, i))
            continue;
        bool stuck = health_is_stuck(&process->health, i);
        snprintf(worker, sizeof worker, "%zu", i + 1);
        log_line(&process->log, stuck ? LOG_ERROR : LOG_WARN,
                 stuck ? "a worker is stuck: its loop does not turn"
                       : "a worker's loop turns again",
                 "worker", worker, NULL);
    }
}

static void supervisor_on_check(uv_timer_t *timer)
{
    supervisor_check_loops(timer->data);
    supervisor_report_status(timer->data);
}

void supervisor_begin(struct process *process)
{
    uv_signal_start(&process->terminate, supervisor_on_stop_signal, SIGTERM);
    uv_signal_start(&process->interrupt, supervisor_on_stop_signal, SIGINT);
    uv_signal_start(&process->hangup, supervisor_on_hangup_signal, SIGHUP);
    uv_signal_start(&process->child, supervisor_on_child_signal, SIGCHLD);
    supervisor_on_child_signal(&process->child, SIGCHLD); /* redis-server may have ended before */
    supervisor_mask_signals(SIG_BLOCK);
}

void supervisor_serve(struct process *process)
{
    uint64_t watchdog_ms = (uint64_t)process->notify.watchdog_ms;
    notify_say(&process->notify, "READY=1\nSTATUS=serving on %s", process->url);
    uv_timer_start(&process->look, supervisor_on_check, LOOK_MS, LOOK_MS);
    if (watchdog_ms > 0)
        uv_timer_start(&process->watchdog, supervisor_on_watchdog, 0, watchdog_ms);
    supervisor_mask_signals(SIG_UNBLOCK);
    uv_run(&process->loop, UV_RUN_DEFAULT);
}

int supervisor_prepare(struct process *process, struct failure *failure)
{
    int result = uv_loop_init(&process->loop);
    if (result < 0)
        return failure_set(failure, result, "cannot make an event loop: %s", strerror(-result));
    if (notify_open(&process->notify, failure) < 0)
        log_line(&process->log, LOG_WARN, "cannot report to the service manager", "reason",
                 failure->text, NULL);
    process->ends_with_terminal = ends_with_terminal();
    signal(SIGPIPE, SIG_IGN);
    uv_signal_init(&process->loop, &process->terminate);
    uv_signal_init(&process->loop, &process->interrupt);
    uv_signal_init(&process->loop, &process->hangup);
    uv_signal_init(&process->loop, &process->child);
    uv_timer_init(&process->loop, &process->restart);
    uv_timer_init(&process->loop, &process->grace);
    uv_timer_init(&process->loop, &process->look);
    uv_timer_init(&process->loop, &process->watchdog);
    process->terminate.data = process->interrupt.data = process->hangup.data = process->child.data =
        process->restart.data = process->grace.data = process->look.data = process->watchdog.data =
            process;
    return 0;
}
