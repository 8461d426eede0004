/* kind.h: what the kind of a URL decides for a store: which nodes there are, which of them serves a
 * name, and when they are enough. */
#ifndef BATON_REDIS_KIND_H
#define BATON_REDIS_KIND_H

#include "redis/node/shards.h"

/* How many shards serve names, and how many of these are up. */
struct shards_tally {
    unsigned serving;
    unsigned up;
};

enum { PREFLIGHT_REPORTS_MOST = REDIS_QUORUM_MOST };

/* What a shard has reported first to a preflight (redis/preflight.h). */
struct preflight_report {
    bool is_known;       /* it has reported anything */
    int code;            /* 0 if it came up, else as in node.h */
    struct failure text; /* why it did not */
};

/* Each kind is one constant table. redis/store.c picks it by the URL, owns the nodes, and asks it
 * what follows. NULL is the plain answer, that of one Redis; `state` is what `open` makes, and NULL
 * without one. Members that have a namesake in redis/store.h do what that says. */
struct kind {
    /* Adds the nodes that are known from the start, and returns the state; NULL: one, at the URL.
     * `shards` outlives the state. */
    void *(*open)(struct shards *shards);

    /* As store_preflight, when each shard has reported, other shards have `moved`, or the time is
     * over. Plain: what the first shard has reported. */
    int (*judge)(const void *state, const struct preflight_report *reports,
                 struct failure *failure);
    const char *silence; /* who did not answer in time; NULL: "Redis did not answer" */

    /* The store closes: first `stop`, then the nodes, and then `close`, which calls `closed` once,
     * when the memory of the state is gone. */
    void (*stop)(void *state);
    void (*close)(void *state, void (*closed)(void *context), void *context);

    /* A shard has come up, or was lost. Returns whether the store reports that to its owner. */
    bool (*up)(void *state, unsigned shard);
    bool (*down)(void *state, unsigned shard);

    /* Whether names can be asked for. Plain: all that serve names are up. */
    bool (*is_up)(const void *state, struct shards_tally tally);
    /* Why not, if no shard that serves names is down. */
    const char *(*trouble)(void *state);
    const char *(*primary)(void *state, struct shards_tally tally);

    /* If shards serve different names. Plain: the first shard serves every name, or all do. */
    void (*eval)(void *state, const struct script_call *call);
    void (*eval_at)(void *state, unsigned shard, const struct script_call *call);
    void (*redirected)(void *state, struct call *call, const char *error); /* as in node.h */
    unsigned (*shard)(const void *state, struct slice key);
    bool (*shard_serves)(const void *state, unsigned shard);
    bool (*seek_shard)(const void *state, unsigned *position, unsigned *ret_shard);
    void (*tag)(void *state, unsigned shard, char tag[STORE_TAG_SIZE]);
    void (*first_tag)(const void *state, unsigned shard, char tag[STORE_TAG_SIZE]);
    void (*listen)(void *state, struct slice channel);
    void (*expect_replicas)(void *state, struct slice key, int replicas);
    void (*marker_moved)(void *state, unsigned shard); /* as in node.h */

    /* One shard alone decides nothing (a quorum): the store tracks, marks and confirms nothing. */
    bool votes;
    /* NULL and 0 ms if no other server can say which primary is the right one. */
    void (*require_primary_lease)(void *state);
    int64_t primary_lease_ms;
};

extern const struct kind single_kind;   /* redis://, rediss:// and unix:// */
extern const struct kind sentinel_kind; /* redis+sentinel:// */
extern const struct kind quorum_kind;   /* redis+quorum:// */
extern const struct kind cluster_kind;  /* redis+cluster:// */

#endif
