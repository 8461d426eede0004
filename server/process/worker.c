#include "server/process/worker.h"

#include "api/stats/health.h"
#include "base/memory.h"
#include "server/http/http.h"
#include "server/process/lock_observers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    LIBRARY_CHECK_MS = 60 * 60 * 1000,
    TRY_AGAIN_MS = 1000,
    SETTLE_STEP_MS = 10,
    SETTLE_LONGEST_MS = 1000, /* after this, grants in doubt end by their TTL */
};

struct worker {
    const struct worker_options *options;
    size_t index;
    uv_thread_t thread;
    uv_loop_t loop;
    uv_async_t stop;
    uv_async_t news; /* `offered` or `offered_https` has been set */
    /* References that the worker takes over; NULL: nothing new. */
    _Atomic(struct principals *) offered;
    _Atomic(struct https *) offered_https;
    uv_timer_t again;  /* every second: see worker_on_again */
    uv_timer_t settle; /* while stopping: checks whether any grant is still in doubt */
    uint64_t settle_until;
    struct locks *locks;
    struct api api;
    struct http *http;
    struct http *admin;       /* NULL: none */
    uint32_t shards_reported; /* of a quorum: a bit for each member known to be up or down */
    uint64_t serves_from;     /* on the loop's clock, in ms, whatever Redis has answered by then */
    struct metrics *metrics;
    struct lock_observers lock_observers;
};

static bool worker_is_quorum(const struct worker *worker)
{
    return worker->options->redis_url->kind == REDIS_QUORUM;
}

static void worker_note_store(struct worker *worker)
{
    bool is_up = locks_has_store(worker->locks);
    metrics_set(&worker->metrics->redis_up, is_up);
    api_set_store(&worker->api, is_up);
}

/* Serves once the state of Redis is known. In a quorum that is when enough members are up, or when
 * each is known to be up or down. Clients that connect before wait until then, so that they get no
 * 503 if Redis is well. */
static void worker_serve(struct worker *worker, unsigned shard)
{
    worker->shards_reported |= 1U << shard % 32;
    bool is_known =
        !worker_is_quorum(worker) || locks_has_store(worker->locks) ||
        worker->shards_reported == (1U << store_shard_count(locks_store(worker->locks))) - 1;
    if (worker->http && is_known)
        http_serve(worker->http);
}

static void worker_on_redis_up(void *context, unsigned shard)
{
    struct worker *worker = context;
    const struct store *store = locks_store(worker->locks);
    (void)shard;
    metrics_add(&worker->metrics->redis_connects, 1);
    metrics_set(&worker->metrics->redis_switches, store_figures(store).switches);
    log_line(worker->options->log, LOG_INFO, "redis is up", "server", store_place(store), NULL);
}

static void worker_on_redis_down(void *context, unsigned shard, const char *reason)
{
    struct worker *worker = context;
    worker_note_store(worker);
    metrics_add(&worker->metrics->redis_losses, 1);
    if (store_shard_serves(locks_store(worker->locks), shard) || !locks_has_store(worker->locks))
        log_line(worker->options->log, LOG_ERROR, "redis is down; trying again until it is back",
                 "reason", reason, NULL);
    else
        log_line(worker->options->log, LOG_INFO, "a node of redis is no longer in use", "reason",
                 reason, NULL);
    worker_serve(worker, shard);
}

static void worker_on_redis_warning(void *context, const char *text)
{
    struct worker *worker = context;
    log_line(worker->options->log, LOG_WARN, "redis needs attention", "warning", text, NULL);
}

static void worker_on_redis_moved(void *context)
{
    worker_note_store(context);
}

static void worker_on_answered(void *context, uint64_t nanoseconds)
{
    struct worker *worker = context;
    metrics_redis_took(worker->metrics, nanoseconds);
}

static void worker_on_confirmed(void *context, uint64_t nanoseconds, bool is_confirmed)
{
    struct worker *worker = context;
    metrics_confirmed(worker->metrics, nanoseconds, is_confirmed);
}

static void worker_on_expired(void *context, const struct expiry *expiry)
{
    struct worker *worker = context;
    lock_event_expired(&worker->api, expiry);
}

