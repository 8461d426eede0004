#include "redis/cluster/nodes.h"

#include "redis/cluster/cluster_inbox.h"
#include "redis/cluster/members.h"
#include "redis/cluster/router.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = sizeof((struct failure *)0)->text };

_Static_assert((int)SLOT_TAG_SIZE == (int)STORE_TAG_SIZE,
               "what slot_tag writes, store_tag hands out");

struct nodes {
    struct store_events events;
    struct cluster *cluster;
    struct router *router;
    struct members *members;
    struct cluster_inbox inbox;
    unsigned answering; /* the part whose answer is being told */
    unsigned tagged_slot;
    unsigned up_last;
    struct failure lost; /* why no map is known */
    char text[TEXT_SIZE];
    int open; /* the members and the inbox */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* What the parts tell */

static void warn(void *context, const char *text)
{
    const struct nodes *nodes = context;
    if (nodes->events.warning)
        nodes->events.warning(nodes->events.context, text);
}

static void on_up(void *context, unsigned node)
{
    struct nodes *nodes = context;
    nodes->up_last = node;
    cluster_note_up(nodes->cluster, node);
    cluster_inbox_note_up(&nodes->inbox);
    if (nodes->events.up)
        nodes->events.up(nodes->events.context, node);
}

static void on_down(void *context, unsigned node, const char *reason)
{
    struct nodes *nodes = context;
    if (nodes->events.down)
        nodes->events.down(nodes->events.context, node, reason);
}

static void on_touched(void *context, struct slice key)
{
    const struct nodes *nodes = context;
    if (members_tracks(nodes->members) && nodes->events.touched)
        nodes->events.touched(nodes->events.context, key);
}

static void on_answered(void *context, unsigned node, uint64_t nanoseconds)
{
    struct nodes *nodes = context;
    nodes->answering = node;
    if (nodes->events.answered)
        nodes->events.answered(nodes->events.context, nanoseconds);
}

static void on_late(void *context, unsigned node)
{
    struct nodes *nodes = context;
    nodes->answering = node;
}

static void on_stamp(void *context, unsigned node, uint64_t now, char stamp[STORE_STAMP_LENGTH])
{
    const struct nodes *nodes = context;
    nodes->events.stamp(nodes->events.context, node, now, stamp);
}

static void on_redirected(void *context, struct call *call, const char *error)
{
    struct nodes *nodes = context;
    router_redirected(nodes->router, call, error);
}

static void on_marker_astray(void *context, unsigned node)
{
    struct nodes *nodes = context;
    cluster_doubt(nodes->cluster);
    members_mark_anew(nodes->members, node);
}

/* What the cluster tells */

static void on_joined(void *context, unsigned node, struct guide *guide)
{
    struct nodes *nodes = context;
    if (!members_join(nodes->members, node, guide))
        warn(nodes, "a node of the Cluster cannot be connected to: see the files of redis-ca, "
                    "redis-cert and redis-key");
}

static void tell_taken(struct nodes *nodes)
{
    unsigned last_to = CLUSTER_NOBODY, last_from = CLUSTER_NOBODY;
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        unsigned from = cluster_take_former(nodes->cluster, slot);
        unsigned to = cluster_owner(nodes->cluster, slot);
        if (from == CLUSTER_NOBODY || (from == last_from && to == last_to) || !nodes->events.taken)
            continue;
        nodes->events.taken(nodes->events.context, to, from);
        last_to = to;
        last_from = from;
    }
}

static void on_mapped(void *context)
{
    struct nodes *nodes = context;
    if (nodes->closing)
        return;
    tell_taken(nodes); /* while it can be seen who is down, not dismissed */
    members_note_map(nodes->members);
    cluster_inbox_note_map(&nodes->inbox);
    if (nodes->events.moved)
        nodes->events.moved(nodes->events.context);
}

/* Before a map is known, the first part that there will be is down. */
static void on_lost(void *context, int code, const char *reason)
{
    struct nodes *nodes = context;
    if (nodes->closing)
        return;
    struct failure before = nodes->lost;
    failure_set(&nodes->lost, code, "%s", reason);
    bool is_told = strcmp(before.text, nodes->lost.text) == 0;
    if (members_count(nodes->members) > 0)
        warn(nodes, reason);
    else if (nodes->events.down && !is_told)
        nodes->events.down(nodes->events.context, 0, reason);
}

