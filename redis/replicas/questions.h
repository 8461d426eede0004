/* questions.h: the open questions whether replicas have an answer of Redis: of which server, and
 * until when. */
#ifndef BATON_REDIS_REPLICAS_QUESTIONS_H
#define BATON_REDIS_REPLICAS_QUESTIONS_H

#include "redis/types/confirm.h"
#include "redis/types/peer.h"

#include <stdbool.h>

struct question;

/* Questions in the order in which they came. Times are on the loop's clock, in ms. */
struct questions {
    struct question *first; /* NULL: nobody asks */
    struct question **end;
};

void questions_init(struct questions *questions);

/* `peer` gave the answer that the question is about. `done` is as in store_confirm. */
void questions_add(struct questions *questions, const struct store_peer *peer, uint64_t due,
                   store_confirmed *done, void *context);

/* A round begins now and covers the questions about this run of Redis and this history. Returns
 * false if it covers none. */
bool questions_cover(struct questions *questions, const char *run_id, const char *history);

/* The round is over: it covers no question. */
void questions_uncover(struct questions *questions);

/* When the first of all questions is due, or the first of those covered; UINT64_MAX if there is
 * none. */
uint64_t questions_due(const struct questions *questions);
uint64_t questions_covered_due(const struct questions *questions);

/* Answers the questions that are due by `now`, those that are covered, or all. A callback may ask
 * again; it is not answered at once. */
void questions_answer_due(struct questions *questions, uint64_t now, const char *error);
void questions_answer_covered(struct questions *questions, const char *error);
void questions_answer_all(struct questions *questions, const char *error);

#endif