static void worker_on_serving(void *context, unsigned shard)
{
    struct worker *worker = context;
    worker_note_store(worker);
    worker_serve(worker, shard);
}

static void worker_log_quarantine(const struct worker *worker, const struct quarantine *quarantine)
{
    struct line line;
    if (!log_begin(worker->options->log, LOG_ERROR,
                   "quarantine: no lock is granted there until the locks that Redis may have lost "
                   "have expired",
                   &line))
        return;
    line_text(&line, "server",
              slice_of(store_shard_place(locks_store(worker->locks), quarantine->shard)));
    line_word(&line, "reason", slice_of(quarantine_word(quarantine->reason)));
    line_text(&line, "because", slice_of(quarantine_text(quarantine->reason)));
    line_number(&line, "seconds", (quarantine->left_ms + 999) / 1000);
    line_text(
        &line, "todo",
        slice_of(
            "nothing: it ends by itself, and renewals and releases work meanwhile. If no lock that "
            "was held before is still in use, you can end it now: DELETE /quarantine?reason=…"));
    log_end(worker->options->log, &line);
}

/* Each process logs one line. The worker that noticed the quarantine does, or each that noticed it
 * at the same moment. If another process noticed it, and at its end, the first worker does. */
static void worker_on_quarantined(void *context, const struct quarantine *quarantine)
{
    struct worker *worker = context;
    bool is_over = quarantine->reason == QUARANTINE_NONE;
    bool is_teller = quarantine->is_foreign || is_over ? worker->index == 0 : quarantine->is_first;
    if (quarantine->is_first)
        metrics_add(&worker->metrics->quarantines[quarantine->reason], 1);
    if (!is_teller)
        return;
    if (is_over)
        log_line(worker->options->log, LOG_WARN, "the quarantine is over: locks are granted again",
                 "server", store_shard_place(locks_store(worker->locks), quarantine->shard),
                 "because",
                 quarantine->is_ended ? "DELETE /quarantine ended it" : "its time is over", NULL);
    else
        worker_log_quarantine(worker, quarantine);
}

static void worker_on_damaged(void *context, struct slice key, const char *error)
{
    struct worker *worker = context;
    char text[3 * KEY_LENGTH];
    if (!damages_note(worker->options->damages, key))
        return;
    snprintf(text, sizeof text, "%.*s", (int)key.length, key.bytes);
    log_line(worker->options->log, LOG_ERROR,
             "a record in redis is damaged: lists leave its lock out until DELETE "
             "/locks/NAME?force=true clears it",
             "key", text, "because", error, NULL);
}

static void worker_on_limits_differ(void *context, struct slice name, int64_t limit, int64_t other)
{
    struct worker *worker = context;
    char lock[NAME_LENGTH + 1], asked[24], there[24];
    if (!seldom_note(worker->options->limits_named, name, uv_now(&worker->loop)))
        return;
    snprintf(lock, sizeof lock, "%.*s", (int)name.length, name.bytes);
    snprintf(asked, sizeof asked, "%lld", (long long)limit);
    snprintf(there, sizeof there, "%lld", (long long)other);
    log_line(worker->options->log, LOG_WARN,
             "a semaphore is asked for with different limits, each request goes by its own", "lock",
             lock, "limit", asked, "other", there, NULL);
}

/* Serves after redis-timeout, even if Redis answers but is not ready for use. Reports that the loop
 * turns, and repeats take-backs that failed. */
static void worker_on_again(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    if (worker->http && uv_now(&worker->loop) >= worker->serves_from)
        http_serve(worker->http);
    health_turned(worker->options->health, worker->index);
    metrics_note_busy(worker->metrics);
    metrics_set(&worker->metrics->left_out, locks_left_out(worker->locks));
    metrics_set(&worker->metrics->damages, locks_damages(worker->locks));
    locks_try_again(worker->locks);
    enum quarantine_reason reason;
    int64_t left_ms = locks_quarantine(worker->locks, slice_of(NULL), &reason);
    metrics_set(&worker->metrics->quarantine_seconds, (uint64_t)(left_ms + 999) / 1000);
    int64_t cost_ms = locks_pause_after_loss(worker->locks);
    metrics_set(&worker->metrics->loss_would_cost_seconds, (uint64_t)(cost_ms + 999) / 1000);
}

