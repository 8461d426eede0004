#include "redis/cluster/roster.h"

#include "redis/types/result.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    char id[SLOT_NODE_ID_LONGEST + 1]; /* "" while it is known by its address alone */
    struct guide guide;
    struct roster *roster;
    char host[REDIS_HOST_LONGEST + 1];
    int port;
    bool is_placed; /* it is there, and was not dismissed */
    uint64_t since; /* when its address was last news; loop time */
    uint64_t until; /* by the word of one that was in sight it is so, too; loop time */
    bool is_lost;   /* whoever connected to it has failed, or was disconnected, since */
};

struct roster {
    uv_loop_t *loop;
    const struct slot_map *map;
    struct roster_events events;
    struct sight *sight; /* NULL: none is required */
    struct node *nodes[CLUSTER_NODES_MOST];
    unsigned count;
};

static bool serves(const struct roster *roster, unsigned number)
{
    return slot_map_count(roster->map, number) > 0;
}

/* Sight */

static uint64_t sight_of(const struct roster *roster, unsigned number)
{
    if (!roster->sight)
        return UINT64_MAX;
    uint64_t end = sight_end(roster->sight, number), until = roster->nodes[number]->until;
    return end > until ? end : until;
}

static bool is_out_of_sight(const struct roster *roster, unsigned number)
{
    return sight_of(roster, number) <= uv_now(roster->loop);
}

/* Where it is new, the others are being asked. */
static void hide(const struct roster *roster, struct node *node)
{
    struct failure reason;
    uint64_t patience = node->since + SIGHT_ANSWER_MS;
    bool asks = uv_now(roster->loop) < patience;
    failure_set(&reason, -EAGAIN,
                "cannot tell whether %s:%d is still a primary of the Redis Cluster: most of the "
                "primaries have not said so for %d ms; can batond reach them?",
                node->host, node->port, SIGHT_MS);
    if (!asks) {
        guide_forbid(&node->guide, reason.text);
        return;
    }
    sight_wake(roster->sight, patience);
    guide_withdraw(&node->guide, reason.text);
}

/* Lets the guide point to where the node is, as long as it is in sight. */
static void show(const struct roster *roster, unsigned number)
{
    struct node *node = roster->nodes[number];
    uint64_t end = sight_of(roster, number);
    if (!node->is_placed)
        return;
    if (end <= uv_now(roster->loop)) {
        hide(roster, node);
        return;
    }
    if (roster->sight)
        sight_wake(roster->sight, end);
    guide_limit(&node->guide, end);
    guide_point(&node->guide, node->host, node->port);
}

void roster_look(struct roster *roster)
{
    for (unsigned i = 0; roster->sight && i < roster->count; i++)
        show(roster, i);
}

/* Those of which nothing is heard count, too. */
void roster_note_map(struct roster *roster)
{
    for (unsigned i = 0; roster->sight && i < roster->count; i++)
        if (serves(roster, i))
            sight_add(roster->sight, i, roster->nodes[i]->host, roster->nodes[i]->port);
        else
            sight_remove(roster->sight, i);
    roster_look(roster);
}

void roster_require_sight(struct roster *roster, struct sight *sight)
{
    roster->sight = sight;
}

/* Places */

/* `by` has named it; CLUSTER_NOBODY: one that has no number. */
static void place(struct roster *roster, unsigned number, unsigned by, const char *host, int port)
{
    struct node *node = roster->nodes[number];
    uint64_t now = uv_now(roster->loop);
    bool is_news = !node->is_placed || node->port != port || strcmp(node->host, host) != 0;
    if (is_news) {
        snprintf(node->host, sizeof node->host, "%s", host);
        node->port = port;
        node->is_placed = true;
        node->since = now;
        node->is_lost = false;
    }
    if (roster->sight && (is_news || !serves(roster, number)) && by != number &&
        by != CLUSTER_NOBODY && !is_out_of_sight(roster, by))
        node->until = now + SIGHT_MS;
    show(roster, number);
}

static void on_doubt(void *context)
{
    struct node *node = context;
    node->is_lost = true;
    node->roster->events.doubted(node->roster->events.context);
}

static unsigned add(struct roster *roster, unsigned by, const char *host, int port)
{
    if (roster->count == CLUSTER_NODES_MOST)
        return CLUSTER_NOBODY;
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        abort();
    unsigned number = roster->count++;
    roster->nodes[number] = node;
    node->roster = roster;
    guide_init(&node->guide, on_doubt, node);
    place(roster, number, by, host, port);
    roster->events.joined(roster->events.context, number, &node->guide);
    return number;
}

/* Names */

static unsigned find_by_id(const struct roster *roster, struct slice id)
{
    for (unsigned i = 0; id.length > 0 && i < roster->count; i++)
        if (slice_equals(id, roster->nodes[i]->id))
            return i;
    return CLUSTER_NOBODY;
}

