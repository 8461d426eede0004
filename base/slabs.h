/* slabs.h: small blocks of memory with a long life, apart from the heap. */
#ifndef BATON_BASE_SLABS_H
#define BATON_BASE_SLABS_H

#include <stddef.h>
#include <sys/queue.h>

/* A request's blocks live for a millisecond. If blocks that live for minutes lie between them, the
 * free memory of the heap is in many pieces, and malloc searches them at each call. So blocks of
 * the second kind come from slabs. Each slab is cut into blocks of one size, and goes back to the
 * heap when none of its blocks is in use and another slab of that size has room. */

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

/* Call this when all blocks were given back. */
void slabs_close(struct slabs *slabs);

#endif
