#include "redis/cluster/preflight_cluster.h"

#include "redis/cluster/cluster.h"

#include <errno.h>

struct cluster_preflight {
    uv_loop_t loop;
    uv_timer_t timer;
    struct cluster *cluster;
    int timeout_ms;
    bool is_over;
    int result;
    struct failure *failure;
};

static void preflight_cluster_preflight_end(struct cluster_preflight *preflight, int result)
{
    if (preflight->is_over)
        return;
    preflight->is_over = true;
    preflight->result = result;
    uv_timer_start(&preflight->timer, preflight->timer.timer_cb, 0, 0); /* no event may close it */
}

static void preflight_on_joined(void *context, unsigned node, struct endpoint *endpoint)
{
    (void)context, (void)node, (void)endpoint; /* the preflight opens no session with it */
}

static void preflight_on_mapped(void *context)
{
    struct cluster_preflight *preflight = context;
    unsigned uncovered = cluster_map(preflight->cluster)->uncovered;
    if (uncovered > 0)
        preflight_cluster_preflight_end(
            preflight, failure_set(preflight->failure, -EAGAIN,
                                   "no node serves %u of the %d slots of the Redis Cluster. Assign "
                                   "them with `redis-cli --cluster fix`.",
                                   uncovered, SLOT_COUNT));
    else
        preflight_cluster_preflight_end(preflight, 0);
}

static void preflight_on_lost(void *context, int code, const char *reason)
{
    struct cluster_preflight *preflight = context;
    preflight_cluster_preflight_end(preflight, failure_set(preflight->failure, code, "%s", reason));
}

static void preflight_on_timer(uv_timer_t *timer)
{
    struct cluster_preflight *preflight = timer->data;
    if (!preflight->is_over) {
        preflight->is_over = true;
        preflight->result = failure_set(preflight->failure, -EAGAIN,
                                        "no node of the Redis Cluster answered within %d ms",
                                        preflight->timeout_ms);
    }
    uv_close((uv_handle_t *)timer, NULL);
    cluster_close(preflight->cluster, NULL, NULL);
}

int preflight_cluster(const struct redis_url *url, int timeout_ms, struct failure *failure)
{
    struct cluster_preflight preflight = {.timeout_ms = timeout_ms, .failure = failure};
    const struct cluster_events events = {&preflight, preflight_on_joined, preflight_on_mapped,
                                          preflight_on_lost};
    int result = uv_loop_init(&preflight.loop);
    if (result < 0)
        return failure_set(failure, result, "cannot make an event loop: %s", uv_strerror(result));
    result = cluster_open(&preflight.cluster, &preflight.loop, url, &events, failure);
    if (result == 0) {
        uv_timer_init(&preflight.loop, &preflight.timer);
        preflight.timer.data = &preflight;
        uv_timer_start(&preflight.timer, preflight_on_timer, (uint64_t)timeout_ms, 0);
    }
    uv_run(&preflight.loop, UV_RUN_DEFAULT);
    uv_loop_close(&preflight.loop);
    return result < 0 ? result : preflight.result;
}
