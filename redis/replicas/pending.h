/* pending.h: the open questions whether replicas have an answer of Redis: of which server, and
 * until when. */
#ifndef BATON_REDIS_REPLICAS_PENDING_H
#define BATON_REDIS_REPLICAS_PENDING_H

#include "redis/types/confirm.h"
#include "redis/types/peer.h"

#include <stdbool.h>

struct pending;

/* Questions in the order in which they came. Times are on the loop's clock, in ms. */
struct pending_list {
    struct pending *first; /* NULL: nobody asks */
    struct pending **end;
};

void pending_init(struct pending_list *questions);

/* `peer` gave the answer that the question is about. `done` is as in store_confirm. */
void pending_add(struct pending_list *questions, const struct store_peer *peer, uint64_t due,
                 store_confirmed *done, void *context);

/* A round begins now and covers the questions about this run of Redis and this history. Returns
 * false if it covers none. */
bool pending_cover(struct pending_list *questions, const char *run_id, const char *history);

/* The round is over: it covers no question. */
void pending_uncover(struct pending_list *questions);

/* When the first of all questions is due, or the first of those covered; UINT64_MAX if there is
 * none. */
uint64_t pending_due(const struct pending_list *questions);
uint64_t pending_covered_due(const struct pending_list *questions);

/* Answers the questions that are due by `now`, those that are covered, or all. A callback may ask
 * again; it is not answered at once. */
void pending_answer_due(struct pending_list *questions, uint64_t now, const char *error);
void pending_answer_covered(struct pending_list *questions, const char *error);
void pending_answer_all(struct pending_list *questions, const char *error);

#endif
