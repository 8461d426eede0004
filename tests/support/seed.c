#include "tests/support/seed.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

uint64_t seed_choose(void)
{
    const char *given = getenv("BATON_SEED");
    uint64_t seed =
        given ? strtoull(given, NULL, 0) : (uint64_t)clock_us() * 1000003 + (uint64_t)getpid();
    print_message("BATON_SEED=%" PRIu64 "\n", seed);
    return seed;
}

/* SplitMix64. */
uint64_t seed_mix(uint64_t number)
{
    number += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

unsigned seed_draw(uint64_t *random, unsigned below)
{
    *random = seed_mix(*random);
    return (unsigned)((*random >> 33) % below);
}
