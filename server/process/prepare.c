#include "server/process/prepare.h"

#include "base/duration.h"
#include "redis/address/access.h"
#include "redis/store.h"
#include "server/http/daemon_pool.h"
#include "server/net/activation.h"
#include "server/process/file_limit.h"
#include "server/process/readings.h"
#include "server/settings/sources.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    CONNECTIONS_MOST = 10000000, /* even if the limit of descriptors is higher */
    PREFLIGHT_MS = 2000,
    ADMIN_CONNECTIONS_EACH = 16, /* from one address */
};

static int prepare_read_listener(struct process *process, struct failure *failure)
{
    int fd, result = activation_socket(&fd, failure);
    if (result < 0)
        return result;
    return fd >= 0 ? listener_adopt(&process->listener, fd, failure)
                   : listener_read(&process->listener, "listen", process->settings.listen, failure);
}

/* It has connections of its own, so that lock requests cannot use them up. */
static int prepare_read_admin_listener(struct process *process, struct failure *failure)
{
    const struct settings *settings = &process->settings;
    if (!settings->admin_listen)
        return 0;
    process->admin_connection_limits =
        connection_limits_new(ADMIN_CONNECTIONS, ADMIN_CONNECTIONS_EACH, &settings->trusted);
    return listener_read(&process->admin, "admin-listen", settings->admin_listen, failure);
}

static int prepare_check_exposure(struct process *process, struct failure *failure)
{
    if (process->listener.loopback || process->settings.tokens_file ||
        process->settings.tls_client_ca || process->settings.allow_anonymous)
        return 0;
    return failure_set(failure, -EINVAL,
                       "--listen: other machines can reach %s, and no client has to log in. Give a "
                       "--tokens-file or a --tls-client-ca, or listen on 127.0.0.1. If the network "
                       "itself is closed, give --allow-anonymous.",
                       process->listener.endpoint);
}

/* A start goes on without them: other programs may need them. */
static int prepare_warn_of_variables(struct process *process, struct failure *failure)
{
    struct overlooked overlooked;
    (void)failure;
    if (sources_overlooked(&process->settings, &overlooked))
        log_line(&process->log, LOG_WARN,
                 "some variables have no effect, because they are not settings; set others instead "
                 "(batond --help lists them)",
                 "variables", overlooked.variables, "set", overlooked.settings, "redis",
                 process->settings.redis_url ? "the one of redis-url" : "one that batond starts",
                 NULL);
    return 0;
}

/* Descriptors that are not for connections. */
static rlim_t prepare_other_files(const struct process *process)
{
    return file_limit_others(process->worker_count, process->settings.admin_listen);
}

/* Redis and the clients need processors, too: docs/performance.md. */
static size_t prepare_usual_workers(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 1 ? (size_t)processors / 2 : 1;
}

static void prepare_warn_of_workers(const struct process *process, size_t usual, rlim_t limit)
{
    char workers[24], usually[24], files[24];
    snprintf(workers, sizeof workers, "%zu", process->worker_count);
    snprintf(usually, sizeof usually, "%zu", usual);
    snprintf(files, sizeof files, "%llu", (unsigned long long)limit);
    log_line(&process->log, LOG_WARN,
             "fewer workers than half of the processors, because the limit of open files is low; "
             "raise it (ulimit -n, LimitNOFILE=), or set workers",
             "workers", workers, "usually", usually, "limit", files, NULL);
}

int prepare_files(struct process *process, struct failure *failure)
{
    struct rlimit limit = {0};
    size_t asked = (size_t)process->settings.workers, usual = prepare_usual_workers();
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    process->worker_count =
        asked ? asked : file_limit_workers(limit.rlim_cur, usual, process->settings.admin_listen);
    rlim_t others = prepare_other_files(process);
    if (limit.rlim_cur > others) {
        if (!asked && process->worker_count < usual)
            prepare_warn_of_workers(process, usual, limit.rlim_cur);
        return 0;
    }
    return failure_set(failure, -EINVAL,
                       "the limit of open files is %llu, but batond needs more than %llu with %zu "
                       "worker%s. Raise it (ulimit -n, LimitNOFILE=)%s.",
                       (unsigned long long)limit.rlim_cur, (unsigned long long)others,
                       process->worker_count, process->worker_count == 1 ? "" : "s",
                       process->worker_count == 1 ? "" : ", or set fewer --workers");
}

/* Every connection needs a descriptor. */
static unsigned prepare_connections_most(const struct process *process)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t others = prepare_other_files(process);
    rlim_t left = limit.rlim_cur > others ? limit.rlim_cur - others : 0;
    return daemon_pool_connections_most(left > CONNECTIONS_MOST ? CONNECTIONS_MOST : (unsigned)left,
                                        (unsigned)process->worker_count);
}

static int prepare_limits(struct process *process, struct failure *failure)
{
    const struct settings *settings = &process->settings;
    unsigned most = prepare_connections_most(process);
    if (settings->max_connections > most)
        return failure_set(failure, -EINVAL,
                           "--max-connections: the limit of open files leaves room for only %u. "
                           "Raise that limit (ulimit -n, LimitNOFILE=), or set fewer connections.",
                           most);
    if (settings->max_connections > 0)
        most = (unsigned)settings->max_connections;
    unsigned each = settings->max_connections_per_address > 0
                        ? (unsigned)settings->max_connections_per_address
                        : (most + 3) / 4;
    process->connection_limits = connection_limits_new(most, each, &settings->trusted);
    /* A tenth of the connections stays free to release the locks that clients wait for. */
    process->limits =
        (struct limits){.rate = settings->rate_limit,
                        .principal_waiters = settings->principal_waiters,
                        .principal_streams = settings->principal_streams,
                        .principal_connection_holds = settings->principal_connection_holds,
                        .principal_bodies = settings->principal_bodies,
                        .process_waiters = settings->process_waiters > 0 ? settings->process_waiters
                                                                         : (int64_t)most * 9 / 10};
    return 0;
}

