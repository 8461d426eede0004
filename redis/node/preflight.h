/* preflight.h: connects to one Redis server once and checks it, before anything starts. */
#ifndef BATON_REDIS_NODE_PREFLIGHT_H
#define BATON_REDIS_NODE_PREFLIGHT_H

#include "redis/node/node.h"

enum { PREFLIGHT_RUN_ID_SIZE = 64 };

/* The caller zeroes it, sets the fields down to `closed_context`, and runs the loop to its end. */
struct preflight {
    uv_loop_t *loop;
    struct endpoint *endpoint; /* NULL: the URL names the server */
    int timeout_ms;
    struct failure *failure;
    /* The node is gone and no longer follows the endpoint. May be NULL. */
    void (*closed)(void *context);
    void *closed_context;

    uv_timer_t timer;
    struct node *node;
    struct store_events told;
    bool is_up;
    bool is_over;
    int result; /* that of store_preflight; valid when the loop has ended */
    char run_id[PREFLIGHT_RUN_ID_SIZE];
};

/* Makes the loop of a preflight. Returns 0 or a negative errno. */
int preflight_open_loop(uv_loop_t *loop, struct failure *failure);

void preflight_begin(struct preflight *preflight, const struct redis_url *url);

/* As store_preflight, for a URL that names one server. */
int preflight_server(const struct redis_url *url, int timeout_ms, struct failure *failure);

#endif
