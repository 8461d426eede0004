/* fan.h: one question to all members of a quorum, and when enough is known of their answers.
 * Internal to locks/. */
#ifndef BATON_LOCKS_FAN_H
#define BATON_LOCKS_FAN_H

#include "locks/quorum/ballot.h"
#include "redis/store.h"

struct fan;
struct locks;

enum {
    /* Nobody waits longer than this for those who are slow; two questions one after the other still
     * leave time for "503 within a second". */
    FAN_PATIENCE_MS = 400,
};

struct fan_kind {
    /* A member has answered, or will not: for each once, also when all is decided. */
    void (*hear)(struct fan *fan, unsigned member, const struct store_result *result);
    /* Asked after each of them until it says that all is decided, as it must when `is_last`: nobody
     * else will be heard in time. */
    bool (*decide)(struct fan *fan, bool is_last);
    /* All is decided and all were heard: frees it. */
    void (*end)(struct fan *fan);
};

/* Whoever asks embeds it. */
struct fan {
    const struct fan_kind *kind;
    struct locks *locks;
    struct fan *next; /* of those that are not decided, in order of `due` */
    struct fan *previous;
    uint64_t sent; /* uv_hrtime */
    uint64_t due;  /* loop time, ms */
    unsigned open; /* members that were asked and not heard */
    bool is_decided;
    bool is_late; /* one more look at what has arrived, and then it is over */
    struct fan_leg {
        struct fan *fan;
    } legs[BALLOT_MEMBERS];
};

/* All that wait for a decision. */
struct fans {
    struct locks *locks;
    struct fan *first;
    struct fan *last;
    uv_timer_t timer;
};

void fans_open(struct locks *locks, struct fans *fans);
void fans_close(struct fans *fans, uv_close_cb closed);

/* Before it is sent to members, one by one. */
void fan_begin(struct fan *fan, struct locks *locks, const struct fan_kind *kind);

/* To this member; the arguments are copied. Where it is too slow, it is asked again for as long as
 * nothing is decided. */
void fan_send(struct fan *fan, unsigned member, const struct script *script, struct slice key,
              const struct slice *arguments, size_t argument_count);

/* To all of them. */
void fan_send_all(struct fan *fan, const struct script *script, struct slice key,
                  const struct slice *arguments, size_t argument_count);

/* A member's answer to what was sent by another way than fan_send: the context is its leg. */
void fan_answered(void *context, const struct store_result *result);

/* Milliseconds since it was sent, rounded up. */
int64_t fan_elapsed(const struct fan *fan);

/* How a vote counts where a script has not replied. */
enum vote_kind fan_silence(const struct store_result *result);

#endif
