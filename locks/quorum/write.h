/* write.h: the operations that change what all members of a quorum keep: renew, release, break and
 * take back; each has a file of its own. Internal to locks/quorum/. */
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

/* The same at one member, until it replies: whatever this attempt has there is taken back. Gives up
 * `useful_ms` from now, when it has ended by itself. */
void quorum_take_back_at(struct locks *locks, unsigned member, struct slice key, struct slice token,
                         const struct attempt *attempt, int64_t useful_ms);

/* One operation under way. */
struct quorum_write {
    struct broadcast broadcast; /* the first member */
    locks_done *done;
    void *context;
    unsigned users; /* questions under way */
    struct tally tally;
    struct hold hold;    /* renewing: as the first member told of it */
    struct tally agreed; /* renewing: the members that have it by the fence that is told */
    struct release releases[TALLY_MEMBERS];
    bool was_waiting;        /* releasing: at this worker */
    struct attempt attempt;  /* of a connection that has ended; "": the hold's owner asks */
    int64_t broken;          /* breaking: the greatest count of any member */
    struct lock_view *ended; /* breaking: as the first of them has told; of a token that has no
                              * hold: how its hold has ended, by a member; NULL: none has told */
    int64_t version;         /* breaking: the greatest version of all members */
    char owner[OWNER_LENGTH];
    size_t token_length;
    char token[TOKEN_LONGEST];
};

/* Begins the broadcast; what it sends is for the caller to say. `token` may be absent. */
struct quorum_write *quorum_write_begin(struct locks *locks, struct slice name, struct slice token,
                                        const struct broadcast_kind *kind, locks_done *done,
                                        void *context);

/* There is a question less under way; after the last it is freed. */
void quorum_write_leave(struct quorum_write *write);

/* The `end` of each kind. */
void quorum_write_end(struct broadcast *broadcast);

struct slice quorum_write_token(const struct quorum_write *write);

void quorum_write_tell(struct quorum_write *write, const struct locks_reply *reply);

/* Tells that the outcome is unknown. */
void quorum_write_fail(struct quorum_write *write);

/* Reads the reply of a member where the token has no hold. Returns false if it says something else.
 */
bool quorum_write_hear_end(struct quorum_write *write, const struct value *reply);

/* Tells LOCKS_NOT_HELD. */
void quorum_write_tell_not_held(struct quorum_write *write);

/* Copies the owner, so that it outlives the reply that it stands in. */
void quorum_write_keep_owner(struct quorum_write *write, struct slice *owner);

#endif
