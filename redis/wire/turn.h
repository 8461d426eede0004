/* turn.h: runs something once at the end of a loop's turn, right before the loop would sleep. */
#ifndef BATON_REDIS_WIRE_TURN_H
#define BATON_REDIS_WIRE_TURN_H

#include <stdbool.h>
#include <uv.h>

/* Embedded in its owner. Used on the loop's thread alone. */
struct turn {
    uv_prepare_t prepare;
    uv_idle_t idle;
    bool requested;
    int open_handles;
    void (*run)(void *context);
    void (*closed)(void *context);
    void *context;
};

void turn_open(struct turn *turn, uv_loop_t *loop, void (*run)(void *context), void *context);

/* Calls `run` once before the loop sleeps next, however often it was requested. */
void turn_request(struct turn *turn);

/* Does not call `run` again. Calls `closed` when the owner may free the memory. */
void turn_close(struct turn *turn, void (*closed)(void *context));

#endif