/* The last steps of stopping, in order: HTTP, grants in doubt, the store, the loop's handles. */

static void worker_on_locks_closed(void *context)
{
    struct worker *worker = context;
    uv_close((uv_handle_t *)&worker->again, NULL);
    uv_close((uv_handle_t *)&worker->settle, NULL);
    uv_close((uv_handle_t *)&worker->stop, NULL);
    uv_close((uv_handle_t *)&worker->news, NULL);
}

static void worker_on_settle(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    if (!locks_are_settled(worker->locks) && uv_now(&worker->loop) < worker->settle_until)
        return;
    uv_timer_stop(timer);
    uv_timer_stop(&worker->again); /* it uses the locks, and so the store, which goes first */
    locks_close(worker->locks, worker_on_locks_closed, worker);
}

static void worker_on_admin_closed(void *context)
{
    struct worker *worker = context;
    worker->settle_until = uv_now(&worker->loop) + SETTLE_LONGEST_MS;
    uv_timer_start(&worker->settle, worker_on_settle, 0, SETTLE_STEP_MS);
}

/* Until here the admin listener reports that this batond is draining. */
static void worker_on_http_closed(void *context)
{
    struct worker *worker = context;
    if (worker->admin)
        http_close(worker->admin, worker_on_admin_closed, worker);
    else
        worker_on_admin_closed(worker);
    worker->admin = NULL;
}

static void worker_on_stop(uv_async_t *stop)
{
    struct worker *worker = stop->data;
    if (!worker->http)
        return;
    metrics_set(&worker->metrics->draining, 1); /* not yet set if there was no drain */
    http_close(worker->http, worker_on_http_closed, worker);
    worker->http = NULL; /* a second stop finds nothing to close */
}

static void worker_on_news(uv_async_t *news)
{
    struct worker *worker = news->data;
    struct principals *offered = atomic_exchange(&worker->offered, NULL);
    if (offered)
        api_set_principals(&worker->api, offered);
    struct https *https = atomic_exchange(&worker->offered_https, NULL);
    if (https && worker->http)
        http_set_https(worker->http, https);
    if (https && worker->admin)
        http_set_https(worker->admin, https);
    https_drop(https);
}

static void worker_run(void *context)
{
    struct worker *worker = context;
    char name[16];
    snprintf(name, sizeof name, "worker %zu", worker->index + 1);
    pthread_setname_np(pthread_self(), name); /* shown by top -H */
    uv_run(&worker->loop, UV_RUN_DEFAULT);
    uv_loop_close(&worker->loop);
}

/* The admin listener serves at once: its clients ask whether Redis is known. */
static int worker_open_http(struct worker *worker, int listen_fd)
{
    const struct settings *settings = worker->options->settings;
    struct http_options http = {.listen_fd = listen_fd,
                                .api = &worker->api,
                                .metrics = worker->metrics,
                                .https = worker->options->https,
                                .log = worker->options->log,
                                .connection_limits = worker->options->connection_limits,
                                .head_timeout_ms = settings->head_timeout_ms,
                                .body_timeout_ms = settings->body_timeout_ms,
                                .idle_timeout_ms = settings->idle_timeout_ms};
    int result = http_open(&worker->http, &worker->loop, &http);
    if (result < 0 || worker->index > 0 || worker->options->admin_fd < 0)
        return result;
    http.listen_fd = worker->options->admin_fd;
    http.connection_limits = worker->options->admin_connection_limits;
    http.is_admin = true;
    result = http_open(&worker->admin, &worker->loop, &http);
    if (result == 0)
        http_serve(worker->admin);
    return result;
}

