/* prefix.h: the watches of all names under a prefix, and the rounds that serve them. Internal to
 * locks/. */
#ifndef BATON_LOCKS_WATCHING_PREFIX_H
#define BATON_LOCKS_WATCHING_PREFIX_H

#include "locks/watching/watched_prefix.h"

/* Redis tells which keys change, without their content, and in no order with its other replies. So
 * watches are served in rounds:
 *
 * 1. A mark: a script changes a key of ours and returns the time. When Redis has told of that key,
 *    it has told of every change before that time. Each shard has its mark; the earliest of the
 *    times counts, since the clocks of the shards may differ.
 * 2. For each new watch the round touches the names that are news for it, from the oldest version
 *    on, up to the limit of the watch.
 * 3. The round inspects each touched name, and each name of which a hold may have ended, once for
 *    all watches. It tells a watch what is newer than the watch asked for.
 * 4. A watch with news is answered, with the time of the mark. A client that goes on from that
 *    time misses nothing.
 *
 * Each step works in portions, one in each turn of the loop, however many names and watches exist.
 *
 * Without watches all this is closed after some seconds. Until then a client that was answered can
 * ask again without a new scan. */

enum {
    MARK_ID_LENGTH = 16,
    MARK_LENGTH = MARK_ID_LENGTH + 1 + DECIMAL_TEXT + 1 + DECIMAL_TEXT,
};

enum round_phase {
    ROUND_RESTING,
    ROUND_MARKING,   /* the mark is on its way */
    ROUND_MARKED,    /* Redis has told of it: the loop takes one more turn */
    ROUND_GATHERING, /* the round touches the names that it will inspect */
    ROUND_LOOKING,   /* it inspects them */
    ROUND_ANSWERING,
};

/* One name that Redis is asked about. */
struct prefix_inspection {
    struct prefixes *prefixes;
    struct prefix_name *known;
    uint64_t sent;
};

struct round {
    enum round_phase phase;
    char mark[MARK_LENGTH];
    uint64_t overdue; /* the round fails at this loop time, ms, if the mark has not come */
    unsigned shards;  /* of the store */
    unsigned due;     /* two per shard: the script's reply, and the news that its key has changed */
    bool *touched;    /* by shard number: that news has come */
    int64_t time;     /* of the earliest mark; us, Redis' clock */
    size_t left;      /* touched names that the round still inspects, from the first on */
    size_t looking;   /* inspects under way */
    const char *error;
};

LIST_HEAD(prefix_watches, prefix_watch);

struct prefixes {
    struct locks *locks;
    uv_timer_t timer;
    struct prefix_names known;
    struct watched_prefixes watched;
    struct prefix_watches watches;
    struct prefix_watches due; /* the watches that the round answers */
    size_t watch_count;        /* in both lists */
    int64_t doubtful; /* the next round touches held names newer than this; INT64_MAX: none */
    int64_t sweeping; /* names newer than this may have lost their prefix; INT64_MAX: none */
    bool tracking;
    bool wanted;         /* a watch waits for a round, even if no name was touched */
    uint64_t not_before; /* loop time of the next round, ms, at the earliest */
    uint64_t marks;      /* so far */
    char mark_id[MARK_ID_LENGTH + 1];
    struct round round;
};

struct prefix_watch {
    LIST_ENTRY(prefix_watch) others;
    struct prefixes *prefixes;
    struct watched_prefix *watched;
    struct prefix_listener listener;
    uv_timer_t timer; /* the end of the wait */
    int64_t after;    /* see struct prefix_position */
    int64_t since;    /* not less than `after`; 0 until the first mark gives the time */
    bool is_new;      /* it hears of all names that are held */
    uint64_t entered; /* number of the last round that has come to it */
    bool gathering;   /* the round touches the names that are news for it... */
    int64_t cursor;   /* ...up to this version so far */
    size_t gathered;  /* names touched for it */
    size_t limit;     /* of the names that its client hears of */
    size_t told;
    int64_t last_told; /* a version */
    int64_t horizon;   /* up to this version the limit has left nothing out */
    bool begun;        /* its first round is over: it waits for changes */
    bool scanned;      /* its prefix was scanned for it */
    bool complete;
    bool over; /* the wait has ended */
    bool in_round;
    size_t torn_length; /* of the name up to which it knows the names at `after`; 0: all */
    char torn[NAME_LENGTH];
    size_t prefix_length;
    char prefix[];
};

/* Sets the timer to the time when the next step is due. */
void prefixes_plan(struct prefixes *prefixes);

bool prefix_watch_has(const struct prefix_watch *watch, struct slice name);

/* Moves a watch from the list it is in to the front of another. */
void prefix_watch_move(struct prefix_watch *watch, struct prefix_watches *list);

/* Each frees the watch and tells its listener. */
void prefix_watch_answer(struct prefix_watch *watch, int64_t time);
void prefix_watch_give_up(struct prefix_watch *watch, const char *error);

/* The steps of a round, and the phases in which to call them. */
void prefix_round_begin(struct prefixes *prefixes);                   /* RESTING */
void prefix_round_gather(struct prefixes *prefixes);                  /* MARKED, GATHERING */
void prefix_round_answer(struct prefixes *prefixes);                  /* ANSWERING */
void prefix_round_fail(struct prefixes *prefixes, const char *error); /* MARKING */

/* Returns whether a key that has changed is a mark of this round, and counts it if so. */
bool prefix_round_takes(struct prefixes *prefixes, struct slice key);

/* The store's event `touched`. */
void prefixes_touched(struct locks *locks, struct slice key);

/* Answers all watches with the present state. */
void prefixes_drain(struct locks *locks);

/* Call this from the loop, when all watches have ended. Takes NULL. */
void prefixes_close(struct prefixes *prefixes);

#endif
