/* local_queue.h: the requests of this worker that wait for one name of a quorum, in order of
 * arrival. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_LOCAL_QUEUE_H
#define BATON_LOCKS_QUORUM_LOCAL_QUEUE_H

#include "locks/locks.h"

#include <sys/queue.h>

/* Members keep no queue, and workers share none. Each waiter has a place here; only the first
 * present one asks the members for the lock. */

struct quorum_waiter;

/* Its owner embeds it, and sets all members up to `waiter` before it joins. */
struct local_place {
    struct slice token;            /* the first member: as base/tree.h wants */
    const struct acquire *acquire; /* lives as long as the place */
    uint64_t since;                /* as uv_now */
    int64_t since_us;              /* the same by the wall clock, since 1970 */
    struct quorum_waiter *waiter;
    bool is_present;
    int64_t arrival;           /* the order of arrival, which local_queue_come_first overrides */
    struct local_queue *queue; /* NULL: it is in none */
    TAILQ_ENTRY(local_place) others;
};

struct local_queue {
    TAILQ_HEAD(local_places, local_place) places;
    void *tokens; /* the places by token: a tree of base/tree.h */
    int64_t count;
    int64_t arrivals;          /* how many have arrived so far */
    struct local_place *first; /* the first present one; NULL: none is */
};

void local_queue_open(struct local_queue *queue);

/* Takes over the place `earlier` of the same token, which leaves the queue; NULL: joins behind all
 * others. */
void local_queue_join(struct local_queue *queue, struct local_place *place,
                      struct local_place *earlier);

/* Does nothing if it is in no queue. */
void local_queue_leave(struct local_place *place);

/* The place stays, but the queue passes over it. */
void local_queue_step_aside(struct local_place *place);

/* Moves the place in front of all others. */
void local_queue_come_first(struct local_place *place);

/* Moves it back to where it arrived. */
void local_queue_go_back(struct local_place *place);

/* Call this when a waiter has got this hold: moves the first present place that the hold lets in to
 * the front. */
void local_queue_let_enter(struct local_queue *queue, const struct hold *hold);

/* NULL: no place has this token. */
struct local_place *local_queue_find(struct local_queue *queue, struct slice token);

bool local_place_is_first(const struct local_place *place);

/* Whether the hold keeps the waiter from the lock. */
bool local_place_is_excluded(const struct local_place *place, const struct hold *hold);

/* Sets queue_length and the waiters of the view, with the texts of their places, and the position
 * of the token's place. `queue` NULL: no place exists. */
void local_queue_show(struct local_queue *queue, struct slice token, uint64_t now,
                      struct lock_view *view);

#endif