/* Of those that have been at this address, the last is there. */
static unsigned find_by_address(const struct roster *roster, const char *host, int port)
{
    for (unsigned i = roster->count; i-- > 0;) {
        const struct node *node = roster->nodes[i];
        if (node->port == port && strcmp(node->host, host) == 0)
            return i;
    }
    return CLUSTER_NOBODY;
}

/* False where it cannot be told. */
static bool read_host(const struct slot_node *node, const char *answering,
                      char host[REDIS_HOST_LONGEST + 1])
{
    struct slice name = node->host.length > 0 ? node->host : slice_of(answering);
    if (name.length == 0 || name.length > REDIS_HOST_LONGEST || slice_equals(name, "?") ||
        node->port == 0)
        return false;
    snprintf(host, REDIS_HOST_LONGEST + 1, "%.*s", (int)name.length, name.bytes);
    return true;
}

static const char *host_of(const struct roster *roster, unsigned number)
{
    return number < roster->count ? roster->nodes[number]->host : "";
}

unsigned roster_find(const struct roster *roster, const struct slot_node *named, unsigned by)
{
    char host[REDIS_HOST_LONGEST + 1];
    unsigned number = find_by_id(roster, named->id);
    if (number == CLUSTER_NOBODY && named->id.length == 0 &&
        read_host(named, host_of(roster, by), host))
        number = find_by_address(roster, host, named->port);
    return number;
}

/* One that is there, but by another id, is another node that has taken its place. */
static unsigned find_at(const struct roster *roster, const struct slot_node *named,
                        const char *host)
{
    unsigned number = find_by_address(roster, host, named->port);
    bool is_other =
        number != CLUSTER_NOBODY && roster->nodes[number]->id[0] && named->id.length > 0;
    return is_other ? CLUSTER_NOBODY : number;
}

/* `by`, at `answering`, has named it. */
static unsigned meet(struct roster *roster, const struct slot_node *named, unsigned by,
                     const char *answering)
{
    char host[REDIS_HOST_LONGEST + 1];
    unsigned number = find_by_id(roster, named->id);
    if (!read_host(named, answering, host))
        return number;
    if (number == CLUSTER_NOBODY)
        number = find_at(roster, named, host);
    if (number != CLUSTER_NOBODY)
        place(roster, number, by, host, named->port); /* it may have been dismissed */
    else
        number = add(roster, by, host, named->port);
    if (number != CLUSTER_NOBODY && named->id.length > 0)
        snprintf(roster->nodes[number]->id, sizeof roster->nodes[number]->id, "%.*s",
                 (int)named->id.length, named->id.bytes);
    return number;
}

unsigned roster_meet(struct roster *roster, const struct slot_node *named, unsigned by)
{
    return meet(roster, named, by, host_of(roster, by));
}

unsigned roster_meet_by(struct roster *roster, const struct slot_node *named, const char *host,
                        int port)
{
    return meet(roster, named, find_by_address(roster, host, port), host);
}

/* How they are */

struct guide *roster_guide(struct roster *roster, unsigned number)
{
    return &roster->nodes[number]->guide;
}

struct roster_address roster_address(const struct roster *roster, unsigned number)
{
    const struct node *node = roster->nodes[number];
    return (struct roster_address){node->host, node->port};
}

size_t roster_count_serving(const struct roster *roster)
{
    size_t count = 0;
    for (unsigned i = 0; i < roster->count; i++)
        count += serves(roster, i);
    return count;
}

unsigned roster_serving(const struct roster *roster, size_t index)
{
    for (unsigned i = 0; i < roster->count; i++)
        if (serves(roster, i) && index-- == 0)
            return i;
    return CLUSTER_NOBODY;
}

bool roster_serves_lost(const struct roster *roster)
{
    for (unsigned i = 0; i < roster->count; i++)
        if (serves(roster, i) && roster->nodes[i]->is_lost)
            return true;
    return false;
}

bool roster_is_fresh(const struct roster *roster, unsigned number)
{
    if (number >= roster->count)
        return false;
    const struct node *node = roster->nodes[number];
    return !node->is_lost && uv_now(roster->loop) < node->since + STORE_DEADLINE_MS;
}

void roster_note_up(struct roster *roster, unsigned number)
{
    roster->nodes[number]->is_lost = false;
}

void roster_dismiss(struct roster *roster, unsigned number)
{
    struct node *node = roster->nodes[number];
    if (serves(roster, number))
        return;
    node->is_placed = false;
    guide_withdraw(&node->guide, "it serves nothing any more");
}

bool roster_is_dismissed(const struct roster *roster, unsigned number)
{
    return !roster->nodes[number]->is_placed;
}

/* The beginning and the end */

struct roster *roster_open(uv_loop_t *loop, const struct slot_map *map,
                           const struct roster_events *events)
{
    struct roster *roster = calloc(1, sizeof *roster);
    if (!roster)
        abort();
    roster->loop = loop;
    roster->map = map;
    roster->events = *events;
    return roster;
}

void roster_free(struct roster *roster)
{
    for (unsigned i = 0; i < roster->count; i++)
        free(roster->nodes[i]);
    free(roster);
}
