#include "redis/cluster/primary_lease.h"

#include "base/memory.h"
#include "redis/cluster/node_table.h"
#include "redis/wire/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <string.h>

#define SAYS_NOTHING "it does not say which nodes are primaries"

/* A primary, which batond asks for its vote. */
struct voter {
    struct primary_lease *lease;
    unsigned node;
    bool counts; /* it is a primary by the present map */
    struct endpoint endpoint;
    struct session *session;
    uint64_t answered; /* when batond asked for the latest answer, on the loop's clock, in ms; 0:
                        * none */
    bool names[CLUSTER_NODES_MOST]; /* by node: its latest answer names the node */
};

struct primary_lease {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct node_table *table;
    uv_timer_t timer;                         /* of primary_lease_wake */
    struct voter *voters[CLUSTER_NODES_MOST]; /* by node; NULL: never asked */
    unsigned count;                           /* how much of `voters` is in use */
    int open;                                 /* sessions, plus 1 for the timer */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* Answers */

static void voter_note_range(void *context, unsigned first, unsigned last,
                             const struct slot_node *primary)
{
    struct voter *voter = context;
    unsigned node = node_table_find(voter->lease->table, primary, voter->node);
    (void)first, (void)last;
    if (node != CLUSTER_NOBODY)
        voter->names[node] = true;
}

static void voter_on_answered(void *context, const redisReply *reply)
{
    struct voter *voter = context;
    memset(voter->names, 0, sizeof voter->names);
    if (reply->type != REDIS_REPLY_ARRAY ||
        !slots_read((const struct value *)(const void *)reply, voter_note_range, voter)) {
        session_lose(voter->session, -EAGAIN, SAYS_NOTHING);
        return;
    }
    voter->answered = session_asked(voter->session);
    node_table_update_endpoints(voter->lease->table);
}

/* Asking */

static void voter_ask(void *context)
{
    static const struct slice SLOTS[] = {{"CLUSTER", 7}, {"SLOTS", 5}};
    const struct voter *voter = context;
    session_ask(voter->session, SLOTS, 2, PRIMARY_LEASE_ANSWER_MS, voter_on_answered);
}

/* Its last answer still counts, from the time when batond asked for it. */
static void voter_on_lost(void *context, const struct session_loss *loss)
{
    (void)context, (void)loss; /* the node reports it */
}

void primary_lease_refresh(struct primary_lease *lease)
{
    for (unsigned node = 0; node < lease->count; node++)
        if (lease->voters[node])
            session_ask_soon(lease->voters[node]->session);
}

uint64_t primary_lease_end(const struct primary_lease *lease, unsigned node)
{
    uint64_t answered[CLUSTER_NODES_MOST]; /* the latest first */
    size_t count = 0, primaries = 0;
    for (unsigned i = 0; i < lease->count; i++) {
        const struct voter *voter = lease->voters[i];
        if (!voter || !voter->counts)
            continue;
        primaries++;
        if (!voter->answered || !voter->names[node])
            continue;
        size_t at = count++;
        for (; at > 0 && answered[at - 1] < voter->answered; at--)
            answered[at] = answered[at - 1];
        answered[at] = voter->answered;
    }
    return count > primaries / 2 ? answered[primaries / 2] + PRIMARY_LEASE_MS : 0;
}

/* Time */

static void primary_lease_on_timer(uv_timer_t *timer)
{
    const struct primary_lease *lease = timer->data;
    node_table_update_endpoints(lease->table);
}

void primary_lease_wake(struct primary_lease *lease, uint64_t due)
{
    uint64_t now = uv_now(lease->loop), left = uv_timer_get_due_in(&lease->timer);
    if (!lease->closing && (left == 0 || due - now < left))
        uv_timer_start(&lease->timer, primary_lease_on_timer, due - now, 0);
}

/* The beginning and the end */

static void primary_lease_on_one_closed(struct primary_lease *lease)
{
    if (--lease->open > 0)
        return;
    void (*closed)(void *context) = lease->closed;
    void *closed_context = lease->closed_context;
    for (unsigned node = 0; node < lease->count; node++)
        free(lease->voters[node]);
    free(lease);
    closed(closed_context);
}

static void voter_on_closed(void *context)
{
    struct voter *voter = context;
    primary_lease_on_one_closed(voter->lease);
}

static void primary_lease_on_timer_closed(uv_handle_t *timer)
{
    primary_lease_on_one_closed(timer->data);
}

static void voter_on_endpoint_failed(void *context)
{
    (void)context; /* the next question is due in a second */
}

static void voter_open(struct primary_lease *lease, unsigned node)
{
    struct voter *voter = memory_checked(calloc(1, sizeof *voter));
    *voter = (struct voter){.lease = lease, .node = node};
    endpoint_init(&voter->endpoint, voter_on_endpoint_failed, voter);
    const struct session_events events = {
        .context = voter,
        .pace = {PRIMARY_LEASE_ASK_MS, PRIMARY_LEASE_SPACE_MS, .late = SAYS_NOTHING},
        .ask = voter_ask,
        .lost = voter_on_lost,
        .closed = voter_on_closed,
    };
    voter->endpoint.takes_replicas = true; /* the votes decide whether it is a primary */
    voter->session = session_open(lease->loop, lease->url, &voter->endpoint, &events);
    lease->voters[node] = voter;
    if (node >= lease->count)
        lease->count = node + 1;
    lease->open++;
}

void primary_lease_add(struct primary_lease *lease, unsigned node, const char *host, int port)
{
    if (lease->closing)
        return;
    if (!lease->voters[node])
        voter_open(lease, node);
    struct voter *voter = lease->voters[node];
    voter->counts = true;
    endpoint_set(&voter->endpoint, host, port);
}

void primary_lease_remove(struct primary_lease *lease, unsigned node)
{
    struct voter *voter = lease->voters[node];
    if (lease->closing || !voter || !voter->counts)
        return;
    voter->counts = false;
    voter->answered = 0;
    endpoint_withdraw(&voter->endpoint, "it no longer serves any slot");
}

struct primary_lease *primary_lease_open(uv_loop_t *loop, const struct redis_url *url,
                                         struct node_table *table)
{
    struct primary_lease *lease = memory_checked(calloc(1, sizeof *lease));
    lease->loop = loop;
    lease->url = url;
    lease->table = table;
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
    uv_close((uv_handle_t *)&lease->timer, primary_lease_on_timer_closed);
    for (unsigned node = 0; node < lease->count; node++)
        if (lease->voters[node])
            session_close(lease->voters[node]->session);
}