/* After a crash the redis-server of the last batond needs a moment to end. batond warns before it
 * waits, because the cause may be a second batond that was started by mistake. */
static int prepare_embedded(struct process *process, struct failure *failure)
{
    char patience[DURATION_TEXT];
    int result = embedded_start(&process->embedded, process->settings.state_dir, false, failure);
    if (result != -EBUSY)
        return result;
    duration_format(EMBEDDED_PATIENCE_MS, patience);
    log_line(&process->log, LOG_WARN,
             "another batond uses the state directory; waiting until it ends", "for", patience,
             "reason", failure->text, NULL);
    return embedded_start(&process->embedded, process->settings.state_dir, true, failure);
}

static void prepare_warn_of_closed(struct process *process)
{
    if (embedded_closed(process->embedded))
        log_line(&process->log, LOG_WARN,
                 "a group could write in the state directory, and so change the locks; batond has "
                 "taken its rights away (in Kubernetes set fsGroupChangePolicy: OnRootMismatch)",
                 "directory", embedded_closed(process->embedded), NULL);
}

static int prepare_own_redis(struct process *process, struct failure *failure)
{
    int result = prepare_embedded(process, failure);
    if (result == 0)
        prepare_warn_of_closed(process);
    if (result == 0 && process->settings.sandbox)
        result = embedded_keep_starter(process->embedded, failure);
    if (result < 0)
        return result;
    result = redis_url_parse(embedded_url(process->embedded), &process->redis_url, failure);
    process->redis_url.timeout_ms = (int)process->settings.redis_timeout_ms;
    return result;
}

static int prepare_read_redis_url(struct process *process, struct failure *failure)
{
    const struct settings *settings = &process->settings;
    struct redis_url *url = &process->redis_url;
    const struct redis_access access = {.user = settings->redis_user,
                                        .password = settings->redis_password,
                                        .sentinel_user = settings->redis_sentinel_user,
                                        .sentinel_password = settings->redis_sentinel_password,
                                        .ca = settings->redis_ca,
                                        .certificate = settings->redis_cert,
                                        .key = settings->redis_key,
                                        .server_name = settings->redis_server_name};
    if (!settings->redis_url)
        return redis_access_expect_none(&access, failure);
    int result = redis_url_parse(settings->redis_url, url, failure);
    if (result == 0 && url->kind == REDIS_QUORUM && settings->replicas > 0)
        result =
            failure_set(failure, -EINVAL,
                        "--confirm does not work with redis+quorum://: a majority of its servers "
                        "has each hold, and their replicas do not count. Leave --confirm out.");
    if (result == 0)
        result = redis_access_add(url, &access, failure);
    url->keeps_all = settings->redis_keeps == REDIS_KEEPS_ALL;
    url->timeout_ms = (int)settings->redis_timeout_ms;
    return result < 0 ? result : redis_access_read_files(url, failure);
}

/* A socket that was passed to us is open already. */
static int prepare_open_listeners(struct process *process, struct failure *failure)
{
    const struct settings *settings = &process->settings;
    int result = 0;
    if (process->listener.shared < 0)
        result = listener_init(&process->listener, "listen", settings->listen, failure);
    if (result == 0 && settings->admin_listen)
        result = listener_init(&process->admin, "admin-listen", settings->admin_listen, failure);
    return result;
}

/* A Redis that batond can never use stops the start. A Redis that is away does not: it may come
 * back. */
static int prepare_check_redis(struct process *process, struct failure *failure)
{
    int result = store_preflight(&process->redis_url, PREFLIGHT_MS, failure);
    if (result == -EAGAIN) {
        log_line(&process->log, LOG_WARN, "redis does not answer yet; serving 503 until it does",
                 "reason", failure->text, NULL);
        return 0;
    }
    return result;
}

/* The steps are in their order: each may use the results of earlier ones. */
int prepare_read(struct process *process, struct failure *failure)
{
    static int (*const STEPS[])(struct process *, struct failure *) = {
        prepare_warn_of_variables, prepare_read_listener,  prepare_read_admin_listener,
        prepare_check_exposure,    readings_of_principals, prepare_limits,
        readings_of_https,         prepare_read_redis_url,
    };
    int result = 0;
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0] && result == 0; i++)
        result = STEPS[i](process, failure);
    return result;
}

int prepare_open(struct process *process, struct failure *failure)
{
    int result = prepare_open_listeners(process, failure);
    if (result == 0 && !process->settings.redis_url)
        result = prepare_own_redis(process, failure);
    settings_forget_secrets(&process->settings);
    return result < 0 ? result : prepare_check_redis(process, failure);
}

void prepare_undo(struct process *process)
{
    principals_drop(process->principals);
    https_drop(process->https);
    redis_url_free(&process->redis_url);
    connection_limits_free(process->connection_limits);
    connection_limits_free(process->admin_connection_limits);
    settings_free(&process->settings);
}
