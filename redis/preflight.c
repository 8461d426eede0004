/* store_preflight: a link on a loop of its own, for as long as it takes to hear from Redis once. */
#include "redis/link.h"
#include "redis/sentinel.h"

#include <errno.h>

struct preflight {
    uv_loop_t loop;
    uv_timer_t timer;
    struct sentinel *sentinel; /* NULL where the URL names the server itself */
    struct link *link;
    int timeout_ms;
    bool is_up;
    bool is_over;
    int result;
    struct failure *warning;
    struct failure *failure;
};

/* It goes last, for the link follows its guide. */
static void preflight_link_closed(void *context)
{
    struct preflight *preflight = context;
    if (preflight->sentinel)
        sentinel_close(preflight->sentinel, NULL, NULL);
}

static void preflight_end(struct preflight *preflight, int result)
{
    if (preflight->is_over)
        return;
    preflight->is_over = true;
    preflight->result = result;
    uv_close((uv_handle_t *)&preflight->timer, NULL);
    link_close(preflight->link, preflight_link_closed, preflight);
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

/* A warning would come right after this, so the end waits for the next turn. */
static void preflight_up(void *context)
{
    struct preflight *preflight = context;
    preflight->is_up = true;
    uv_timer_start(&preflight->timer, preflight_timer, 0, 0);
}

static void preflight_down(void *context, int code, const char *reason)
{
    struct preflight *preflight = context;
    preflight_end(preflight, failure_set(preflight->failure, code, "%s", reason));
}

static void preflight_tracked(void *context, const char *error)
{
    (void)context, (void)error; /* it asks for nothing of the kind */
}

static void preflight_warning(void *context, const char *text)
{
    struct preflight *preflight = context;
    failure_set(preflight->warning, 0, "%s", text);
}

static int preflight_open(struct preflight *preflight, const struct redis_url *url)
{
    const struct link_events events = {.context = preflight,
                                       .up = preflight_up,
                                       .down = preflight_down,
                                       .warning = preflight_warning,
                                       .tracked = preflight_tracked};
    int result = 0;
    if (url->kind == REDIS_WATCHED)
        result = sentinel_open(&preflight->sentinel, &preflight->loop, url, preflight_warning,
                               preflight, preflight->failure);
    if (result < 0)
        return result;
    struct guide *guide = preflight->sentinel ? sentinel_guide(preflight->sentinel) : NULL;
    result = link_open(&preflight->link, &preflight->loop, url, guide, &events, preflight->failure);
    if (result < 0)
        preflight_link_closed(preflight);
    return result;
}

int store_preflight(const struct redis_url *url, int timeout_ms, struct failure *warning,
                    struct failure *failure)
{
    struct preflight preflight = {.timeout_ms = timeout_ms, .warning = warning, .failure = failure};
    failure_set(warning, 0, "%s", "");
    int result = uv_loop_init(&preflight.loop);
    if (result < 0)
        return failure_set(failure, result, "cannot make an event loop: %s", uv_strerror(result));
    result = preflight_open(&preflight, url);
    if (result == 0) {
        uv_timer_init(&preflight.loop, &preflight.timer);
        preflight.timer.data = &preflight;
        uv_timer_start(&preflight.timer, preflight_timer, (uint64_t)timeout_ms, 0);
    }
    uv_run(&preflight.loop, UV_RUN_DEFAULT);
    uv_loop_close(&preflight.loop);
    return result < 0 ? result : preflight.result;
}
