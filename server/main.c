/* main.c: batond from its start to its end, step by step. */

#include "api/access/new_token.h"
#include "base/random.h"
#include "server/metrics/exposition.h"
#include "server/process/check.h"
#include "server/process/prepare.h"
#include "server/process/sandbox.h"
#include "server/process/supervisor.h"
#include "server/settings/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_SETTINGS = 2 };

static char *main_write_metrics(void *context)
{
    const struct process *process = context;
    return exposition_text(&(struct exposition){.metrics = process->metrics,
                                                .workers = process->worker_count,
                                                .hold_counter = &process->hold_counter,
                                                .log = &process->log,
                                                .started = process->started});
}

static int main_start_workers(struct process *process, struct failure *failure)
{
    size_t count = process->health.loops = process->worker_count;
    process->worker_options = (struct worker_options){
        .settings = &process->settings,
        .redis_url = &process->redis_url,
        .principals = process->principals,
        .https = process->https,
        .limits = &process->limits,
        .hold_counter = &process->hold_counter,
        .contention = &process->contention,
        .damages = &process->damages,
        .limits_named = &process->limits_named,
        .health = &process->health,
        .log = &process->log,
        .connection_limits = process->connection_limits,
        .admin_connection_limits = process->admin_connection_limits,
        .admin_fd = -1,
        .metrics = main_write_metrics,
        .context = process,
    };
    hold_counter_begin(&process->hold_counter);
    contention_open(&process->contention, count);
    random_bytes(&process->worker_options.process, sizeof process->worker_options.process);
    int sockets[WORKERS_MOST];
    for (size_t i = 0; i < count; i++) {
        sockets[i] = listener_socket(&process->listener, failure);
        if (sockets[i] < 0)
            return sockets[i];
    }
    if (process->settings.admin_listen) {
        process->worker_options.admin_fd = listener_socket(&process->admin, failure);
        if (process->worker_options.admin_fd < 0)
            return process->worker_options.admin_fd;
    }
    log_detach(&process->log);
    if (process->settings.sandbox) { /* everything is open, and batond has served no client */
        int result = sandbox_enter(&process->log, failure);
        if (result < 0)
            return result;
    }
    for (size_t i = 0; i < count; i++) {
        int result = worker_start(&process->workers[i], &process->worker_options, i, sockets[i],
                                  &process->metrics[i]);
        if (result < 0)
            return failure_set(failure, result, "cannot start a worker: %s", strerror(-result));
    }
    return 0;
}

/* Stops the workers that have started. They end side by side. */
static void main_stop_workers(struct process *process)
{
    for (size_t i = 0; i < process->worker_count; i++)
        if (process->workers[i])
            worker_ask_to_stop(process->workers[i]);
    for (size_t i = 0; i < process->worker_count; i++)
        if (process->workers[i])
            worker_join(process->workers[i]);
}

static void main_close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    uv_close(handle, NULL);
}

static void main_log_admin(const struct process *process)
{
    char url[96];
    if (!process->settings.admin_listen)
        return;
    snprintf(url, sizeof url, "%s://%s", process->https ? "https" : "http",
             process->admin.endpoint);
    log_line(&process->log, LOG_INFO, "listening for probes and metrics", "url", url, NULL);
}

static int main_serve(struct process *process, struct failure *failure)
{
    int result = prepare_read(process, failure);
    if (result == 0)
        result = prepare_open(process, failure);
    if (result < 0)
        return result;
    supervisor_begin(process); /* before a client connects: serves each to the end */
    result = main_start_workers(process, failure);
    if (result == 0) {
        char redis[256];
        snprintf(process->url, sizeof process->url, "%s://%s", process->https ? "https" : "http",
                 process->listener.endpoint);
        redis_url_describe(&process->redis_url, redis, sizeof redis);
        log_line(&process->log, LOG_INFO, "listening", "url", process->url, "redis", redis,
                 "version", BATON_VERSION, NULL);
        main_log_admin(process);
        supervisor_serve(process);
    }
    main_stop_workers(process);
    return result;
}

static void main_close(struct process *process)
{
    embedded_stop(process->embedded);
    uv_walk(&process->loop, main_close_handle, NULL);
    uv_run(&process->loop, UV_RUN_DEFAULT);
    uv_loop_close(&process->loop);
    contention_close(&process->contention);
}

/* 2 if the operator must change a setting or a limit, or a flag does not exist; 1 for other
 * failures. */
static int main_exit_code(int result)
{
    if (result == -EINVAL || result == -ENOTSUP || result == -EMFILE)
        return EXIT_SETTINGS;
    return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A service manager may close the standard descriptors. If they stayed closed, the next file would
 * get such a number, and log lines would go into a socket or a pipe. */
static void keep_standard_descriptors(void)
{
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd >= 0)
        close(fd);
}

/* Runs a command that ends batond at once. Returns false if batond must serve. */
static bool main_obey(const struct settings *settings, int *ret_result, struct failure *failure)
{
    if (settings->wants_help)
        settings_help(stdout);
    else if (settings->wants_version)
        printf("batond %s\n", BATON_VERSION);
    else if (settings->new_token)
        *ret_result = new_token_print(stdout, slice_of(settings->new_token), failure);
    else
        return false;
    return true;
}

/* A check that asks prints one line. */
static enum log_level main_log_level(const struct settings *settings)
{
    switch (settings->check) {
    case CHECK_READY:
        return LOG_ERROR;
    case CHECK_CONFIG:
        return LOG_WARN;
    case CHECK_NOTHING:
        break;
    }
    return settings->log_level;
}

static int main_check_or_serve(struct process *process, struct failure *failure)
{
    const struct settings *settings = &process->settings;
    process->started = time(NULL);
    process->log = (struct log){.fd = STDERR_FILENO,
                                .format = settings->log_format,
                                .level = main_log_level(settings),
                                .access = settings->access_log,
                                .audit = settings->audit_log};
    int result = prepare_files(process, failure);
    if (result == 0 && settings->sandbox)
        result = sandbox_prepare(failure);
    if (result == 0 && settings->check)
        return check_run(process, failure);
    if (result == 0)
        result = supervisor_prepare(process, failure);
    if (result < 0)
        return result;
    result = main_serve(process, failure);
    log_finish(&process->log);
    main_close(process);
    return result;
}

int main(int argc, char **argv)
{
    static struct process process;
    struct failure failure;
    keep_standard_descriptors();
    int result = sandbox_harden(&failure);
    if (result == 0)
        result = settings_read(&process.settings, argc, argv, &failure);
    sources_hide(argc, argv);
    if (result < 0) {
        fprintf(stderr, "batond: %s\n", failure.text);
        return EXIT_SETTINGS;
    }
    if (!main_obey(&process.settings, &result, &failure))
        result = main_check_or_serve(&process, &failure);
    if (result < 0)
        fprintf(stderr, "batond: %s\n", failure.text);
    prepare_undo(&process);
    return main_exit_code(result);
}
