#include "redis/node/primary.h"

#include "base/memory.h"
#include "redis/node/confirmer.h"
#include "redis/node/tracking.h"

#include <errno.h>
#include <string.h>

struct primary {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct endpoint *endpoint;
    unsigned number;
    struct primary_events events;
    struct link *link;
    const struct inbox *inbox; /* NULL before primary_heard_by */
    struct tracking tracking;
    struct slice marker; /* owned; absent before primary_expect_replicas */
    int expected;        /* replicas, as in primary_expect_replicas; 0: none */
    struct confirmer *confirmers[STORE_REPLICAS_MOST]; /* at replicas - 1; NULL: none yet */
    int open; /* how many of the link and the confirmers are open */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* Events of the link */

static void primary_on_up(void *context)
{
    struct primary *primary = context;
    tracking_reset(&primary->tracking);
    primary->events.up(primary->events.context, primary->number);
    tracking_resume(&primary->tracking, primary->link, primary->inbox);
}

static void primary_on_down(void *context, int code, const char *reason)
{
    struct primary *primary = context;
    (void)code; /* a service goes on trying, whatever the reason */
    primary->events.down(primary->events.context, primary->number, reason);
}

static void primary_on_warning(void *context, const char *text)
{
    struct primary *primary = context;
    primary->events.warning(primary->events.context, text);
}

static void primary_on_tracked(void *context, const char *error)
{
    struct primary *primary = context;
    struct failure warning;
    if (tracking_answered(&primary->tracking, error))
        primary->events.touched(primary->events.context, (struct slice){NULL, 0});
    else if (error && tracking_warn(&primary->tracking, primary->inbox, error, &warning))
        primary_on_warning(primary, warning.text);
}

static void primary_on_answered(void *context, uint64_t nanoseconds)
{
    struct primary *primary = context;
    primary->events.answered(primary->events.context, primary->number, nanoseconds);
}

static void primary_on_late(void *context)
{
    struct primary *primary = context;
    primary->events.late(primary->events.context, primary->number);
}

static void primary_on_stamp(void *context, uint64_t now, char stamp[STORE_STAMP_LENGTH])
{
    struct primary *primary = context;
    primary->events.stamp(primary->events.context, primary->number, now, stamp);
}

static void primary_on_redirected(void *context, struct call *call, const char *error)
{
    struct primary *primary = context;
    primary->events.redirected(primary->events.context, call, error);
}

static void primary_on_marker_astray(void *context)
{
    struct primary *primary = context;
    if (primary->events.marker_astray && !primary->closing)
        primary->events.marker_astray(primary->events.context, primary->number);
}

/* Tracking */

void primary_heard_by(struct primary *primary, const struct inbox *inbox)
{
    primary->inbox = inbox;
    tracking_resume(&primary->tracking, primary->link, primary->inbox);
}

void primary_track(struct primary *primary, struct slice prefix)
{
    tracking_begin(&primary->tracking, primary->link, primary->inbox, prefix);
}

void primary_untrack(struct primary *primary)
{
    tracking_end(&primary->tracking, primary->link);
}

/* The beginning and the end */

int primary_open(struct primary **ret, const struct primary_options *options)
{
    struct primary *primary = memory_checked(calloc(1, sizeof *primary));
    primary->loop = options->loop;
    primary->url = options->url;
    primary->endpoint = options->endpoint;
    primary->number = options->number;
    primary->events = options->events;
    primary->open = 1;
    const struct link_events events = {.context = primary,
                                       .up = primary_on_up,
                                       .down = primary_on_down,
                                       .warning = primary_on_warning,
                                       .tracked = primary_on_tracked,
                                       .answered = primary_on_answered,
                                       .late = primary->events.late ? primary_on_late : NULL,
                                       .stamp = primary->events.stamp ? primary_on_stamp : NULL,
                                       .redirected = primary_on_redirected};
    int result =
        link_open(&primary->link, primary->loop, primary->url, primary->endpoint, &events, NULL);
    if (result < 0) {
        free(primary);
        return result;
    }
    *ret = primary;
    return 0;
}

static void primary_on_one_closed(void *context)
{
    struct primary *primary = context;
    if (--primary->open > 0)
        return;
    void (*closed)(void *context) = primary->closed;
    void *closed_context = primary->closed_context;
    tracking_free(&primary->tracking);
    free((char *)primary->marker.bytes);
    free(primary);
    closed(closed_context);
}

void primary_close(struct primary *primary, void (*closed)(void *context), void *context)
{
    primary->closing = true;
    primary->closed = closed;
    primary->closed_context = context;
    for (int i = 0; i < STORE_REPLICAS_MOST; i++)
        if (primary->confirmers[i])
            confirmer_close(primary->confirmers[i], primary_on_one_closed, primary);
    link_close(primary->link, primary_on_one_closed, primary);
}

struct link *primary_link(struct primary *primary)
{
    return primary->link;
}

static bool primary_is_up(const struct primary *primary)
{
    return link_is_up(primary->link);
}

/* Confirming */

/* The confirmer has connected later than the link, so its history is the newer one. */
static void primary_on_confirmer_connected(void *context, const char *run_id, const char *history)
{
    struct primary *primary = context;
    const struct store_peer *peer = link_peer(primary->link);
    struct failure reason;
    if (strcmp(peer->run_id, run_id) != 0 || strcmp(peer->history, history) == 0)
        return;
    failure_set(
        &reason, -EAGAIN,
        "%s has become a replica since batond connected to it, or has got its first replica",
        link_place(primary->link));
    link_retire(primary->link, reason.text);
}

static struct confirmer *primary_confirmer(struct primary *primary, int replicas)
{
    struct confirmer *confirmer = primary->confirmers[replicas - 1];
    if (confirmer)
        return confirmer;
    const struct confirmer_options options = {.loop = primary->loop,
                                              .url = primary->url,
                                              .endpoint = primary->endpoint,
                                              .marker = primary->marker,
                                              .replicas = replicas,
                                              .warns = replicas == primary->expected,
                                              .events = {primary, primary_on_warning,
                                                         primary_on_confirmer_connected,
                                                         primary_on_marker_astray}};
    primary->open++;
    confirmer = confirmer_open(&options);
    primary->confirmers[replicas - 1] = confirmer;
    if (primary->closing) /* a script was still answered during the close */
        confirmer_close(confirmer, primary_on_one_closed, primary);
    return confirmer;
}

void primary_expect_replicas(struct primary *primary, struct slice key, int replicas)
{
    char *bytes = memory_checked(malloc(key.length));
    memcpy(bytes, key.bytes, key.length);
    free((char *)primary->marker.bytes);
    primary->marker = (struct slice){bytes, key.length};
    primary->expected = replicas;
    for (int i = 0; i < STORE_REPLICAS_MOST; i++)
        if (primary->confirmers[i])
            confirmer_mark_by(primary->confirmers[i], primary->marker);
    if (replicas > 0)
        primary_confirmer(primary, replicas);
}

struct store_mark primary_mark(const struct primary *primary)
{
    struct store_mark mark = link_mark(primary->link);
    mark.shard = primary->number;
    return mark;
}

void primary_confirm(struct primary *primary, struct store_mark mark, int replicas,
                     int64_t timeout_ms, store_confirmed *done, void *context)
{
    enum { NS_PER_MS = 1000000 };
    /* Another connection may lead to another server, which may lack this answer. */
    bool is_same = primary_is_up(primary) && mark.connection == primary_mark(primary).connection;
    uint64_t due = is_same ? mark.sent / NS_PER_MS + (uint64_t)timeout_ms : 0;
    confirmer_ask(primary_confirmer(primary, replicas), link_peer(primary->link), due, done,
                  context);
}