/* Calls */

static void on_sent_away(void *context, unsigned to, unsigned from)
{
    struct nodes *nodes = context;
    if (nodes->events.taken && to != from)
        nodes->events.taken(nodes->events.context, to, from);
}

static struct link *link_to(void *context, unsigned node)
{
    const struct nodes *nodes = context;
    const struct member *member = members_at(nodes->members, node);
    return member ? member_link(member) : NULL;
}

void nodes_eval(struct nodes *nodes, const struct script *script, struct slice key,
                const struct slice *arguments, size_t argument_count, store_done *done,
                void *context)
{
    router_eval(nodes->router, script, key, arguments, argument_count, done, context);
}

void nodes_eval_at(struct nodes *nodes, unsigned part, const struct script *script,
                   const struct slice *arguments, size_t argument_count, store_done *done,
                   void *context)
{
    router_eval_at(nodes->router, part, script, arguments, argument_count, done, context);
}

/* The beginning and the end */

static void open_members(struct nodes *nodes, uv_loop_t *loop, const struct redis_url *url)
{
    const struct part_options options = {.loop = loop,
                                         .url = url,
                                         .events = {.context = nodes,
                                                    .up = on_up,
                                                    .down = on_down,
                                                    .warning = warn,
                                                    .touched = on_touched,
                                                    .answered = on_answered,
                                                    .late = on_late,
                                                    .stamp = nodes->events.stamp ? on_stamp : NULL,
                                                    .redirected = on_redirected,
                                                    .marker_astray = on_marker_astray}};
    nodes->members = members_open(nodes->cluster, &options);
    const struct cluster_inbox_options inbox_options = {.loop = loop,
                                                        .url = url,
                                                        .cluster = nodes->cluster,
                                                        .members = nodes->members,
                                                        .events = &nodes->events};
    cluster_inbox_init(&nodes->inbox, &inbox_options);
}

int nodes_open(struct nodes **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events)
{
    struct nodes *nodes = calloc(1, sizeof *nodes);
    if (!nodes)
        return -ENOMEM;
    nodes->events = *events;
    const struct cluster_events cluster_events = {nodes, on_joined, on_mapped, on_lost};
    int result = cluster_open(&nodes->cluster, loop, url, &cluster_events, NULL);
    if (result < 0) {
        free(nodes);
        return result;
    }
    open_members(nodes, loop, url);
    const struct router_options router_options = {loop, nodes->cluster, link_to, on_sent_away,
                                                  nodes};
    nodes->router = router_open(&router_options);
    *ret = nodes;
    return 0;
}

void nodes_require_sight(struct nodes *nodes)
{
    cluster_require_sight(nodes->cluster);
}

static void on_cluster_closed(void *context)
{
    struct nodes *nodes = context;
    void (*closed)(void *context) = nodes->closed;
    void *closed_context = nodes->closed_context;
    members_free(nodes->members);
    free(nodes);
    closed(closed_context);
}

/* Members and the inbox follow the cluster's guides, so that one goes last. */
static void on_router_closed(void *context)
{
    struct nodes *nodes = context;
    cluster_close(nodes->cluster, on_cluster_closed, nodes);
}

static void on_one_closed(void *context)
{
    struct nodes *nodes = context;
    if (--nodes->open == 0)
        router_close(nodes->router, on_router_closed, nodes);
}

void nodes_close(struct nodes *nodes, void (*closed)(void *context), void *context)
{
    nodes->closing = true;
    nodes->closed = closed;
    nodes->closed_context = context;
    router_stop(nodes->router);
    nodes->open = 1 + cluster_inbox_close(&nodes->inbox, on_one_closed, nodes);
    members_close(nodes->members, on_one_closed, nodes);
}

/* What each part is asked */

int nodes_listen(struct nodes *nodes, struct slice channel)
{
    return cluster_inbox_listen(&nodes->inbox, channel);
}

