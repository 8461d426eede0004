/* main.c: batond from its start to its end, step by step. */

#include "api/new_token.h"
#include "base/duration.h"
#include "base/random.h"
#include "server/check.h"
#include "server/exposition.h"
#include "server/prepare.h"
#include "server/readings.h"
#include "server/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RESTART_PAUSE_MS = 500, EXIT_SETTINGS = 2 };

static char *write_metrics(void *context)
{
    const struct process *process = context;
    return exposition_text(&(struct exposition){.metrics = process->metrics,
                                                .workers = process->worker_count,
                                                .census = &process->census,
                                                .started = process->started});
}

static int start_workers(struct process *process, struct failure *failure)
{
    size_t count = process->worker_count;
    process->worker_options = (struct worker_options){
        .settings = &process->settings,
        .redis_url = &process->redis_url,
        .principals = process->principals,
        .https = process->https,
        .limits = &process->limits,
        .census = &process->census,
        .health = &process->health,
        .log = &process->log,
        .addresses = process->addresses,
        .metrics = write_metrics,
        .context = process,
    };
    census_begin(&process->census);
    random_bytes(&process->worker_options.process, sizeof process->worker_options.process);
    int sockets[WORKERS_MOST];
    for (size_t i = 0; i < count; i++) {
        sockets[i] = listener_socket(&process->listener, failure);
        if (sockets[i] < 0)
            return sockets[i];
    }
    log_detach(&process->log);
    if (process->settings.sandbox) { /* all is open, and nobody has been served */
        int result = sandbox_enter(&process->log, failure);
        if (result < 0)
            return result;
    }
    for (size_t i = 0; i < count; i++) {
        int result = worker_start(&process->workers[i], &process->worker_options, sockets[i],
                                  &process->metrics[i]);
        if (result < 0)
            return failure_set(failure, result, "cannot start a worker: %s", strerror(-result));
    }
    return 0;
}

/* Those that have started: all of them end side by side. */
static void stop_workers(struct process *process)
{
    for (size_t i = 0; i < process->worker_count; i++)
        if (process->workers[i])
            worker_ask_to_stop(process->workers[i]);
    for (size_t i = 0; i < process->worker_count; i++)
        if (process->workers[i])
            worker_join(process->workers[i]);
}

/* SIG_BLOCK or SIG_UNBLOCK, in the main thread; the others are started while it is blocked. So
 * nobody but the loop hears of a signal to stop, and of the first alone: at the very end, when the
 * loop has closed, another would end the process as it is. */
static void hold_stop_signals(int how)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(how, &signals, NULL);
}

static void stop(struct process *process, const char *reason)
{
    hold_stop_signals(SIG_BLOCK);
    log_line(&process->log, LOG_INFO, "stopping", "reason", reason, NULL);
    uv_stop(&process->loop);
}

static void on_grace_over(uv_timer_t *timer)
{
    stop(timer->data, "the time of drain is over");
}

/* Where there is nobody else to send requests to, nothing is gained by it: the Redis of its own
 * ends with this batond. And who presses Ctrl-C or closes the terminal wants it to end. */
static bool is_graceful(const struct process *process, int number)
{
    return number == SIGTERM && process->settings.redis_url && process->settings.drain_ms > 0;
}

static void leave(struct process *process)
{
    char lasts[DURATION_TEXT];
    duration_format(process->settings.drain_ms, lasts);
    log_line(&process->log, LOG_INFO,
             "draining: not ready any more, so that requests go to others; serving those that come",
             "for", lasts, NULL);
    atomic_store(&process->health.leaving, true);
    uv_timer_start(&process->grace, on_grace_over, (uint64_t)process->settings.drain_ms, 0);
}

/* The first asks, another insists. */
static void on_stop_signal(uv_signal_t *signal, int number)
{
    struct process *process = signal->data;
    if (is_graceful(process, number) && !health_is_leaving(&process->health))
        leave(process);
    else
        stop(process, strsignal(number));
}

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Whether closing the terminal is to end the process, as it ends others: not under nohup(1). */
static bool ends_with_terminal(void)
{
    struct sigaction action;
    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler != SIG_IGN && has_terminal();
}

/* Somebody asks to read files again, or the terminal was closed. */
static void on_hangup_signal(uv_signal_t *signal, int number)
{
    struct process *process = signal->data;
    if (process->ends_with_terminal && !has_terminal())
        on_stop_signal(signal, number);
    else
        readings_again(process);
}

static void on_restart(uv_timer_t *timer)
{
    struct process *process = timer->data;
    struct failure failure;
    if (embedded_restart(process->embedded, &failure) == 0)
        return;
    log_line(&process->log, LOG_ERROR, "cannot start redis-server again", "reason", failure.text,
             NULL);
    uv_timer_start(timer, on_restart, RESTART_PAUSE_MS, 0);
}

