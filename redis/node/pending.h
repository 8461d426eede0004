/* pending.h: the confirmations still pending: which server gave the answer, and when time is up. */
#ifndef BATON_REDIS_NODE_PENDING_H
#define BATON_REDIS_NODE_PENDING_H

#include "redis/types/confirm.h"
#include "redis/types/peer.h"

#include <stdbool.h>
#include <sys/queue.h>

struct pending;

/* Pending confirmations, in the order in which they came. Times are on the loop's clock, in ms. */
struct pending_list {
    TAILQ_HEAD(pendings, pending) all; /* empty: nothing is asked */
};

void pending_init(struct pending_list *list);

/* Adds a pending confirmation: replicas should have the answer of `peer` by `due`. `done` is as in
 * store_confirm. */
void pending_add(struct pending_list *list, const struct store_peer *peer, uint64_t due,
                 store_confirmed *done, void *context);

/* A round begins now and covers the pending confirmations of this run of Redis and this history.
 * Returns false if it covers none. */
bool pending_cover(struct pending_list *list, const char *run_id, const char *history);

/* The round is over: nothing is covered any more. */
void pending_uncover(struct pending_list *list);

enum pending_which { PENDING_ANY, PENDING_COVERED };

/* When the first of these is due; UINT64_MAX if there is none. */
uint64_t pending_due(const struct pending_list *list, enum pending_which which);

/* Answers those of these that are due by `by`; UINT64_MAX: all of these. A callback may add another
 * pending confirmation, which stays in the list. */
void pending_answer(struct pending_list *list, enum pending_which which, uint64_t by,
                    const char *error);

#endif
