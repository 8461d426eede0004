/* quarantine.h: a quarantine: the time without grants because Redis may have lost holds that still
 * run. */
#ifndef BATON_LOCKS_QUARANTINE_QUARANTINE_H
#define BATON_LOCKS_QUARANTINE_QUARANTINE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* The reasons: their name in the code, their word in the epoch and in metrics, and their text. */
#define QUARANTINE_REASONS(X)                                                                      \
    X(QUARANTINE_SERVER, "server",                                                                 \
      "another server has taken the place of Redis, or Redis was started anew")                    \
    X(QUARANTINE_EPOCH, "epoch", "the data of Redis was emptied or replaced")                      \
    X(QUARANTINE_CLOCK, "clock", "the clock of Redis has jumped")

enum quarantine_reason {
    QUARANTINE_NONE,
#define X(name, word, text) name,
    QUARANTINE_REASONS(X)
#undef X
        QUARANTINE_REASON_COUNT
};

/* Both are "" for QUARANTINE_NONE. */
const char *quarantine_word(enum quarantine_reason reason);
const char *quarantine_text(enum quarantine_reason reason);

/* QUARANTINE_NONE for any other text. */
enum quarantine_reason quarantine_reason_of(struct slice word);

/* The setting `quarantine`: how long quarantines are. */
enum {
    QUARANTINE_AUTO = -1, /* until every hold must have ended */
    QUARANTINE_OFF = 0,   /* never; a greater number: milliseconds, in these bounds */
    QUARANTINE_SHORTEST_MS = 1000,
    QUARANTINE_LONGEST_MS = 24 * 3600 * 1000,
};

/* "auto", "off" or a duration from 1 s to 24 h. False, with *ret untouched, for anything else. */
bool quarantine_parse(struct slice text, int64_t *ret);

/* A quarantine has begun, has become longer, or has ended. */
struct quarantine {
    unsigned shard;                /* as the store numbers its shards */
    enum quarantine_reason reason; /* _NONE: it has ended */
    int64_t left_ms;
    bool is_ended;   /* an operator ended it early */
    bool is_first;   /* this worker was the first to notice */
    bool is_foreign; /* another process was the first */
};

/* The quarantine of one node, as it is now. */
struct quarantine_state {
    const char *server; /* for people; valid until the loop goes on */
    enum quarantine_reason reason;
    int64_t since_us, until_us; /* by its own clock, after 1 January 1970 (UTC) */
    int64_t left_ms;
};

#endif
