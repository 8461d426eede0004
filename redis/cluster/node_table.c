#include "redis/cluster/node_table.h"

#include "base/host_name.h"
#include "base/memory.h"
#include "redis/types/result.h"

#include <errno.h>
#include <stdio.h>

struct node {
    char id[SLOT_NODE_ID_LONGEST + 1]; /* "" while only its address is known */
    struct endpoint endpoint;
    struct node_table *table;
    char host[REDIS_HOST_LONGEST + 1];
    int port;
    bool has_address; /* false after node_table_dismiss */
    uint64_t since;   /* when it got its present address; on the loop's clock, in ms */
    uint64_t until;   /* on the loop's clock, in ms: counts as a lease, since a node with a lease
                       * has named it */
    bool is_lost;     /* its last session failed to connect, or was disconnected */
};

struct node_table {
    uv_loop_t *loop;
    const struct slot_map *map;
    const struct cluster_events *events;
    struct primary_lease *lease; /* NULL: the nodes need no lease */
    struct node *nodes[CLUSTER_NODES_MOST];
    unsigned count;
};

static bool node_serves(const struct node_table *table, unsigned number)
{
    return slot_map_count(table->map, number) > 0;
}

/* Primary leases */

static uint64_t node_lease_end(const struct node_table *table, unsigned number)
{
    if (!table->lease)
        return UINT64_MAX;
    uint64_t end = primary_lease_end(table->lease, number), until = table->nodes[number]->until;
    return end > until ? end : until;
}

static bool node_has_no_lease(const struct node_table *table, unsigned number)
{
    return node_lease_end(table, number) <= uv_now(table->loop);
}

/* A node with a new address gets some time, in which the primaries are asked. */
static void node_hide(const struct node_table *table, struct node *node)
{
    struct failure reason;
    uint64_t patience = node->since + PRIMARY_LEASE_ANSWER_MS;
    bool asks = uv_now(table->loop) < patience;
    failure_set(&reason, -EAGAIN,
                "cannot tell whether %s:%d is still a primary of the Redis Cluster: most of the "
                "primaries have not said so for %d ms. Can batond reach them?",
                node->host, node->port, PRIMARY_LEASE_MS);
    if (!asks) {
        endpoint_forbid(&node->endpoint, reason.text);
        return;
    }
    primary_lease_wake(table->lease, patience);
    endpoint_withdraw(&node->endpoint, reason.text);
}

/* Points the endpoint to the address of the node, as long as the node has a lease. */
static void node_show(const struct node_table *table, unsigned number)
{
    struct node *node = table->nodes[number];
    uint64_t end = node_lease_end(table, number);
    if (!node->has_address)
        return;
    if (end <= uv_now(table->loop)) {
        node_hide(table, node);
        return;
    }
    if (table->lease)
        primary_lease_wake(table->lease, end);
    endpoint_limit(&node->endpoint, end);
    endpoint_set(&node->endpoint, node->host, node->port);
}

void node_table_update_endpoints(struct node_table *table)
{
    for (unsigned i = 0; table->lease && i < table->count; i++)
        node_show(table, i);
}

/* Each primary on the map is a voter, even if it does not answer. */
void node_table_note_map(struct node_table *table)
{
    for (unsigned i = 0; table->lease && i < table->count; i++)
        if (node_serves(table, i))
            primary_lease_add(table->lease, i, table->nodes[i]->host, table->nodes[i]->port);
        else
            primary_lease_remove(table->lease, i);
    node_table_update_endpoints(table);
}

void node_table_require_primary_lease(struct node_table *table, struct primary_lease *lease)
{
    table->lease = lease;
}

/* Addresses */

static bool node_is_at(const struct node *node, const char *host, int port)
{
    return node->port == port && host_names_equal(slice_of(node->host), slice_of(host));
}

/* `by` is the node that gave the address; CLUSTER_NOBODY: a server without a number. */
static void node_set_address(struct node_table *table, unsigned number, unsigned by,
                             const char *host, int port)
{
    struct node *node = table->nodes[number];
    uint64_t now = uv_now(table->loop);
    bool is_news = !node->has_address || !node_is_at(node, host, port);
    if (is_news) {
        snprintf(node->host, sizeof node->host, "%s", host);
        node->port = port;
        node->has_address = true;
        node->since = now;
        node->is_lost = false;
    }
    if (table->lease && (is_news || !node_serves(table, number)) && by != number &&
        by != CLUSTER_NOBODY && !node_has_no_lease(table, by))
        node->until = now + PRIMARY_LEASE_MS;
    node_show(table, number);
}

static void node_on_endpoint_failed(void *context)
{
    struct node *node = context;
    node->is_lost = true;
    node->table->events->doubted(node->table->events->context);
}

static unsigned node_add(struct node_table *table, unsigned by, const char *host, int port)
{
    if (table->count == CLUSTER_NODES_MOST)
        return CLUSTER_NOBODY;
    struct node *node = memory_checked(calloc(1, sizeof *node));
    unsigned number = table->count++;
    table->nodes[number] = node;
    node->table = table;
    endpoint_init(&node->endpoint, node_on_endpoint_failed, node);
    node_set_address(table, number, by, host, port);
    table->events->joined(table->events->context, number, &node->endpoint);
    return number;
}

/* Names */

