#include "redis/wire/turn.h"

static void turn_stay_awake(uv_idle_t *idle)
{
    (void)idle;
}

static void turn_end(uv_prepare_t *prepare)
{
    struct turn *turn = prepare->data;
    if (!turn->requested)
        return;
    turn->requested = false;
    uv_idle_stop(&turn->idle);
    turn->run(turn->context);
}

void turn_open(struct turn *turn, uv_loop_t *loop, void (*run)(void *context), void *context)
{
    *turn = (struct turn){.run = run, .context = context, .open_handles = 2};
    uv_prepare_init(loop, &turn->prepare);
    uv_idle_init(loop, &turn->idle);
    turn->prepare.data = turn;
    turn->idle.data = turn;
    uv_prepare_start(&turn->prepare, turn_end);
}

void turn_request(struct turn *turn)
{
    if (turn->requested)
        return;
    turn->requested = true;
    /* A request made by somebody else's prepare callback may come after ours has run in this turn.
     * An active idle handle keeps the loop from sleeping on it. */
    uv_idle_start(&turn->idle, turn_stay_awake);
}

static void turn_handle_closed(uv_handle_t *handle)
{
    struct turn *turn = handle->data;
    if (--turn->open_handles == 0)
        turn->closed(turn->context);
}

void turn_close(struct turn *turn, void (*closed)(void *context))
{
    turn->closed = closed;
    uv_close((uv_handle_t *)&turn->prepare, turn_handle_closed);
    uv_close((uv_handle_t *)&turn->idle, turn_handle_closed);
}
