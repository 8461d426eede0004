/* random.h: randomness from the kernel. */
#ifndef BATON_BASE_RANDOM_H
#define BATON_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Fills the buffer from getrandom(2). Any thread. Ends the process if the kernel has none to give,
 * since a guessable token would be worse. */
void random_bytes(void *buffer, size_t length);

/* A stock of the kernel's randomness, so that not every token costs a system call. For one thread;
 * begins zeroed. Wipes what was taken. */
struct random_pool {
    unsigned char bytes[1024];
    size_t left;
};

/* Takes `length` bytes, at most sizeof pool->bytes. */
void random_pool_take(struct random_pool *pool, void *buffer, size_t length);

/* A number in [0, bound), bound > 0; for jitter, where a slight bias does no harm. */
uint32_t random_below(uint32_t bound);

#endif
