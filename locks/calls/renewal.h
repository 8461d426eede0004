/* renewal.h: what a renewal asks for, and its arguments for the script that renews. Internal to
 * locks/. */
#ifndef BATON_LOCKS_CALLS_RENEWAL_H
#define BATON_LOCKS_CALLS_RENEWAL_H

#include "base/decimal.h"

#include <stdbool.h>

struct renewal {
    struct slice name;
    struct slice token;
    int64_t ttl_ms;      /* 0: the TTL that the hold was last given */
    int64_t replicas;    /* of Redis that must have the new end; 0: none */
    bool is_of_worker;   /* the client may not know of the hold yet: it may still be taken back */
    int64_t at_least_ms; /* for a hold that was granted without these: they begin now */
    int64_t max_held_ms; /* 0: none */
};

struct renewal_arguments {
    char ttl[DECIMAL_TEXT], at_least[DECIMAL_TEXT], max_held[DECIMAL_TEXT];
    struct slice all[6];
    size_t count;
};

/* The texts of the renewal must outlive the arguments. */
void renewal_pack(const struct renewal *renewal, struct renewal_arguments *ret);

#endif
