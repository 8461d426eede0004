/* broadcast.h: sends one question to all members of a quorum, and decides when enough have
 * answered. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_BROADCAST_H
#define BATON_LOCKS_QUORUM_BROADCAST_H

#include "locks/quorum/tally.h"
#include "locks/types/name.h"
#include "redis/store.h"

#include <sys/queue.h>

struct broadcast;
struct broadcasts;
struct locks;

struct broadcast_kind {
    /* A member has answered, or will not answer. Runs once for each, also after the decision. */
    void (*observe)(struct broadcast *broadcast, unsigned member,
                    const struct store_result *result);
    /* Runs after each answer until it returns true, which means decided. If `is_last`, no other
     * member will answer in time, and it must decide. */
    bool (*decide)(struct broadcast *broadcast, bool is_last);
    /* Runs when it is decided and every member has answered or will not: frees it. NULL: by
     * free(3). */
    void (*end)(struct broadcast *broadcast);
};

/* The asking module embeds it. */
struct broadcast {
    const struct broadcast_kind *kind;
    struct broadcasts *broadcasts;
    struct locks *locks;
    TAILQ_ENTRY(broadcast) others;
    uint64_t sent; /* uv_hrtime */
    uint64_t due;  /* loop time, ms: a slow member has half of store_timeout_ms, so two questions in
                    * a row take no longer than one with a single Redis */
    unsigned open; /* members that have yet to answer */
    bool is_decided;
    bool is_late; /* it reads answers that have arrived, then decides */
    struct broadcast_member {
        struct broadcast *broadcast;
    } members[TALLY_MEMBERS];
    size_t key_length;
    char key[KEY_LENGTH];
};

/* The broadcasts of one worker that wait for a decision. */
struct broadcasts {
    struct locks *locks;
    TAILQ_HEAD(broadcast_list, broadcast) undecided; /* in order of `due` */
    uv_timer_t timer;
};

void broadcasts_open(struct locks *locks, struct broadcasts *broadcasts);
void broadcasts_close(struct broadcasts *broadcasts, uv_close_cb closed);

/* Call this first, then send to members. The key, which is copied, is the name's. */
void broadcast_begin(struct broadcast *broadcast, struct broadcasts *broadcasts, struct slice key,
                     const struct broadcast_kind *kind);

struct slice broadcast_key(const struct broadcast *broadcast);

/* Sends to one member; copies the arguments. Repeats a call that came too late until the
 * decision. */
void broadcast_send(struct broadcast *broadcast, unsigned member, const struct script *script,
                    const struct slice *arguments, size_t argument_count);

/* Sends to all members. */
void broadcast_send_all(struct broadcast *broadcast, const struct script *script,
                        const struct slice *arguments, size_t argument_count);

/* A member's answer to a call that was not sent by broadcast_send: the context is its member. */
void broadcast_answered(void *context, const struct store_result *result);

/* Milliseconds since it was sent, rounded up. */
int64_t broadcast_elapsed(const struct broadcast *broadcast);

/* The vote of a member whose script has not replied. */
enum vote_kind broadcast_silence(const struct store_result *result);

#endif
