/* counts.h: what the program of the budget counts by itself, and the functions that callgrind is
 * told to begin and to end at. */
#ifndef BATON_TESTS_BUDGET_COUNTS_H
#define BATON_TESTS_BUDGET_COUNTS_H

#include <stdint.h>

/* For the whole program the clock and what allocates memory take the place of the C library's: time
 * stands still but for a microsecond with each look at it, so that no deadline and no timer makes
 * one run differ from another. */
struct counts {
    uint64_t allocations;  /* blocks of memory, in counts_while alone */
    uint64_t system_calls; /* those of the program itself, which callgrind counts with the others */
};

extern struct counts counts;

/* Runs what is to be counted; callgrind collects instructions in here alone. */
void counts_while(void (*run)(void *context), void *context);

/* Callgrind forgets what it has counted, and writes it down. */
void counts_begin(void);
void counts_end(void);

#endif
