/* modes.h: what the tool can do, one function each, which print figures. */
#ifndef BATON_TESTS_BENCH_MODES_H
#define BATON_TESTS_BENCH_MODES_H

#include "tests/bench/figure.h"
#include "tests/bench/options.h"

/* From a DELETE to the 201 of who waits, beside a bare BLPOP hand-over. */
void mode_handover(const struct options *options, struct figures *figures);

/* What many parked clients cost, and what a hand-over among them. */
void mode_park(const struct options *options, struct figures *figures);

/* Many clients that want one lock all the time: whether each is granted it in its turn. */
void mode_contend(const struct options *options, struct figures *figures);

/* Connections that ask one thing after the other of any server, each for itself: of Baton, and of
 * what it is compared with. */
void mode_pairs(const struct options *options, struct figures *figures);

/* Connections that contend for one lock, of Baton or another server; prints when each had it. */
void mode_contest(const struct options *options, struct figures *figures);

#endif
