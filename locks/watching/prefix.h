/* prefix.h: the watches of all names under a prefix, and the rounds that serve them. Internal to
 * locks/. */
#ifndef BATON_LOCKS_WATCHING_PREFIX_H
#define BATON_LOCKS_WATCHING_PREFIX_H

#include "locks/watching/region.h"

/* Redis tells which keys change, without their content and in no order with what else it says; so
 * watches are served in rounds:
 *
 * 1. A mark: a script changes a key of ours and returns the time. When Redis has told of that key,
 *    it has told of all that was changed before that time. Each shard has its mark, and
 *    the earliest of their times counts, since their clocks may differ.
 * 2. For each new watch the names that are news for it are touched, from the oldest version on, up
 *    to its limit.
 * 3. Each name that was touched by then, or of which a hold may have ended, is looked at once, for
 *    all watches. What is newer than a watch asked for is told.
 * 4. A watch that was told something is answered, with the time of the mark: asked again from there
 *    on, it misses nothing.
 *
 * Each step is done in portions, one in a turn of the loop, however many names and watches there
 * are.
 *
 * While nobody watches, nothing of this is there, but for some seconds: whoever was answered asks
 * again, and then nothing has to be scanned anew. */

enum {
    MARK_ID_LENGTH = 16,
    MARK_LENGTH = MARK_ID_LENGTH + 1 + NUMBER_TEXT + 1 + NUMBER_TEXT,
};

enum round_phase {
    ROUND_RESTING,
    ROUND_MARKING,   /* the mark is on its way */
    ROUND_MARKED,    /* it has been heard of: the loop is let go on once */
    ROUND_GATHERING, /* what is to be looked at */
    ROUND_LOOKING,
    ROUND_ANSWERING,
};

/* One name that Redis is asked about. */
struct look {
    struct prefixes *prefixes;
    struct known *known;
    uint64_t sent;
};

struct round {
    enum round_phase phase;
    char mark[MARK_LENGTH];
    uint64_t overdue;
    unsigned shards; /* of the store, that are marked */
    unsigned due;    /* of each the script's reply, and Redis' word that its key has changed */
    bool *touched;   /* by its shard's number: that word has come */
    int64_t time;    /* of the earliest mark; us */
    size_t left;     /* names to be looked at, the first of those touched */
    size_t looking;  /* sent and not answered */
    const char *error;
};

struct prefixes {
    struct locks *locks;
    uv_timer_t timer;
    struct known_table known;
    struct region *regions;
    struct prefix_watch *watches;
    struct prefix_watch *due; /* those that the round answers */
    size_t watch_count;       /* of both */
    int64_t doubtful;         /* held names newer than this are to be touched; INT64_MAX: none */
    int64_t sweeping; /* names newer than this may be in no region any more; INT64_MAX: none */
    bool tracking;
    bool wanted; /* a watch waits for a round, whether anything was touched or not */
    uint64_t not_before;
    uint64_t marks;
    char mark_id[MARK_ID_LENGTH + 1];
    struct round round;
};

struct prefix_watch {
    struct prefix_watch *next;
    struct prefix_watch **place; /* what points to this one */
    struct prefixes *prefixes;
    struct region *region;
    struct prefix_listener listener;
    uv_timer_t timer; /* the end of the wait */
    int64_t after;    /* where it is: see struct prefix_position */
    int64_t since;    /* not less than `after`; 0 until a mark says when its first telling begins */
    bool is_new;      /* it is told all that is held */
    uint64_t entered; /* the last round that has come to it */
    bool gathering;   /* the names that are news for it are being touched... */
    int64_t cursor;   /* ...up to this version so far */
    size_t gathered;
    size_t limit;
    size_t told;
    int64_t last_told; /* a version */
    int64_t horizon;   /* no version up to this one was left out for the limit */
    bool begun;        /* its first round is over: from now on it waits for changes */
    bool scanned;      /* the region was scanned for it */
    bool complete;
    bool over; /* the wait has ended */
    bool in_round;
    size_t torn_length; /* of the name up to which it knows those at `after`; 0: all */
    char torn[NAME_LENGTH];
    size_t prefix_length;
    char prefix[];
};

/* When the next thing is due: sets the timer to it. */
void prefixes_plan(struct prefixes *prefixes);

bool prefix_watch_has(const struct prefix_watch *watch, struct slice name);

/* Moves a watch from the list it is in to the front of another. */
void prefix_watch_move(struct prefix_watch *watch, struct prefix_watch **list);

/* Each frees the watch and tells its listener. */
void prefix_watch_answer(struct prefix_watch *watch, int64_t time);
void prefix_watch_give_up(struct prefix_watch *watch, const char *error);

/* The steps of a round: to be called in the phase RESTING, in MARKED and GATHERING, in ANSWERING,
 * and in MARKING. */
void prefix_round_begin(struct prefixes *prefixes);
void prefix_round_gather(struct prefixes *prefixes);
void prefix_round_answer(struct prefixes *prefixes);
void prefix_round_fail(struct prefixes *prefixes, const char *error);

/* Takes a key that has changed where it is the round's mark. */
bool prefix_round_takes(struct prefixes *prefixes, struct slice key);

/* The store's event `touched`. */
void prefixes_touched(struct locks *locks, struct slice key);

/* Each watch is answered as things are now. */
void prefixes_drain(struct locks *locks);

/* From the loop, when there is no watch any more. Takes NULL. */
void prefixes_close(struct prefixes *prefixes);

#endif
