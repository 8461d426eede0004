/* main.c: batond from its start to its end, step by step. */

#include "api/new_token.h"
#include "api/tokens_file.h"
#include "base/random.h"
#include "redis/access.h"
#include "redis/embedded.h"
#include "redis/store.h"
#include "server/farewells.h"
#include "server/http.h"
#include "server/listener.h"
#include "server/log.h"
#include "server/receipts.h"
#include "server/sandbox.h"
#include "server/settings.h"
#include "server/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

enum {
    WORKERS_MOST = 256,
    FILES_KEPT_BACK = 32, /* of the descriptors: for logs, the embedded Redis, the main loop */
    /* Its loop, its socket, its connections to Redis, and those that have ended but for it. */
    FILES_OF_A_WORKER = 16 + FAREWELLS_MOST + RECEIPTS_MOST,
    CONNECTIONS_MOST = 10000000, /* whatever the limit of descriptors */
    PREFLIGHT_MS = 2000,
    RESTART_PAUSE_MS = 500,
    EXIT_SETTINGS = 2,
};

/* The process. The main thread only starts, watches and ends the others. */
struct process {
    struct settings settings;
    struct log log;
    struct listener listener;
    struct embedded *embedded; /* NULL with a redis-url */
    struct redis_url redis_url;
    struct principals *principals; /* who may ask now */
    struct addresses *addresses;
    struct https *https; /* what TLS clients are shown now; NULL: plain HTTP */
    struct limits limits;
    struct worker_options worker_options;
    struct worker *workers[WORKERS_MOST];
    struct metrics metrics[WORKERS_MOST];
    size_t worker_count; /* not changed once the first has started */
    time_t started;
    uv_loop_t loop;
    uv_signal_t terminate, interrupt, hangup, child;
    uv_timer_t restart;
};

static int check_exposure(const struct process *process, struct failure *failure)
{
    if (process->listener.loopback || process->settings.tokens_file ||
        process->settings.tls_client_ca || process->settings.allow_anonymous)
        return 0;
    return failure_set(failure, -EINVAL,
                       "--listen: other machines can reach %s, and nobody is asked who they are: "
                       "give a --tokens-file or a --tls-client-ca, listen on 127.0.0.1, or give "
                       "--allow-anonymous if "
                       "the network itself is closed",
                       process->listener.place);
}

static size_t worker_count(const struct settings *settings)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (settings->workers > 0)
        return (size_t)settings->workers;
    /* Redis, and whatever sends the requests, want processors, too. */
    return processors > 1 ? (size_t)processors / 2 : 1;
}

/* Every connection is a descriptor. */
static unsigned connections_that_fit(size_t workers)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t others = FILES_KEPT_BACK + workers * FILES_OF_A_WORKER;
    rlim_t left = limit.rlim_cur > others ? limit.rlim_cur - others : 0;
    return http_connections(left > CONNECTIONS_MOST ? CONNECTIONS_MOST : (unsigned)left,
                            (unsigned)workers);
}

static int count_places(struct process *process, struct failure *failure)
{
    const struct settings *settings = &process->settings;
    unsigned most = connections_that_fit(process->worker_count);
    if (settings->max_connections > most)
        return failure_set(failure, -EINVAL,
                           "--max-connections: the limit of open files leaves place for %u; raise "
                           "it (ulimit -n, LimitNOFILE=) or ask for fewer connections",
                           most);
    if (settings->max_connections > 0)
        most = (unsigned)settings->max_connections;
    unsigned each = settings->max_connections_per_address > 0
                        ? (unsigned)settings->max_connections_per_address
                        : (most + 3) / 4;
    process->addresses = addresses_new(most, each, &settings->trusted);
    /* With a place left for those who release what the others wait for. */
    process->limits =
        (struct limits){.rate = settings->rate_limit,
                        .principal_waiters = settings->principal_waiters,
                        .process_waiters = settings->process_waiters > 0 ? settings->process_waiters
                                                                         : (int64_t)most * 9 / 10};
    return 0;
}

static int start_redis(struct process *process, struct failure *failure)
{
    int result = embedded_start(&process->embedded, process->settings.state_dir, failure);
    if (result == 0 && process->settings.sandbox)
        result = embedded_keep_starter(process->embedded, failure);
    if (result < 0)
        return result;
    return redis_url_parse(embedded_url(process->embedded), &process->redis_url, failure);
}

/* Finds Redis: the one that was named, or one of our own. */
static int prepare_redis(struct process *process, struct failure *failure)
{
    const struct settings *settings = &process->settings;
    const struct redis_access access = {.user = settings->redis_user,
                                        .password = settings->redis_password,
                                        .ca = settings->redis_ca,
                                        .certificate = settings->redis_cert,
                                        .key = settings->redis_key,
                                        .server_name = settings->redis_server_name};
    int result;
    if (!settings->redis_url) {
        result = redis_access_expect_none(&access, failure);
        return result < 0 ? result : start_redis(process, failure);
    }
    result = redis_url_parse(settings->redis_url, &process->redis_url, failure);
    return result < 0 ? result : redis_access_add(&process->redis_url, &access, failure);
}

/* A Redis that will never do stops the start; one that is away may come back. */
static int check_redis(struct process *process, struct failure *failure)
{
    struct failure warning;
    int result = store_preflight(&process->redis_url, PREFLIGHT_MS, &warning, failure);
    if (result == -EAGAIN) {
        log_line(&process->log, LOG_WARN, "redis does not answer yet; serving 503 until it does",
                 "reason", failure->text, NULL);
        return 0;
    }
    return result;
}

