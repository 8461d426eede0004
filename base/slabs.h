/* slabs.h: small blocks of memory that are kept for long, apart from the heap. */
#ifndef BATON_BASE_SLABS_H
#define BATON_BASE_SLABS_H

#include <stddef.h>
#include <sys/queue.h>

/* A request's blocks stay for a millisecond. If blocks that stay for minutes lie between them, what
 * is free in the heap is in many pieces, and malloc searches them at each call. So blocks of the
 * second kind come from slabs: each is cut into blocks of one size, and goes back to the heap when
 * no block of it is in use and another slab of that size has room. */

enum { SLABS_STEP = 32, SLABS_SIZES = 32, SLABS_LARGEST = SLABS_STEP * SLABS_SIZES };

/* Of one thread. Begin with zeros and a limit. */
struct slabs {
    size_t limit; /* bytes of all slabs together, at most */
    size_t bytes; /* now */
    LIST_HEAD(slab_list, slab) with_room[SLABS_SIZES];
};

/* Returns a block of zeros, or NULL at the limit and if memory has run out. `size` is 1 to
 * SLABS_LARGEST. */
void *slabs_take(struct slabs *slabs, size_t size);

/* Wipes the block, which was taken with this size. */
void slabs_give_back(struct slabs *slabs, void *block, size_t size);

/* All blocks were given back. */
void slabs_close(struct slabs *slabs);

#endif
