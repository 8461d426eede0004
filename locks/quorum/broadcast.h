/* broadcast.h: one question to all members of a quorum, and when enough is known of their answers.
 * Internal to locks/. */
#ifndef BATON_LOCKS_QUORUM_BROADCAST_H
#define BATON_LOCKS_QUORUM_BROADCAST_H

#include "locks/quorum/tally.h"
#include "redis/store.h"

struct broadcast;
struct broadcasts;
struct locks;

enum {
    /* Nobody waits longer than this for those who are slow; two questions one after the other still
     * leave time for "503 within a second". */
    BROADCAST_PATIENCE_MS = 400,
};

struct broadcast_kind {
    /* A member has answered, or will not: for each once, also when all is decided. */
    void (*hear)(struct broadcast *broadcast, unsigned member, const struct store_result *result);
    /* Asked after each of them until it says that all is decided, as it must when `is_last`: nobody
     * else will be heard in time. */
    bool (*decide)(struct broadcast *broadcast, bool is_last);
    /* All is decided and all were heard: frees it. */
    void (*end)(struct broadcast *broadcast);
};

/* Whoever asks embeds it. */
struct broadcast {
    const struct broadcast_kind *kind;
    struct broadcasts *broadcasts;
    struct locks *locks;
    struct broadcast *next; /* of those that are not decided, in order of `due` */
    struct broadcast *previous;
    uint64_t sent; /* uv_hrtime */
    uint64_t due;  /* loop time, ms */
    unsigned open; /* members that were asked and not heard */
    bool is_decided;
    bool is_late; /* one more look at what has arrived, and then it is over */
    struct broadcast_member {
        struct broadcast *broadcast;
    } members[TALLY_MEMBERS];
};

/* All that wait for a decision. */
struct broadcasts {
    struct locks *locks;
    struct broadcast *first;
    struct broadcast *last;
    uv_timer_t timer;
};

void broadcasts_open(struct locks *locks, struct broadcasts *broadcasts);
void broadcasts_close(struct broadcasts *broadcasts, uv_close_cb closed);

/* Before it is sent to members, one by one. */
void broadcast_begin(struct broadcast *broadcast, struct broadcasts *broadcasts,
                     const struct broadcast_kind *kind);

/* To this member; the arguments are copied. Where it is too slow, it is asked again for as long as
 * nothing is decided. */
void broadcast_send(struct broadcast *broadcast, unsigned member, const struct script *script,
                    struct slice key, const struct slice *arguments, size_t argument_count);

/* To all of them. */
void broadcast_send_all(struct broadcast *broadcast, const struct script *script, struct slice key,
                        const struct slice *arguments, size_t argument_count);

/* A member's answer to what was sent by another way than broadcast_send: the context is its member.
 */
void broadcast_answered(void *context, const struct store_result *result);

/* Milliseconds since it was sent, rounded up. */
int64_t broadcast_elapsed(const struct broadcast *broadcast);

/* How a vote counts where a script has not replied. */
enum vote_kind broadcast_silence(const struct store_result *result);

#endif
