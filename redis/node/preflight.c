#include "redis/node/preflight.h"

#include <errno.h>
#include <stdio.h>

static void preflight_node_closed(void *context)
{
    const struct preflight *preflight = context;
    if (preflight->closed)
        preflight->closed(preflight->closed_context);
}

static void preflight_end(struct preflight *preflight, int result)
{
    if (preflight->is_over)
        return;
    preflight->is_over = true;
    snprintf(preflight->run_id, sizeof preflight->run_id, "%s", node_peer(preflight->node)->run_id);
    preflight->result = result;
    uv_close((uv_handle_t *)&preflight->timer, NULL);
    node_close(preflight->node, preflight_node_closed, preflight);
}

static void preflight_timer(uv_timer_t *timer)
{
    struct preflight *preflight = timer->data;
    if (preflight->is_up)
        preflight_end(preflight, 0);
    else
        preflight_end(preflight,
                      failure_set(preflight->failure, -EAGAIN, "Redis did not answer within %d ms",
                                  preflight->timeout_ms));
}

/* The node that calls this still runs afterwards, so the end waits for the next turn of the
 * loop. */
static void preflight_up(void *context, unsigned number)
{
    (void)number;
    struct preflight *preflight = context;
    preflight->is_up = true;
    uv_timer_start(&preflight->timer, preflight_timer, 0, 0);
}

static void preflight_down(void *context, unsigned number, int code, const char *reason)
{
    (void)number;
    struct preflight *preflight = context;
    preflight_end(preflight, failure_set(preflight->failure, code, "%s", reason));
}

static void preflight_warning(void *context, const char *text)
{
    const struct preflight *preflight = context;
    failure_set(preflight->failure, 0, "%s", text);
}

static int preflight_open(struct preflight *preflight, const struct redis_url *url)
{
    preflight->told = (struct store_events){.context = preflight, .warning = preflight_warning};
    const struct node_options options = {
        .loop = preflight->loop,
        .url = url,
        .endpoint = preflight->endpoint,
        .events = {.context = preflight, .up = preflight_up, .down = preflight_down},
        .told = &preflight->told};
    int result = node_open(&preflight->node, &options, preflight->failure);
    if (result < 0)
        preflight_node_closed(preflight);
    return result;
}

void preflight_begin(struct preflight *preflight, const struct redis_url *url)
{
    preflight->result = preflight_open(preflight, url);
    if (preflight->result < 0)
        return;
    uv_timer_init(preflight->loop, &preflight->timer);
    preflight->timer.data = preflight;
    uv_timer_start(&preflight->timer, preflight_timer, (uint64_t)preflight->timeout_ms, 0);
}

int preflight_open_loop(uv_loop_t *loop, struct failure *failure)
{
    int result = uv_loop_init(loop);
    if (result < 0)
        failure_set(failure, result, "cannot make an event loop: %s", uv_strerror(result));
    return result;
}

int preflight_server(const struct redis_url *url, int timeout_ms, struct failure *failure)
{
    uv_loop_t loop;
    int result = preflight_open_loop(&loop, failure);
    if (result < 0)
        return result;
    struct preflight preflight = {.loop = &loop, .timeout_ms = timeout_ms, .failure = failure};
    preflight_begin(&preflight, url);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return preflight.result;
}
