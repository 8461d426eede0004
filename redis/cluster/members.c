#include "redis/cluster/members.h"

#include <stdlib.h>
#include <string.h>

struct members {
    struct cluster *cluster;
    struct part_options options;
    struct member *all[CLUSTER_NODES_MOST]; /* NULL where the part could not be made */
    unsigned count;
    bool tracks;
    struct slice prefix; /* the bytes are its own */
    char *marker;        /* without its tag; NULL before members_expect_replicas */
    int expected;
    int open; /* those that are, and the closing itself */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* How they are */

unsigned members_count(const struct members *members)
{
    return members->count;
}

struct member *members_at(const struct members *members, unsigned node)
{
    return node < members->count ? members->all[node] : NULL;
}

bool members_serves(const struct members *members, unsigned node)
{
    return members_at(members, node) && cluster_slots_of(members->cluster, node) > 0;
}

bool members_is_up(const struct members *members, unsigned node)
{
    const struct member *member = members_at(members, node);
    return member && !members->closing && link_serves(member_link(member));
}

bool members_next(const struct members *members, unsigned *node)
{
    for (unsigned i = 1; i <= members->count; i++) {
        unsigned next = (*node + i) % members->count;
        if (!members_is_up(members, next) || !members_serves(members, next))
            continue;
        *node = next;
        return true;
    }
    return false;
}

const struct member *members_first_down(const struct members *members)
{
    for (unsigned node = 0; node < members->count; node++)
        if (members_serves(members, node) && !members_is_up(members, node))
            return members->all[node];
    return NULL;
}

bool members_are_up(const struct members *members)
{
    return cluster_uncovered(members->cluster) == 0 && !members_first_down(members);
}

struct members_tally members_tally(const struct members *members)
{
    struct members_tally tally = {0};
    for (unsigned node = 0; node < members->count; node++) {
        tally.serving += members_serves(members, node);
        tally.up += members_serves(members, node) && members_is_up(members, node);
    }
    return tally;
}

struct store_figures members_figures(const struct members *members)
{
    struct store_figures all = {0};
    for (unsigned node = 0; node < members->count; node++) {
        if (!members->all[node])
            continue;
        struct store_figures one = link_figures(member_link(members->all[node]));
        all.calls += one.calls;
        all.connects += one.connects;
        all.switches += one.switches;
    }
    return all;
}

/* What is wanted of each */

static void track(const struct members *members, unsigned node)
{
    member_track(members->all[node], members->prefix);
}

void members_track(struct members *members, struct slice prefix)
{
    char *bytes = malloc(prefix.length + 1);
    if (!bytes)
        abort();
    memcpy(bytes, prefix.bytes, prefix.length);
    free((char *)members->prefix.bytes);
    members->prefix = (struct slice){bytes, prefix.length};
    members->tracks = true;
    for (unsigned node = 0; node < members->count; node++)
        if (members_serves(members, node))
            track(members, node);
}

void members_untrack(struct members *members)
{
    members->tracks = false;
    for (unsigned node = 0; !members->closing && node < members->count; node++)
        if (members->all[node])
            member_untrack(members->all[node]);
}

bool members_tracks(const struct members *members)
{
    return members->tracks;
}

void members_mark_anew(struct members *members, unsigned node)
{
    member_mark(members->all[node], members->marker, members->expected);
}

void members_expect_replicas(struct members *members, struct slice key, int replicas)
{
    members->marker = strndup(key.bytes, key.length);
    if (!members->marker)
        abort();
    members->expected = replicas;
    for (unsigned node = 0; node < members->count; node++)
        if (members_serves(members, node))
            members_mark_anew(members, node);
}

/* Joining, and leaving */

static bool open_member(struct members *members, unsigned node, struct guide *guide)
{
    struct part_options options = members->options;
    options.guide = guide;
    options.number = node;
    bool is_open = member_open(&members->all[node], members->cluster, &options) == 0;
    members->open += is_open;
    return is_open;
}

bool members_join(struct members *members, unsigned node, struct guide *guide)
{
    members->count = node + 1;
    return members->closing || open_member(members, node, guide);
}

static void look_after(struct members *members, unsigned node)
{
    const struct member *member = members->all[node];
    if (!members_serves(members, node)) {
        if (link_is_idle(member_link(member)) && !cluster_is_fresh(members->cluster, node))
            cluster_dismiss(members->cluster, node);
        return;
    }
    if (members->tracks && !member_tracks(member))
        track(members, node);
    if (members->marker && !member_is_marked(member))
        members_mark_anew(members, node);
}

void members_note_map(struct members *members)
{
    for (unsigned node = 0; node < members->count; node++)
        if (members->all[node] || open_member(members, node, cluster_guide(members->cluster, node)))
            look_after(members, node);
}

/* The beginning and the end */

struct members *members_open(struct cluster *cluster, const struct part_options *options)
{
    struct members *members = calloc(1, sizeof *members);
    if (!members)
        abort();
    members->cluster = cluster;
    members->options = *options;
    members->open = 1;
    return members;
}

static void on_one_closed(void *context)
{
    struct members *members = context;
    if (--members->open == 0)
        members->closed(members->closed_context);
}

void members_close(struct members *members, void (*closed)(void *context), void *context)
{
    members->closing = true;
    members->closed = closed;
    members->closed_context = context;
    for (unsigned node = 0; node < members->count; node++)
        if (members->all[node])
            member_close(members->all[node], on_one_closed, members);
    on_one_closed(members);
}

void members_free(struct members *members)
{
    free((char *)members->prefix.bytes);
    free(members->marker);
    free(members);
}
