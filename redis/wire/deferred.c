#include "redis/wire/deferred.h"

static void deferred_stay_awake(uv_idle_t *idle)
{
    (void)idle;
}

static void deferred_end(uv_prepare_t *prepare)
{
    struct deferred *deferred = prepare->data;
    if (!deferred->requested)
        return;
    deferred->requested = false;
    uv_idle_stop(&deferred->idle);
    deferred->run(deferred->context);
}

void deferred_open(struct deferred *deferred, uv_loop_t *loop, void (*run)(void *context),
                   void *context)
{
    *deferred = (struct deferred){.run = run, .context = context, .open_handles = 2};
    uv_prepare_init(loop, &deferred->prepare);
    uv_idle_init(loop, &deferred->idle);
    deferred->prepare.data = deferred;
    deferred->idle.data = deferred;
    uv_prepare_start(&deferred->prepare, deferred_end);
}

void deferred_request(struct deferred *deferred)
{
    if (deferred->requested)
        return;
    deferred->requested = true;
    /* Another prepare callback may request this after ours has run in this turn. An active idle
     * handle then keeps the loop from sleeping before ours runs again. */
    uv_idle_start(&deferred->idle, deferred_stay_awake);
}

static void deferred_handle_closed(uv_handle_t *handle)
{
    struct deferred *deferred = handle->data;
    if (--deferred->open_handles == 0)
        deferred->closed(deferred->context);
}

void deferred_close(struct deferred *deferred, void (*closed)(void *context))
{
    deferred->closed = closed;
    uv_close((uv_handle_t *)&deferred->prepare, deferred_handle_closed);
    uv_close((uv_handle_t *)&deferred->idle, deferred_handle_closed);
}