void nodes_track(struct nodes *nodes, struct slice prefix)
{
    members_track(nodes->members, prefix);
}

void nodes_untrack(struct nodes *nodes)
{
    members_untrack(nodes->members);
}

void nodes_expect_replicas(struct nodes *nodes, struct slice key, int replicas)
{
    members_expect_replicas(nodes->members, key, replicas);
}

struct store_mark nodes_mark(const struct nodes *nodes)
{
    const struct member *member = members_at(nodes->members, nodes->answering);
    return member ? part_mark(member_part(member)) : (struct store_mark){0};
}

void nodes_confirm(struct nodes *nodes, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context)
{
    const struct member *member = members_at(nodes->members, mark.part);
    part_confirm(member_part(member), mark, replicas, timeout_ms, done, context);
}

/* Which part serves what */

unsigned nodes_part(const struct nodes *nodes, struct slice key)
{
    return cluster_owner(nodes->cluster, slot_of(key));
}

/* A part's position is the first of its slots: so all see them in the same order. */
bool nodes_seek(const struct nodes *nodes, unsigned *position, unsigned *ret_part)
{
    bool is_seen[CLUSTER_NODES_MOST] = {false};
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        unsigned node = cluster_owner(nodes->cluster, slot);
        if (!members_at(nodes->members, node) || is_seen[node])
            continue;
        if (slot >= *position) {
            *position = slot;
            *ret_part = node;
            return true;
        }
        is_seen[node] = true;
    }
    return false;
}

static void write_tag(unsigned slot, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    if (slot != SLOT_COUNT)
        slot_tag(slot, tag);
}

/* Another slot each time, for one of them may be on its way to another node. */
void nodes_tag(struct nodes *nodes, unsigned part, char tag[STORE_TAG_SIZE])
{
    unsigned slot = cluster_next_slot(nodes->cluster, part, nodes->tagged_slot);
    if (slot != SLOT_COUNT)
        nodes->tagged_slot = slot;
    write_tag(slot, tag);
}

void nodes_first_tag(const struct nodes *nodes, unsigned part, char tag[STORE_TAG_SIZE])
{
    write_tag(cluster_next_slot(nodes->cluster, part, SLOT_COUNT - 1), tag);
}

/* How it is */

unsigned nodes_part_count(const struct nodes *nodes)
{
    return members_count(nodes->members);
}

struct link *nodes_link(const struct nodes *nodes, unsigned part)
{
    return member_link(members_at(nodes->members, part));
}

bool nodes_part_serves(const struct nodes *nodes, unsigned part)
{
    return members_serves(nodes->members, part);
}

bool nodes_part_is_up(const struct nodes *nodes, unsigned part)
{
    return members_is_up(nodes->members, part);
}

bool nodes_is_up(const struct nodes *nodes)
{
    return members_are_up(nodes->members);
}

const char *nodes_trouble(struct nodes *nodes)
{
    const struct member *down = members_first_down(nodes->members);
    if (down)
        return link_trouble(member_link(down));
    unsigned uncovered = cluster_uncovered(nodes->cluster);
    if (members_count(nodes->members) == 0)
        return nodes->lost.text;
    snprintf(nodes->text, sizeof nodes->text,
             "%u of the %d slots of the Redis Cluster are served by no node", uncovered,
             SLOT_COUNT);
    return uncovered > 0 ? nodes->text : "";
}

const char *nodes_place(const struct nodes *nodes)
{
    const struct member *member = members_at(nodes->members, nodes->up_last);
    return member ? link_place(member_link(member)) : "a Redis Cluster";
}

const char *nodes_summary(struct nodes *nodes)
{
    struct members_tally tally = members_tally(nodes->members);
    snprintf(nodes->text, sizeof nodes->text,
             "a Redis Cluster: %u of %u primaries connected, %u of %d slots assigned", tally.up,
             tally.serving, SLOT_COUNT - cluster_uncovered(nodes->cluster), SLOT_COUNT);
    return nodes->text;
}

struct store_figures nodes_figures(const struct nodes *nodes)
{
    return members_figures(nodes->members);
}
