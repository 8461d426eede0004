/* seed.h: chance that can be had again. */
#ifndef BATON_TESTS_SUPPORT_SEED_H
#define BATON_TESTS_SUPPORT_SEED_H

#include <stdint.h>

/* BATON_SEED, or a new one; prints it. */
uint64_t seed_choose(void);

/* A number that depends on this one alone. */
uint64_t seed_mix(uint64_t number);

/* A number from 0 until before `below`; moves `random` on. */
unsigned seed_draw(uint64_t *random, unsigned below);

#endif
