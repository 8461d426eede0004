/* majority.h: locks that count where more than half of several independent Redis have them: the
 * operations of locks.h for redis+quorum://. Internal to locks/. */
#ifndef BATON_LOCKS_MAJORITY_H
#define BATON_LOCKS_MAJORITY_H

#include "locks/calls/operation.h"
#include "locks/quorum/broadcast.h"
#include "locks/quorum/errand.h"
#include "locks/quorum/tickets.h"

/* Each member keeps the name as a single Redis would, by the same scripts; nobody queues there, for
 * who is first here need not be first there. What makes the whole of them a lock:
 *
 * - An exclusive hold of one owner excludes others at each member that has it, until it ends there
 *   or is taken back by who was granted it. Two majorities have a member in common, so no two holds
 *   that exclude each other have a majority at one time. What is told of the time left is what a
 *   majority has left, less the time that went by since it was asked, and what clocks may run
 * apart.
 * - A fence is told once it was issued at a majority, each of which has given it to no other hold
 *   and issues greater ones from then on: as a new number where it was granted, or by raise.lua. So
 *   whatever is granted later is granted by one of these as well, and gets a greater one.
 * - A release that is done was heard by a majority, and each of these remembers the token for half
 *   a minute at least, held there or not: what is repeated late finds no majority any more.
 * - A version that is told was written back to a majority first, if it did not know it: it never
 *   falls, and two that are equal have no grant between them.
 *
 * Those who wait stand in line here, all workers of this process in one (tickets.h); in what order
 * those of several processes come is left to chance. */

struct awaited_name;

/* What a worker keeps of it. */
struct majority {
    struct broadcasts broadcasts;
    struct errands errands;
    struct desk desk;
    void *awaited_names; /* of tsearch(3), by key */
    struct awaited_name *first_awaited;
    int64_t longest_ttl_ms; /* granted or renewed here */
};

struct broadcasts *majority_broadcasts(const struct locks *locks);

/* The engine's operations: see engine.h. */
void majority_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                      void *context);
struct waiter *majority_wait(struct locks *locks, const struct acquire *acquire,
                             const struct acquirer *acquirer, locks_done *done);
void majority_take_back(struct locks *locks, struct slice name, struct slice token,
                        const struct attempt *attempt, int64_t keep_ms);
void majority_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                    int64_t replicas, struct slice by, locks_done *done, void *context);
void majority_release(struct locks *locks, struct slice name, struct slice token,
                      const struct attempt *attempt, locks_done *done, void *context);
void majority_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                      locks_done *done, void *context);
struct watch *majority_watch(struct locks *locks, struct slice name, struct slice token,
                             int64_t after, int64_t wait_ms, locks_done *done, void *context);
void majority_break(struct locks *locks, struct slice name, locks_done *done, void *context);
void majority_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context);
void majority_message(struct locks *locks, struct slice text);

/* What was granted for so long may be left at a member that is away. */
void majority_note_ttl(struct locks *locks, int64_t ttl_ms);

#endif
