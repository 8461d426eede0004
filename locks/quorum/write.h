/* write.h: the operations that change what all members of a quorum keep: renew, release, break and
 * take back. Each has its own file. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_WRITE_H
#define BATON_LOCKS_QUORUM_WRITE_H

#include "locks/calls/renewal.h"
#include "locks/locks.h"
#include "locks/quorum/broadcast.h"
#include "locks/quorum/tally.h"
#include "locks/types/owner.h"
#include "locks/types/token.h"

/* The operations of engine.h. */
void quorum_renew(struct locks *locks, const struct renewal *renewal, locks_done *done,
                  void *context);
void quorum_release(struct locks *locks, struct slice name, struct slice token,
                    const struct attempt *attempt, locks_done *done, void *context);
void quorum_break(struct locks *locks, struct slice name, int64_t fence,
                  const struct breaker *breaker, locks_done *done, void *context);
void quorum_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context);
void quorum_take_back(struct locks *locks, struct slice name, struct slice token,
                      const struct attempt *attempt, int64_t keep_ms);

/* The same at one member, until it replies: takes back what this attempt has there. Gives up after
 * `useful_ms`, when that has ended by itself. */
void quorum_take_back_at(struct locks *locks, unsigned member, struct slice key, struct slice token,
                         const struct attempt *attempt, int64_t useful_ms);

/* One operation under way. */
struct quorum_write {
    struct broadcast broadcast; /* the first member */
    locks_done *done;
    void *context;
    unsigned users; /* questions under way */
    struct tally tally;
    struct hold hold;    /* renewing: as the first member reported it */
    struct tally agreed; /* renewing: the members that have it by the reported fence */
    struct release releases[TALLY_MEMBERS];
    bool was_waiting;       /* releasing: a request of this worker waited */
    struct attempt attempt; /* of a connection that has ended; "": the hold's owner asks */
    int64_t broken;         /* breaking: the greatest count of one member */
    /* breaking: the ended holds, by that member. Otherwise: how the token's hold ended, by a member
     * that has none; NULL: unknown */
    struct lock_view *ended;
    int64_t version; /* breaking: the greatest version of all members */
    char owner[OWNER_LENGTH];
    size_t token_length;
    char token[TOKEN_LONGEST];
};

/* Begins the broadcast; the caller sends. `token` may be absent. */
struct quorum_write *quorum_write_begin(struct locks *locks, struct slice name, struct slice token,
                                        const struct broadcast_kind *kind, locks_done *done,
                                        void *context);

/* Call this after each question; after the last, frees it. */
void quorum_write_leave(struct quorum_write *write);

/* The `end` of each kind. */
void quorum_write_end(struct broadcast *broadcast);

struct slice quorum_write_token(const struct quorum_write *write);

void quorum_write_report(struct quorum_write *write, const struct locks_reply *reply);

/* Answers that the outcome is unknown. */
void quorum_write_fail(struct quorum_write *write);

/* Reads the reply of a member that has no hold of the token. Returns false for any other reply. */
bool quorum_write_observe_end(struct quorum_write *write, const struct value *reply);

/* Answers LOCKS_NOT_HELD. */
void quorum_write_report_not_held(struct quorum_write *write);

#endif
