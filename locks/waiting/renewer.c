#include "locks/waiting/renewer.h"

#include "base/memory.h"
#include "base/tree.h"
#include "locks/calls/engine.h"
#include "locks/calls/operation.h"

/* The renewers of one name. */
struct renewed_name {
    struct slice key; /* the first member: as base/tree.h wants */
    LIST_ENTRY(renewed_name) others;
    LIST_HEAD(renewer_list, renewer) renewers;
    char bytes[];
};

struct renewer {
    LIST_ENTRY(renewer) others;
    struct renewed_name *of; /* NULL: it was stopped */
    struct locks *locks;
    struct renewer_events events;
    uv_timer_t timer;
    /* Loop time, ms. A renewed hold ends no sooner than its TTL after the request was sent, so
     * `ends` is never too late. */
    uint64_t sent;
    uint64_t ends;
    uint64_t ttl_ms; /* of the last renewal that made it longer */
    uint64_t ask_at;
    uint64_t reported_at; /* of the last event */
    uint64_t silence_ms;  /* see renewer_beat; 0: no limit */
    void (*silent)(void *context, int64_t left_ms);
    int64_t replicas;
    bool is_final; /* the hold ends with its max_held */
    bool asking;   /* a renewal is under way */
    bool doubted;  /* another request may have ended the hold: see renewer_check */
    bool closed;   /* the timer is closed */
    size_t name_length;
    size_t token_length;
    char name_and_token[];
};

enum {
    AGAIN_PART = 10,
    RENEW_PART = 3,
    CHECKS_A_MS = 20, /* how many holds renew per ms, so that they do not all load Redis at once */
};

static const uint64_t NEVER = UINT64_MAX;

static uint64_t renewer_earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Both the timer and a renewal under way point to the renewer: the later one to end frees it. */
static void renewer_free_if_unused(struct renewer *renewer)
{
    if (renewer->closed && !renewer->asking)
        free(renewer);
}

static void renewer_on_closed(uv_handle_t *timer)
{
    struct renewer *renewer = timer->data;
    renewer->closed = true;
    renewer_free_if_unused(renewer);
}

static struct renewed_name *renewed_name_join(struct locks *locks, struct slice key)
{
    struct renewed_names *names = &locks->renewed_names;
    struct renewed_name *name = tree_find(&names->by_key, key);
    if (name)
        return name;
    name = memory_checked(malloc(sizeof *name + key.length));
    name->key = (struct slice){memcpy(name->bytes, key.bytes, key.length), key.length};
    LIST_INIT(&name->renewers);
    LIST_INSERT_HEAD(&names->list, name, others);
    tree_add(&names->by_key, name);
    return name;
}

static void renewed_name_leave(struct locks *locks, struct renewed_name *name)
{
    if (!LIST_EMPTY(&name->renewers))
        return;
    tree_remove(&locks->renewed_names.by_key, name);
    LIST_REMOVE(name, others);
    free(name);
}

void renewer_stop(struct renewer *renewer)
{
    if (!renewer->of)
        return;
    LIST_REMOVE(renewer, others);
    renewed_name_leave(renewer->locks, renewer->of);
    renewer->of = NULL;
    uv_close((uv_handle_t *)&renewer->timer, renewer_on_closed);
}

/* Unless another request may have ended it, a hold that no renewal could make longer has simply
 * reached its end. The clock of Redis says when that is, which may be before `ends`. */
static void renewer_lose(struct renewer *renewer, const char *why, const struct hold_end *end)
{
    bool is_over = renewer->is_final && !renewer->doubted;
    renewer_stop(renewer);
    renewer->events.lost(renewer->events.context,
                         is_over ? "the hold has ended: it has reached its max_held" : why, end);
}

static void renewer_on_timer(uv_timer_t *timer);

/* Wakes for what comes first: the next renewal, a sign of life or the end of the hold. */
static void renewer_sleep(struct renewer *renewer)
{
    uint64_t now = uv_now(renewer->locks->loop), at = renewer->ends;
    if (!renewer->asking)
        at = renewer_earlier(at, renewer->ask_at);
    if (renewer->silence_ms > 0)
        at = renewer_earlier(at, renewer->reported_at + renewer->silence_ms);
    uv_timer_start(&renewer->timer, renewer_on_timer, at > now ? at - now : 0, 0);
}

/* A third of the TTL. If the connection must not be silent, renews often enough that each renewal
 * is a true sign of life: it notices in time that the hold was broken. */
static uint64_t renewer_pause(const struct renewer *renewer)
{
    uint64_t pause = renewer->ttl_ms / RENEW_PART;
    return renewer->silence_ms > 0 ? renewer_earlier(pause, renewer->silence_ms * 2 / 3) : pause;
}

static uint64_t renewer_pause_again(const struct renewer *renewer)
{
    uint64_t pause = renewer->ttl_ms / AGAIN_PART;
    return renewer->silence_ms > 0 ? renewer_earlier(pause, renewer->silence_ms / 3) : pause;
}

static void renewer_on_renewed(struct renewer *renewer, const struct locks_reply *reply)
{
    const struct hold *hold = &reply->hold;
    uint64_t left_ms = (uint64_t)(hold->ttl_ms + reply->confirmed_ms);
    if (reply->result == LOCKS_DONE)
        renewer->ttl_ms = left_ms;
    renewer->ends = renewer->sent + left_ms;
    renewer->is_final = hold->is_final;
    renewer->doubted = renewer->ask_at != NEVER; /* a doubt arose since this renewal was sent */
    renewer->ask_at = renewer_earlier(renewer->ask_at, renewer->sent + renewer_pause(renewer));
    renewer->reported_at = uv_now(renewer->locks->loop);
    renewer_sleep(renewer);
    if (renewer->events.renewed)
        renewer->events.renewed(renewer->events.context, hold);
}

