/* epoch.h: reads the epoch of a shard from Redis: see scripts/epoch.lua. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_EPOCH_H
#define BATON_LOCKS_QUARANTINE_EPOCH_H

#include "locks/quarantine/quarantine.h"
#include "redis/types/value.h"

enum {
    EPOCH_SIZE = 17,
    RUN_SIZE = 48,
    PROCESS_LENGTH = 8, /* characters */
};

/* All times are Redis', in microseconds. */
struct epoch {
    int64_t time;           /* when it was read */
    char id[EPOCH_SIZE];    /* "": there is no epoch */
    char run[RUN_SIZE];     /* the run id of the node that has the data */
    char history[RUN_SIZE]; /* its replication id */
    int64_t span, before, turns;
    int64_t opens; /* when its quarantine ends; it began at `since` because of `reason` */
    char reason[16];
    int64_t since;
    char by[PROCESS_LENGTH + 1]; /* the process that wrote it */
    char ended[EPOCH_SIZE]; /* the id of the epoch with which an operator last ended a quarantine;
                             * or "" */
    int64_t floor, level;   /* see numbers.h */
    int followers;          /* replicas of that node; 0: not asked */
};

/* False: the reply has another shape. */
bool epoch_read(const struct value *reply, struct epoch *ret);

enum quarantine_reason epoch_reason(const struct epoch *epoch);

/* The longest TTL of both windows. */
int64_t epoch_longest(const struct epoch *epoch);

/* Whether its quarantine began in the future: the clock has gone back since. */
bool epoch_is_ahead(const struct epoch *epoch);

/* Whether an operator began this epoch by ending a quarantine. */
bool epoch_is_ended(const struct epoch *epoch);

#endif
