/* verdicts.h: requests that failed, and which of them the machine explains: those that were told
 * that Redis is away, or by a proxy that no batond is ready, at a time when Redis was not let run.
 */
#ifndef BATON_TESTS_CHAOS_VERDICTS_H
#define BATON_TESTS_CHAOS_VERDICTS_H

#include "tests/chaos/stage.h"

#include <pthread.h>
#include <stdatomic.h>

enum { VERDICTS_KEPT = 20000, VERDICTS_STALLS = 512 };

/* Zeroed to begin with. */
struct verdicts {
    struct stage *stage;
    pthread_mutex_t lock;
    size_t failures; /* all of them */
    size_t shown;
    struct {
        int64_t at;
        enum way way;
        bool starved; /* the machine may explain it */
    } kept[VERDICTS_KEPT];
    struct {
        int64_t from, to;
    } stalls[VERDICTS_STALLS];
    size_t stall_count;
    atomic_bool stop;
    pthread_t watchman;
};

/* Begins to look, on a thread of its own, whether Redis is let run. No other may use the stage's
 * connection to Redis until verdicts_end. */
void verdicts_begin(struct verdicts *verdicts, struct stage *stage);

/* A request that went this way has failed now: `text` has the reply. */
void verdicts_note(struct verdicts *verdicts, enum way way, const char *text);

/* Returns how many failed that no stall of Redis explains, and prints what there is to say. */
size_t verdicts_end(struct verdicts *verdicts);

#endif
