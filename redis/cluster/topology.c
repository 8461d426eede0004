#include "redis/cluster/topology.h"

#include "base/memory.h"
#include "redis/wire/errors.h"
#include "redis/wire/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#define SAYS_NOTHING "it does not say which node serves which slots"

enum topology_state {
    TOPOLOGY_UNMAPPED, /* no answer has counted yet */
    TOPOLOGY_MAPPED,
    TOPOLOGY_LOST, /* mapped, and the owner knows that no node can be asked now */
};

/* What the node knows by its answer to CLUSTER INFO. */
enum node_view {
    VIEW_CURRENT,
    VIEW_CUT_OFF, /* it sees no majority */
    VIEW_BEHIND,  /* it has an older epoch than another node */
};

struct topology {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct slot_map *map;
    struct node_table *table;
    const struct cluster_events *events;
    struct session *session;
    struct endpoint endpoint; /* to the node that the topology asks */
    size_t candidate;         /* its index; see topology_candidate */
    size_t passed_over;       /* nodes in a row without an answer that counts */
    bool is_retargeting;      /* the topology leaves its node; the node has not failed */
    bool is_retargeted;       /* the node of topology_retarget has not answered yet */
    bool asks_next;           /* asks another node next, because this node may know less */
    int worst_code;           /* of the candidates that failed in this round, as in events->lost */
    struct failure worst;     /* why that one failed */

    enum topology_state state;
    enum node_view view;
    uint64_t epoch; /* the greatest of all nodes */

    void (*closed)(void *context);
    void *closed_context;
};

/* Candidates: the nodes that serve slots, then those of the URL. */

static size_t count_candidates(const struct topology *topology)
{
    return node_table_count_serving(topology->table) + topology->url->node_count;
}

static void topology_set_target(struct topology *topology, const char *host, int port)
{
    topology->is_retargeting = true;
    endpoint_set(&topology->endpoint, host, port);
    topology->is_retargeting = false;
}

static struct node_table_address topology_candidate(const struct topology *topology)
{
    size_t index = topology->candidate % count_candidates(topology);
    size_t serving = node_table_count_serving(topology->table);
    if (index < serving)
        return node_table_address(topology->table, node_table_serving(topology->table, index));
    const struct redis_node *node = &topology->url->nodes[index - serving];
    return (struct node_table_address){node->host, node->port};
}

static void point_to_candidate(struct topology *topology)
{
    struct node_table_address address = topology_candidate(topology);
    topology_set_target(topology, address.host, address.port);
}

/* Asks the next node at once, but pauses after a whole round in vain. */
static void topology_pass_over(struct topology *topology)
{
    topology->candidate++;
    struct node_table_address address = topology_candidate(topology);
    if (++topology->passed_over % count_candidates(topology) != 0)
        topology_set_target(topology, address.host, address.port);
    else
        endpoint_set_next(&topology->endpoint, address.host, address.port);
}

/* The session has lost its node, or could not reach it. */
static void topology_on_endpoint_failed(void *context)
{
    struct topology *topology = context;
    if (!topology->is_retargeting)
        topology_pass_over(topology);
}

/* The first failure that a person has to mend; if there is none in this round, the last failure. */
static void topology_note_worst(struct topology *topology, int code, const char *reason)
{
    if (topology->passed_over % count_candidates(topology) == 0)
        topology->worst_code = 0;
    if (topology->worst_code != -EPROTO)
        topology->worst_code = failure_set(&topology->worst, code, "%s", reason);
}

/* Reports once a whole round has failed, before a first map after each round: one node that is set
 * up wrongly, or is stopping, says nothing of the others. */
static void topology_report_lost(struct topology *topology, int code, const char *reason)
{
    size_t failed = topology->passed_over + 1, candidates = count_candidates(topology);
    topology_note_worst(topology, code, reason);
    if (topology->state == TOPOLOGY_LOST ||
        (topology->state == TOPOLOGY_MAPPED && failed < candidates) ||
        (topology->state == TOPOLOGY_UNMAPPED && failed % candidates != 0))
        return;
    if (topology->state == TOPOLOGY_MAPPED)
        topology->state = TOPOLOGY_LOST;
    topology->events->lost(topology->events->context, topology->worst_code, topology->worst.text);
}

void topology_retarget(struct topology *topology, unsigned node)
{
    struct node_table_address address = node_table_address(topology->table, node);
    if (topology->is_retargeted || node_table_is_dismissed(topology->table, node))
        return;
    topology_set_target(topology, address.host, address.port);
    topology->is_retargeted = true;
}

/* Answers */

static bool find_line(const redisReply *reply, const char *name, struct slice *ret)
{
    const char *found = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;
    if (!found)
        return false;
    found += strlen(name);
    *ret = (struct slice){found, strcspn(found, "\r\n")};
    return true;
}

/* If the Redis user may not ask CLUSTER INFO, the node counts as up to date. This costs a detour at
 * worst. */
static void topology_on_info(void *context, const redisReply *reply)
{
    struct topology *topology = context;
    struct slice text;
    if (find_line(reply, "cluster_state:", &text) && !slice_equals(text, "ok"))
        topology->view = VIEW_CUT_OFF;
    if (!find_line(reply, "cluster_current_epoch:", &text))
        return;
    uint64_t epoch = strtoull(text.bytes, NULL, 10);
    if (epoch < topology->epoch)
        topology->view = VIEW_BEHIND;
    else
        topology->epoch = epoch;
}

/* The owners of all slots by one answer, until it has been read completely. */
struct draft {
    struct topology *topology;
    uint16_t owners[SLOT_COUNT];
};

