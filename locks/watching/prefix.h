/* prefix.h: the watched prefixes: the names under each, its watches, and the rounds that serve
 * them. Internal to locks/. */
#ifndef BATON_LOCKS_WATCHING_PREFIX_H
#define BATON_LOCKS_WATCHING_PREFIX_H

#include "locks/calls/operation.h"
#include "locks/watching/prefix_name.h"

/* Redis reports which keys change, without their content, and in no order with its other replies.
 * So a watched prefix is scanned once, and then serves its watches in rounds:
 *
 * 1. A mark: a script changes a key of ours and returns the time. When Redis has reported that key,
 *    it has reported every change before that time. Each shard has its mark; the earliest of the
 *    times counts, since the clocks of the shards may differ.
 * 2. For each new watch the round invalidates the names that are news for it, from the oldest
 * version on, up to the limit of the watch.
 * 3. The round inspects each dirty name, and each name of which a hold may have ended, once for
 *    all watches. It reports to a watch what is newer than the watch asked for.
 * 4. A watch with news is answered, with the time of the mark. A client that goes on from that
 *    time misses nothing.
 *
 * The table has every name that is held, and every name that was freed lately. A watch that asks
 * for older changes gets a snapshot: all held names.
 *
 * Each step works in portions, one in each turn of the loop, however many names and watches exist.
 *
 * A prefix without watches is closed after some seconds. Until then a client that was answered can
 * ask again without a new scan. */

enum {
    MARK_ID_LENGTH = 16,
    MARK_LENGTH = MARK_ID_LENGTH + 1 + DECIMAL_TEXT + 1 + DECIMAL_TEXT,
};

enum round_phase {
    ROUND_RESTING,
    ROUND_MARKING,    /* the mark is on its way */
    ROUND_MARKED,     /* Redis has reported it: the loop takes one more turn */
    ROUND_GATHERING,  /* the round invalidates the names that it will inspect */
    ROUND_INSPECTING, /* it inspects them */
    ROUND_ANSWERING,
};

struct round {
    enum round_phase phase;
    char mark[MARK_LENGTH];
    uint64_t overdue; /* the round fails at this loop time, ms, if the mark has not come */
    unsigned shards;  /* of the store */
    unsigned due;     /* two per shard: the script's reply, and the news that its key has changed */
    bool *reported;   /* by shard number: that news has come */
    int64_t time;     /* of the earliest mark; us, Redis' clock */
    size_t left;      /* dirty names that the round still inspects, from the first on */
    size_t inspecting; /* inspects under way */
    bool is_doubtful;  /* Redis may not have reported all changes: watches keep their positions */
    const char *error;
};

enum prefix_state {
    PREFIX_UNKNOWN,        /* nothing is known, or not all */
    PREFIX_SCANNING,       /* a script is under way */
    PREFIX_SCANNING_AGAIN, /* the same, but what it has found so far may have changed */
    PREFIX_KNOWN,          /* the table has all that it must have */
    PREFIX_CLOSING,        /* the loop frees its names */
};

LIST_HEAD(prefix_watches, prefix_watch);

struct watched_prefix {
    LIST_ENTRY(watched_prefix) others;
    struct locks *locks;
    uv_timer_t timer; /* of the next step */
    uv_timer_cb step;
    enum prefix_state state;
    unsigned position; /* of the shard that is being scanned */
    uint64_t asked;    /* when the script was sent; loop time, ms */
    int64_t since;     /* the table has all free names that are newer than this version */
    struct prefix_names known;
    struct prefix_watches watches;
    struct prefix_watches due; /* the watches that the round answers */
    size_t watch_count;        /* in both lists */
    uint64_t idle;             /* since when there is no watch; loop time, ms */
    bool wanted;               /* a watch waits for a round, even if no name is dirty */
    bool has_lost;             /* Redis has lost names: the next round begins snapshots */
    uint64_t not_before;       /* loop time of the next round, ms, at the earliest */
    uint64_t marks;            /* so far */
    unsigned marking;          /* scripts under way that make a mark */
    char mark_id[MARK_ID_LENGTH + 1];
    struct round round;
    size_t prefix_length;
    char prefix[];
};

