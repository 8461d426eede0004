#include "redis/nodes.h"

#include "redis/part.h"
#include "redis/router.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    INBOX_STAYS_MS = 500, /* where it has gone to, unless that was long ago */
    TEXT_SIZE = sizeof((struct failure *)0)->text,
};

_Static_assert((int)SLOT_TAG_SIZE == (int)STORE_TAG_SIZE,
               "what slot_tag writes, store_tag hands out");

/* A node, from when it was first heard of. */
struct member {
    struct part *part;
    struct inbox *ear; /* hears of changed keys; NULL: nobody has asked so far */
    struct nodes *nodes;
    bool tracks;
    bool has_marker;
    unsigned marked_slot;
};

struct nodes {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct store_events events;
    struct cluster *cluster;
    struct router *router;
    struct member *members[CLUSTER_NODES_MOST]; /* NULL where the part could not be made */
    unsigned count;
    unsigned answering; /* the part whose answer is being told */
    unsigned tagged_slot;
    unsigned up_last;
    struct failure lost; /* why no map is known */
    char text[TEXT_SIZE];

    struct inbox *inbox;
    struct guide inbox_guide;
    unsigned inbox_node;
    uint64_t inbox_turned;
    bool inbox_loss_is_told;

    bool tracks;
    char *prefix;
    size_t prefix_length;
    char *marker; /* without its tag; NULL before nodes_expect_replicas */
    int expected;

