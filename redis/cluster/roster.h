/* roster.h: the nodes of a Redis Cluster by their numbers: what they are called, and where they
 * are. */
#ifndef BATON_REDIS_ROSTER_H
#define BATON_REDIS_ROSTER_H

#include "redis/cluster/sight.h"
#include "redis/cluster/slot_map.h"
#include "redis/wire/guide.h"

#include <uv.h>

/* Those that serve slots, or did, or are about to: each gets the next number when it is first heard
 * of, and keeps it. Its id is worth more than its address, but a redirect tells the address alone.
 *
 * A guide to each says where it is. It points nowhere once the node was dismissed, and while it is
 * out of sight, where sight is required. Used on its loop's thread alone. */
struct roster;

struct roster_events {
    void *context;
    /* A node is new: its number, and what sessions with it follow for as long as the roster lives.
     */
    void (*joined)(void *context, unsigned number, struct guide *guide);
    /* A follower of a node's guide could not use it, or has lost it. */
    void (*doubted)(void *context);
};

/* `map` outlives it, and says who serves slots. */
struct roster *roster_open(uv_loop_t *loop, const struct slot_map *map,
                           const struct roster_events *events);

/* Nobody may follow its guides any more. */
void roster_free(struct roster *roster);

/* From now on guides point nowhere while their nodes are out of sight. One that is new, and was
 * named by a node in sight, is taken for in sight as long as that would have been. */
void roster_require_sight(struct roster *roster, struct sight *sight);

/* Somebody has gone out of sight, or has come back. */
void roster_look(struct roster *roster);

/* The map was read anew: those that serve slots are the primaries, whom the sight asks. */
void roster_note_map(struct roster *roster);

/* What the node `by` calls so. CLUSTER_NOBODY where it has no number, or where it cannot be told
 * from what it is called. */
unsigned roster_find(const struct roster *roster, const struct slot_node *named, unsigned by);

/* The same, but who has no number gets one, and its guide points to where it is by this account.
 * CLUSTER_NOBODY also where there are too many. */
unsigned roster_meet(struct roster *roster, const struct slot_node *named, unsigned by);

/* The same where whoever is at this address has said it, which need not have a number. */
unsigned roster_meet_by(struct roster *roster, const struct slot_node *named, const char *host,
                        int port);

struct guide *roster_guide(struct roster *roster, unsigned number);

/* Where it is, or was before it was dismissed. Valid until the loop goes on. */
struct roster_address {
    const char *host;
    int port;
};
struct roster_address roster_address(const struct roster *roster, unsigned number);

/* How many serve slots, and which they are: the number of that one of them, from 0 on. */
size_t roster_count_serving(const struct roster *roster);
unsigned roster_serving(const struct roster *roster, size_t index);

/* Whether the map has one that nobody can connect to. */
bool roster_serves_lost(const struct roster *roster);

/* Whether the node was first heard of, or its address, so short a time ago that who is not
 * connected to it yet may be before long. */
bool roster_is_fresh(const struct roster *roster, unsigned number);

/* Somebody has connected to that node. */
void roster_note_up(struct roster *roster, unsigned number);

/* Sessions with it are to end, unless it serves something; until somebody names it again. */
void roster_dismiss(struct roster *roster, unsigned number);
bool roster_is_dismissed(const struct roster *roster, unsigned number);

#endif