/* The accounts of those that were there before go on. */
static int read_tokens_file(struct process *process, struct failure *failure)
{
    const struct tokens_file_options options = {.path = process->settings.tokens_file,
                                                .before = process->principals};
    struct principals *principals;
    int result = tokens_file_read(&options, &principals, failure);
    if (result < 0)
        return result;
    principals_drop(process->principals);
    process->principals = principals;
    for (size_t i = 0; i < process->worker_count; i++)
        if (process->workers[i])
            worker_set_principals(process->workers[i], principals);
    return 0;
}

static int prepare_principals(struct process *process, struct failure *failure)
{
    if (process->settings.tokens_file)
        return read_tokens_file(process, failure);
    process->principals =
        process->settings.tls_client_ca ? principals_certified() : principals_anonymous();
    return 0;
}

static int read_https(struct process *process, struct failure *failure)
{
    const struct https_files files = {.certificate = process->settings.tls_cert,
                                      .key = process->settings.tls_key,
                                      .client_ca = process->settings.tls_client_ca};
    struct https *https;
    int result = https_read(&https, &files, failure);
    if (result < 0)
        return result;
    https_drop(process->https);
    process->https = https;
    if (https_warning(https))
        log_line(&process->log, LOG_WARN, "clients will not trust this batond", "reason",
                 https_warning(https), NULL);
    for (size_t i = 0; i < process->worker_count; i++)
        if (process->workers[i])
            worker_set_https(process->workers[i], https);
    return 0;
}

static bool has_https(const struct process *process)
{
    return process->settings.tls_cert != NULL;
}

static int prepare_https(struct process *process, struct failure *failure)
{
    return has_https(process) ? read_https(process, failure) : 0;
}

static bool has_tokens_file(const struct process *process)
{
    return process->settings.tokens_file != NULL;
}

/* What SIGHUP has read again, a row each. Each row stands for itself: where one fails, what it has
 * read before stays in force. */
static const struct reload {
    const char *setting;
    bool (*is_set)(const struct process *process);
    int (*read)(struct process *process, struct failure *failure);
} RELOADS[] = {
    {"tokens-file", has_tokens_file, read_tokens_file},
    {"tls-cert", has_https, read_https},
};

static void reload(struct process *process, const struct reload *reload)
{
    struct failure failure;
    if (!reload->is_set(process))
        return;
    if (reload->read(process, &failure) == 0)
        log_line(&process->log, LOG_INFO, "read again", "setting", reload->setting, NULL);
    else
        log_line(&process->log, LOG_ERROR,
                 "cannot be read again; what was read before stays in force", "setting",
                 reload->setting, "reason", failure.text, NULL);
}

static char *write_metrics(void *context)
{
    struct process *process = context;
    return metrics_text(process->metrics, process->worker_count, process->started);
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
        .log = &process->log,
        .addresses = process->addresses,
        .metrics = write_metrics,
        .context = process,
    };
    random_bytes(&process->worker_options.process, sizeof process->worker_options.process);
    int sockets[WORKERS_MOST];
    for (size_t i = 0; i < count; i++) {
        sockets[i] = listener_socket(&process->listener, failure);
        if (sockets[i] < 0)
            return sockets[i];
    }
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
    pthread_sigmask(how, &signals, NULL);
}

static void on_stop_signal(uv_signal_t *signal, int number)
{
    struct process *process = signal->data;
    hold_stop_signals(SIG_BLOCK);
    log_line(&process->log, LOG_INFO, "stopping", "signal", strsignal(number), NULL);
    uv_stop(&process->loop);
}

static void on_hangup_signal(uv_signal_t *signal, int number)
{
    struct process *process = signal->data;
    (void)number;
    for (size_t i = 0; i < sizeof RELOADS / sizeof RELOADS[0]; i++)
        reload(process, &RELOADS[i]);
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
    signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&process->loop) < 0)
        abort();
    uv_signal_init(&process->loop, &process->terminate);
    uv_signal_init(&process->loop, &process->interrupt);
    uv_signal_init(&process->loop, &process->hangup);
    uv_signal_init(&process->loop, &process->child);
    uv_timer_init(&process->loop, &process->restart);
    process->terminate.data = process->interrupt.data = process->hangup.data = process->child.data =
        process->restart.data = process;
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    uv_close(handle, NULL);
}

static int serve(struct process *process, struct failure *failure)
{
    process->worker_count = worker_count(&process->settings);
    int result = listener_init(&process->listener, process->settings.listen, failure);
    if (result == 0)
        result = check_exposure(process, failure);
    if (result == 0)
        result = prepare_principals(process, failure);
    if (result == 0)
        result = count_places(process, failure);
    if (result == 0)
        result = prepare_https(process, failure);
    if (result == 0)
        result = prepare_redis(process, failure);
    settings_forget_secrets(&process->settings);
    if (result == 0)
        result = check_redis(process, failure);
    if (result < 0)
        return result;
    watch(process); /* before anybody can connect, so that whoever is served is served to the end */
    hold_stop_signals(SIG_BLOCK);
    result = start_workers(process, failure);
    if (result == 0) {
        char url[96], redis[256];
        snprintf(url, sizeof url, "%s://%s", has_https(process) ? "https" : "http",
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
    else
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
        (struct log){STDERR_FILENO, process.settings.log_format, process.settings.log_level};
    if (process.settings.sandbox)
        result = sandbox_prepare(&failure);
    prepare_loop(&process);

    if (result == 0)
        result = serve(&process, &failure);
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