static int worker_open_layers(struct worker *worker, int listen_fd)
{
    const struct settings *settings = worker->options->settings;
    const struct locks_options locks = {
        .loop = &worker->loop,
        .redis_url = worker->options->redis_url,
        .key_prefix = slice_of(settings->key_prefix),
        .retention_ms = settings->retention_ms,
        .waiter_lease_ms = settings->waiter_lease_ms,
        .claim_window_ms = settings->claim_window_ms,
        .library_check_ms = LIBRARY_CHECK_MS,
        .max_waiters = settings->max_waiters,
        .replicas = settings->replicas,
        .confirm_timeout_ms = settings->confirm_timeout_ms,
        .process = worker->options->process,
        .quarantine_ms = settings->quarantine_ms,
        .is_embedded = !settings->redis_url,
        .keeps_all = settings->redis_keeps == REDIS_KEEPS_ALL,
        .events = {.context = worker,
                   .expired = worker_on_expired,
                   .quarantined = worker_on_quarantined,
                   .serving = worker_on_serving,
                   .confirmed = worker_on_confirmed,
                   .damaged = worker_on_damaged,
                   .limits_differ = worker_on_limits_differ,
                   .store = {.observer = {.context = worker,
                                          .down = worker_on_redis_down,
                                          .warning = worker_on_redis_warning,
                                          .answered = worker_on_answered},
                             .context = worker,
                             .up = worker_on_redis_up,
                             .moved = worker_on_redis_moved}},
    };
    int result = locks_open(&worker->locks, &locks);
    if (result < 0) {
        close(listen_fd);
        return result;
    }
    worker->api = (struct api){
        .locks = worker->locks,
        .principals = principals_keep(worker->options->principals),
        .limits = worker->options->limits,
        .hold_counter = worker_is_quorum(worker) ? NULL : worker->options->hold_counter,
        .contention = worker->options->contention,
        .health = worker->options->health,
        .default_ttl_ms = settings->default_ttl_ms,
        .max_ttl_ms = settings->max_ttl_ms,
        .max_held_ms = settings->max_held_ms,
        .max_wait_ms = settings->max_wait_ms,
        .serves_https = settings->tls_cert != NULL,
        .quorum = worker_is_quorum(worker),
        .embedded = !settings->redis_url,
        .replicas = settings->replicas,
        .asks_certificates = settings->tls_client_ca && !settings->tokens_file,
        .allowed_hosts = settings->allowed_hosts,
        .metrics = worker->options->metrics,
        .context = worker->options->context,
        .on_lock_event = lock_observers_notify,
        .lock_event_context = &worker->lock_observers};
    return worker_open_http(worker, listen_fd);
}

int worker_start(struct worker **ret, const struct worker_options *options, size_t index,
                 int listen_fd, struct metrics *metrics)
{
    struct worker *worker = memory_checked(calloc(1, sizeof *worker));
    int result = uv_loop_init(&worker->loop);
    if (result < 0) {
        free(worker);
        return result;
    }
    worker->options = options;
    worker->index = index;
    worker->metrics = metrics;
    worker->lock_observers = (struct lock_observers){
        .metrics = metrics, .log = options->log, .contention = options->contention->parts[index]};
    uv_async_init(&worker->loop, &worker->stop, worker_on_stop);
    uv_async_init(&worker->loop, &worker->news, worker_on_news);
    uv_timer_init(&worker->loop, &worker->settle);
    uv_timer_init(&worker->loop, &worker->again);
    worker->stop.data = worker->news.data = worker->settle.data = worker->again.data = worker;
    uv_timer_start(&worker->again, worker_on_again, TRY_AGAIN_MS, TRY_AGAIN_MS);
    worker->serves_from = uv_now(&worker->loop) + (uint64_t)options->settings->redis_timeout_ms;

    result = worker_open_layers(worker, listen_fd);
    if (result == 0)
        result = uv_thread_create(&worker->thread, worker_run, worker);
    if (result < 0)
        return result; /* the process ends, so nothing frees the rest */
    *ret = worker;
    return 0;
}

void worker_set_principals(struct worker *worker, struct principals *principals)
{
    principals_drop(atomic_exchange(&worker->offered, principals_keep(principals)));
    uv_async_send(&worker->news);
}

void worker_set_https(struct worker *worker, struct https *https)
{
    https_drop(atomic_exchange(&worker->offered_https, https_keep(https)));
    uv_async_send(&worker->news);
}

void worker_ask_to_stop(struct worker *worker)
{
    uv_async_send(&worker->stop);
}

void worker_join(struct worker *worker)
{
    uv_thread_join(&worker->thread);
    principals_drop(atomic_load(&worker->offered));
    https_drop(atomic_load(&worker->offered_https));
    api_set_principals(&worker->api, NULL);
    free(worker);
}
