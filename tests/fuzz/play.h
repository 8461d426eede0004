/* play.h: the API and the locks as a whole, over a store in whose place a fuzz target answers. */
#ifndef BATON_TESTS_FUZZ_PLAY_H
#define BATON_TESTS_FUZZ_PLAY_H

#include "api/api.h"
#include "api/principals/principals.h"
#include "api/stats/hold_counter.h"
#include "tests/fuzz/fake_store.h"
#include "tests/fuzz/question.h"

enum { PLAY_CALLERS = 16, PLAY_LONGEST_WAIT_MS = 60000 };

/* A request and what became of it. */
struct caller {
    struct exchange exchange; /* the first member */
    struct question question;
    bool parked;
    bool gone;
};

struct play {
    struct hold_counter hold_counter;
    uv_loop_t loop;
    struct store *store;
    struct locks *locks;
    struct api api;
    struct caller *callers[PLAY_CALLERS]; /* NULL: a free place */
};

void play_open(struct play *play);

/* Answers all calls as a Redis that has gone, lets all waits end, claims that every caller has been
 * answered, and that nothing is left behind. */
void play_close(struct play *play);

/* One turn of the loop. */
void play_turn(struct play *play);

/* Sends a request, whose texts it takes over; a 17th is left out. Its answer is judged when it
 * comes. */
void play_ask(struct play *play, struct question *question);

/* The client of this place hangs up; nothing where it has no need to wait. */
void play_hang_up(struct play *play, size_t place);

/* Answers all calls that are under way, and those that follow from it. */
void play_answer_all(struct play *play, const struct store_result *result);

#endif
