/* members.h: all nodes of a Redis Cluster as parts of the store, and what is wanted of each. */
#ifndef BATON_REDIS_MEMBERS_H
#define BATON_REDIS_MEMBERS_H

#include "redis/cluster/member.h"

/* Each node has its number in the Cluster from when it was first heard of. What is wanted of all is
 * asked of those that serve slots, and of others once they do. Used on its loop's thread alone. */
struct members;

/* `options` are for the part of each, but for its guide and its number. The cluster outlives it. */
struct members *members_open(struct cluster *cluster, const struct part_options *options);

/* Members end one by one: `closed` is called when all have, and may be called before this returns.
 * Then members_free. */
void members_close(struct members *members, void (*closed)(void *context), void *context);
void members_free(struct members *members);

/* A node is new, and has the next number. False where it could not be made a part, as with a file
 * of certificates that cannot be read just now: then the next map tries again. */
bool members_join(struct members *members, unsigned node, struct guide *guide);

/* Who serves what may be news. One that serves nothing any more is dismissed once nobody waits for
 * its answer. */
void members_note_map(struct members *members);

/* How many numbers there are, and who has this one: NULL where it could not be made a part so far.
 */
unsigned members_count(const struct members *members);
struct member *members_at(const struct members *members, unsigned node);

/* Whether it serves any slots; whether scripts can be sent to it. */
bool members_serves(const struct members *members, unsigned node);
bool members_is_up(const struct members *members, unsigned node);

/* Goes on from a node to the next one that serves slots and is up: round and round, so it may be
 * the same. False where there is none. */
bool members_next(const struct members *members, unsigned *node);

/* Whether every slot is served by one that is up. */
bool members_are_up(const struct members *members);

/* The first that serves slots and is not up; NULL: all are. */
const struct member *members_first_down(const struct members *members);

/* How many serve slots, and how many of them are up. */
struct members_tally {
    unsigned serving;
    unsigned up;
};
struct members_tally members_tally(const struct members *members);

/* The sum over all. */
struct store_figures members_figures(const struct members *members);

/* As store_track, store_untrack and store_expect_replicas. `key` is what each marker begins with.
 */
void members_track(struct members *members, struct slice prefix);
void members_untrack(struct members *members);
bool members_tracks(const struct members *members);
void members_expect_replicas(struct members *members, struct slice key, int replicas);

/* That node does not serve the key of its marker: it is given another one. */
void members_mark_anew(struct members *members, unsigned node);

#endif
