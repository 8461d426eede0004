/* replicated.h: a Redis with two replicas that are some milliseconds away, and a batond on it. */
#ifndef BATON_TESTS_INTEGRATION_REPLICATED_H
#define BATON_TESTS_INTEGRATION_REPLICATED_H

#include "tests/integration/service.h"
#include "tests/integration/wire_delay.h"

enum { REPLICAS = 2 };

struct replicated {
    struct redis_process primary;
    struct wire_delay wire; /* by which the replicas reach it */
    struct redis_process replicas[REPLICAS];
    struct batond_process batond;
    struct http_client *client;
};

/* The Redis servers alone; a replica's word takes twice `ms`. */
void replicated_start(struct replicated *all, int ms);
void replicated_stop(struct replicated *all);

/* And a batond with these flags (NULL: none). Its end must be as it should. */
void replicated_open(struct replicated *all, int ms, const char *const *arguments);
void replicated_close(struct replicated *all);

/* Whether so many replicas follow the primary within `timeout_ms`. */
bool replicated_are(struct replicated *all, int count, int timeout_ms);

/* A number in what `redis` says of replication, such as "slave_repl_offset". */
int64_t replication_number(struct redis_process *redis, const char *field);

#endif
