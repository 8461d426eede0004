/* askers.h: many connections, each of which asks by itself what an exchange says, as fast as it is
 * answered. */
#ifndef BATON_TESTS_BENCH_ASKERS_H
#define BATON_TESTS_BENCH_ASKERS_H

#include "tests/bench/exchange.h"
#include "tests/bench/options.h"
#include "tests/bench/run.h"

struct asker {
    struct caller caller;
    struct values values;
    size_t step;             /* that it waits for the answer of */
    int64_t asked, answered; /* when, in ns */
};

/* Each function ends the program where something fails. */
struct askers {
    struct exchange exchange;
    struct run run;
    struct asker *of;
    size_t count;
    unsigned names;
    bool fresh; /* each round of an asker has a new name */
    int epoll;
    /* A whole answer to asker->step has come; `right`: as the exchange expects it. */
    void (*answered)(void *context, struct asker *asker, bool right);
    void *context;
};

/* Connects --clients of them, each of which asks what is to be asked once. `answered` and its
 * context are set. */
void askers_open(struct askers *askers, const struct options *options);
void askers_close(struct askers *askers);

/* Has all of them ask the first that is asked again and again. */
void askers_start(struct askers *askers);

/* Takes the answers that have come. With `go_on`, an asker that got one asks again. Returns how
 * many, or -1 where nothing came within `timeout_ms`. */
int askers_serve(struct askers *askers, int timeout_ms, bool go_on);

#endif
