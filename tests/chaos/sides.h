/* sides.h: two batonds, each on a host of its own, which may be on different sides of a cut. */
#ifndef BATON_TESTS_CHAOS_SIDES_H
#define BATON_TESTS_CHAOS_SIDES_H

#include "tests/support/batond_process.h"
#include "tests/support/faults/hosts.h"

enum { SIDES = 2 };

struct sides {
    const struct hosts *hosts;
    struct batond_process batond[SIDES];
    int first_host; /* of the first batond; the other is on the next one */
};

/* Starts them with the flags (NULL-terminated, may be NULL) and quarantine=auto, where none says
 * otherwise. `hosts` outlives them. */
void sides_start(struct sides *sides, const struct hosts *hosts, int first_host, const char *url,
                 const char *const *flags);

/* Their end must be as it should. */
void sides_stop(struct sides *sides);

static inline int sides_host(const struct sides *sides, int index)
{
    return sides->first_host + index;
}

/* Wait until both are ready and in no quarantine, with this text in what they say of it (NULL:
 * any); until a lock can be had from both; until both see nobody hold this one, or wait for it.
 * Fail the test where that does not come. */
void sides_await_ready(struct sides *sides, const char *text);
void sides_await_grants(struct sides *sides);
void sides_await_free(struct sides *sides, const char *path);

#endif