static void on_child_signal(uv_signal_t *signal, int number)
{
    struct process *process = signal->data;
    (void)number;
    if (!process->embedded || !embedded_has_ended(process->embedded))
        return;
    log_line(&process->log, LOG_ERROR,
             "redis-server has ended by itself; starting it again; see redis.log there",
             "directory", process->settings.state_dir, NULL);
    uv_timer_start(&process->restart, on_restart, RESTART_PAUSE_MS, 0);
}

/* From now on the main thread's loop hears of signals; until here they end the process at once. */
static void watch(struct process *process)
{
    uv_signal_start(&process->terminate, on_stop_signal, SIGTERM);
    uv_signal_start(&process->interrupt, on_stop_signal, SIGINT);
    uv_signal_start(&process->hangup, on_hangup_signal, SIGHUP);
    uv_signal_start(&process->child, on_child_signal, SIGCHLD);
    on_child_signal(&process->child, SIGCHLD); /* it may have ended before */
}

static void prepare_loop(struct process *process)
{
    process->ends_with_terminal = ends_with_terminal();
    signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&process->loop) < 0)
        abort();
    uv_signal_init(&process->loop, &process->terminate);
    uv_signal_init(&process->loop, &process->interrupt);
    uv_signal_init(&process->loop, &process->hangup);
    uv_signal_init(&process->loop, &process->child);
    uv_timer_init(&process->loop, &process->restart);
    uv_timer_init(&process->loop, &process->grace);
    process->terminate.data = process->interrupt.data = process->hangup.data = process->child.data =
        process->restart.data = process->grace.data = process;
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    uv_close(handle, NULL);
}

static int serve(struct process *process, struct failure *failure)
{
    int result = prepare(process, failure);
    if (result < 0)
        return result;
    watch(process); /* before anybody can connect, so that whoever is served is served to the end */
    hold_stop_signals(SIG_BLOCK);
    result = start_workers(process, failure);
    if (result == 0) {
        char url[96], redis[256];
        snprintf(url, sizeof url, "%s://%s", process->https ? "https" : "http",
                 process->listener.place);
        redis_url_describe(&process->redis_url, redis, sizeof redis);
        log_line(&process->log, LOG_INFO, "listening", "url", url, "redis", redis, "version",
                 BATON_VERSION, NULL);
        hold_stop_signals(SIG_UNBLOCK);
        uv_run(&process->loop, UV_RUN_DEFAULT); /* until a signal ends it */
    }
    stop_workers(process);
    return result;
}

/* 2 where a setting has to be changed, as for a flag that does not exist; 1 for all else. */
static int exit_code(int result)
{
    if (result == -EINVAL || result == -ENOTSUP)
        return EXIT_SETTINGS;
    return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Whoever starts a service may close its standard descriptors. Without this the next file to be
 * opened would take such a number, and log lines would be written into a socket or a pipe. */
static void keep_standard_descriptors(void)
{
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd >= 0)
        close(fd);
}

/* Does what ends batond at once. False where it is to serve. */
static bool obey(const struct settings *settings, int *ret_result, struct failure *failure)
{
    if (settings->wants_help)
        settings_help(stdout);
    else if (settings->wants_version)
        printf("batond %s\n", BATON_VERSION);
    else if (settings->new_token)
        *ret_result = new_token_print(stdout, slice_of(settings->new_token), failure);
    else if (settings->wants_check) {
        *ret_result = check_readiness(settings, failure);
        if (*ret_result == 0)
            puts("ready");
    } else
        return false;
    if (*ret_result < 0)
        fprintf(stderr, "batond: %s\n", failure->text);
    return true;
}

int main(int argc, char **argv)
{
    static struct process process;
    struct failure failure;
    keep_standard_descriptors();
    int result = sandbox_harden(&failure);
    if (result == 0)
        result = settings_read(&process.settings, argc, argv, &failure);
    settings_hide(argc, argv);
    if (result < 0) {
        fprintf(stderr, "batond: %s\n", failure.text);
        return EXIT_SETTINGS;
    }
    if (obey(&process.settings, &result, &failure)) {
        settings_free(&process.settings);
        return exit_code(result);
    }
    process.started = time(NULL);
    process.log =
        (struct log){STDERR_FILENO, process.settings.log_format, process.settings.log_level, NULL};
    if (process.settings.sandbox)
        result = sandbox_prepare(&failure);
    prepare_loop(&process);

    if (result == 0)
        result = serve(&process, &failure);
    log_finish(&process.log);
    if (result < 0)
        fprintf(stderr, "batond: %s\n", failure.text);

    embedded_stop(process.embedded);
    uv_walk(&process.loop, close_handle, NULL);
    uv_run(&process.loop, UV_RUN_DEFAULT);
    uv_loop_close(&process.loop);
    principals_drop(process.principals);
    https_drop(process.https);
    redis_url_free(&process.redis_url);
    addresses_free(process.addresses);
    settings_free(&process.settings);
    return exit_code(result);
}