enum prefix_watch_state {
    WATCH_STARTING,  /* the prefix is not scanned, or a round has yet to come */
    WATCH_GATHERING, /* the round invalidates the names that are news for it */
    WATCH_GATHERED,  /* the round reports them */
    WATCH_FOLLOWING, /* it knows all that the last round knew: each round reports changes to it */
};

struct prefix_watch {
    LIST_ENTRY(prefix_watch) others;
    struct watched_prefix *watched;
    struct prefix_listener listener;
    uv_timer_t timer; /* the end of the wait */
    enum prefix_watch_state state;
    struct prefix_position position;
    bool begins;     /* its snapshot begins with this answer */
    bool over;       /* the wait has ended */
    int64_t cursor;  /* the names up to this version were gathered */
    int64_t horizon; /* up to this version the limit has left nothing out */
    size_t limit;    /* of the names that are gathered for it */
    size_t gathered;
    size_t reported;
    size_t prefix_length;
    char prefix[];
};

/* The watched prefixes of a worker. */
struct prefixes {
    struct locks *locks;
    LIST_HEAD(watched_prefixes, watched_prefix) list;
    bool tracking;
};

/* Of the functions below, each file uses only what stands above its own. */

/* watched_prefix.c. The timer calls `step` when a step is due; watched_prefix_plan sets it. */
bool watched_prefix_has(const struct watched_prefix *watched, struct slice name);
struct watched_prefix *watched_prefix_open(struct prefixes *prefixes, struct slice prefix,
                                           uv_timer_cb step);
void watched_prefix_plan(struct watched_prefix *watched);
void watched_prefix_free(struct watched_prefix *watched);

/* prefix_watch.c. Each of the last three frees watches and notifies their listeners;
 * prefix_watches_give_up does so with those that wait for the scan. */
bool prefix_watch_has(const struct prefix_watch *watch, struct slice name);
void prefix_watch_answer(struct prefix_watch *watch);
void prefix_watch_give_up(struct prefix_watch *watch, const char *error);
void prefix_watches_give_up(struct watched_prefix *watched, const char *error);

/* prefix_scan.c. Scans for the names that are held and those that were freed lately, unless they
 * are known or a scan is under way. */
void prefix_scan(struct watched_prefix *watched);

/* Keeps the table small: forgets the names that were freed first. */
void prefix_scan_forget_oldest(struct watched_prefix *watched);

/* Whether the table has every change after the position, at this time of Redis, us. It never has
 * those that Redis has lost. */
bool prefix_scan_covers(const struct watched_prefix *watched, const struct prefix_position *from,
                        int64_t time);

/* prefix_round.c. The steps of a round, and the phases in which to call them. */
void prefix_round_begin(struct watched_prefix *watched);                   /* RESTING */
void prefix_round_gather(struct watched_prefix *watched);                  /* MARKED, GATHERING */
void prefix_round_answer(struct watched_prefix *watched);                  /* ANSWERING */
void prefix_round_fail(struct watched_prefix *watched, const char *error); /* MARKING */

/* Returns whether a key that has changed is a mark of this round, and counts it if so. */
bool prefix_round_takes(struct watched_prefix *watched, struct slice key);

/* Changes may have been missed: each watch starts again from its position. */
void prefix_round_doubt(struct watched_prefix *watched);

/* prefix.c. The store's event `invalidated`. */
void prefixes_invalidate(struct locks *locks, struct slice key);

/* Redis has lost names. A scan does not show which: every watch gets a snapshot. */
void prefixes_lost(struct locks *locks);

/* Answers all watches with the present state. */
void prefixes_drain(struct locks *locks);

/* Call this from the loop, when all watches have ended. Takes NULL. */
void prefixes_close(struct prefixes *prefixes);

#endif
