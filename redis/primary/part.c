#include "redis/primary/part.h"

#include "redis/pubsub/tracking.h"
#include "redis/replicas/confirmer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct part {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct guide *guide;
    unsigned number;
    struct part_events events;
    struct link *link;
    const struct inbox *inbox; /* NULL before part_heard_by */
    struct tracking tracking;
    struct slice marker; /* the bytes are its own; absent before part_expect_replicas */
    int expected;        /* replicas, always; 0: none */
    struct confirmer *confirmers[STORE_REPLICAS_MOST]; /* by replicas - 1; NULL: nobody asked */
    int open;                                          /* the link and the confirmers */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* What the link tells */

static void part_up(void *context)
{
    struct part *part = context;
    tracking_reset(&part->tracking);
    part->events.up(part->events.context, part->number);
    tracking_resume(&part->tracking, part->link, part->inbox);
}

static void part_down(void *context, int code, const char *reason)
{
    struct part *part = context;
    (void)code; /* a service goes on trying, whatever the reason */
    part->events.down(part->events.context, part->number, reason);
}

static void part_warning(void *context, const char *text)
{
    struct part *part = context;
    part->events.warning(part->events.context, text);
}

static void part_tracked(void *context, const char *error)
{
    struct part *part = context;
    struct failure warning;
    if (tracking_answered(&part->tracking, error))
        part->events.touched(part->events.context, (struct slice){NULL, 0});
    else if (error && tracking_warn(&part->tracking, part->inbox, error, &warning))
        part_warning(part, warning.text);
}

static void part_answered(void *context, uint64_t nanoseconds)
{
    struct part *part = context;
    part->events.answered(part->events.context, part->number, nanoseconds);
}

static void part_late(void *context)
{
    struct part *part = context;
    part->events.late(part->events.context, part->number);
}

static void part_stamp(void *context, uint64_t now, char stamp[STORE_STAMP_LENGTH])
{
    struct part *part = context;
    part->events.stamp(part->events.context, part->number, now, stamp);
}

static void part_redirected(void *context, struct call *call, const char *error)
{
    struct part *part = context;
    part->events.redirected(part->events.context, call, error);
}

static void part_marker_astray(void *context)
{
    struct part *part = context;
    if (part->events.marker_astray && !part->closing)
        part->events.marker_astray(part->events.context, part->number);
}

/* Tracking */

void part_heard_by(struct part *part, const struct inbox *inbox)
{
    part->inbox = inbox;
    tracking_resume(&part->tracking, part->link, part->inbox);
}

void part_track(struct part *part, struct slice prefix)
{
    tracking_begin(&part->tracking, part->link, part->inbox, prefix);
}

void part_untrack(struct part *part)
{
    tracking_end(&part->tracking, part->link);
}

/* The beginning and the end */

int part_open(struct part **ret, const struct part_options *options)
{
    struct part *part = calloc(1, sizeof *part);
    if (!part)
        abort();
    part->loop = options->loop;
    part->url = options->url;
    part->guide = options->guide;
    part->number = options->number;
    part->events = options->events;
    part->open = 1;
    const struct link_events events = {.context = part,
                                       .up = part_up,
                                       .down = part_down,
                                       .warning = part_warning,
                                       .tracked = part_tracked,
                                       .answered = part_answered,
                                       .late = part->events.late ? part_late : NULL,
                                       .stamp = part->events.stamp ? part_stamp : NULL,
                                       .redirected = part_redirected};
    int result = link_open(&part->link, part->loop, part->url, part->guide, &events, NULL);
    if (result < 0) {
        free(part);
        return result;
    }
    *ret = part;
    return 0;
}

static void part_one_closed(void *context)
{
    struct part *part = context;
    if (--part->open > 0)
        return;
    void (*closed)(void *context) = part->closed;
    void *closed_context = part->closed_context;
    tracking_free(&part->tracking);
    free((char *)part->marker.bytes);
    free(part);
    closed(closed_context);
}

void part_close(struct part *part, void (*closed)(void *context), void *context)
{
    part->closing = true;
    part->closed = closed;
    part->closed_context = context;
    for (int i = 0; i < STORE_REPLICAS_MOST; i++)
        if (part->confirmers[i])
            confirmer_close(part->confirmers[i], part_one_closed, part);
    link_close(part->link, part_one_closed, part);
}

struct link *part_link(struct part *part)
{
    return part->link;
}

bool part_is_up(const struct part *part)
{
    return link_is_up(part->link);
}

/* Confirming */

/* Whoever has connected later knows better what Redis has. */
static void part_confirmer_connected(void *context, const char *run_id, const char *history)
{
    struct part *part = context;
    const struct store_peer *peer = link_peer(part->link);
    struct failure reason;
    if (strcmp(peer->run_id, run_id) != 0 || strcmp(peer->history, history) == 0)
        return;
    failure_set(&reason, -EAGAIN,
                "%s has been a replica since batond connected to it, or has its first one",
                link_place(part->link));
    link_retire(part->link, reason.text);
}

static struct confirmer *part_confirmer(struct part *part, int replicas)
{
    struct confirmer *confirmer = part->confirmers[replicas - 1];
    if (confirmer)
        return confirmer;
    const struct confirmer_options options = {
        .loop = part->loop,
        .url = part->url,
        .guide = part->guide,
        .marker = part->marker,
        .replicas = replicas,
        .warns = replicas == part->expected,
        .events = {part, part_warning, part_confirmer_connected, part_marker_astray}};
    part->open++;
    confirmer = confirmer_open(&options);
    part->confirmers[replicas - 1] = confirmer;
    if (part->closing) /* by one whose script was still answered */
        confirmer_close(confirmer, part_one_closed, part);
    return confirmer;
}

void part_expect_replicas(struct part *part, struct slice key, int replicas)
{
    char *bytes = malloc(key.length);
    if (!bytes)
        abort();
    memcpy(bytes, key.bytes, key.length);
    free((char *)part->marker.bytes);
    part->marker = (struct slice){bytes, key.length};
    part->expected = replicas;
    for (int i = 0; i < STORE_REPLICAS_MOST; i++)
        if (part->confirmers[i])
            confirmer_mark_by(part->confirmers[i], part->marker);
    if (replicas > 0)
        part_confirmer(part, replicas);
}

struct store_mark part_mark(const struct part *part)
{
    struct store_mark mark = link_mark(part->link);
    mark.part = part->number;
    return mark;
}

void part_confirm(struct part *part, struct store_mark mark, int replicas, int64_t timeout_ms,
                  store_confirmed *done, void *context)
{
    enum { NS_PER_MS = 1000000 };
    /* By another connection there may be another server, and nobody knows what it has of this. */
    bool is_same = part_is_up(part) && mark.connection == part_mark(part).connection;
    uint64_t due = is_same ? mark.sent / NS_PER_MS + (uint64_t)timeout_ms : 0;
    confirmer_ask(part_confirmer(part, replicas), link_peer(part->link), due, done, context);
}
