#include "redis/node/single.h"

#include "redis/node/preflight.h"

#include <errno.h>
#include <stdlib.h>

enum { ONLY_SHARD = 0 };

/* Events of the node */

static void single_on_up(void *context, unsigned shard)
{
    const struct single *single = context;
    if (single->events.up)
        single->events.up(single->events.context, shard);
}

static void single_on_down(void *context, unsigned shard, int code, const char *reason)
{
    const struct single *single = context;
    (void)code; /* a service goes on trying, whatever the reason */
    if (single->events.down)
        single->events.down(single->events.context, shard, reason);
}

void single_warn(void *context, const char *text)
{
    const struct single *single = context;
    if (single->events.warning)
        single->events.warning(single->events.context, text);
}

static void single_on_touched(void *context, struct slice key)
{
    const struct single *single = context;
    if (single->tracks && single->events.touched)
        single->events.touched(single->events.context, key);
}

static void single_on_answered(void *context, unsigned shard, uint64_t nanoseconds)
{
    const struct single *single = context;
    (void)shard;
    if (single->events.answered)
        single->events.answered(single->events.context, nanoseconds);
}

static void single_on_stamp(void *context, unsigned shard, uint64_t now,
                            char stamp[STORE_STAMP_LENGTH])
{
    const struct single *single = context;
    single->events.stamp(single->events.context, shard, now, stamp);
}

/* Events of the inbox */

static void single_on_listening(void *context)
{
    struct single *single = context;
    single->inbox_loss_is_told = false;
    node_heard_by(single->node, single->inbox);
    if (single->events.listening)
        single->events.listening(single->events.context);
}

static void single_on_message(void *context, struct slice text)
{
    const struct single *single = context;
    if (single->events.message)
        single->events.message(single->events.context, text);
}

/* While the node is down, `down` has reported enough. */
static void single_on_inbox_lost(void *context, const char *reason)
{
    struct single *single = context;
    if (single->inbox_loss_is_told || !single_is_up(single))
        return;
    single->inbox_loss_is_told = true;
    struct failure warning;
    failure_set(&warning, 0,
                "waiters get their locks late until messages from Redis arrive again: %s", reason);
    single_warn(single, warning.text);
}

/* The beginning and the end */

int single_start(struct single *single)
{
    const struct node_options options = {
        .loop = single->loop,
        .url = single->url,
        .endpoint = single->endpoint,
        .number = ONLY_SHARD,
        .events = {.context = single,
                   .up = single_on_up,
                   .down = single_on_down,
                   .warning = single_warn,
                   .touched = single_on_touched,
                   .answered = single_on_answered,
                   .stamp = single->events.stamp ? single_on_stamp : NULL}};
    single->open = 1;
    return node_open(&single->node, &options, NULL);
}

static void single_finish(struct single *single)
{
    void (*closed)(void *context) = single->closed;
    void *context = single->closed_context;
    free(single);
    closed(context);
}

static int single_open(void **ret, uv_loop_t *loop, const struct redis_url *url,
                       const struct store_events *events)
{
    struct single *single = calloc(1, sizeof *single);
    if (!single)
        return -ENOMEM;
    *single = (struct single){.loop = loop, .url = url, .events = *events, .finish = single_finish};
    int result = single_start(single);
    if (result < 0)
        free(single);
    else
        *ret = single;
    return result;
}

static void single_one_closed(void *context)
{
    struct single *single = context;
    if (--single->open == 0)
        single->finish(single);
}

void single_close(void *state, void (*closed)(void *context), void *context)
{
    struct single *single = state;
    single->closed = closed;
    single->closed_context = context;
    if (single->inbox)
        inbox_close(single->inbox, single_one_closed, single);
    node_close(single->node, single_one_closed, single);
}

/* Calls and messages */

struct node *single_node(const void *state, unsigned shard)
{
    const struct single *single = state;
    (void)shard;
    return single->node;
}

void single_eval_at(void *state, unsigned shard, const struct script *script, struct slice key,
                    const struct slice *arguments, size_t argument_count, store_done *done,
                    void *context)
{
    node_eval(single_node(state, shard),
              call_new_script(script, key, 1, arguments, argument_count, done, context));
}

int single_listen(void *state, struct slice channel)
{
    struct single *single = state;
    const struct inbox_events events = {
        .context = single,
        .listening = single_on_listening,
        .message = single_on_message,
        .touched = single_on_touched,
        .lost = single_on_inbox_lost,
    };
    int result =
        inbox_open(&single->inbox, single->loop, single->url, single->endpoint, channel, &events);
    if (result == 0)
        single->open++;
    return result;
}

void single_track(void *state, struct slice prefix)
{
    struct single *single = state;
    single->tracks = true;
    node_track(single->node, prefix);
}

void single_untrack(void *state)
{
    struct single *single = state;
    single->tracks = false;
    node_untrack(single->node);
}

/* Replicas */

void single_expect_replicas(void *state, struct slice key, int replicas)
{
    const struct single *single = state;
    node_expect_replicas(single->node, key, replicas);
}

struct store_mark single_mark(const void *state)
{
    const struct single *single = state;
    return node_mark(single->node);
}

void single_confirm(void *state, struct store_mark mark, int replicas, int64_t timeout_ms,
                    store_confirmed *done, void *context)
{
    const struct single *single = state;
    node_confirm(single->node, mark, replicas, timeout_ms, done, context);
}

/* Its condition */

unsigned single_shard_count(const void *state)
{
    (void)state;
    return 1;
}

bool single_shard_is_up(const void *state, unsigned shard)
{
    return shard == ONLY_SHARD && single_is_up(state);
}

bool single_is_up(const void *state)
{
    return node_serves(single_node(state, ONLY_SHARD));
}

const char *single_trouble(void *state)
{
    return node_trouble(single_node(state, ONLY_SHARD));
}

const char *single_place(const void *state)
{
    return node_place(single_node(state, ONLY_SHARD));
}

struct store_figures single_figures(const void *state)
{
    return node_figures(single_node(state, ONLY_SHARD));
}

const struct transport single_transport = {
    .open = single_open,
    .preflight = preflight_server,
    SINGLE_OPERATIONS,
};
