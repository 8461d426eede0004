/* member.h: a node of a Redis Cluster as a part of the store: who hears of its changed keys, and by
 * which of its slots its replicas are asked. */
#ifndef BATON_REDIS_MEMBER_H
#define BATON_REDIS_MEMBER_H

#include "redis/cluster/cluster.h"
#include "redis/primary/part.h"

/* From when the node was first heard of: a part, with a connection while the node serves slots, and
 * one more that hears of changed keys from when somebody asks for them, for Redis tells of its own
 * keys only. Used on its loop's thread alone. */
struct member;

/* The number of the part is that of the node; `touched` is told of keys that were asked for
 * earlier, too. The cluster outlives the member. Returns 0 or a negative errno. */
int member_open(struct member **ret, const struct cluster *cluster,
                const struct part_options *options);

/* `closed` when the memory is gone. */
void member_close(struct member *member, void (*closed)(void *context), void *context);

struct part *member_part(const struct member *member);
struct link *member_link(const struct member *member);

/* As store_track and store_untrack. */
void member_track(struct member *member, struct slice prefix);
void member_untrack(struct member *member);
bool member_tracks(const struct member *member);

/* As store_expect_replicas: by a key that begins with `marker`, in a slot that the node serves, and
 * each time in another one. Nothing where it serves none. */
void member_mark(struct member *member, const char *marker, int replicas);

/* Whether that was done, and the node still serves the slot. */
bool member_is_marked(const struct member *member);

#endif
