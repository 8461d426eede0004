#include "redis/cluster/sight.h"

#include "redis/cluster/slot_map.h"
#include "redis/wire/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

/* A primary that is asked. */
struct witness {
    struct sight *sight;
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

struct sight {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct sight_events events;
    uv_timer_t timer;                              /* of sight_wake */
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
    witness->asked = uv_now(witness->sight->loop);
    session_send_words(witness->session, SLOTS, 2);
    session_wake(witness->session, witness->asked + SIGHT_ANSWER_MS);
}

static uint64_t due(const struct witness *witness)
{
    return witness->asked + (witness->asking      ? SIGHT_ANSWER_MS
                             : witness->ask_again ? SIGHT_SPACE_MS
                                                  : SIGHT_ASK_MS);
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
    if (uv_now(witness->sight->loop) < due(witness))
        session_wake(witness->session, due(witness));
    else if (witness->asking)
        session_lose(witness->session, -EAGAIN, "it does not say who the primaries are");
    else
        ask(witness);
}

void sight_doubt(struct sight *sight)
{
    for (unsigned node = 0; node < sight->count; node++) {
        struct witness *witness = sight->witnesses[node];
        if (sight->closing || !witness || !session_is_ready(witness->session))
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
    const struct sight_events *events = &witness->sight->events;
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
    witness->sight->events.changed(witness->sight->events.context);
}

/* What it has said goes on to count: it was asked then. */
static void on_lost(void *context, const struct session_loss *loss)
{
    struct witness *witness = context;
    (void)loss; /* the node's own link tells of it */
    witness->asking = false;
}

uint64_t sight_end(const struct sight *sight, unsigned node)
{
    uint64_t spoken[CLUSTER_NODES_MOST]; /* the latest first */
    size_t count = 0, primaries = 0;
    for (unsigned i = 0; i < sight->count; i++) {
        const struct witness *witness = sight->witnesses[i];
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
    return count > primaries / 2 ? spoken[primaries / 2] + SIGHT_MS : 0;
}

/* Time */

static void on_timer(uv_timer_t *timer)
{
    struct sight *sight = timer->data;
    sight->events.changed(sight->events.context);
}

void sight_wake(struct sight *sight, uint64_t due)
{
    uint64_t now = uv_now(sight->loop), left = uv_timer_get_due_in(&sight->timer);
    if (!sight->closing && (left == 0 || due - now < left))
        uv_timer_start(&sight->timer, on_timer, due - now, 0);
}

/* The beginning and the end */

static void end_if_closed(struct sight *sight)
{
    if (--sight->open > 0)
        return;
    void (*closed)(void *context) = sight->closed;
    void *closed_context = sight->closed_context;
    for (unsigned node = 0; node < sight->count; node++)
        free(sight->witnesses[node]);
    free(sight);
    closed(closed_context);
}

static void on_closed(void *context)
{
    struct witness *witness = context;
    end_if_closed(witness->sight);
}

static void on_timer_closed(uv_handle_t *timer)
{
    end_if_closed(timer->data);
}

static void nobody_minds(void *context)
{
    (void)context; /* the next question is due in a second */
}

static void start(struct sight *sight, unsigned node)
{
    struct witness *witness = calloc(1, sizeof *witness);
    if (!witness)
        abort();
    *witness = (struct witness){.sight = sight, .node = node};
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
    if (session_open(&witness->session, sight->loop, sight->url, &witness->guide, &events, NULL)) {
        free(witness);
        return;
    }
    sight->witnesses[node] = witness;
    if (node >= sight->count)
        sight->count = node + 1;
    sight->open++;
}

void sight_add(struct sight *sight, unsigned node, const char *host, int port)
{
    if (sight->closing)
        return;
    if (!sight->witnesses[node])
        start(sight, node);
    struct witness *witness = sight->witnesses[node];
    if (!witness)
        return;
    witness->counts = true;
    guide_point(&witness->guide, host, port);
}

void sight_remove(struct sight *sight, unsigned node)
{
    struct witness *witness = sight->witnesses[node];
    if (sight->closing || !witness || !witness->counts)
        return;
    witness->counts = false;
    witness->spoken = 0;
    guide_withdraw(&witness->guide, "it serves nothing any more");
}

struct sight *sight_open(uv_loop_t *loop, const struct redis_url *url,
                         const struct sight_events *events)
{
    struct sight *sight = calloc(1, sizeof *sight);
    if (!sight)
        abort();
    sight->loop = loop;
    sight->url = url;
    sight->events = *events;
    uv_timer_init(loop, &sight->timer);
    sight->timer.data = sight;
    sight->open = 1;
    return sight;
}

void sight_close(struct sight *sight, void (*closed)(void *context), void *context)
{
    sight->closing = true;
    sight->closed = closed;
    sight->closed_context = context;
    uv_close((uv_handle_t *)&sight->timer, on_timer_closed);
    for (unsigned node = 0; node < sight->count; node++)
        if (sight->witnesses[node])
            session_close(sight->witnesses[node]->session);
}
