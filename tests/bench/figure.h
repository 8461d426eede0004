/* figure.h: prints what was measured, one figure a line, beside what is asked of it. */
#ifndef BATON_TESTS_BENCH_FIGURE_H
#define BATON_TESTS_BENCH_FIGURE_H

#include <stdbool.h>

/* How the figures of one run came out. */
struct figures {
    int missed; /* how many were beyond their bound */
};

/* Prints "  WHAT: VALUE UNIT". `what` is a format for the rest. */
__attribute__((format(printf, 3, 4))) void figure_plain(double value, const char *unit,
                                                        const char *what, ...);

/* Prints "NAME<tab>UNIT<tab>VALUE", for programs to read. */
void figure_record(const char *name, const char *unit, double value);

/* Like figure_plain, with "(asked: at most BOUND)", and counts it where it is more. */
__attribute__((format(printf, 5, 6))) void figure_at_most(struct figures *figures, double value,
                                                          const char *unit, double bound,
                                                          const char *what, ...);

#endif
