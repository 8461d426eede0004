/* campaign.h: an engine loses a part of itself again and again, while clients of two batonds take
 * locks all the time: what they were told, and whether two counted on the same lock. */
#ifndef BATON_TESTS_CHAOS_CAMPAIGN_H
#define BATON_TESTS_CHAOS_CAMPAIGN_H

#include "tests/chaos/sides.h"
#include "tests/support/clustered.h"
#include "tests/support/quorum.h"
#include "tests/support/watched.h"

/* An engine, of which server i is on host i, and two batonds on the last hosts. */
struct land {
    struct hosts hosts;
    struct sides sides;
    struct watched watched; /* one of these four */
    struct redis_process one;
    struct clustered clustered;
    struct quorum_servers quorum;
    unsigned beside; /* hosts that are cut off with a primary */
    int slot;        /* of a Cluster: that the primary in trouble serves */
    int replica;     /* and its replica */
};

/* Sets of hosts: all of them, and that of a batond. */
unsigned land_all(const struct land *land);
unsigned land_batond(const struct land *land, int index);

/* What faults have in common: these hosts are cut off from all others, in both directions, or are
 * not heard by the others, or do not hear them; and all hear each other again. */
void land_cut_off(struct land *land, unsigned side);
void land_silence(struct land *land, unsigned side);
void land_deafen(struct land *land, unsigned side);
void land_heal(struct land *land, int part);

/* A part is cut off from all but the batonds, which hear both sides. */
void land_cut_off_alone(struct land *land, int part);

/* What happens to a part, which has a number. */
struct campaign_fault {
    const char *name;
    void (*begin)(struct land *land, int part); /* these may be NULL */
    void (*go_on)(struct land *land, int part); /* after that has lasted, it changes */
    void (*end)(struct land *land, int part);
    int more;           /* how much goes wrong beyond what the mildest of promises stands */
    bool replaced;      /* another takes its place */
    bool with_a_batond; /* one stands still meanwhile, as machines do that are moved as they run */
};

/* Where nothing is said of it, quarantine is auto. */
struct campaign_setting {
    const char *engine, *name;
    bool quick; /* also in the short form */
    int keeps;  /* no hold is lost by a fault with fewer `more` than this */
    enum { SOME_DOUBLE, ANY_DOUBLE, NO_DOUBLE } doubles; /* which the run has to show */
    const char *batond[4];
    const char *redis[6];
};

struct campaign {
    const char *engine;
    int hosts; /* of the engine */
    const struct campaign_fault *faults;
    size_t fault_count;
    int quick_cycles; /* in the short form; else each fault once */
    int ttl_ms;       /* of all holds */
    int calm_ms;      /* before a fault */
    int apart_ms; /* how long it lasts, after the others have put somebody in the place: longer than
                     a TTL, */
    int quarantine_ms; /* and where there is one, than a quarantine */
    int stall_ms;      /* nobody is granted anything for so long at most */
    /* Starts the engine on its hosts; returns its URL. */
    const char *(*start)(struct land *land, const struct campaign_setting *setting);
    void (*stop)(struct land *land);
    /* Waits until nothing is wrong any more. Returns which part is the next to be lost. */
    int (*await_peace)(struct land *land, int round);
    /* Until it is replaced; may be NULL where none ever is. */
    void (*await_other)(struct land *land, int part);
};

/* Runs a test for each setting, called "ENGINE: NAME" - skips it where hosts are not permitted -,
 * of BATON_TEST_CYCLES faults where that is set, and of those alone whose name has the text
 * BATON_TEST_FAULT. Returns what main does. A test prints a row for each fault, and one of a table:
 * engine, setting, faults, grants, holds lost by faults without `more` and by those with it,
 * doubles, fences that fell, the longest time without a grant, and without one of the same name,
 * and the longest until the first grant after another server had taken the place, or Redis was
 * started anew. */
int campaigns_run(const struct campaign *campaigns, size_t campaign_count,
                  const struct campaign_setting *settings, size_t setting_count);

#endif