static void topology_note_range(void *context, unsigned first, unsigned last,
                                const struct slot_node *primary)
{
    struct draft *draft = context;
    const struct endpoint *endpoint = &draft->topology->endpoint;
    unsigned owner =
        node_table_meet_by(draft->topology->table, primary, endpoint->host, endpoint->port);
    for (unsigned slot = first; slot <= last; slot++)
        draft->owners[slot] = (uint16_t)owner;
}

/* A node to which a slot moves goes on naming the node from which it comes, even if that node
 * has died and another has taken its place. So while a named node cannot be reached, the
 * topology asks other nodes, too. */
static void topology_take_map(struct topology *topology, const redisReply *reply)
{
    struct draft draft = {.topology = topology};
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++)
        draft.owners[slot] = CLUSTER_NOBODY;
    if (reply->type != REDIS_REPLY_ARRAY ||
        !slots_read((const struct value *)(const void *)reply, topology_note_range, &draft)) {
        session_lose(topology->session, -EAGAIN, SAYS_NOTHING);
        return;
    }
    topology->state = TOPOLOGY_MAPPED;
    topology->passed_over = 0;
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++)
        slot_map_give(topology->map, slot, draft.owners[slot]);
    node_table_note_map(topology->table);
    topology->events->mapped(topology->events->context);
    topology->asks_next = node_table_serves_lost(topology->table);
}

/* Whether the answer counts. If all nodes are cut off or behind, they are right: the Cluster is
 * down as a whole, or was set up anew. */
static bool topology_counts(struct topology *topology)
{
    bool all = topology->passed_over + 1 >= count_candidates(topology);
    if (all && topology->view == VIEW_BEHIND)
        topology->epoch = 0;
    return all || topology->state == TOPOLOGY_UNMAPPED || topology->view == VIEW_CURRENT;
}

static void topology_on_slots_refused(struct topology *topology, const char *error)
{
    struct failure reason;
    bool forbidden = error_has_code(error, "NOPERM");
    bool disabled = strstr(error, "cluster support disabled") != NULL;
    failure_set(&reason, error_passes(error) ? -EAGAIN : -EPROTO,
                "%s does not say which node serves which slots: %s%s",
                session_place(topology->session), error,
                forbidden ? ". Allow it with `ACL SETUSER … +cluster|slots +cluster|info +asking`."
                : disabled ? ". It is not a node of a Redis Cluster: write redis://host:port"
                           : "");
    session_lose(topology->session, error_passes(error) ? -EAGAIN : -EPROTO, reason.text);
}

static void topology_on_slots(void *context, const redisReply *reply)
{
    struct topology *topology = context;
    topology->is_retargeted = false;
    if (reply->type == REDIS_REPLY_ERROR)
        topology_on_slots_refused(topology, reply->str);
    else if (topology_counts(topology))
        topology_take_map(topology, reply);
    else
        topology_pass_over(topology);
}

/* Asking */

static void topology_ask(struct topology *topology)
{
    static const struct slice INFO[] = {{"CLUSTER", 7}, {"INFO", 4}};
    static const struct slice SLOTS[] = {{"CLUSTER", 7}, {"SLOTS", 5}};
    topology->view = VIEW_CURRENT;
    session_ask(topology->session, INFO, 2, TOPOLOGY_ANSWER_MS, topology_on_info);
    session_ask(topology->session, SLOTS, 2, TOPOLOGY_ANSWER_MS, topology_on_slots);
}

static void topology_on_ready(void *context, const struct session_peer *peer)
{
    (void)peer;
    topology_ask(context);
}

static void topology_on_ask(void *context)
{
    struct topology *topology = context;
    if (topology->asks_next) {
        topology->candidate++;
        point_to_candidate(topology); /* its session asks when it is ready */
    }
    topology->asks_next = false;
    if (session_is_ready(topology->session))
        topology_ask(topology);
}

void topology_refresh(struct topology *topology)
{
    session_ask_soon(topology->session);
}

static void topology_on_lost(void *context, const struct session_loss *loss)
{
    struct topology *topology = context;
    topology->is_retargeted = false;
    if (loss->code != -ECANCELED && !topology->is_retargeting)
        topology_report_lost(topology, loss->code, loss->reason);
}

/* The beginning and the end */

static void topology_on_closed(void *context)
{
    struct topology *topology = context;
    void (*closed)(void *context) = topology->closed;
    void *closed_context = topology->closed_context;
    free(topology);
    closed(closed_context);
}

struct topology *topology_open(uv_loop_t *loop, const struct redis_url *url, struct slot_map *map,
                               struct node_table *table, const struct cluster_events *events)
{
    struct topology *topology = memory_checked(calloc(1, sizeof *topology));
    topology->loop = loop;
    topology->url = url;
    topology->map = map;
    topology->table = table;
    topology->events = events;
    endpoint_init(&topology->endpoint, topology_on_endpoint_failed, topology);
    topology->endpoint.takes_replicas = true;
    point_to_candidate(topology);
    const struct session_events session_events = {
        .context = topology,
        .pace = {.ask_ms = TOPOLOGY_ASK_MS, .space_ms = TOPOLOGY_SPACE_MS, .late = SAYS_NOTHING},
        .ready = topology_on_ready,
        .ask = topology_on_ask,
        .lost = topology_on_lost,
        .closed = topology_on_closed,
    };
    topology->session = session_open(loop, url, &topology->endpoint, &session_events);
    return topology;
}

void topology_close(struct topology *topology, void (*closed)(void *context), void *context)
{
    topology->closed = closed;
    topology->closed_context = context;
    session_close(topology->session);
}
