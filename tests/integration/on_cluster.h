/* on_cluster.h: two batonds on a Redis Cluster, and names of which it is known which primary serves
 * them. */
#ifndef BATON_TESTS_INTEGRATION_ON_CLUSTER_H
#define BATON_TESTS_INTEGRATION_ON_CLUSTER_H

#include "tests/integration/parked.h"
#include "tests/support/clustered.h"

enum { ON_CLUSTER_BATONDS = 2, ON_CLUSTER_NAME = 60, ON_CLUSTER_LINE = 200 };

struct on_cluster {
    struct clustered clustered;
    struct batond_process batond[ON_CLUSTER_BATONDS];
    struct http_client *client[ON_CLUSTER_BATONDS];
};

/* Starts all of it; both may be NULL. on_cluster_close fails the test where a batond did not end as
 * it should. */
void on_cluster_open(struct on_cluster *all, const struct clustered_options *options,
                     const char *const *flags);
void on_cluster_close(struct on_cluster *all);

/* The second half of on_cluster_open. */
void on_cluster_start_batonds(struct on_cluster *all, const char *const *flags);

/* The same as fixtures of cmocka, *state being the struct. */
int on_cluster_start(void **state);
int on_cluster_stop(void **state);

/* Writes a name that begins so and whose slot this primary serves now; `number` tells those of a
 * test apart. */
void on_cluster_name(struct on_cluster *all, int primary, const char *begin, int number,
                     char name[ON_CLUSTER_NAME]);
int on_cluster_slot(const char *name);

/* "METHOD /locks/NAME" and a query. */
const char *on_cluster_request(char line[ON_CLUSTER_LINE], const char *method, const char *name,
                               const char *query);

/* Acquires it, each time as soon as a 503 has been answered, within seconds; for at most 15 s. */
int64_t on_cluster_acquire(struct http_client *client, const char *name, const char *query,
                           char token[TOKEN_TEXT]);

/* Acquires it for a minute, and returns the fence; releases it. At the first try. */
int64_t on_cluster_take(struct on_cluster *all, int batond, const char *name,
                        char token[TOKEN_TEXT]);
void on_cluster_give(struct on_cluster *all, int batond, const char *name, const char *token);

/* Waits until both batonds can look at it. */
void on_cluster_answers_again(struct on_cluster *all, const char *name);

/* From the primary that serves the name now to another one that has a replica; and back again, all
 * at once. */
struct slot_move on_cluster_plan_move(struct on_cluster *all, const char *name);
void on_cluster_move_back(struct on_cluster *all, struct slot_move move);

/* Parks an acquire at a batond, and returns when it is in the queue. */
struct parked *on_cluster_wait(struct on_cluster *all, int batond, const char *name,
                               const char *query);

#endif