static unsigned find_by_id(const struct node_table *table, struct slice id)
{
    for (unsigned i = 0; id.length > 0 && i < table->count; i++)
        if (slice_equals(id, table->nodes[i]->id))
            return i;
    return CLUSTER_NOBODY;
}

/* Of the nodes that had this address, the newest has it now. */
static unsigned find_by_address(const struct node_table *table, const char *host, int port)
{
    for (unsigned i = table->count; i-- > 0;)
        if (node_is_at(table->nodes[i], host, port))
            return i;
    return CLUSTER_NOBODY;
}

/* Returns false if the name does not identify a host. */
static bool node_table_read_host(const struct slot_node *node, const char *answering,
                                 char host[REDIS_HOST_LONGEST + 1])
{
    struct slice name = node->host.length > 0 ? node->host : slice_of(answering);
    if (name.length == 0 || name.length > REDIS_HOST_LONGEST || slice_equals(name, "?") ||
        node->port == 0)
        return false;
    snprintf(host, REDIS_HOST_LONGEST + 1, "%.*s", (int)name.length, name.bytes);
    return true;
}

static const char *host_of(const struct node_table *table, unsigned number)
{
    return number < table->count ? table->nodes[number]->host : "";
}

unsigned node_table_find(const struct node_table *table, const struct slot_node *named, unsigned by)
{
    char host[REDIS_HOST_LONGEST + 1];
    unsigned number = find_by_id(table, named->id);
    if (number == CLUSTER_NOBODY && named->id.length == 0 &&
        node_table_read_host(named, host_of(table, by), host))
        number = find_by_address(table, host, named->port);
    return number;
}

/* If a known node has this address but another id, a new node has taken its place. */
static unsigned find_at(const struct node_table *table, const struct slot_node *named,
                        const char *host)
{
    unsigned number = find_by_address(table, host, named->port);
    bool is_other = number != CLUSTER_NOBODY && table->nodes[number]->id[0] && named->id.length > 0;
    return is_other ? CLUSTER_NOBODY : number;
}

/* `by`, at the host `answering`, has named the node. */
static unsigned node_meet(struct node_table *table, const struct slot_node *named, unsigned by,
                          const char *answering)
{
    char host[REDIS_HOST_LONGEST + 1];
    unsigned number = find_by_id(table, named->id);
    if (!node_table_read_host(named, answering, host))
        return number;
    if (number == CLUSTER_NOBODY)
        number = find_at(table, named, host);
    if (number != CLUSTER_NOBODY)
        node_set_address(table, number, by, host, named->port); /* it may have been dismissed */
    else
        number = node_add(table, by, host, named->port);
    if (number != CLUSTER_NOBODY && named->id.length > 0)
        snprintf(table->nodes[number]->id, sizeof table->nodes[number]->id, "%.*s",
                 (int)named->id.length, named->id.bytes);
    return number;
}

unsigned node_table_meet(struct node_table *table, const struct slot_node *named, unsigned by)
{
    return node_meet(table, named, by, host_of(table, by));
}

unsigned node_table_meet_by(struct node_table *table, const struct slot_node *named,
                            const char *host, int port)
{
    return node_meet(table, named, find_by_address(table, host, port), host);
}

/* State */

struct endpoint *node_table_endpoint(struct node_table *table, unsigned number)
{
    return &table->nodes[number]->endpoint;
}

struct node_table_address node_table_address(const struct node_table *table, unsigned number)
{
    const struct node *node = table->nodes[number];
    return (struct node_table_address){node->host, node->port};
}

size_t node_table_count_serving(const struct node_table *table)
{
    size_t count = 0;
    for (unsigned i = 0; i < table->count; i++)
        count += node_serves(table, i);
    return count;
}

unsigned node_table_serving(const struct node_table *table, size_t index)
{
    for (unsigned i = 0; i < table->count; i++)
        if (node_serves(table, i) && index-- == 0)
            return i;
    return CLUSTER_NOBODY;
}

bool node_table_serves_lost(const struct node_table *table)
{
    for (unsigned i = 0; i < table->count; i++)
        if (node_serves(table, i) && table->nodes[i]->is_lost)
            return true;
    return false;
}

bool node_table_is_fresh(const struct node_table *table, unsigned number, int within_ms)
{
    if (number >= table->count)
        return false;
    const struct node *node = table->nodes[number];
    return !node->is_lost && uv_now(table->loop) < node->since + (uint64_t)within_ms;
}

void node_table_note_up(struct node_table *table, unsigned number)
{
    table->nodes[number]->is_lost = false;
}

void node_table_dismiss(struct node_table *table, unsigned number)
{
    struct node *node = table->nodes[number];
    if (node_serves(table, number))
        return;
    node->has_address = false;
    endpoint_withdraw(&node->endpoint, "it no longer serves any slot");
}

bool node_table_is_dismissed(const struct node_table *table, unsigned number)
{
    return !table->nodes[number]->has_address;
}

/* The beginning and the end */

struct node_table *node_table_open(uv_loop_t *loop, const struct slot_map *map,
                                   const struct cluster_events *events)
{
    struct node_table *table = memory_checked(calloc(1, sizeof *table));
    table->loop = loop;
    table->map = map;
    table->events = events;
    return table;
}

void node_table_free(struct node_table *table)
{
    for (unsigned i = 0; i < table->count; i++)
        free(table->nodes[i]);
    free(table);
}
