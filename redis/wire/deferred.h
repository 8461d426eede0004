/* deferred.h: runs something once at the end of a loop's turn, right before the loop would sleep.
 */
#ifndef BATON_REDIS_WIRE_DEFERRED_H
#define BATON_REDIS_WIRE_DEFERRED_H

#include <stdbool.h>
#include <uv.h>

/* Embedded in its owner. Used on the loop's thread alone. */
struct deferred {
    uv_prepare_t prepare;
    uv_idle_t idle;
    bool requested;
    int open_handles;
    void (*run)(void *context);
    void (*closed)(void *context);
    void *context;
};

void deferred_open(struct deferred *deferred, uv_loop_t *loop, void (*run)(void *context),
                   void *context);

/* Calls `run` once before the loop sleeps next, however often it was requested. */
void deferred_request(struct deferred *deferred);

/* Does not call `run` again. Calls `closed` when the owner may free the memory. */
void deferred_close(struct deferred *deferred, void (*closed)(void *context));

#endif
