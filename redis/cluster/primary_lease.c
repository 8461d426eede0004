#include "redis/cluster/primary_lease.h"

#include "redis/cluster/slot_map.h"
#include "redis/wire/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

/* A primary that is asked. */
struct witness {
    struct primary_lease *lease;
    unsigned node;
    bool counts; /* it is one, as far as is known here */
    struct guide guide;
    struct session *session;
    bool asking;
    bool ask_again; /* when that is over */
    uint64_t asked;
    uint64_t spoken; /* when it was asked for its latest answer; 0: there is none */
    bool names[CLUSTER_NODES_MOST];
};

struct primary_lease {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct primary_lease_events events;
    uv_timer_t timer;                              /* of primary_lease_wake */
    struct witness *witnesses[CLUSTER_NODES_MOST]; /* by number; NULL: never asked */
    unsigned count;                                /* numbers so far */
    int open;                                      /* sessions, and the timer */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* Asking */

static void ask(struct witness *witness)
{
    static const struct slice SLOTS[] = {{"CLUSTER", 7}, {"SLOTS", 5}};
    witness->asking = true;
    witness->ask_again = false;
    witness->asked = uv_now(witness->lease->loop);
    session_send_words(witness->session, SLOTS, 2);
    session_wake(witness->session, witness->asked + PRIMARY_LEASE_ANSWER_MS);
}

static uint64_t due(const struct witness *witness)
{
    return witness->asked + (witness->asking      ? PRIMARY_LEASE_ANSWER_MS
                             : witness->ask_again ? PRIMARY_LEASE_SPACE_MS
                                                  : PRIMARY_LEASE_ASK_MS);
}

static void on_ready(void *context, const struct session_peer *peer)
{
    (void)peer;
    ask(context);
}

/* Answers that came while this process itself was held up are not late. */
static void on_woken(void *context)
{
    struct witness *witness = context;
    while (witness->asking && session_read(witness->session))
        ;
    if (!session_is_ready(witness->session))
        return;
    if (uv_now(witness->lease->loop) < due(witness))
        session_wake(witness->session, due(witness));
    else if (witness->asking)
        session_lose(witness->session, -EAGAIN, "it does not say who the primaries are");
    else
        ask(witness);
}

void primary_lease_doubt(struct primary_lease *lease)
{
    for (unsigned node = 0; node < lease->count; node++) {
        struct witness *witness = lease->witnesses[node];
        if (lease->closing || !witness || !session_is_ready(witness->session))
            continue; /* it is asked as soon as it is */
        witness->ask_again = true;
        session_wake(witness->session, due(witness));
    }
}

/* Answers */

static void note_range(void *context, unsigned first, unsigned last,
                       const struct slot_node *primary)
{
    struct witness *witness = context;
    const struct primary_lease_events *events = &witness->lease->events;
    unsigned node = events->find(events->context, primary, witness->node);
    (void)first, (void)last;
    if (node != CLUSTER_NOBODY)
        witness->names[node] = true;
}

static void on_replied(void *context, const redisReply *reply)
{
    struct witness *witness = context;
    memset(witness->names, 0, sizeof witness->names);
    if (!witness->asking || reply->type != REDIS_REPLY_ARRAY ||
        !slots_read((const struct value *)(const void *)reply, note_range, witness)) {
        session_lose(witness->session, -EAGAIN, "it does not say who the primaries are");
        return;
    }
    witness->asking = false;
    witness->spoken = witness->asked;
    session_wake(witness->session, due(witness));
    witness->lease->events.changed(witness->lease->events.context);
}

/* What it has said goes on to count: it was asked then. */
static void on_lost(void *context, const struct session_loss *loss)
{
    struct witness *witness = context;
    (void)loss; /* the node's own link tells of it */
    witness->asking = false;
}

uint64_t primary_lease_end(const struct primary_lease *lease, unsigned node)
{
    uint64_t spoken[CLUSTER_NODES_MOST]; /* the latest first */
    size_t count = 0, primaries = 0;
    for (unsigned i = 0; i < lease->count; i++) {
        const struct witness *witness = lease->witnesses[i];
        if (!witness || !witness->counts)
            continue;
        primaries++;
        if (!witness->spoken || !witness->names[node])
            continue;
        size_t place = count++;
        for (; place > 0 && spoken[place - 1] < witness->spoken; place--)
            spoken[place] = spoken[place - 1];
        spoken[place] = witness->spoken;
    }
    return count > primaries / 2 ? spoken[primaries / 2] + PRIMARY_LEASE_MS : 0;
}

/* Time */

static void on_timer(uv_timer_t *timer)
{
    struct primary_lease *lease = timer->data;
    lease->events.changed(lease->events.context);
}

void primary_lease_wake(struct primary_lease *lease, uint64_t due)
{
    uint64_t now = uv_now(lease->loop), left = uv_timer_get_due_in(&lease->timer);
    if (!lease->closing && (left == 0 || due - now < left))
        uv_timer_start(&lease->timer, on_timer, due - now, 0);
}

/* The beginning and the end */

static void end_if_closed(struct primary_lease *lease)
{
    if (--lease->open > 0)
        return;
    void (*closed)(void *context) = lease->closed;
    void *closed_context = lease->closed_context;
    for (unsigned node = 0; node < lease->count; node++)
        free(lease->witnesses[node]);
    free(lease);
    closed(closed_context);
}

static void on_closed(void *context)
{
    struct witness *witness = context;
    end_if_closed(witness->lease);
}

static void on_timer_closed(uv_handle_t *timer)
{
    end_if_closed(timer->data);
}

static void nobody_minds(void *context)
{
    (void)context; /* the next question is due in a second */
}

static void start(struct primary_lease *lease, unsigned node)
{
    struct witness *witness = calloc(1, sizeof *witness);
    if (!witness)
        abort();
    *witness = (struct witness){.lease = lease, .node = node};
    guide_init(&witness->guide, nobody_minds, witness);
    const struct session_events events = {
        .context = witness,
        .ready = on_ready,
        .replied = on_replied,
        .lost = on_lost,
        .woken = on_woken,
        .closed = on_closed,
    };
    witness->guide.takes_replicas = true; /* what it is, others have to say */
    if (session_open(&witness->session, lease->loop, lease->url, &witness->guide, &events, NULL)) {
        free(witness);
        return;
    }
    lease->witnesses[node] = witness;
    if (node >= lease->count)
        lease->count = node + 1;
    lease->open++;
}

void primary_lease_add(struct primary_lease *lease, unsigned node, const char *host, int port)
{
    if (lease->closing)
        return;
    if (!lease->witnesses[node])
        start(lease, node);
    struct witness *witness = lease->witnesses[node];
    if (!witness)
        return;
    witness->counts = true;
    guide_point(&witness->guide, host, port);
}

void primary_lease_remove(struct primary_lease *lease, unsigned node)
{
    struct witness *witness = lease->witnesses[node];
    if (lease->closing || !witness || !witness->counts)
        return;
    witness->counts = false;
    witness->spoken = 0;
    guide_withdraw(&witness->guide, "it serves nothing any more");
}

struct primary_lease *primary_lease_open(uv_loop_t *loop, const struct redis_url *url,
                                         const struct primary_lease_events *events)
{
    struct primary_lease *lease = calloc(1, sizeof *lease);
    if (!lease)
        abort();
    lease->loop = loop;
    lease->url = url;
    lease->events = *events;
    uv_timer_init(loop, &lease->timer);
    lease->timer.data = lease;
    lease->open = 1;
    return lease;
}

void primary_lease_close(struct primary_lease *lease, void (*closed)(void *context), void *context)
{
    lease->closing = true;
    lease->closed = closed;
    lease->closed_context = context;
    uv_close((uv_handle_t *)&lease->timer, on_timer_closed);
    for (unsigned node = 0; node < lease->count; node++)
        if (lease->witnesses[node])
            session_close(lease->witnesses[node]->session);
}
