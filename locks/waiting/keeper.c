#include "locks/calls/engine.h"
#include "locks/calls/operation.h"

#include <stdlib.h>

struct keeper {
    struct locks *locks;
    struct keeper_events events;
    uv_timer_t timer;
    /* By the loop's clock, in ms. A hold that is renewed ends no sooner than its TTL after the
     * request was sent, so whoever believes in it until then is right. */
    uint64_t sent;
    uint64_t ends;
    uint64_t ttl_ms; /* that it was last given */
    int64_t replicas;
    bool asking;  /* a renewal is under way */
    bool stopped; /* nobody wants to hear any more */
    bool closed;  /* the timer is */
    size_t name_length;
    size_t token_length;
    char name_and_token[];
};

enum { AGAIN_PART = 10, RENEW_PART = 3 };

/* Both the timer and a renewal under way know the keeper: it goes with the later of them. */
static void free_if_unknown(struct keeper *keeper)
{
    if (keeper->closed && !keeper->asking)
        free(keeper);
}

static void on_closed(uv_handle_t *timer)
{
    struct keeper *keeper = timer->data;
    keeper->closed = true;
    free_if_unknown(keeper);
}

void keeper_stop(struct keeper *keeper)
{
    if (keeper->stopped)
        return;
    keeper->stopped = true;
    uv_close((uv_handle_t *)&keeper->timer, on_closed);
}

static void lose(struct keeper *keeper, const char *why)
{
    keeper_stop(keeper);
    keeper->events.lost(keeper->events.context, why);
}

static void on_timer(uv_timer_t *timer);

/* Wakes at `at`, but not after the end of the hold. */
static void sleep_until(struct keeper *keeper, uint64_t at)
{
    uint64_t now = uv_now(keeper->locks->loop);
    if (at > keeper->ends)
        at = keeper->ends;
    uv_timer_start(&keeper->timer, on_timer, at > now ? at - now : 0, 0);
}

static void renewed(struct keeper *keeper, const struct hold *hold, int64_t confirmed_ms)
{
    keeper->ttl_ms = (uint64_t)(hold->ttl_ms + confirmed_ms);
    keeper->ends = keeper->sent + keeper->ttl_ms;
    sleep_until(keeper, keeper->sent + keeper->ttl_ms / RENEW_PART);
    if (keeper->events.renewed)
        keeper->events.renewed(keeper->events.context, hold);
}

static void answered(void *context, const struct locks_reply *reply)
{
    struct keeper *keeper = context;
    keeper->asking = false;
    if (keeper->stopped)
        free_if_unknown(keeper);
    else if (reply->result == LOCKS_DONE)
        renewed(keeper, &reply->hold, reply->confirmed_ms);
    else if (reply->result == LOCKS_NOT_HELD)
        lose(keeper, "the hold has ended: it expired, was released, or was broken by force");
    else
        sleep_until(keeper, uv_now(keeper->locks->loop) + keeper->ttl_ms / AGAIN_PART);
}

static void ask(struct keeper *keeper)
{
    keeper->asking = true;
    keeper->sent = uv_now(keeper->locks->loop);
    keeper->locks->engine->renew(
        keeper->locks, (struct slice){keeper->name_and_token, keeper->name_length},
        (struct slice){keeper->name_and_token + keeper->name_length, keeper->token_length}, 0,
        keeper->replicas, slice_of("server"), answered, keeper);
    sleep_until(keeper, keeper->ends);
}

static void on_timer(uv_timer_t *timer)
{
    struct keeper *keeper = timer->data;
    if (uv_now(keeper->locks->loop) >= keeper->ends)
        lose(keeper, "the hold could not be renewed in time: Redis could not be asked");
    else
        ask(keeper);
}

struct keeper *locks_keep(struct locks *locks, struct slice name, struct slice token,
                          int64_t ttl_ms, int64_t replicas, const struct keeper_events *events)
{
    struct keeper *keeper = malloc(sizeof *keeper + name.length + token.length);
    if (!keeper)
        abort();
    *keeper = (struct keeper){.locks = locks,
                              .events = *events,
                              .sent = uv_now(locks->loop),
                              .ttl_ms = (uint64_t)ttl_ms,
                              .replicas = replicas,
                              .name_length = name.length,
                              .token_length = token.length};
    keeper->ends = keeper->sent + keeper->ttl_ms;
    memcpy(keeper->name_and_token, name.bytes, name.length);
    memcpy(keeper->name_and_token + name.length, token.bytes, token.length);
    uv_timer_init(locks->loop, &keeper->timer);
    keeper->timer.data = keeper;
    sleep_until(keeper, keeper->sent + keeper->ttl_ms / RENEW_PART);
    return keeper;
}