static void renewer_answered(void *context, const struct locks_reply *reply)
{
    struct renewer *renewer = context;
    renewer->asking = false;
    if (!renewer->of)
        renewer_free_if_unused(renewer);
    else if (reply->result == LOCKS_DONE || reply->result == LOCKS_MAX_HELD)
        renewer_on_renewed(renewer, reply);
    else if (reply->result == LOCKS_NOT_HELD)
        renewer_lose(renewer,
                     "the hold has ended: it expired, was released, or was broken by force",
                     &reply->view.last_release);
    else {
        renewer->ask_at = uv_now(renewer->locks->loop) + renewer_pause_again(renewer);
        renewer_sleep(renewer);
    }
}

static struct slice renewer_token(const struct renewer *renewer)
{
    return (struct slice){renewer->name_and_token + renewer->name_length, renewer->token_length};
}

static void renewer_ask(struct renewer *renewer)
{
    renewer->asking = true;
    renewer->ask_at = NEVER;
    renewer->sent = uv_now(renewer->locks->loop);
    const struct renewal renewal = {
        .name = {renewer->name_and_token, renewer->name_length},
        .token = renewer_token(renewer),
        .replicas = renewer->replicas,
        .is_of_worker = true,
    };
    renewer->locks->engine->renew(renewer->locks, &renewal, renewer_answered, renewer);
    renewer_sleep(renewer);
}

static bool renewer_is_silent(const struct renewer *renewer, uint64_t now)
{
    return renewer->silence_ms > 0 && now >= renewer->reported_at + renewer->silence_ms;
}

static void renewer_report_silence(struct renewer *renewer, uint64_t now)
{
    renewer->reported_at = now;
    renewer_sleep(renewer);
    renewer->silent(renewer->events.context, (int64_t)(renewer->ends - now));
}

static void renewer_on_timer(uv_timer_t *timer)
{
    struct renewer *renewer = timer->data;
    uint64_t now = uv_now(renewer->locks->loop);
    if (now >= renewer->ends)
        renewer_lose(renewer, "this batond could not ask Redis in time to renew the hold", NULL);
    else if (!renewer->asking && now >= renewer->ask_at)
        renewer_ask(renewer);
    else if (renewer_is_silent(renewer, now))
        renewer_report_silence(renewer, now);
    else
        renewer_sleep(renewer);
}

/* Renews at `at`, since another request may have ended the hold. */
static void renewer_check(struct renewer *renewer, uint64_t at)
{
    renewer->doubted = true;
    renewer->ask_at = renewer_earlier(renewer->ask_at, at);
    renewer_sleep(renewer);
}

void renewers_check_hold(struct locks *locks, struct slice key, struct slice token)
{
    const struct renewed_name *name = tree_find(&locks->renewed_names.by_key, key);
    struct renewer *renewer = name ? LIST_FIRST(&name->renewers) : NULL;
    bool is_each = slice_equals(token, "*");
    for (; renewer; renewer = LIST_NEXT(renewer, others))
        if (is_each || slice_same(renewer_token(renewer), token))
            renewer_check(renewer, 0);
}

void renewers_check(struct locks *locks)
{
    uint64_t now = uv_now(locks->loop), count = 0;
    struct renewed_name *name = LIST_FIRST(&locks->renewed_names.list);
    for (; name; name = LIST_NEXT(name, others))
        for (struct renewer *renewer = LIST_FIRST(&name->renewers); renewer;
             renewer = LIST_NEXT(renewer, others))
            renewer_check(renewer, now + count++ / CHECKS_A_MS);
}

struct renewer *renewer_start(struct locks *locks, struct slice name, struct slice token,
                              int64_t ttl_ms, int64_t replicas, const struct renewer_events *events)
{
    struct renewer *renewer = memory_checked(malloc(sizeof *renewer + name.length + token.length));
    *renewer = (struct renewer){.locks = locks,
                                .events = *events,
                                .sent = uv_now(locks->loop),
                                .ttl_ms = (uint64_t)ttl_ms,
                                .replicas = replicas,
                                .name_length = name.length,
                                .token_length = token.length};
    char key[KEY_LENGTH];
    renewer->of = renewed_name_join(locks, operation_key(locks, name, key));
    LIST_INSERT_HEAD(&renewer->of->renewers, renewer, others);
    renewer->ends = renewer->sent + renewer->ttl_ms;
    memcpy(renewer->name_and_token, name.bytes, name.length);
    memcpy(renewer->name_and_token + name.length, token.bytes, token.length);
    uv_timer_init(locks->loop, &renewer->timer);
    renewer->timer.data = renewer;
    renewer->ask_at = renewer->sent + renewer_pause(renewer);
    renewer_sleep(renewer);
    return renewer;
}

void renewer_beat(struct renewer *renewer, int64_t silence_ms,
                  void (*silent)(void *context, int64_t left_ms))
{
    renewer->silence_ms = (uint64_t)silence_ms;
    renewer->silent = silent;
    renewer->reported_at = renewer->sent;
    renewer->ask_at = renewer->sent + renewer_pause(renewer);
    renewer_sleep(renewer);
}
