/* questions.h: who asks whether replicas have something, of which Redis, and until when. */
#ifndef BATON_REDIS_REPLICAS_QUESTIONS_H
#define BATON_REDIS_REPLICAS_QUESTIONS_H

#include "redis/types/confirm.h"
#include "redis/types/peer.h"

#include <stdbool.h>

struct question;

/* In the order in which they came. Times are the loop's, in ms. */
struct questions {
    struct question *first; /* NULL: nobody asks */
    struct question **end;
};

void questions_init(struct questions *questions);

/* `peer` has answered what it is about; `done` as that of store_confirm. */
void questions_add(struct questions *questions, const struct store_peer *peer, uint64_t due,
                   store_confirmed *done, void *context);

/* Those that are about this run of Redis and its history are covered by a round that begins now,
 * and the others are not. Returns false where none is covered. */
bool questions_cover(struct questions *questions, const char *run_id, const char *history);

/* The round is over: it covers none. */
void questions_uncover(struct questions *questions);

/* When the first of all is due, or of those covered; UINT64_MAX where there is none. */
uint64_t questions_due(const struct questions *questions);
uint64_t questions_covered_due(const struct questions *questions);

/* Answers those that are due by `now`, those that are covered, or all. Whoever hears it may ask
 * again, and is not answered at once. */
void questions_answer_due(struct questions *questions, uint64_t now, const char *error);
void questions_answer_covered(struct questions *questions, const char *error);
void questions_answer_all(struct questions *questions, const char *error);

#endif
