/* turn.h: runs something once at the end of a loop's turn, right before the loop would sleep. */
#ifndef BATON_REDIS_WIRE_TURN_H
#define BATON_REDIS_WIRE_TURN_H

#include <stdbool.h>
#include <uv.h>

/* Embedded in its owner's record, used on the loop's thread alone. */
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

/* Makes `run` happen before the loop sleeps next; asking twice in a turn is asking once. */
void turn_request(struct turn *turn);

/* `run` is not called again; `closed` is once the memory may go. */
void turn_close(struct turn *turn, void (*closed)(void *context));

#endif
