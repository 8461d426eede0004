/* store_fixture.h: a store on a loop of the test's own, and a record of all it tells. */
#ifndef BATON_TESTS_REDIS_STORE_FIXTURE_H
#define BATON_TESTS_REDIS_STORE_FIXTURE_H

#include "redis/store.h"

struct store_fixture {
    uv_loop_t loop;
    uv_timer_t guard; /* ends a wait that takes too long */
    uint64_t deadline;
    bool late;
    struct store *store; /* NULL once closed */
    int ups;
    int downs;
    int warnings;
    int ended; /* calls that have come to their end */
    int listenings;
    int messages;
    int touches; /* of single keys */
    int touches_of_any;
    char reason[320];  /* of the last `down` */
    char warning[320]; /* the last one */
    char message[80];  /* the last one, cut; with its whole length: */
    size_t message_length;
    char touched[80]; /* the last one */
    void (*on_up)(struct store_fixture *fixture);
    void (*on_listening)(struct store_fixture *fixture);
    void (*on_message)(struct store_fixture *fixture);
    void (*on_touched)(struct store_fixture *fixture);
    bool inside; /* a call to the store: no event may come */
    void *data;  /* for on_up */
};

/* What became of one call. */
struct outcome {
    struct store_fixture *fixture;
    bool ended;
    int turn; /* it was the turn-th call to end, from 1 on */
    enum store_outcome outcome;
    int64_t integer; /* the reply, where it was an integer; else -1 */
    char text[64];   /* the reply, where it was a string */
    char error[320];
    int64_t took_ms;
    int64_t begun_ms;
};

/* Opens a store. Does not wait. */
void store_fixture_open_with(struct store_fixture *fixture, const struct redis_url *url);
void store_fixture_open(struct store_fixture *fixture, const char *url);

/* The same, and waits until it is up. Fails the test if it does not come up. */
void store_fixture_open_up(struct store_fixture *fixture, const char *url);

/* Opens a store that is up and listens to the channel. */
void store_fixture_open_listening(struct store_fixture *fixture, const char *url,
                                  const char *channel);

void store_fixture_listen(struct store_fixture *fixture, const char *channel);
void store_fixture_track(struct store_fixture *fixture, const char *prefix);
void store_fixture_untrack(struct store_fixture *fixture);

/* Closes the store and the loop. Fails the test if a handle is left. */
void store_fixture_close(struct store_fixture *fixture);

/* The same in two steps, of which the first may be made from the loop. */
void store_fixture_close_begin(struct store_fixture *fixture);
void store_fixture_close_end(struct store_fixture *fixture);

/* Runs the loop until the number is at least `least`. Fails the test after 10 s. */
void store_fixture_await(struct store_fixture *fixture, const int *number, int least);

/* Runs the loop for so long. */
void store_fixture_idle(struct store_fixture *fixture, int ms);

/* Makes a function of a body, in a library of its own; it lives as long as the process. */
const struct script *fixture_script(const char *body);

/* Makes several functions, in one library. Returns the first of them. */
const struct script *fixture_scripts(const char *const *bodies, size_t count);

/* Makes a function that has another one in its place where Redis is full, in one library. */
const struct script *fixture_script_when_full(const char *body, const char *body_when_full);

/* Calls a script with one key and one argument. Does not wait. */
void store_fixture_call(struct store_fixture *fixture, struct outcome *outcome,
                        const struct script *script, const char *key, const char *argument);

/* The same, and waits for its end. */
struct outcome store_fixture_run(struct store_fixture *fixture, const char *text, const char *key,
                                 const char *argument);

#endif