    int open; /* parts, ears and the inbox */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

static struct member *member_at(const struct nodes *nodes, unsigned node)
{
    return node < nodes->count ? nodes->members[node] : NULL;
}

static bool serves(const struct nodes *nodes, unsigned node)
{
    return member_at(nodes, node) && cluster_slots_of(nodes->cluster, node) > 0;
}

static bool is_up(const struct nodes *nodes, unsigned node)
{
    const struct member *member = member_at(nodes, node);
    return member && !nodes->closing && link_serves(part_link(member->part));
}

/* The inbox: at any node that is up. */

static void point_inbox(struct nodes *nodes)
{
    for (unsigned i = 1; i <= nodes->count; i++) {
        unsigned node = (nodes->inbox_node + i) % nodes->count;
        if (!is_up(nodes, node) || !serves(nodes, node))
            continue;
        struct guide *guide = cluster_guide(nodes->cluster, node);
        nodes->inbox_node = node;
        nodes->inbox_turned = uv_now(nodes->loop);
        guide_point(&nodes->inbox_guide, guide->host, guide->port);
        return;
    }
}

/* A node that serves nothing may have left the Cluster, or have been cut off from it: then it goes
 * on answering, and hears nothing any more. */
static void leave_idle_node(struct nodes *nodes)
{
    if (!nodes->inbox_guide.knows || serves(nodes, nodes->inbox_node))
        return;
    bool was_told = nodes->inbox_loss_is_told;
    nodes->inbox_loss_is_told = true; /* no loss that somebody has to know of */
    point_inbox(nodes);
    nodes->inbox_loss_is_told = was_told;
}

/* Where it is refused everywhere, it does not go round and round. */
static void on_inbox_doubt(void *context)
{
    struct nodes *nodes = context;
    if (uv_now(nodes->loop) >= nodes->inbox_turned + INBOX_STAYS_MS)
        point_inbox(nodes);
}

static void inbox_listening(void *context)
{
    struct nodes *nodes = context;
    nodes->inbox_loss_is_told = false;
    if (nodes->events.listening)
        nodes->events.listening(nodes->events.context);
}

static void inbox_message(void *context, struct slice text)
{
    struct nodes *nodes = context;
    if (nodes->events.message)
        nodes->events.message(nodes->events.context, text);
}

static void warn(void *context, const char *text)
{
    struct nodes *nodes = context;
    if (nodes->events.warning)
        nodes->events.warning(nodes->events.context, text);
}

/* While nodes are down, `down` has told enough. */
static void inbox_lost(void *context, const char *reason)
{
    struct nodes *nodes = context;
    struct failure warning;
    if (nodes->inbox_loss_is_told || !nodes_is_up(nodes))
        return;
    nodes->inbox_loss_is_told = true;
    failure_set(&warning, 0, "until batond hears from Redis again, waiters are served late: %s",
                reason);
    warn(nodes, warning.text);
}

static void inbox_touched(void *context, struct slice key)
{
    (void)context, (void)key; /* the ears hear of keys */
}

int nodes_listen(struct nodes *nodes, struct slice channel)
{
    const struct inbox_events events = {
        .context = nodes,
        .listening = inbox_listening,
        .message = inbox_message,
        .touched = inbox_touched,
        .lost = inbox_lost,
    };
    int result =
        inbox_open(&nodes->inbox, nodes->loop, nodes->url, &nodes->inbox_guide, channel, &events);
    if (result == 0)
        nodes->open++;
    return result;
}

/* Ears */

static void ear_listening(void *context)
{
    struct member *member = context;
    part_heard_by(member->part, member->ear);
}

static void ear_message(void *context, struct slice text)
{
    (void)context, (void)text; /* it has subscribed to no channel */
}

static void ear_touched(void *context, struct slice key)
{
    const struct nodes *nodes = ((struct member *)context)->nodes;
    if (nodes->tracks && nodes->events.touched)
        nodes->events.touched(nodes->events.context, key);
}

static void ear_lost(void *context, const char *reason)
{
    (void)context, (void)reason; /* what is missed meanwhile, the part's tracking knows */
}

static void listen_to(struct nodes *nodes, unsigned node)
{
    struct member *member = nodes->members[node];
    const struct inbox_events events = {
        .context = member,
        .listening = ear_listening,
        .message = ear_message,
        .touched = ear_touched,
        .lost = ear_lost,
    };
    if (!member->ear &&
        inbox_open(&member->ear, nodes->loop, nodes->url, cluster_guide(nodes->cluster, node),
                   (struct slice){NULL, 0}, &events) == 0)
        nodes->open++;
}

static void track(struct nodes *nodes, unsigned node)
{
    struct member *member = nodes->members[node];
    listen_to(nodes, node);
    member->tracks = true;
    part_track(member->part, (struct slice){nodes->prefix, nodes->prefix_length});
}

void nodes_track(struct nodes *nodes, struct slice prefix)
{
    free(nodes->prefix);
    nodes->prefix = malloc(prefix.length + 1);
    if (!nodes->prefix)
        abort();
    memcpy(nodes->prefix, prefix.bytes, prefix.length);
    nodes->prefix_length = prefix.length;
    nodes->tracks = true;
    for (unsigned node = 0; node < nodes->count; node++)
        if (serves(nodes, node))
            track(nodes, node);
}

void nodes_untrack(struct nodes *nodes)
{
    nodes->tracks = false;
    for (unsigned node = 0; node < nodes->count; node++) {
        struct member *member = nodes->members[node];
        if (member && member->tracks)
            part_untrack(member->part);
        if (member)
            member->tracks = false;
    }
}

/* Confirming: by a key in a slot of the node that is asked. */

static void set_marker(struct nodes *nodes, unsigned node, unsigned slot)
{
    struct member *member = nodes->members[node];
    char tag[SLOT_TAG_SIZE], key[TEXT_SIZE];
    slot_tag(slot, tag);
    snprintf(key, sizeof key, "%s:{%s}", nodes->marker, tag);
    member->has_marker = true;
    member->marked_slot = slot;
    part_expect_replicas(member->part, slice_of(key), nodes->expected);
}

/* Takes the next slot of the node that is not the one that it has now. */
static void choose_marker(struct nodes *nodes, unsigned node)
{
    const struct member *member = nodes->members[node];
    unsigned from = member->has_marker ? member->marked_slot : SLOT_COUNT - 1;
    for (unsigned i = 1; i <= SLOT_COUNT; i++) {
        unsigned slot = (from + i) % SLOT_COUNT;
        if (cluster_owner(nodes->cluster, slot) == node) {
            set_marker(nodes, node, slot);
            return;
        }
    }
}

static bool needs_marker(const struct nodes *nodes, unsigned node)
{
    const struct member *member = nodes->members[node];
    return !member->has_marker || cluster_owner(nodes->cluster, member->marked_slot) != node;
}

void nodes_expect_replicas(struct nodes *nodes, struct slice key, int replicas)
{
    nodes->marker = strndup(key.bytes, key.length);
    if (!nodes->marker)
        abort();
    nodes->expected = replicas;
    for (unsigned node = 0; node < nodes->count; node++)
        if (serves(nodes, node))
            choose_marker(nodes, node);
}

struct store_mark nodes_mark(const struct nodes *nodes)
{
    const struct member *member = member_at(nodes, nodes->answering);
    return member ? part_mark(member->part) : (struct store_mark){0};
}

void nodes_confirm(struct nodes *nodes, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context)
{
    const struct member *member = member_at(nodes, mark.part);
    part_confirm(member->part, mark, replicas, timeout_ms, done, context);
}

/* What the parts tell */

static void on_up(void *context, unsigned node)
{
    struct nodes *nodes = context;
    nodes->up_last = node;
    cluster_note_up(nodes->cluster, node);
    if (!nodes->inbox_guide.knows)
        point_inbox(nodes);
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
    if (nodes->tracks && nodes->events.touched)
        nodes->events.touched(nodes->events.context, key);
}

static void on_answered(void *context, unsigned node, uint64_t nanoseconds)
{
    struct nodes *nodes = context;
    nodes->answering = node;
    if (nodes->events.answered)
        nodes->events.answered(nodes->events.context, nanoseconds);
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
    choose_marker(nodes, node);
}

/* What the cluster tells */

/* Where that fails, as by a file of certificates that cannot be read just now, its names are
 * answered with a refusal, and the next map tries again. */
static bool open_member(struct nodes *nodes, unsigned node, struct guide *guide)
{
    const struct part_options options = {.loop = nodes->loop,
                                         .url = nodes->url,
                                         .guide = guide,
                                         .number = node,
                                         .events = {.context = nodes,
                                                    .up = on_up,
                                                    .down = on_down,
                                                    .warning = warn,
                                                    .touched = on_touched,
                                                    .answered = on_answered,
                                                    .stamp = nodes->events.stamp ? on_stamp : NULL,
                                                    .redirected = on_redirected,
                                                    .marker_astray = on_marker_astray}};
    struct member *member = calloc(1, sizeof *member);
    if (!member)
        abort();
    member->nodes = nodes;
    if (part_open(&member->part, &options) < 0) {
        free(member);
        return false;
    }
    nodes->members[node] = member;
    nodes->open++;
    return true;
}

static void on_joined(void *context, unsigned node, struct guide *guide)
{
    struct nodes *nodes = context;
    nodes->count = node + 1;
    if (!nodes->closing && !open_member(nodes, node, guide))
        warn(nodes, "a node of the Cluster cannot be connected to: see the files of redis-ca, "
                    "redis-cert and redis-key");
}

/* One that serves nothing any more is left once nobody waits for its answer. */
static void look_after(struct nodes *nodes, unsigned node)
{
    struct member *member = nodes->members[node];
    if (!serves(nodes, node)) {
        if (link_is_idle(part_link(member->part)) && !cluster_is_fresh(nodes->cluster, node))
            cluster_dismiss(nodes->cluster, node);
        return;
    }
    if (nodes->tracks && !member->tracks)
        track(nodes, node);
    if (nodes->marker && needs_marker(nodes, node))
        choose_marker(nodes, node);
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
    for (unsigned node = 0; node < nodes->count; node++)
        if (nodes->members[node] || open_member(nodes, node, cluster_guide(nodes->cluster, node)))
            look_after(nodes, node);
    leave_idle_node(nodes);
    if (nodes->events.moved)
        nodes->events.moved(nodes->events.context);
}

/* Before a map is known, the first part that there will be is down. */
static void on_lost(void *context, int code, const char *reason)
{
    struct nodes *nodes = context;
    if (nodes->closing)
        return;
    failure_set(&nodes->lost, code, "%s", reason);
    if (nodes->count > 0)
        warn(nodes, reason);
    else if (nodes->events.down)
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
    const struct member *member = member_at(context, node);
    return member ? part_link(member->part) : NULL;
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

int nodes_open(struct nodes **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events)
{
    struct nodes *nodes = calloc(1, sizeof *nodes);
    if (!nodes)
        return -ENOMEM;
    nodes->loop = loop;
    nodes->url = url;
    nodes->events = *events;
    const struct cluster_events cluster_events = {nodes, on_joined, on_mapped, on_lost};
    guide_init(&nodes->inbox_guide, on_inbox_doubt, nodes);
    int result = cluster_open(&nodes->cluster, loop, url, &cluster_events, NULL);
    if (result < 0) {
        free(nodes);
        return result;
    }
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
    for (unsigned node = 0; node < nodes->count; node++)
        free(nodes->members[node]);
    free(nodes->prefix);
    free(nodes->marker);
    free(nodes);
    closed(closed_context);
}

/* Parts, ears and the inbox follow the cluster's guides, so that one goes last. */
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
    nodes->open++;
    router_stop(nodes->router);
    if (nodes->inbox)
        inbox_close(nodes->inbox, on_one_closed, nodes);
    for (unsigned node = 0; node < nodes->count; node++) {
        struct member *member = nodes->members[node];
        if (member && member->ear)
            inbox_close(member->ear, on_one_closed, nodes);
        if (member)
            part_close(member->part, on_one_closed, nodes);
    }
    on_one_closed(nodes);
}

/* How it is */

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
        if (!member_at(nodes, node) || is_seen[node])
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

struct link *nodes_link(const struct nodes *nodes, unsigned part)
{
    return part_link(nodes->members[part]->part);
}

/* Another slot each time, for one of them may be on its way to another node. */
void nodes_tag(struct nodes *nodes, unsigned part, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    for (unsigned i = 0; i < SLOT_COUNT && !tag[0]; i++) {
        nodes->tagged_slot = (nodes->tagged_slot + 1) % SLOT_COUNT;
        if (cluster_owner(nodes->cluster, nodes->tagged_slot) == part)
            slot_tag(nodes->tagged_slot, tag);
    }
}

void nodes_first_tag(const struct nodes *nodes, unsigned part, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    for (unsigned slot = 0; slot < SLOT_COUNT && !tag[0]; slot++)
        if (cluster_owner(nodes->cluster, slot) == part)
            slot_tag(slot, tag);
}

unsigned nodes_part_count(const struct nodes *nodes)
{
    return nodes->count;
}

bool nodes_part_serves(const struct nodes *nodes, unsigned part)
{
    return serves(nodes, part);
}

bool nodes_part_is_up(const struct nodes *nodes, unsigned part)
{
    return is_up(nodes, part);
}

/* The first that serves slots and is not up. */
static const struct member *first_down(const struct nodes *nodes)
{
    for (unsigned node = 0; node < nodes->count; node++)
        if (serves(nodes, node) && !is_up(nodes, node))
            return nodes->members[node];
    return NULL;
}

bool nodes_is_up(const struct nodes *nodes)
{
    return cluster_uncovered(nodes->cluster) == 0 && !first_down(nodes);
}

const char *nodes_trouble(struct nodes *nodes)
{
    const struct member *down = first_down(nodes);
    if (down)
        return link_trouble(part_link(down->part));
    unsigned uncovered = cluster_uncovered(nodes->cluster);
    if (nodes->count == 0)
        return nodes->lost.text;
    snprintf(nodes->text, sizeof nodes->text,
             "%u of the %d slots of the Redis Cluster are served by no node", uncovered,
             SLOT_COUNT);
    return uncovered > 0 ? nodes->text : "";
}

const char *nodes_place(const struct nodes *nodes)
{
    const struct member *member = member_at(nodes, nodes->up_last);
    return member ? link_place(part_link(member->part)) : "a Redis Cluster";
}

const char *nodes_summary(struct nodes *nodes)
{
    unsigned primaries = 0, connected = 0;
    for (unsigned node = 0; node < nodes->count; node++) {
        primaries += serves(nodes, node);
        connected += serves(nodes, node) && is_up(nodes, node);
    }
    snprintf(nodes->text, sizeof nodes->text,
             "a Redis Cluster: %u of %u primaries connected, which serve %u of %d slots", connected,
             primaries, SLOT_COUNT - cluster_uncovered(nodes->cluster), SLOT_COUNT);
    return nodes->text;
}

struct store_figures nodes_figures(const struct nodes *nodes)
{
    struct store_figures all = {0};
    for (unsigned node = 0; node < nodes->count; node++) {
        if (!nodes->members[node])
            continue;
        struct store_figures one = link_figures(part_link(nodes->members[node]->part));
        all.calls += one.calls;
        all.connects += one.connects;
        all.switches += one.switches;
    }
    return all;
}
