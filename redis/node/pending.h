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

/* When the first pending confirmation is due, and the first covered one; UINT64_MAX if there is
 * none. */
uint64_t pending_due(const struct pending_list *list);
uint64_t pending_covered_due(const struct pending_list *list);

/* Answer what is due by `now`, what the round covers, or all. A callback may add another pending
 * confirmation, which stays in the list. */
void pending_answer_due(struct pending_list *list, uint64_t now, const char *error);
void pending_answer_covered(struct pending_list *list, const char *error);
void pending_answer_all(struct pending_list *list, const char *error);

#endif
