/* record.h: what a shard's record in Redis says: see scripts/epoch.lua. Internal to locks/. */
#ifndef BATON_LOCKS_TYPES_RECORD_H
#define BATON_LOCKS_TYPES_RECORD_H

#include "locks/types/quarantine.h"
#include "locks/types/server_name.h"
#include "redis/types/value.h"

enum { EPOCH_SIZE = 17, RUN_SIZE = 48 };

/* All times are Redis', in microseconds. */
struct record {
    int64_t time;           /* when it was read */
    char epoch[EPOCH_SIZE]; /* "": there is no record */
    char run[RUN_SIZE];     /* of the server that has the data */
    char history[RUN_SIZE]; /* of its replication */
    int64_t span, before, turns;
    int64_t opens; /* when its quarantine ends, which began at `since` because of `reason` */
    char reason[16];
    int64_t since;
    char by[PROCESS_LENGTH + 1]; /* the process that has written it */
    char ended[EPOCH_SIZE]; /* the epoch that an operator began by ending a quarantine, the last
                             * time; or "" */
    int64_t floor, level;   /* see numbers.h */
    int followers;          /* replicas of the server that has the data; 0: not asked */
};

/* False: Redis has answered something else. */
bool record_read(const struct value *reply, struct record *ret);

enum quarantine_reason record_reason(const struct record *record);

/* The longest TTL of both windows. */
int64_t record_longest(const struct record *record);

/* Whether its epoch began when an operator ended a quarantine. */
bool record_is_ended(const struct record *record);

#endif
